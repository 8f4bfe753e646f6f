"""Facts under an oracle: each is in one column, whatever happened to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.analyses.material import Lost
from mnemoscope.evaluators.analyses.repair import Repair
from mnemoscope.evaluators.attribution import STAGES
from tests.evaluators.analyses.analysis_tools import Run, by_name

KNOWN = tuple(stage for stage in STAGES if stage != "unknown")
MOVES = st.lists(st.tuples(st.sampled_from(KNOWN), st.sampled_from(KNOWN)), min_size=1, max_size=12)
MOVED = ("now_kept", "now_not_planned", "now_not_said", "now_wrong", "still")


def run_of(moves: list[tuple[str, str]], oracle: str) -> Run:
    losses = [
        Lost(name, "s", f"p{n}", 0, "f", stages[place])
        for n, stages in enumerate(moves)
        for place, name in enumerate(("bm25@x", oracle))
    ]
    return Run(all_losses=losses, names=("bm25@x", oracle))


@given(MOVES, st.sampled_from([("oracle@x", "retrieval"), ("bm25@oracle", "planning")]))
def test_each_fact_is_counted_once(moves: list[tuple[str, str]], oracle: tuple[str, str]) -> None:
    name, stage = oracle
    one = by_name(Repair().analyse(run_of(moves, name)), "system", "repaired")["bm25@x", stage]
    count = {key: int(str(value)) for key, value in one.items() if key not in ("system", "repaired")}
    assert count["facts"] == len(moves) == count["lost"] + count["unchanged"] + count["interference"]
    assert sum(count[key] for key in MOVED) == count["lost"]


@given(MOVES)
def test_an_oracle_that_changes_nothing_repairs_nothing(moves: list[tuple[str, str]]) -> None:
    same = [(before, before) for before, _ in moves]
    one = by_name(Repair().analyse(run_of(same, "bm25@oracle")), "repaired")[("planning",)]
    assert (one["interference"], one["now_kept"], one["still"]) == (0, 0, one["lost"])


@given(MOVES)
def test_facts_of_which_nothing_is_known_change_no_count(moves: list[tuple[str, str]]) -> None:
    alone = Repair().analyse(run_of(moves, "oracle@x"))
    among = Repair().analyse(run_of([*moves, ("unknown", "kept"), ("not-stored", "unknown")], "oracle@x"))
    assert among.rows == alone.rows
    assert not alone.notes and among.notes[0].startswith("2 facts")


def test_an_oracle_that_was_never_asked_repairs_nothing() -> None:
    missing = Repair().analyse(run_of([("not-stored", "unknown")], "oracle@x")).missing
    assert missing is not None and "gold names no turns" in missing


def test_an_oracle_of_another_memory_and_profile_repairs_nothing() -> None:
    assert Repair().analyse(run_of([("not-retrieved", "kept")], "oracle@y")).missing is not None
    assert Repair().analyse(run_of([("not-planned", "kept")], "dense@oracle")).missing is not None


def test_earlier_losses_that_move_under_a_planner_are_interference() -> None:
    moves = [("not-retrieved", "kept"), ("not-stored", "not-stored"), ("not-planned", "not-said")]
    one = by_name(Repair().analyse(run_of(moves, "bm25@oracle")), "repaired")[("planning",)]
    assert (one["lost"], one["now_not_said"], one["unchanged"], one["interference"]) == (1, 1, 1, 1)
    assert one["earlier_moved"] == 1


def test_nothing_is_earlier_than_storing_and_what_comes_later_is_no_earlier_loss() -> None:
    moves = [("kept", "not-said"), ("not-said", "kept"), ("not-stored", "kept")]
    one = by_name(Repair().analyse(run_of(moves, "oracle@x")), "repaired")[("retrieval",)]
    assert (one["interference"], one["earlier_moved"]) == (2, 0)
    one = by_name(Repair().analyse(run_of(moves[:2], "bm25@oracle")), "repaired")[("planning",)]
    assert (one["interference"], one["earlier_moved"]) == (2, 0)
