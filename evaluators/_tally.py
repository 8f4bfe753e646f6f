"""Verdicts to cells: several verdicts of one metric on one cell become one outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Cell", "CellTable", "Row", "collect"]

Row = tuple[str, str, str, int, str, str, str, float | None, str, str]
"""Any tuple of the shape of `ScoreRow`."""


class Cell(NamedTuple):
    """One metric's outcome on one cell."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    score: float | None
    status: str
    label: str
    """Cause or reason where there is no score."""


CellTable = Sequence[Cell]
_RANK = {"error": 3, "invalid": 2, "scored": 1, "not_applicable": 0}


class _Sum:
    __slots__ = ("label", "n", "status", "total")

    def __init__(self) -> None:
        self.total, self.n, self.status, self.label = 0.0, 0, "", ""

    def add(self, label: str, score: float | None, status: str) -> None:
        if status == "scored" and score is not None:
            self.total += score
            self.n += 1
        rank, known = _RANK[status], _RANK.get(self.status, -1)
        if rank > known or (rank == known and label < self.label):
            self.status, self.label = status, label


def collect(rows: Iterable[Row]) -> dict[tuple[str, str], list[Cell]]:
    """Cells by metric and judge, whose verdicts are never averaged with another's.

    The score is the mean over scored verdicts; one failure or invalid verdict decides the cell. What no judge has seen,
    such as a failed cell, counts with the judges of its system, and with every judge where the system has none.
    """
    sums: defaultdict[tuple[str, str, str, str, str, int], _Sum] = defaultdict(_Sum)
    judges: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    unjudged: list[Row] = []
    for row in rows:
        system, scenario, probe, replicate, metric, _, label, score, status, judge = row
        if judge:
            judges[metric][system].add(judge)
            sums[metric, judge, system, scenario, probe, replicate].add(label, score, status)
        else:
            unjudged.append(row)
    for system, scenario, probe, replicate, metric, _, label, score, status, _ in unjudged:
        known = judges[metric]
        for judge in known.get(system) or set().union(*known.values()) or {""}:
            sums[metric, judge, system, scenario, probe, replicate].add(label, score, status)
    tables: dict[tuple[str, str], list[Cell]] = {}
    for (metric, judge, system, scenario, probe, replicate), entry in sums.items():
        score = entry.total / entry.n if entry.status == "scored" and entry.n else None
        cell = Cell(system, scenario, probe, replicate, score, entry.status, entry.label)
        tables.setdefault((metric, judge), []).append(cell)
    return tables
