"""Facts that speak of the same, over a whole history: which belong together, and which groups to tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from mnemoscope.core.ports import Vectors

if TYPE_CHECKING:
    Associations = nx.DiGraph[int]
else:
    Associations = nx.DiGraph  # takes parameters in its stubs only

__all__ = ["Associations", "FactGroup", "associate", "distinct_groups"]

_ROWS = 512
"""Facts that are compared with all others at a time: in memory, cosines take rows times facts, never facts squared."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """A fact and what it is associated with."""

    anchor: int
    members: frozenset[int]
    """The anchor's place and those of its neighbours."""
    strength: float
    """Summed similarity of the neighbours to the anchor."""


def associate(
    vectors: Vectors, origins: Sequence[Collection[str]], changed: Collection[int], threshold: float, most: int
) -> Associations:
    """The associations that new facts bring: an edge leads from a fact to each of its nearest others, with the cosine.

    Nearest first, a fact is taken where it is more similar than the threshold and shares no origin with the one that
    it is associated with, nor with one taken before; of equals the earlier fact. Facts that no changed one is similar
    to are as they were, and are left out: so a history costs the square of its facts in time however often facts are
    added, and one call the product of facts and changed ones. Cosines are rounded to 1e-6, so that the last bits of a
    product decide nothing.

    Args:
        vectors: One unit row per fact.
        origins: Per fact, the chunks that it was drawn from.
        changed: Places of the facts that are new or have further origins.
        threshold: Cosine above which two facts are associated.
        most: Neighbours of one fact.
    """
    graph: Associations = nx.DiGraph()
    rows = vectors.astype(np.float64)
    affected = set(changed)
    for _, near, _ in _similar(rows, sorted(affected), threshold):
        affected.update(near)
    for place, near, cosines in _similar(rows, sorted(affected), threshold):
        seen, taken = set(origins[place]), 0
        for other, cosine in zip(near, cosines, strict=True):
            if taken == most:
                break
            if seen.isdisjoint(origins[other]):
                seen.update(origins[other])
                graph.add_edge(place, other, weight=cosine)
                taken += 1
    return graph


def distinct_groups(graph: Associations, least_new: int, told: Iterable[Collection[int]] = ()) -> tuple[FactGroup, ...]:
    """The groups that say something of their own, largest and closest first.

    Every fact with neighbours makes a group with them. In order of size and strength, of equals the earlier anchor, a
    group is kept where it has at least `least_new` facts besides those of any single group kept before. That holds for
    the very first one too, so that a pair is nothing to tell of; the source's release keeps its first group as it is.

    Args:
        graph: As `associate` makes it.
        least_new: Facts that a group must add to each other one.
        told: Groups kept at earlier times.
    """
    groups = [_group(graph, place) for place in graph if graph.out_degree(place)]
    groups.sort(key=lambda group: (-len(group.members), -group.strength, group.anchor))
    holders: defaultdict[int, list[int]] = defaultdict(list)
    serial = count()

    def hold(members: Collection[int]) -> None:
        number = next(serial)
        for member in members:
            holders[member].append(number)

    for members in told:
        hold(members)
    kept: list[FactGroup] = []
    for group in groups:
        shared = Counter(holder for member in group.members for holder in holders[member])
        if len(group.members) - max(shared.values(), default=0) >= least_new:
            hold(group.members)
            kept.append(group)
    return tuple(kept)


def _group(graph: Associations, anchor: int) -> FactGroup:
    near = graph[anchor]
    strength = round(sum(float(edge["weight"]) for edge in near.values()), 6)
    return FactGroup(anchor, frozenset((anchor, *near)), strength)


def _similar(rows: np.ndarray, places: Sequence[int], threshold: float) -> Iterator[tuple[int, list[int], list[float]]]:
    """For each of these facts that others are similar to: its place, theirs, nearest first, and the cosines."""
    for start in range(0, len(places), _ROWS):
        some = np.asarray(places[start : start + _ROWS])
        block = np.round(rows[some] @ rows.T, 6)
        block[np.arange(len(some)), some] = -1.0
        for row in np.flatnonzero((block > threshold).any(axis=1)):
            near = np.flatnonzero(block[row] > threshold)
            near = near[np.argsort(-block[row, near], kind="stable")]
            yield int(some[row]), near.tolist(), block[row, near].tolist()
