"""Associations of facts and the groups that they make: what is added piece by piece is what a whole history gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.graphs.association import Associations, FactGroup, associate, distinct_groups


def unit(*degrees: float) -> np.ndarray:
    return np.asarray([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees], np.float32)


def edges(graph: Associations) -> dict[int, list[int]]:
    return {place: list(graph[place]) for place in graph if graph.out_degree(place)}


def whole(vectors: np.ndarray, origins: Sequence[set[str]], threshold: float = 0.8, most: int = 5) -> Associations:
    return associate(vectors, origins, range(len(vectors)), threshold, most)


def by_definition(graph: Associations, least_new: int, told: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """The rule as it is stated, group against group."""
    groups = [
        (frozenset((place, *graph[place])), sum(edge["weight"] for edge in graph[place].values()), place)
        for place in graph
        if graph.out_degree(place)
    ]
    groups.sort(key=lambda group: (-len(group[0]), -round(group[1], 6), group[2]))
    kept, chosen = list(told), []
    for members, _, _ in groups:
        if all(len(members - other) >= least_new for other in [frozenset(), *kept]):
            kept.append(members)
            chosen.append(members)
    return chosen


def test_neighbours_are_the_nearest_above_the_threshold_from_other_chunks() -> None:
    vectors = unit(0, 5, 10, 20, 30, 80)
    apart = [{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}]
    assert edges(whole(vectors, apart))[0] == [1, 2, 3, 4]
    assert edges(whole(vectors, apart, most=2))[0] == [1, 2]
    assert edges(whole(vectors, apart, threshold=math.cos(math.radians(9))))[0] == [1]
    assert 5 not in edges(whole(vectors, apart))


def test_of_one_chunk_only_the_nearest_fact_is_taken_and_none_of_its_own() -> None:
    assert edges(whole(unit(0, 5, 10, 20), [{"a"}, {"a", "b"}, {"c"}, {"c"}])) == {
        0: [2],
        1: [2],
        2: [1],
        3: [1],
    }


def test_the_threshold_itself_is_not_above_it() -> None:
    assert not edges(whole(np.eye(2, dtype=np.float32), [{"a"}, {"b"}], threshold=0.0))


def test_pairs_are_discarded_and_the_closest_anchor_stands_for_a_group() -> None:
    three_and_two = unit(0, 1, 2, 80, 81)
    groups = distinct_groups(whole(three_and_two, [{str(n)} for n in range(5)]), 3)
    assert [group.members for group in groups] == [{0, 1, 2}]
    assert groups[0].anchor == 1  # the one in the middle is nearest to the others
    pair = whole(unit(0, 1), [{"a"}, {"b"}])
    assert not distinct_groups(pair, 3)
    assert [(group.anchor, group.members) for group in distinct_groups(pair, 2)] == [(0, {0, 1})]


def test_a_group_told_before_is_not_told_again_until_it_has_enough_to_add() -> None:
    vectors, origins = unit(0, 1, 2, 3, 4, 5), [{str(n)} for n in range(6)]
    assert distinct_groups(whole(vectors, origins), 3, [frozenset({0, 1, 2, 3})]) == ()
    again = distinct_groups(whole(vectors, origins), 3, [frozenset({0, 1, 2})])
    assert [group.members for group in again] == [frozenset(range(6))]


HISTORIES = st.lists(
    st.tuples(st.integers(0, 24), st.sampled_from("abcdefgh")), min_size=2, max_size=24
)  # an angle in steps of 5 degrees, a chunk


@settings(max_examples=150)
@given(HISTORIES, st.integers(1, 4), st.integers(1, 5), st.data())
def test_groups_follow_the_rule_as_it_is_stated(
    history: list[tuple[int, str]], least_new: int, most: int, data: st.DataObject
) -> None:
    graph = whole(unit(*(5 * angle for angle, _ in history)), [{chunk} for _, chunk in history], 0.7, most)
    told = data.draw(st.lists(st.frozensets(st.integers(0, len(history) - 1), min_size=1), max_size=3))
    assert [group.members for group in distinct_groups(graph, least_new, told)] == by_definition(graph, least_new, told)


@settings(max_examples=150)
@given(HISTORIES, st.integers(1, 4), st.integers(1, 5), st.data())
def test_what_no_new_fact_reaches_need_not_be_looked_at_again(
    history: list[tuple[int, str]], least_new: int, most: int, data: st.DataObject
) -> None:
    vectors = unit(*(5 * angle for angle, _ in history))
    session = data.draw(st.lists(st.integers(1, 3), min_size=1).map(lambda sizes: np.cumsum(sizes).tolist()))
    ends = sorted({min(end, len(history)) for end in [*session, len(history)]})
    in_pieces: list[FactGroup] = []
    from_scratch: list[FactGroup] = []
    start = 0
    for number, end in enumerate(ends):
        # a chunk belongs to one session, as in a conversation
        origins = [{f"{next(n for n, e in enumerate(ends) if i < e)}{chunk}"} for i, (_, chunk) in enumerate(history)]
        some, told = origins[:end], [group.members for group in in_pieces]
        in_pieces += distinct_groups(associate(vectors[:end], some, range(start, end), 0.7, most), least_new, told)
        from_scratch += distinct_groups(
            whole(vectors[:end], some, 0.7, most), least_new, [group.members for group in from_scratch]
        )
        start = end
        assert in_pieces == from_scratch, f"session {number}"
