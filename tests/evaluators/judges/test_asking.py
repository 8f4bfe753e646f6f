"""What comes back from any judge is checked before it can become a figure."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import BudgetStop
from mnemoscope.evaluators.judges.asking import RAW_LIMIT, ask, cut_raw
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.panel import Panel, member_labels
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.scales import LABELS
from mnemoscope.evaluators.verdict import VerdictStatus

QUESTION = use_question("The key is under the pot.", "The spare key is under the blue pot.")


class Own:
    """A user's judge that returns, or raises, what it is told."""

    name = "own"

    def __init__(self, given: object) -> None:
        self._given = given

    def key(self, task: Task) -> str:
        return f"own-1({task})"

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        if isinstance(self._given, Exception):
            raise self._given
        return cast("tuple[Answer, ...]", self._given)


def asked(given: object, question: Question = QUESTION) -> tuple[Answer, ...]:
    return asyncio.run(ask(Own(given), question))


def test_an_answer_without_a_key_gets_the_judges() -> None:
    assert asked((Answer("used", 1.0),)) == (Answer("used", 1.0, judge_key="own-1(use)"),)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((Answer("used", 2.0),), "label 'used' has the score 2.0; it is 1"),
        ((Answer("used", math.nan),), "label 'used' has the score nan; it is 1"),
        ((Answer("used", None),), "label 'used' has the score None; it is 1"),
        ((Answer("used", cast("float", "1.0")),), "label 'used' has the score '1.0'; it is 1"),
        ((Answer("yes", 1.0),), "label is 'yes'; use one of used, not used"),
        ((Answer("used", 1.0, status=cast("VerdictStatus", "ok")),), "status is 'ok'; use one of scored, "),
        ((Answer("timeout", 0.0, status="error"),), "status error has the score 0.0; give None"),
        ((Answer("used", 1.0, judge_key="other"),), "judge_key is 'other'; give key('use'), 'own-1(use)'"),
        ((Answer("used", 1.0, quote="\ud800"),), "is not text that can be stored"),
        ((Answer(cast("str", 1), 1.0),), "1 is not text that can be stored"),
        ((Answer("used", 1.0, flags=cast("tuple[str, ...]", None)),), "flags are None and usage is Usage("),
        ((Answer("used", 1.0, agreement=math.nan),), "agreement is nan; give a share, 0 to 1, or None"),
        ((Answer("used", 1.0), "used"), "judge() gave 'used' among its answers"),
        (Answer("used", 1.0), "judge() gave Answer(label='used'"),
        (True, "judge() gave True; return a tuple of Answer"),
        (None, "judge() gave None; return a tuple of Answer"),
        ("used", "judge() gave 'used'; return a tuple of Answer"),
        ((), "no answers"),
    ],
)
def test_an_answer_outside_the_contract_is_an_error_that_says_why(given: object, said: str) -> None:
    (answer,) = asked(given)
    assert (answer.label, answer.status, answer.score) == ("judge-error:bad-answer", "error", None)
    assert answer.judge_key == "own-1(use)"
    assert answer.raw.startswith("own, task use: ")
    assert said in answer.raw


def test_a_judge_that_raises_has_failed_and_its_message_can_be_stored() -> None:
    (answer,) = asked(ValueError("half a pair: \ud83d"))
    assert (answer.label, answer.status) == ("judge-error:ValueError", "error")
    assert answer.raw.encode() == rb"ValueError: half a pair: \ud83d"


def test_a_limit_that_is_reached_is_no_answer() -> None:
    with pytest.raises(BudgetStop):
        asked(BudgetStop("spent"))


@given(st.sampled_from([(task, label) for task, labels in LABELS.items() for label in labels]))
def test_every_label_with_its_score_is_an_answer(of: tuple[Task, str]) -> None:
    task, label = of
    (answer,) = asked((Answer(label, LABELS[task][label]),), Question(task, "A reply."))
    assert (answer.status, answer.label) == ("scored", label)


@given(st.text(max_size=8), st.floats(), st.text(max_size=8))
def test_what_is_scored_is_on_the_scale_of_its_task(label: str, score: float, key: str) -> None:
    (answer,) = asked((Answer(label, score, judge_key=key),))
    assert answer.status == "error" or answer.score == LABELS["use"][answer.label]
    assert answer.judge_key == "own-1(use)"


def test_a_rambling_judge_does_not_fill_the_run_file() -> None:
    said = "no, " * 750_000
    (answer,) = asked((Answer("used", 1.0, raw=said),))
    assert len(answer.raw) == RAW_LIMIT
    assert answer.raw.startswith("no, no, ")
    assert answer.raw.endswith(f"… [cut: 3,000,000 characters, sha256 {hashlib.sha256(said.encode()).hexdigest()}]")


@given(st.text(max_size=300), st.integers(min_value=120, max_value=200))
def test_a_cut_text_is_as_long_as_the_limit_and_not_cut_again(text: str, limit: int) -> None:
    once = cut_raw(text, limit)
    assert len(once) <= limit and cut_raw(once, limit) == once
    assert once == text or (len(text) > limit and f"{len(text)} characters" in once)


def test_what_the_members_of_a_panel_say_is_cut_for_each() -> None:
    long = Own((Answer("used", 1.0, raw="x" * 100_000),))
    other = Own((Answer("used", 1.0, raw="y"),))
    other.name = "other"
    (answer,) = asyncio.run(ask(Panel([long, other]), QUESTION))
    rows = json.loads(answer.raw)
    assert [len(row["raw"]) for row in rows] == [RAW_LIMIT, 1]
    assert set(member_labels(answer.raw).values()) == {"used"}
