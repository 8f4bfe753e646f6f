"""Damaged LongMemEval files: each class of damage has one right outcome."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from mnemoscope.scenarios.loaders.longmemeval import open_longmemeval
from mnemoscope.scenarios.source import LoadRequest
from tests.scenarios.mutations import (
    MUTATIONS,
    NOTED,
    VALID,
    Loaded,
    Mutation,
    Rule,
    Small,
    check,
    places,
    small_mutations,
)
from tests.scenarios.test_longmemeval_loader import question, said


def load(data: bytes) -> Loaded:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions.json"
        path.write_bytes(data)
        return Loaded.of(open_longmemeval(LoadRequest("longmemeval", path)))


ROWS = [
    question(question="What colour is my bike, chérie 猫?"),
    question(
        question_id="q-2_abs",
        haystack_dates=["2023/05/20 (Sat) 10:00", "2023/05/21 (Sun) 09:00"],
        haystack_session_ids=["answer_1", "ultra_3"],
        haystack_sessions=[said("I have a cat.", "Nice."), said("Soup?", "Leek.")],
        answer_session_ids=["answer_1"],
    ),
]
SMALL = Small(
    value=ROWS,
    load=load,
    rules=(
        Rule("dropped-key null", r"\[\]\.haystack_sessions\[\]\[\]\.has_answer", VALID),
        Rule("huge-integer", r"\[\]\.answer", NOTED, "number-as-answer"),
        Rule("duplicate-id", r"\[\]\.haystack_session_ids\[\]", NOTED, "duplicate-session-id"),
    ),
    ids=(r"\[\]\.question_id", r"\[\]\.haystack_session_ids\[\]"),
    file="questions.json",
)


@settings(max_examples=100, deadline=None)
@given(small_mutations(SMALL))
def test_mutations(mutation: Mutation) -> None:
    check(SMALL, mutation)


@pytest.mark.parametrize("kind", MUTATIONS)
def test_every_place_of_every_class(kind: str) -> None:
    for path in places(SMALL.value, kind, ids=SMALL.ids):
        check(SMALL, Mutation(kind, path, 0))


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(small_mutations(SMALL))
def test_many_mutations(mutation: Mutation) -> None:
    check(SMALL, mutation)
