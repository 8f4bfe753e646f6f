"""Windows of turns: every turn is in some window, none crosses a session, none lies inside the one before."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.graphs.windows import OpenWindow, windows_of
from mnemoscope.scenarios.replay import POOL_SESSION
from tests.graphs.graph_tools import turn

sessions = st.lists(st.integers(1, 9), max_size=4)
shapes = st.integers(1, 5).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def history(lengths: list[int]) -> list:
    names = [f"s{number}" for number, length in enumerate(lengths) for _ in range(length)]
    return [turn(number, f"word {number}", session) for number, session in enumerate(names)]


def ids(windows: tuple) -> list[list[str]]:
    return [[one.turn_id for one in window] for window in windows]


def test_three_turns_with_one_shared_and_a_shorter_rest() -> None:
    assert ids(windows_of(history([6]), 3, 1)) == [["t0", "t1", "t2"], ["t2", "t3", "t4"], ["t4", "t5"]]


def test_a_rest_that_holds_nothing_new_is_no_window() -> None:
    assert ids(windows_of(history([5, 2]), 3, 1)) == [["t0", "t1", "t2"], ["t2", "t3", "t4"], ["t5", "t6"]]


def test_memories_of_a_pool_are_never_joined_and_interrupt_nothing() -> None:
    turns = history([3])
    turns.insert(1, turn(10, "fact", POOL_SESSION))
    turns.insert(2, turn(11, "other fact", POOL_SESSION))
    assert ids(windows_of(turns, 3, 1)) == [["t10"], ["t11"], ["t0", "t1", "t2"]]


@given(sessions, shapes)
def test_windows_cover_every_turn_within_sessions(lengths: list[int], shape: tuple[int, int]) -> None:
    size, overlap = shape
    turns = history(lengths)
    windows = windows_of(turns, size, overlap)
    assert {one for window in windows for one in ids((window,))[0]} == {one.turn_id for one in turns}
    assert all(len({one.session_id for one in window}) == 1 and 1 <= len(window) <= size for window in windows)
    for before, after in pairwise(windows):
        shared = set(ids((before,))[0]) & set(ids((after,))[0])
        if before[0].session_id == after[0].session_id:
            assert len(shared) == overlap and len(after) > overlap
        else:
            assert not shared


@given(sessions, shapes)
def test_turns_wait_until_their_window_is_complete(lengths: list[int], shape: tuple[int, int]) -> None:
    still_open, covered = OpenWindow(*shape), set()
    for number, one in enumerate(history(lengths), start=1):
        still_open, complete = still_open.take(one)
        covered.update(kept.turn_id for window in complete for kept in window)
        waiting = {kept.turn_id for kept in still_open.waiting}
        assert not covered & waiting and len(covered) + len(waiting) == number
