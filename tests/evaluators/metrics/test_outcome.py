"""Outcome: five kinds of reply, of which one scores."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.metrics.scripted import always, only

Make = Callable[..., EvaluationCase]
FACT = GoldFact(fact_id="q0", text="The exam is on Friday.")


@pytest.mark.parametrize(
    ("label", "score"), [("full", 1.0), ("gist", 0.0), ("generic", 0.0), ("hallucinated", 0.0), ("admits", 0.0)]
)
def test_the_label_is_the_kind(make_case: Make, label: str, score: float) -> None:
    case = make_case(reply="r", gold=Gold(facts=(FACT,)), style="implicit")
    verdict = only("outcome", case, always("outcome", label, score))
    assert (verdict.label, verdict.score) == (label, score)


def test_the_cue_of_the_newer_version_is_judged(make_case: Make) -> None:
    inputs = {"cue@1.1": "the whole turn", "cue@1.2": "the span"}
    gold = Gold(facts=(FACT,), judge_inputs=inputs, expected="recalls the exam")
    (question,) = METRICS.create("outcome").questions(make_case(reply="r", gold=gold, style="dialog"))  # type: ignore[attr-defined]
    assert (question.utterance, question.expected, question.facts[0].text) == ("the span", gold.expected, FACT.text)
    old = gold.model_copy(update={"judge_inputs": {"cue@1.1": "the whole turn"}})
    (question,) = METRICS.create("outcome").questions(make_case(gold=old, style="dialog"))  # type: ignore[attr-defined]
    assert question.utterance == "the whole turn"


def test_applies_to_cues_and_implicit_probes(make_case: Make) -> None:
    metric = METRICS.create("outcome")
    assert metric.applies(Gold(judge_inputs={"cue@1.1": "x"}), make_case(style="dialog").probe)
    assert not metric.applies(Gold(), make_case(style="dialog").probe)
    assert not metric.applies(Gold(judge_inputs={"cue": "x"}), make_case(style="dialog").probe), "a negative instance"
    assert not metric.applies(Gold(unanswerable=True), make_case(style="implicit").probe)
    assert only("outcome", make_case(style="implicit")).label == "no gold fact"
