"""Currency: current, stale, both, neither."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.scenarios.demo import open_demo
from mnemoscope.scenarios.records import Gold, GoldFact
from mnemoscope.scenarios.source import LoadRequest
from tests.evaluators.judging import verdicts_of
from tests.evaluators.metrics.scripted import by_text, only

Make = Callable[..., EvaluationCase]


def facts(*texts: str) -> tuple[GoldFact, ...]:
    return tuple(GoldFact(fact_id=f"f-{text}", text=text) for text in texts)


@pytest.mark.parametrize(
    ("now", "then", "label", "score"),
    [(1.0, 0.0, "current", 1.0), (1.0, 1.0, "both", 0.5), (0.0, 1.0, "stale", 0.0), (0.0, 0.0, "neither", 0.0)],
)
def test_four_outcomes(make_case: Make, now: float, then: float, label: str, score: float) -> None:
    case = make_case(reply="r", gold=Gold(facts=facts("now"), stale=facts("then")), style="implicit")
    verdict = only("currency", case, by_text("use", {"now": now, "then": then}))
    assert (verdict.label, verdict.score) == (label, score)
    assert json.loads(verdict.raw) == {"current": f"{int(now)}/1", "stale": f"{int(then)}/1"}


def test_a_gap_is_no_outcome_and_no_current_fact_is_left_out(make_case: Make) -> None:
    case = make_case(reply="r", gold=Gold(facts=facts("now"), stale=facts("then")))
    assert only("currency", case, by_text("use", {"now": 1.0, "then": None})).status == "invalid"
    assert only("currency", make_case(gold=Gold(stale=facts("then")))).label == "no current fact"
    assert not METRICS.create("currency").applies(Gold(facts=facts("now")), case.probe)


def test_an_updated_preference_by_the_offline_judge(case_dir: Callable[[str], Path], make_case: Make) -> None:
    folder = case_dir("BK-08")
    replies = json.loads((folder / "responses.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["labels"]
    golds = {
        "0": Gold(facts=facts("green tea"), stale=facts("black tea", "coffee")),
        "2": Gold(facts=facts("Thursday"), stale=facts("Wednesday")),
    }
    for number, gold in golds.items():
        found = [verdicts_of("currency", make_case(reply=reply, gold=gold))[0].label for reply in replies[number]]
        wanted = [label.partition(" ")[0].replace("lost", "neither") for label in expected[number]]
        assert found == wanted, number


def test_bundled_scenarios_tell_old_from_new(make_case: Make) -> None:
    golds = [
        (scenario.turns, gold)
        for scenario in open_demo(LoadRequest("demo"))
        for gold in scenario.gold_by_probe.values()
        if gold.stale
    ]
    assert len(golds) >= 5
    for turns, gold in golds:
        spoken = {turn.turn_id: f"{turn.speaker}: {turn.text}" for turn in turns}
        for texts, label in ((gold.facts, "current"), (gold.stale, "stale")):
            told = " ".join(spoken[source] for fact in texts for source in fact.sources)  # type: ignore[index]
            (verdict,) = verdicts_of("currency", make_case(reply=told, gold=gold, style="implicit"))
            assert verdict.label == label, (texts, verdict)
