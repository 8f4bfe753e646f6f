"""The mutation harness itself: every class of damage does what its name says, and `check` can fail."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from mnemoscope.core.errors import DataError
from tests.scenarios.mutations import (
    MUTATIONS,
    NOTED,
    SAME,
    VALID,
    Loaded,
    Mutation,
    Rule,
    Small,
    check,
    dump,
    mutate,
    mutate_text,
    place_of,
    places,
)

VALUE = [{"id": "a", "n": 1, "text": "café 猫"}, {"id": "b", "n": 2, "text": "x"}]
IDS = (r"\[\]\.id",)


def damaged(kind: str, path: tuple[str | int, ...] = (), seed: int = 0) -> bytes:
    return mutate(VALUE, kind, path, random.Random(seed))


def test_places_have_no_indexes() -> None:
    assert place_of((0, "qa", 3, "answer")) == "[].qa[].answer"
    assert place_of(("a", 1)) == "a[]"
    assert place_of(()) == ""


def test_every_class_has_its_places() -> None:
    assert places(VALUE, "truncated") == [()]
    assert places(VALUE, "duplicate-id", ids=IDS) == [(0, "id"), (1, "id")]
    assert places(VALUE, "duplicate-id") == []
    assert (0,) in places(VALUE, "other-type")
    assert (0,) not in places(VALUE, "huge-integer")
    assert len(places(VALUE, "dropped-key")) == 6


def test_every_damage_does_what_its_name_says() -> None:
    def value(kind: str, path: tuple[str | int, ...]) -> object:
        return json.loads(damaged(kind, path))

    assert "n" not in json.loads(damaged("dropped-key", (0, "n")))[0]
    assert json.loads(damaged("null", (0, "n")))[0]["n"] is None
    assert json.loads(damaged("duplicate-id", (1, "id")))[1]["id"] == "a"
    assert json.loads(damaged("huge-integer", (0, "text")))[0]["text"] == 10**30
    assert json.loads(damaged("nested-list", (0, "text")))[0]["text"] == [["café 猫"]]
    assert b'"n": NaN' in damaged("not-a-number", (0, "n"))
    assert damaged("repeated-key", (0, "n")).count(b'"n": 1') == 2
    assert damaged("byte-order-mark").startswith(b"\xef\xbb\xbf[")
    assert b"\r\n" in damaged("crlf")
    for seed in range(40):
        assert type(json.loads(damaged("other-type", (0, "n"), seed))[0]["n"]) in (str, bool, dict)
        with pytest.raises(ValueError, match=r".*"):
            json.loads(damaged("truncated", seed=seed))
        raw = damaged("wrong-encoding", seed=seed)
        assert raw != dump(VALUE).encode()
    assert VALUE[0] == {"id": "a", "n": 1, "text": "café 猫"}


def test_lines_are_cut_inside_a_line() -> None:
    text = dump(VALUE, lines=True)
    assert text.count("\n") == 2
    for seed in range(60):
        cut = mutate_text(text, "truncated", random.Random(seed))
        with pytest.raises(ValueError, match=r".*"):
            [json.loads(line) for line in cut.splitlines()]


def test_the_encoding_needs_something_to_break() -> None:
    with pytest.raises(AssertionError, match="outside ASCII"):
        mutate([{"id": "a"}], "wrong-encoding", (), random.Random(0))


def refusing(data: bytes) -> Loaded:
    if data != dump(VALUE).encode():
        raise DataError("no", file="file.json", record="r")
    return Loaded((), Counter())


def accepting(data: bytes) -> Loaded:
    return Loaded((), Counter())


@pytest.mark.parametrize("kind", [kind for kind in MUTATIONS if kind not in ("byte-order-mark", "crlf")])
def test_what_the_table_does_not_say_must_be_refused(kind: str) -> None:
    path = places(VALUE, kind, ids=IDS)[0]
    check(Small(VALUE, refusing, (), file="file.json"), Mutation(kind, path, 0))
    with pytest.raises(pytest.fail.Exception, match="it loaded"):
        check(Small(VALUE, accepting, ()), Mutation(kind, path, 0))
    with pytest.raises(AssertionError, match="blamed"):
        check(Small(VALUE, refusing, (), file="other.json"), Mutation(kind, path, 0))


def test_a_rule_asserts_its_outcome_and_no_other() -> None:
    mutation = Mutation("dropped-key", (0, "n"), 0)
    for outcome in (SAME, VALID):
        check(Small(VALUE, accepting, (Rule("dropped-key", r".*\.n", outcome),)), mutation)
    with pytest.raises(AssertionError, match="new notices"):
        check(Small(VALUE, accepting, (Rule("*", ".*", NOTED),)), mutation)
    with pytest.raises(AssertionError, match="refused with"):
        check(Small(VALUE, refusing, (Rule("*", ".*", VALID),)), mutation)
    missing = Small(VALUE, accepting, (Rule("*", ".*", NOTED, "gone"),))
    with pytest.raises(AssertionError, match="new notices"):
        check(missing, mutation)
