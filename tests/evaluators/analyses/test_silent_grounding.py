"""Replies with the gold that leave it unsaid: which ones, against whom, and by which metric."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.aggregate import ScoreRow
from mnemoscope.evaluators.analyses.silent_grounding import SilentGrounding
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row

NAMES = ("oracle@x", "none@x", "random@x", "bm25@x", "none@y")
LEVELS = st.sampled_from([0.0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1.0])


def run_of(unsaid_by: str, rows: list[ScoreRow], n: int) -> Run:
    rows = [*(row("oracle@x", f"p{i}", unsaid_by, 0.0, subject="f") for i in range(n)), *rows]
    probes = {("s", f"p{i}"): asked(f"p{i}", style="implicit", cluster=f"c{i}") for i in range(n)}
    return Run(rows=rows, probes=probes, names=NAMES)


def test_none_and_random_of_the_same_profile_are_the_opponents() -> None:
    axes = {"oracle@x": 0.5, "none@x": 0.0, "random@x": 0.5, "bm25@x": 0.0, "none@y": 0.0}
    rows = [row(name, f"p{i}", "relevance", score) for name, score in axes.items() for i in range(3)]
    found = by_name(SilentGrounding().analyse(run_of("fact-use", rows, 3)), "profile", "against", "axis")
    assert found.keys() == {("x", "none", "relevance"), ("x", "random", "relevance")}
    assert found["x", "none", "relevance"]["rate"] == 1.0
    assert found["x", "random", "relevance"]["rate"] == 0.5, "ties alone are no help"


def test_integration_decides_where_no_judge_gave_fact_use_and_the_note_says_so() -> None:
    rows = [row(name, "p0", "three-axis", 0.5) for name in ("oracle@x", "none@x")]
    found = SilentGrounding().analyse(run_of("integration", rows, 1))
    assert "not stated: integration of 0" in found.notes
    both = [*rows, row("oracle@x", "p0", "fact-use", 1.0)]
    assert SilentGrounding().analyse(run_of("integration", both, 1)).missing, "fact-use says that it was stated"


def test_a_reply_that_states_one_of_two_facts_is_not_silent() -> None:
    rows = [row(name, "p0", "three-axis", 0.5) for name in ("oracle@x", "none@x")]
    run = run_of("integration", [*rows, row("oracle@x", "p0", "integration", 1.0, subject="g")], 1)
    assert SilentGrounding().analyse(run).missing is not None


def test_direct_questions_are_not_in_the_pool() -> None:
    rows = [row(name, "p0", "three-axis", 0.5) for name in ("oracle@x", "none@x")]
    run = run_of("fact-use", rows, 1)
    run.probes = {("s", "p0"): asked("p0", style="dialog")}
    assert SilentGrounding().analyse(run).missing is not None


@given(st.lists(st.tuples(LEVELS, LEVELS), min_size=1, max_size=8))
def test_changing_sides_gives_the_rest(pairs: list[tuple[float, float]]) -> None:
    def rate(scores: list[tuple[float, float]]) -> object:
        rows = [row("oracle@x", f"p{i}", "three-axis", one) for i, (one, _) in enumerate(scores)]
        rows += [row("none@x", f"p{i}", "three-axis", other) for i, (_, other) in enumerate(scores)]
        found = SilentGrounding().analyse(run_of("fact-use", rows, len(scores)))
        return by_name(found, "against")[("none",)]["rate"]

    turned = [(other, one) for one, other in pairs]
    assert rate(pairs) == pytest.approx(1 - float(str(rate(turned))))
    assert rate([(one, one) for one, _ in pairs]) == 0.5


def test_winning_every_reply_of_a_few_is_no_certainty() -> None:
    rows = [
        row(name, f"p{i}", "relevance", score) for name, score in (("oracle@x", 1.0), ("none@x", 0.0)) for i in range(4)
    ]
    one = by_name(SilentGrounding().analyse(run_of("fact-use", rows, 4)), "against")[("none",)]
    assert one["rate"] == one["high"] == 1.0
    assert 0.5 < float(str(one["low"])) < 0.7, "Wilson's interval of 4 of 4"
