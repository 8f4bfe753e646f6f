"""Keyphrases and names, as they stand in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.language.entities import entities
from mnemoscope.core.language.keyphrases import Corpus, keyphrases


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("I adopted a rescue greyhound in Bergen.", {"Bergen", "rescue greyhound"}),
        ("We saw Wild Tides in New Harbor", {"Wild Tides", "New Harbor"}),
        ("我养了一只猫叫团子", {"猫", "团子"}),
        ("我在成都工作", {"成都工作"}),
    ],
)
def test_phrases_say_what_a_text_is_about(text: str, phrases: set[str]) -> None:
    assert set(keyphrases(text, limit=2)) == phrases


def test_rare_words_come_first_once_there_is_a_corpus() -> None:
    corpus = Corpus.of(["my pottery class", "another pottery class", "pottery again", "a kayak"])
    assert keyphrases("pottery, kayak", limit=2) == ("pottery", "kayak")
    assert keyphrases("pottery, kayak", limit=2, corpus=corpus) == ("kayak", "pottery")


def test_a_corpus_grows_as_it_was_built() -> None:
    grown = Corpus()
    for text in ("one cat", "two cats", "我养了猫"):
        grown.add(text)
    assert grown == Corpus.of(["one cat", "two cats", "我养了猫"])
    assert grown.rarity("dog") > grown.rarity("cat") >= 1


def test_nothing_is_asked_of_nothing() -> None:
    assert keyphrases("I adopted a cat", limit=0) == keyphrases("", limit=3) == entities("") == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Kim and I saw “Wild Tides” in New Harbor on Friday", ("Kim", "Wild Tides", "New Harbor")),
        ("Last week I met Bo's sister at the Museum of Modern Art", ("Bo", "Museum of Modern Art")),
        ("I flew KL1234 with @ana_k and Dr. Lind", ("KL1234", "@ana_k", "Dr. Lind")),
        ("Thanks Amy! Yesterday was great. Painting is fun.", ("Amy",)),
        ("Miso sleeps. I love Miso", ("Miso",)),
        ("I LOVE IT SO MUCH", ()),
        ("小明昨天去看了《流浪星球》", ("小明", "流浪星球")),
        ("我养了一只猫叫团子", ("团子",)),
        ("他名叫李雷，我叫小雨", ("李雷", "小雨")),
        ("see you in may on the 1st at 10am", ()),
    ],
)
def test_names_are_found_by_their_form(text: str, names: tuple[str, ...]) -> None:
    assert entities(text) == names


TEXTS = st.one_of(
    st.text(max_size=100),
    st.lists(
        st.sampled_from([*"I Amy cat 团子 叫 《 》 “ ” @a B-17 New . , 小明 😀 a1".split(), "Museum of"]), max_size=20
    ).map(" ".join),
)


@given(TEXTS, st.integers(0, 6))
def test_any_text_gives_pieces_of_itself_and_no_more_than_asked(text: str, limit: int) -> None:
    phrases, names = keyphrases(text, limit=limit), entities(text)
    assert len(phrases) <= limit
    assert phrases == keyphrases(text, limit=99)[:limit]
    assert all(piece in text for piece in (*phrases, *names))
    assert len({phrase.lower() for phrase in phrases}) == len(phrases)
    assert len({name.casefold() for name in names}) == len(names)


def test_a_name_ends_where_chinese_begins() -> None:
    assert entities("昨天Amy养了一只猫叫团子") == ("Amy", "团子")
    assert entities("Amy住在Bergen附近") == ("Amy", "Bergen")
