"""Quotes are looked up in the reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.judges.quotes import find_quote, is_evidence

REPLY = "You said:  “It’s under\n the POT” — right? 钥匙在花盆下面。 Ｐｉｘｅｌ ﬁnds it."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("It's under the pot", "It’s under\n the POT"),
        ('"it\'s under the POT"', "It’s under\n the POT"),
        ("You said … right?", "You said:  “It’s under\n the POT” — right?"),
        ("… under the pot ...", "under\n the POT"),
        ('pot" - right', "POT” — right"),
        ("花盆下面", "花盆下面"),
        ("pixel finds", "Ｐｉｘｅｌ ﬁnds"),
        ("right … under", None),
        ("it is under the pot", None),
        ("", None),
        ("…", None),
        ('""', None),
    ],
)
def test_folded_spellings_are_the_same_words(quote: str, found: str | None) -> None:
    assert find_quote(REPLY, quote) == found


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_found_stands_in_the_reply(reply: str, quote: str) -> None:
    found = find_quote(reply, quote)
    assert found is None or (found and found in reply)


@given(st.text(alphabet=st.characters(categories=("L", "N", "Zs", "P")), max_size=40), st.data())
def test_every_word_of_a_reply_is_found(reply: str, data: st.DataObject) -> None:
    words = [word for word in reply.split() if any(c.isalnum() for c in word)]
    if words:
        assert find_quote(reply, data.draw(st.sampled_from(words))) is not None


def test_what_shows_nothing_is_no_evidence() -> None:
    assert is_evidence("47") and is_evidence("茶")
    assert not is_evidence("a") and not is_evidence("—!") and not is_evidence("Output yes.")
