"""Fact use: graded, on two axes, and what becomes of answers that are not there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Answer
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.metrics.scripted import Script, Scripted, always, by_text, only, says

Make = Callable[..., EvaluationCase]
CAT = GoldFact(fact_id="p/answer", text="a grey cat named Pixel")


@pytest.mark.parametrize(("label", "score"), [("full", 1.0), ("partial", 0.5), ("none", 0.0)])
def test_levels_are_kept_with_label_and_key(make_case: Make, label: str, score: float) -> None:
    case = make_case(reply="A grey cat.", gold=Gold(answers=("a grey cat",)), style="dialog")
    verdict = only("fact-use", case, always("fact-use", label, score, quote="grey cat"))
    assert (verdict.label, verdict.score, verdict.judge_key, verdict.quote) == (
        label,
        score,
        "fact-use-key",
        "grey cat",
    )


def test_the_judge_sees_reply_utterance_speaker_and_answer(make_case: Make) -> None:
    case = make_case(reply="Pixel!", gold=Gold(answers=("Pixel",)), style="implicit", text="My cat is hungry.")
    (question,) = METRICS.create("fact-use").questions(case)  # type: ignore[attr-defined]
    assert (question.reply, question.utterance, question.speaker, question.expected) == (
        "Pixel!",
        "My cat is hungry.",
        "Mira",
        "Pixel",
    )
    assert not question.context


def test_the_best_accepted_answer_counts_and_a_gap_matters_only_below_it(make_case: Make) -> None:
    case = make_case(reply="forty", gold=Gold(answers=("40", "forty")), style="dialog")

    def script(first: float | None, second: float | None) -> Script:
        scores = {"40": first, "forty": second}
        return {"fact-use": lambda q: [says("fact-use", str(scores[q.expected]), scores[q.expected])]}

    assert only("fact-use", case, script(0.0, 1.0)).score == 1.0
    assert only("fact-use", case, script(None, 1.0)).score == 1.0
    assert only("fact-use", case, script(0.5, 0.0)).score == 0.5
    half = only("fact-use", case, script(None, 0.5))
    assert (half.score, half.status, half.judge_key) == (None, "invalid", "fact-use-key")


def test_applies_to_answerable_dialog_and_implicit_probes(make_case: Make) -> None:
    metric = METRICS.create("fact-use")
    gold = Gold(answers=("x",))
    styles = [
        s
        for s in ("question", "dialog", "implicit", "composed", "plan")
        if metric.applies(gold, make_case(style=s).probe)
    ]
    assert styles == ["dialog", "implicit"]
    assert not metric.applies(Gold(answers=("x",), unanswerable=True), make_case(style="dialog").probe)
    assert not metric.applies(Gold(facts=(CAT,)), make_case(style="dialog").probe)
    verdict = only("fact-use", make_case(style="dialog"))
    assert (verdict.status, verdict.label, verdict.score) == ("not_applicable", "no gold answer", None)


@pytest.mark.parametrize(
    ("used", "tied", "label", "score"),
    [(1, 1, "both", 1.0), (1, 0, "fact only", 0.0), (0, 1, "situation only", 0.0), (0, 0, "neither", 0.0)],
)
def test_two_axes(make_case: Make, used: int, tied: int, label: str, score: float) -> None:
    case = make_case(reply="r", gold=Gold(facts=(CAT,)), style="implicit")
    script = always("use", "used" if used else "not used", used) | always("tied", "tied" if tied else "untied", tied)
    verdict = only("tied-use", case, script)
    assert (verdict.label, verdict.score, verdict.judge_key) == (label, score, "tied-key + use-key")


def test_one_of_several_facts_is_enough(make_case: Make) -> None:
    facts = (CAT, GoldFact(fact_id="b", text="the kiln"))
    case = make_case(reply="r", gold=Gold(facts=facts), style="implicit")
    script: Script = {
        "use": lambda q: [says("use", "", float("kiln" in q.facts[0].text))],
        "tied": lambda q: [says("tied", "tied", 1.0)],
    }
    assert only("tied-use", case, script).label == "both"


def test_a_gap_on_either_axis_leaves_no_score_under_the_same_key(make_case: Make) -> None:
    case = make_case(reply="r", gold=Gold(facts=(CAT,)), style="implicit")
    for script in (
        always("use", "unparseable", None) | always("tied", "tied", 1.0),
        always("use", "used", 1.0) | always("tied", "judge-error:timeout", None, status="error"),
    ):
        verdict = only("tied-use", case, script)
        assert (verdict.score, verdict.judge_key) == (None, "tied-key + use-key")
        assert verdict.status in ("invalid", "error")


def test_nothing_is_asked_without_a_fact(make_case: Make) -> None:
    judge = Scripted({})
    case = make_case(style="implicit")
    assert only("tied-use", case).label == "no gold fact"
    assert METRICS.create("tied-use").questions(case) == [] and judge.asked == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("policy", "fact_use", "use", "tied", "expected"),
    [
        ("empty or refusal", 0.0, 0.0, 0.0, (0.0, 0.0)),
        ("dump the memory", 1.0, 1.0, 0.0, (1.0, 0.0)),
        ("friendly without memory", 0.0, 0.0, 1.0, (0.0, 0.0)),
        ("oracle", 1.0, 1.0, 1.0, (1.0, 1.0)),
    ],
)
def test_trivial_policies(
    make_case: Make, policy: str, fact_use: float, use: float, tied: float, expected: tuple[float, float]
) -> None:
    case = make_case(reply=policy, gold=Gold(answers=(CAT.text,), facts=(CAT,)), style="implicit")
    script = always("fact-use", "l", fact_use) | always("use", "l", use) | always("tied", "l", tied)
    assert (only("fact-use", case, script).score, only("tied-use", case, script).score) == expected


def test_a_judge_that_left_the_answer_out_is_invalid(make_case: Make) -> None:
    case = make_case(reply="r", gold=Gold(answers=("x",)), style="dialog")
    verdict = only("fact-use", case, {"fact-use": lambda q: [Answer("full", 1.0, "elsewhere", judge_key="k")]})
    assert (verdict.status, verdict.label) == ("invalid", "missing")
    assert only("fact-use", case, {"fact-use": lambda q: []}).label == "missing"
    assert only("fact-use", case, by_text("fact-use", {})).status == "invalid"
