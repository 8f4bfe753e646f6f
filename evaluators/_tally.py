"""Verdicts to cells: several verdicts of one metric on one cell become one outcome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Cell", "CellTable", "collect"]


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
    judge_key: str


CellTable = Sequence[Cell]
_RANK = {"error": 3, "invalid": 2, "scored": 1, "not_applicable": 0}


class _Sum:
    __slots__ = ("judge", "label", "n", "status", "total")

    def __init__(self) -> None:
        self.total, self.n, self.status, self.label, self.judge = 0.0, 0, "", "", ""


def collect(
    rows: Iterable[tuple[str, str, str, int, str, str, str, float | None, str, str]],
) -> dict[str, list[Cell]]:
    """Cells by metric. The score is the mean over scored verdicts; one failure or invalid verdict decides the cell."""
    sums: dict[tuple[str, str, str, str, int], _Sum] = {}
    for system, scenario, probe, replicate, metric, _, label, score, status, judge in rows:
        key = (metric, system, scenario, probe, replicate)
        if (entry := sums.get(key)) is None:
            entry = sums[key] = _Sum()
        if status == "scored" and score is not None:
            entry.total += score
            entry.n += 1
        rank, known = _RANK[status], _RANK.get(entry.status, -1)
        if rank > known or (rank == known and label < entry.label):
            entry.status, entry.label = status, label
        entry.judge = entry.judge or judge
    tables: dict[str, list[Cell]] = {}
    for (metric, system, scenario, probe, replicate), entry in sums.items():
        score = entry.total / entry.n if entry.status == "scored" and entry.n else None
        cell = Cell(system, scenario, probe, replicate, score, entry.status, entry.label, entry.judge)
        tables.setdefault(metric, []).append(cell)
    return tables
