"""Judged answers: five rules, told by the gold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Question
from mnemoscope.evaluators.metrics.answer_judged import RULES, rule_of
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.scenarios.records import Gold
from tests.evaluators.metrics.scripted import Script, always, only, says

Make = Callable[..., EvaluationCase]


def asked(case: EvaluationCase) -> list[Question]:
    name = "abstention" if case.gold.unanswerable else "answer"
    return list(METRICS.create(name).questions(case))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("gold", "rule", "task", "expected"),
    [
        (Gold(answers=("7 days",)), "answer", "answer", "7 days"),
        (Gold(answers=("7 days",), judge_inputs={"rubric": "answer"}), "answer", "answer", "7 days"),
        (Gold(answers=("7 days",), judge_inputs={"rubric": "temporal"}), "temporal", "answer", "7 days"),
        (Gold(answers=("tea",), judge_inputs={"rubric": "knowledge-update"}), "knowledge-update", "answer", "tea"),
        (Gold(rubric="Suggests Osaka.", judge_inputs={"rubric": "preference"}), "preference", "answer", ""),
        (Gold(unanswerable=True, expected="No cat was named."), "abstention", "refusal", "No cat was named."),
        (Gold(unanswerable=True, answers=("No",), trap="Yes"), "abstention", "refusal", ""),
    ],
)
def test_rules_by_gold(make_case: Make, gold: Gold, rule: str, task: str, expected: str) -> None:
    (question,) = asked(make_case(reply="r", gold=gold, text="What?"))
    assert rule_of(gold) == rule
    assert (question.task, question.expected, question.utterance) == (task, expected, "What?")
    assert question.rubric.startswith(RULES[rule])
    assert "Yes" not in question.rubric + question.expected, "the trap is not shown"
    assert (gold.rubric or "") in question.rubric


def test_the_best_accepted_answer_counts(make_case: Make) -> None:
    case = make_case(reply="forty", gold=Gold(answers=("40", "forty")))
    script: Script = {"answer": lambda q: [says("answer", "l", float(q.expected == "forty"))]}
    assert only("answer", case, script).score == 1.0
    assert len(asked(case)) == 2


def test_exclusion_and_failure(make_case: Make) -> None:
    verdict = only("answer", make_case(reply="r"))
    assert (verdict.status, verdict.label) == ("not_applicable", "no gold answer")
    failed = only("answer", make_case(gold=Gold(answers=("x",))), always("answer", "no majority", None))
    assert (failed.status, failed.score) == ("invalid", None)
    metric = METRICS.create("answer")
    assert not metric.applies(Gold(answers=("x",)), make_case(style="dialog").probe)
    assert not metric.applies(Gold(unanswerable=True), make_case().probe)
    assert METRICS.create("abstention").applies(Gold(unanswerable=True), make_case().probe)


def test_always_refusing_pays_on_unanswerable_questions_only(make_case: Make) -> None:
    script = always("answer", "wrong", 0.0) | always("refusal", "refuses", 1.0)
    assert only("answer", make_case(reply="I don't know.", gold=Gold(answers=("x",))), script).score == 0.0
    assert only("abstention", make_case(reply="I don't know.", gold=Gold(unanswerable=True)), script).score == 1.0
