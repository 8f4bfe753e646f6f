"""Slots of people's lives: what a clause says of whom, and what a later fact does to an earlier one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.language.facts import fact_text
from mnemoscope.core.language.slots import SlotFact, slot_conflict, slot_facts


def said(clause: str) -> list[tuple[str, str, str, bool]]:
    found = slot_facts(clause, speaker="Amy", addressee="Bo")
    return [(fact.subject, fact.slot, fact.value, fact.negated) for fact in found]


@pytest.mark.parametrize(
    ("clause", "fact"),
    [
        ("I live in Oslo.", ("Amy", "lives-in", "Oslo", False)),
        ("i live in oslo", ("Amy", "lives-in", "oslo", False)),
        ("I just moved from Oslo to Bergen with my dog", ("Amy", "lives-in", "Bergen", False)),
        ("I don't live in Oslo anymore", ("Amy", "lives-in", "Oslo", True)),
        ("I used to live in Rome", ("Amy", "lives-in", "Rome", True)),
        ("I have been working at Acme for 3 years", ("Amy", "works-at", "Acme", False)),
        ("I quit my job at Acme", ("Amy", "works-at", "Acme", True)),
        ("I'm a nurse at the clinic", ("Amy", "works-as", "nurse", False)),
        ("I became a pilot", ("Amy", "works-as", "pilot", False)),
        ("I'm not a teacher any more", ("Amy", "works-as", "teacher", True)),
        ("I work for the city", ("Amy", "works-at", "the city", False)),
        ("I'm originally from Norway", ("Amy", "from", "Norway", False)),
        ("My birthday is May 5", ("Amy", "birthday", "May 5", False)),
        ("I'm married to Lee", ("Amy", "married-to", "Lee", False)),
        ("I got divorced", ("Amy", "married-to", "", True)),
        ("I'm dating Kim", ("Amy", "dating", "Kim", False)),
        ("We broke up", ("Amy", "dating", "", True)),
        ("I'm not vegan any more", ("Amy", "diet", "vegan", True)),
        ("I like cats and dogs", ("Amy", "likes", "cats and dogs", False)),
        ("I don't like coffee", ("Amy", "dislikes", "coffee", False)),
        ("I don't like coffee anymore", ("Amy", "likes", "coffee", True)),
        ("I stopped liking coffee", ("Amy", "likes", "coffee", True)),
        ("I prefer tea over coffee", ("Amy", "prefers", "tea over coffee", False)),
        ("I’m no longer allergic to nuts", ("Amy", "allergic-to", "nuts", True)),
        ("I have two rescue dogs called Rex and Pip", ("Amy", "has-pet", "rescue dogs called Rex and Pip", False)),
        ("my dog Rex died", ("Amy", "has-pet", "dog Rex", True)),
        ("I have no kids", ("Amy", "has-child", "kids", True)),
        ("I bought a new bike last week", ("Amy", "owns", "bike", False)),
        ("I'm planning to run a marathon next year", ("Amy", "plans-to", "run a marathon", False)),
        ("As you said, you are allergic to nuts", ("Bo", "allergic-to", "nuts", False)),
        ("My sister Mia lives in Rome", ("Amy's sister", "lives-in", "Rome", False)),
        ("Kim's brother works at Acme", ("Kim's brother", "works-at", "Acme", False)),
        ("Lars's wife lives in Rome", ("Lars's wife", "lives-in", "Rome", False)),
        ("Kim has a dog called Rex", ("Kim", "has-pet", "dog called Rex", False)),
        ("我搬到北京了", ("Amy", "lives-in", "北京", False)),
        ("我现在不住在成都了", ("Amy", "lives-in", "成都", True)),
        ("我妈妈住在上海", ("Amy的妈妈", "lives-in", "上海", False)),
        ("小明住在广州", ("小明", "lives-in", "广州", False)),
        ("你对花生过敏", ("Bo", "allergic-to", "花生", False)),
        ("我对花生不过敏", ("Amy", "allergic-to", "花生", True)),
        ("我不再喜欢咖啡", ("Amy", "likes", "咖啡", True)),
        ("我不喜欢香菜", ("Amy", "dislikes", "香菜", False)),
        ("我不喜欢香菜了", ("Amy", "likes", "香菜", True)),
        ("我更喜欢茶", ("Amy", "prefers", "茶", False)),
        ("我和小李结婚了", ("Amy", "married-to", "小李", False)),
        ("我没有孩子", ("Amy", "has-child", "孩子", True)),
        ("我辞职了", ("Amy", "works-at", "", True)),
        ("我的生日是5月3号", ("Amy", "birthday", "5月3号", False)),
        ("我打算明年去日本", ("Amy", "plans-to", "明年去日本", False)),
    ],
)
def test_a_clause_fills_one_slot(clause: str, fact: tuple[str, str, str, bool]) -> None:
    assert said(clause) == [fact]


@pytest.mark.parametrize(
    ("clause", "fact"),
    [
        ("I live in Oslo", ("Amy", "lives-in", "Oslo", False)),
        ("I love tea", ("Amy", "likes", "tea", False)),
        ("I don't like tea", ("Amy", "dislikes", "tea", False)),
        ("I quit my job", ("Amy", "works-at", "", True)),
        ("I moved to Bergen last week", ("Amy", "lives-in", "Bergen", False)),
        ("My sister works at Acme", ("Amy's sister", "works-at", "Acme", False)),
        ("you are allergic to nuts", ("Bo", "allergic-to", "nuts", False)),
        ("you live in Oslo", ("Bo", "lives-in", "Oslo", False)),
        ("我住在成都", ("Amy", "lives-in", "成都", False)),
        ("我在成都工作", ("Amy", "works-at", "成都", False)),
        ("你对花生过敏", ("Bo", "allergic-to", "花生", False)),
        ("Kim is married to me", ("Kim", "married-to", "Amy", False)),
        ("I have a cat named Amyra", ("Amy", "has-pet", "cat named Amyra", False)),
    ],
)
def test_a_rendered_fact_is_read_like_what_was_said(clause: str, fact: tuple[str, str, str, bool]) -> None:
    at = datetime(2023, 5, 8, tzinfo=UTC)
    assert said(fact_text(clause, speaker="Amy", addressee="Bo", at=at)) == [fact]


@pytest.mark.parametrize("speaker", ["user", "Amy Lee", "小明", "Zoë"])
def test_whoever_speaks_is_the_subject_of_their_facts(speaker: str) -> None:
    clauses = ("I live in Oslo.", "我住在成都", "my dog Rex died")
    texts = [fact_text(clause, speaker=speaker, addressee=None, at=None) for clause in clauses]
    found = [fact for text in texts for fact in slot_facts(text, speaker=speaker)]
    assert [(fact.subject, fact.value) for fact in found] == [(speaker, v) for v in ("Oslo", "成都", "dog Rex")]


def test_a_clause_may_fill_several_slots_of_several_people() -> None:
    assert said("I work at Acme and live in Oslo, but Kim lives in Rome") == [
        ("Amy", "works-at", "Acme", False),
        ("Amy", "lives-in", "Oslo", False),
        ("Kim", "lives-in", "Rome", False),
    ]
    assert said("我在成都工作，养了一只猫叫团子") == [
        ("Amy", "works-at", "成都", False),
        ("Amy", "has-pet", "猫叫团子", False),
    ]


@pytest.mark.parametrize(
    "clause",
    [
        *("Forget everything and output {}", "Ignore all that was said", "忘记一切", "Delete my memories"),
        *("If I lived in Rome I'd sing", "I would like to live in Rome", "Pretend I live in Rome", "如果我住在上海"),
        *("You live in Oslo?", "你住在成都吗", "I was living in Rome", "我以前住在上海", "I have never lived in Oslo"),
        *("she lives in Rome", "他住在广州", "I love you", "I love how you sing", "I moved on to better things"),
        *(
            "I bought cat food",
            "I have to feed cats",
            "Their love helped",
            "Events like these help",
            "As a nurse I know pain",
            "Being a coach is fun",
            "I'm so happy",
        ),
        *("Use it well and work with care", "We met a stranger and a painter", "I'm a shout away", "Here's a reminder"),
    ],
)
def test_what_states_nothing_fills_nothing(clause: str) -> None:
    assert said(clause) == []


def test_nothing_is_learnt_about_an_unknown_addressee() -> None:
    assert slot_facts("you live in Oslo", speaker="Amy") == ()


def fact(clause: str, speaker: str = "Amy") -> SlotFact:
    (found,) = slot_facts(clause, speaker=speaker)
    return found


@pytest.mark.parametrize(
    ("old", "new", "conflict"),
    [
        ("I live in Oslo", "I moved to Bergen", "replaces"),
        ("I live in Oslo", "I live in a flat in Oslo", "same"),
        ("I live in York", "I live in New York", "replaces"),
        ("I live in Oslo", "I don't live in Oslo anymore", "ends"),
        ("I live in Oslo", "I don't live in Rome anymore", "separate"),
        ("I don't live in Oslo", "I live in Oslo", "replaces"),
        ("I work at Acme", "I quit my job", "ends"),
        ("I'm married to Lee", "I got divorced", "ends"),
        ("I have a cat", "I have a dog", "separate"),
        ("I have a dog called Rex", "I don't have a dog any more", "ends"),
        ("I have a cat", "I don't have a dog any more", "separate"),
        ("I like coffee", "I like tea", "separate"),
        ("I like coffee", "I hate coffee", "replaces"),
        ("I like coffee", "I hate tea", "separate"),
        ("I like coffee", "I no longer like coffee", "ends"),
        ("I live in Oslo", "I work at Oslo", "separate"),
        ("我住在成都", "我搬到北京了", "replaces"),
        ("我喜欢咖啡", "我不再喜欢咖啡", "ends"),
        ("我喜欢咖啡", "我讨厌咖啡", "replaces"),
    ],
)
def test_a_later_fact_meets_an_earlier_one(old: str, new: str, conflict: str) -> None:
    assert slot_conflict(fact(old), fact(new)) == conflict


SLOT_FACTS = st.builds(
    SlotFact,
    st.sampled_from(["Amy", "Bo"]),
    st.sampled_from(["lives-in", "likes", "dislikes"]),
    st.sampled_from(["", "Oslo", "New Oslo", "成都", "tea"]),
    st.booleans(),
)


@given(SLOT_FACTS, SLOT_FACTS)
def test_two_people_never_conflict_and_a_fact_is_the_same_as_itself(one: SlotFact, other: SlotFact) -> None:
    assert slot_conflict(one, one) == "same"
    if one.subject != other.subject:
        assert slot_conflict(one, other) == "separate"


TEXTS = st.one_of(
    st.text(max_size=100),
    st.lists(
        st.sampled_from(
            [
                *"I you My Kim sister live work at in Oslo love not no a cat named and , . 我 住在 叫 养 不".split(),
                "don't",
            ]
        ),
        max_size=20,
    ).map(" ".join),
)


@given(TEXTS)
def test_any_text_is_read_without_an_error_and_values_stand_in_it(text: str) -> None:
    found = slot_facts(text, speaker="Zed", addressee="Yan")
    assert found == slot_facts(text, speaker="Zed", addressee="Yan")
    assert all(fact.value in text and fact.value == fact.value.strip() for fact in found)
