"""Negatives: one denominator for all four rates, and a grounding that cannot be read is never a fabrication."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Question
from mnemoscope.evaluators.metrics.registry import METRICS, lower_is_better
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.opening import open_source
from tests.evaluators.judging import verdicts_of
from tests.evaluators.metrics.memuse_cases import natural, negative
from tests.evaluators.metrics.scripted import Script, Scripted, always, only, says

GROUNDED = ("fabricated-recall", "partially-grounded-recall", "grounded-recall")
NAMES = ("unprompted-recall", *GROUNDED)
LEVELS = {0.0: "ungrounded", 1.0: "partial", 2.0: "grounded"}


def said(recalls: bool | None, level: float | None) -> Script:
    recall = always("unprompted", "recalls" if recalls else "quiet", None if recalls is None else float(recalls))
    grounding = always("grounding", LEVELS.get(level, "unparseable") if level is not None else "unparseable", level)
    return {**recall, **grounding}


def scores(script: Script) -> dict[str, float | None]:
    return {name: only(name, negative("r"), script).score for name in NAMES}


@pytest.mark.parametrize(("level", "hit"), [(0.0, 0), (1.0, 1), (2.0, 2)])
def test_a_recall_is_one_of_three(level: float, hit: int) -> None:
    expected = [1.0, *(float(place == hit) for place in range(3))]
    assert scores(said(True, level)) == dict(zip(NAMES, expected, strict=True))
    labels = {only(name, negative("r"), said(True, level)).label for name in GROUNDED}
    assert labels == {("ungrounded", "partly grounded", "grounded")[hit]}


@pytest.mark.parametrize("level", [0.0, 2.0, None])
def test_where_nothing_is_recalled_grounding_decides_nothing(level: float | None) -> None:
    assert scores(said(False, level)) == dict.fromkeys(NAMES, 0.0)
    verdict = only("fabricated-recall", negative("r"), said(False, level))
    assert (verdict.label, verdict.judge_key) == ("nothing recalled", "grounding-key + unprompted-key")


def test_what_cannot_be_read_is_invalid_and_never_fabricated() -> None:
    for name in GROUNDED:
        verdict = only(name, negative("r"), said(True, None))
        assert (verdict.status, verdict.score, verdict.label) == ("invalid", None, "unparseable")
        unread = only(name, negative("r"), said(None, 0.0))
        assert (unread.status, unread.score) == ("invalid", None)
        assert unread.judge_key == verdict.judge_key, "failures count with the figures that they are missing from"
    failed = said(True, 0.0) | always("grounding", "judge-error:timeout", None, status="error")
    assert only("fabricated-recall", negative("r"), failed).status == "error"


def test_the_judge_sees_turn_reply_and_summaries() -> None:
    recall, grounding = METRICS.create("fabricated-recall").questions(negative("Your cat, right?"))  # type: ignore[attr-defined]
    assert recall == Question("unprompted", "Your cat, right?", "I am going to bed now.")
    assert grounding == Question("grounding", "Your cat, right?", context="Session 0: slept badly.")
    assert METRICS.create("unprompted-recall").questions(negative("r"))[0] == Question(  # type: ignore[attr-defined]
        "unprompted", "r", "I am going to bed now."
    )


def test_without_summaries_the_grounded_rates_leave_it_out_whatever_the_reply() -> None:
    bare = negative("As you told me, the cat!", summaries="")
    assert {only(name, bare).label for name in GROUNDED} == {"no summaries to check against"}
    assert only("unprompted-recall", bare, said(True, None)).score == 1.0


def test_lower_is_better_and_positives_are_not_theirs() -> None:
    assert all(lower_is_better(name) for name in NAMES)
    assert lower_is_better("recorded(fabricated-recall)") and not lower_is_better("recorded(reference)")
    case = natural("r")
    assert not any(METRICS.create(name).applies(case.gold, case.probe) for name in NAMES)


def test_the_offline_judge_hears_phrases_of_recall() -> None:
    (spoken,), (silent,) = (
        verdicts_of("unprompted-recall", negative(reply)) for reply in ("You told me about the fair!", "Sleep well!")
    )
    assert ((spoken.label, spoken.score), (silent.label, silent.score)) == (("recalls", 1.0), ("quiet", 0.0))


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=12))
def test_the_three_rates_add_up_to_the_unprompted_one(replies: list[tuple[bool, float]]) -> None:
    found = [scores(said(recalls, level)) for recalls, level in replies]
    rate = {name: sum(one[name] or 0.0 for one in found) for name in NAMES}
    assert sum(rate[name] for name in GROUNDED) == rate["unprompted-recall"]


@pytest.mark.data
def test_the_released_negatives_are_all_zero(benchmark_data: Path) -> None:
    path = benchmark_data / "memuse_labels" / "report_negatives_mem0.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    found: list[Verdict] = []
    for label in document["per_instance"].values():
        level = None if label["grounding"] is None else float(label["grounding"])
        script = said(label["unprompted_recall"], level)
        found += [only(name, negative("r"), script) for name in NAMES]
    rates = {name: sum(v.score or 0.0 for v in found if v.metric == name) / 72 for name in NAMES}
    assert {v.status for v in found} == {"scored"} and len(found) == 4 * 72
    assert list(rates.values()) == [
        document["summary"][f"{name}_rate"]
        for name in ("unprompted_recall", "fabricated_recall", "partially_grounded_recall", "grounded_recall")
    ]


@pytest.mark.data
def test_a_real_negative_shows_every_earlier_summary(benchmark_data: Path) -> None:
    path = benchmark_data / "memuse_negatives_sample.jsonl"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    (scenario,) = open_source(f"memuse:{path}")
    (probe,) = scenario.probes
    case = EvaluationCase(probe, scenario.gold_by_probe[probe.probe_id], negative("r").reply, ())
    judge = Scripted(
        {"unprompted": lambda q: [says("unprompted", "quiet", 0.0)], **always("grounding", "partial", 1.0)}
    )
    assert [v.score for v in verdicts_of("fabricated-recall", case, judge)] == [0.0]
    recall, grounding = judge.asked
    assert recall.utterance.split() == row["input"]["trigger_quote"].split()
    assert all(entry["summary"].strip() in grounding.context for entry in row["target"]["prior_session_summaries"])
