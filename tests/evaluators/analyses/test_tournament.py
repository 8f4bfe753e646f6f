"""Wins, losses and ties: they count every shared probe once, whoever is named first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.analyses.analysis import Value
from mnemoscope.evaluators.analyses.tournament import Tournament
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row

LEVELS = st.sampled_from([0.0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1.0])
PAIRS = st.lists(st.tuples(LEVELS, LEVELS), min_size=1, max_size=8)


def run_of(pairs: list[tuple[float, float]], names: tuple[str, str] = ("a", "b"), clusters: int = 8) -> Run:
    rows = [row(name, f"p{i}", "three-axis", pair[n]) for i, pair in enumerate(pairs) for n, name in enumerate("ab")]
    probes = {("s", f"p{i}"): asked(f"p{i}", style="implicit", cluster=f"c{i % clusters}") for i in range(len(pairs))}
    return Run(rows=rows, probes=probes, names=names)


def only_row(run: Run) -> dict[str, Value]:
    (found,) = by_name(Tournament().analyse(run), "a", "b", "axis").values()
    return found


@given(PAIRS)
def test_outcomes_add_up_and_change_sides(pairs: list[tuple[float, float]]) -> None:
    one, other = only_row(run_of(pairs)), only_row(run_of(pairs, ("b", "a")))
    assert int(str(one["wins"])) + int(str(one["losses"])) + int(str(one["ties"])) == one["replies"] == len(pairs)
    assert (one["wins"], one["losses"], one["ties"]) == (other["losses"], other["wins"], other["ties"])
    assert one["margin"] == pytest.approx((int(str(one["wins"])) - int(str(one["losses"]))) / len(pairs))


def test_thirds_that_were_added_in_another_order_are_ties() -> None:
    assert only_row(run_of([(0.1 + 0.2, 0.3)]))["ties"] == 1


def test_only_probes_that_both_were_judged_on_count() -> None:
    run = run_of([(1.0, 0.0), (1.0, 0.0), (1.0, 0.0)])
    run.rows = [r for r in run.rows if (r.system, r.probe_id) != ("b", "p0")]
    run.rows.append(row("b", "p0", "three-axis", None, status="invalid"))
    assert (only_row(run)["replies"], only_row(run)["wins"]) == (2, 2)


def test_replicates_meet_their_own() -> None:
    run = run_of([(1.0, 0.0)])
    run.rows = [
        *run.rows,
        row("a", "p0", "three-axis", 0.0, replicate=1),
        row("b", "p0", "three-axis", 1.0, replicate=1),
    ]
    assert (only_row(run)["wins"], only_row(run)["losses"], only_row(run)["margin"]) == (1, 1, 0.0)


def test_the_interval_is_over_clusters_and_there_is_none_for_one() -> None:
    pairs = [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)] * 2
    alone = only_row(run_of(pairs, clusters=1))
    assert alone["margin"] == pytest.approx(0.25)
    assert (alone["low"], alone["high"]) == (None, None)
    four = only_row(run_of(pairs, clusters=4))
    assert float(str(four["low"])) < 0.25 < float(str(four["high"]))


def test_blind_axes_have_rows_of_their_own_and_the_notes_say_why() -> None:
    run = run_of([(1.0, 0.0), (0.5, 0.5)])
    seeing = Tournament().analyse(run)
    assert any("scored alone" in note for note in seeing.notes)
    assert any("memory block" in note for note in seeing.notes)
    run.rows = [r._replace(metric="three-axis(blind=true)") for r in run.rows]
    blind = Tournament().analyse(run)
    assert by_name(blind, "axis").keys() == {("three-axis(blind=true)",)}
    assert not any("memory block" in note for note in blind.notes), "nobody saw a block"
