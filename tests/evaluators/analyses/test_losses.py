"""Ceiling, repair, gap, cost and length, by hand; their parts add up."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.analyses.ceiling import Ceiling
from mnemoscope.evaluators.analyses.cost import Cost
from mnemoscope.evaluators.analyses.gap import Gap
from mnemoscope.evaluators.analyses.length import Length
from mnemoscope.evaluators.analyses.material import Lost
from mnemoscope.evaluators.analyses.repair import Repair
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, cell, row


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=1,
        max_size=12,
    )
)
def test_the_parts_of_the_ceiling_add_up_to_one(scores: list[tuple[float, float, float]]) -> None:
    probes = {("s", f"p{n}"): asked(f"p{n}", style="implicit") for n in range(len(scores))}
    rows = []
    for n, (own, given_gold, recall) in enumerate(scores):
        rows += [
            row("bm25@x", f"p{n}", "fact-use", own),
            row("oracle@x", f"p{n}", "fact-use", given_gold),
            row("bm25@x", f"p{n}", "recall@10", recall),
        ]
    run = Run(rows=rows, probes=probes, names=("bm25@x", "oracle@x"))
    found = by_name(Ceiling().analyse(run), "system", "style")["bm25@x", "implicit"]
    parts = [found[name] for name in ("mean", "ceiling", "representation", "retrieval")]
    assert math.fsum(parts) == pytest.approx(1.0)  # type: ignore[arg-type]
    assert found["probes"] == len(scores)


def test_the_ceiling_needs_an_oracle_of_the_same_profile() -> None:
    assert "oracle" in (Ceiling().analyse(Run(names=("bm25@x",))).missing or "")
    run = Run(rows=[row("bm25@x", "p", "fact-use", 1.0)], probes={("s", "p"): asked("p")}, names=("bm25@x", "oracle@y"))
    assert Ceiling().analyse(run).missing is not None


def lost(system: str, **stages: str) -> list[Lost]:
    return [Lost(system, "s", "p", 0, fact, stage) for fact, stage in stages.items()]


BEFORE = {"f1": "not-retrieved", "f2": "not-retrieved", "f3": "not-said", "f4": "kept", "f5": "not-stored"}


def test_repair_moves_what_the_stage_lost_and_names_the_rest_interference() -> None:
    after = {"f1": "kept", "f2": "not-said", "f3": "not-said", "f4": "wrong", "f5": "not-planned"}
    run = Run(all_losses=[*lost("bm25@x", **BEFORE), *lost("oracle@x", **after)], names=("bm25@x", "oracle@x"))
    found = by_name(Repair().analyse(run), "system", "repaired")["bm25@x", "retrieval"]
    assert (found["facts"], found["lost"], found["still"]) == (5, 3, 0)
    assert (found["now_kept"], found["now_not_said"], found["now_not_planned"], found["now_wrong"]) == (1, 1, 1, 0)
    assert (found["unchanged"], found["interference"]) == (1, 1)
    moved = ("now_kept", "now_not_said", "now_not_planned", "now_wrong", "still")
    assert sum(int(found[name] or 0) for name in moved) == found["lost"]


def test_a_planner_that_reads_gold_repairs_planning() -> None:
    before = {"f1": "not-planned", "f2": "not-retrieved"}
    after = {"f1": "kept", "f2": "not-retrieved"}
    names = ("bm25@x", "bm25@oracle")
    run = Run(all_losses=[*lost("bm25@x", **before), *lost("bm25@oracle", **after)], names=names)
    found = by_name(Repair().analyse(run), "system", "repaired")["bm25@x", "planning"]
    assert (found["lost"], found["now_kept"], found["unchanged"], found["interference"]) == (1, 1, 1, 0)


def test_nice_facts_stand_for_each_other() -> None:
    losses = [Lost("bm25@x", "s", "p", 0, "n1", "not-planned"), Lost("bm25@oracle", "s", "p", 0, "n2", "kept")]
    roles = {"n1": "nice", "n2": "nice"}
    probe = asked("p", facts={"n1": "a", "n2": "b"}, roles=roles)  # type: ignore[arg-type]
    run = Run(all_losses=losses, probes={("s", "p"): probe}, names=("bm25@x", "bm25@oracle"))
    found = by_name(Repair().analyse(run), "system", "repaired")["bm25@x", "planning"]
    assert (found["facts"], found["lost"], found["now_kept"]) == (1, 1, 1)


def test_the_order_of_rows_changes_nothing() -> None:
    losses = lost("bm25@x", **BEFORE)
    tables = set()
    for order in list(permutations(losses))[:24]:
        run = Run(all_losses=[*order, *lost("oracle@x", **BEFORE)], names=("bm25@x", "oracle@x"))
        tables.add(Repair().analyse(run).rows)
    assert len(tables) == 1


def test_gap_between_asked_and_said() -> None:
    probes = {(f"s{n}", "p"): asked("p", cluster=f"u{n}") for n in range(4)} | {("s", "p"): asked("p")}
    rows = []
    for n, (known, said) in enumerate([(1.0, 0.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)]):
        rows += [
            row("a", "p", "direct-qa", known, scenario=f"s{n}"),
            row("a", "p", "reference", said, scenario=f"s{n}"),
        ]
    losses = lost("a", f1="not-said", f2="not-said", f3="kept", f4="not-planned", f5="not-retrieved")
    found = by_name(Gap().analyse(Run(rows=rows, probes=probes, all_losses=losses)), "system")[("a",)]
    assert (found["instances"], found["direct"], found["reference"], found["gap"]) == (4, 0.75, 0.25, 0.5)
    assert (found["retrieved"], found["retrieved_unused"]) == (4, 0.75)
    assert (found["planned"], found["planned_unused"]) == (3, pytest.approx(2 / 3))


def test_cost_per_fact_and_per_added_fact() -> None:
    cells = [
        *(cell("none@x", f"p{n}", ms=10, tokens=100) for n in range(2)),
        *(cell("bm25@x", f"p{n}", ms=30, tokens=400, memory=50) for n in range(2)),
    ]
    losses = [*lost("none@x", f1="not-stored"), *lost("bm25@x", f1="kept", f2="kept", f3="not-said")]
    written = {"bm25@x": Usage({"extract": 3}, 90, 10)}
    run = Run(all_cells=cells, all_losses=losses, names=("none@x", "bm25@x"), written=written)
    found = by_name(Cost().analyse(run), "system")
    b = found[("bm25@x",)]
    assert (b["replies"], b["tokens"], b["facts"], b["ms_median"], b["memory_tokens"]) == (2, 400.0, 2, 30, 50.0)
    assert (b["memory_tokens_per_fact"], b["ms_per_fact"]) == (50.0, 30.0)
    assert b["tokens_per_added_fact"] == 300.0, "300 tokens and one fact per reply beyond none"
    assert (b["write_calls"], b["write_tokens"]) == (3, 100)
    assert b["tokens_per_fact"] == 450.0, "two replies of 400 and the writing, over two facts"
    none = found[("none@x",)]
    assert (none["memory_tokens_per_fact"], none["tokens_per_fact"], none["write_tokens"]) == (None, None, 0)
    assert b["first_token_ms"] is None


def test_length_follows_scores_or_not() -> None:
    probes = {("s", f"p{n}"): asked(f"p{n}", cluster=f"c{n % 4}") for n in range(12)}
    cells = [cell("a", f"p{n}", "x" * (n + 1)) for n in range(12)]
    rows = [row("a", f"p{n}", "integration", float(n > 5), subject="f") for n in range(12)]
    found = by_name(Length().analyse(Run(rows=rows, probes=probes, all_cells=cells)), "system", "metric")
    one = found["a", "integration"]
    assert (one["replies"], one["characters"]) == (12, 6.5)
    assert isinstance(one["rho"], float) and one["rho"] > 0.8
    assert "10" in (Length().analyse(Run(rows=rows[:3], probes=probes, all_cells=cells)).missing or "")
