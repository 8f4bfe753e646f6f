"""Policies beside systems: a system that answers as a policy does is not better than it, whatever the metric."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from mnemoscope.evaluators.analyses.analysis import Findings
from mnemoscope.evaluators.analyses.material import AskedProbe
from mnemoscope.evaluators.analyses.policies import Policies
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.metrics.registry import open_metrics
from mnemoscope.evaluators.policies import POLICIES, policy_replies
from mnemoscope.evaluators.rows import ScoreRow
from mnemoscope.graphs.reply import HiddenTrace, Reply
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name
from tests.evaluators.conftest import turn
from tests.evaluators.judging import OFFLINE

METRICS = ("integration", "timing", "cue-phrase")
FACTS = {"kiln": "Tomasz has a kiln from Ghent.", "tea": "Mira drinks green tea."}
HISTORY = (turn("t1", "Tomasz has a kiln from Ghent.", 0), turn("t2", "I drink green tea.", 1))
GOOD = "Then try the kiln that Tomasz has from Ghent."
PROBES = {
    ("s1", "hint"): asked("hint", style="implicit", cut=2, facts=FACTS, text="My pots crack.")._replace(
        history=HISTORY
    ),
    ("s2", "moment"): asked(
        "moment",
        style="moment",
        cut=2,
        facts=FACTS,
        text="Where can I fire these?",
        windows=[("kiln", "open", 1, 1), ("tea", "closed", 0, 5)],
        cluster="d",
    )._replace(history=HISTORY),
}


def case_of(probe: AskedProbe, text: str) -> EvaluationCase:
    return EvaluationCase(probe.probe, probe.gold, Reply(text, HiddenTrace(), None, None), probe.history)


def scored(replies: Mapping[str, Mapping[tuple[str, str], str]]) -> list[ScoreRow]:
    """Verdicts of systems that say these replies, as a run would hold them."""
    evaluator, rows = Evaluator(open_metrics(METRICS), OFFLINE), []
    for system, said in replies.items():
        for key, text in said.items():
            found = asyncio.run(evaluator.evaluate(case_of(PROBES[key], text)))
            rows += [
                ScoreRow(system, *key, 0, v.metric, v.subject, v.label, v.score, v.status, v.judge_key)
                for v in found.verdicts
            ]
    return rows


def as_policy(name: str) -> dict[tuple[str, str], str]:
    return {key: policy_replies(case_of(probe, ""))[name] for key, probe in PROBES.items()}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_system_that_is_a_policy_is_not_better_than_it(policy: str) -> None:
    run = Run(rows=scored({"a": as_policy(policy)}), probes=PROBES, names=("a",), judge=OFFLINE)
    found = Policies().analyse(run)
    assert f"not better than {policy} on any metric: a" in found.notes
    table = by_name(found, "metric")
    assert set(table) == {(name,) for name in METRICS}


def test_a_system_above_every_policy_is_not_marked() -> None:
    good = dict.fromkeys(PROBES, GOOD)
    run = Run(rows=scored({"a": good, "b": as_policy("refuse")}), probes=PROBES, judge=OFFLINE)
    timing = by_name(Policies().analyse(run), "metric")[("timing",)]
    assert (timing["refuse"], timing["dump"]) == (0.5, 0.5), "one fact is due and one is not"
    assert (timing["systems"], timing["not_better"], timing["which"]) == (2, 1, "b")


def test_a_figure_that_a_policy_has_in_full_is_named_as_such() -> None:
    good = dict.fromkeys(PROBES, GOOD)
    found = Policies().analyse(Run(rows=scored({"a": good}), probes=PROBES, names=("a",), judge=OFFLINE))
    integration = by_name(found, "metric")[("integration",)]
    assert (integration["dump"], integration["best_policy"], integration["which"]) == (1.0, "dump", "all")
    assert any("best possible figure" in note for note in found.notes)


def test_verdicts_of_another_judge_are_not_put_beside_policies() -> None:
    rows = [r._replace(judge_key="llm-7") for r in scored({"a": as_policy("dump")})]
    found = Policies().analyse(Run(rows=rows, probes=PROBES, names=("a",), judge=OFFLINE))
    assert found.rows == () and "by this judge" in (found.missing or "")


def test_a_run_that_only_a_model_judged_says_what_to_do() -> None:
    found = Policies().analyse(Run(rows=scored({"a": as_policy("dump")}), probes=PROBES, names=("a",)))
    assert found.rows == () and "offline" in (found.missing or "")


def test_a_notebook_whose_loop_runs_gets_the_same_table() -> None:
    run = Run(rows=scored({"a": as_policy("echo")}), probes=PROBES, names=("a",), judge=OFFLINE)

    async def inside() -> Findings:
        return Policies().analyse(run)

    found = asyncio.run(inside())
    assert found.rows and found == Policies().analyse(run)
