"""How long work takes, as far as that is known: times of an earlier run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mnemoscope.runfile.reader import open_run

__all__ = ["MeasuredTimes", "measured_times"]


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """Means over an earlier run, of the machine and the models that it ran on."""

    ms_per_turn: Mapping[str, float] = field(default_factory=dict)
    """Memory to milliseconds that taking in one turn took, embedding included."""
    ms_per_cell: Mapping[str, float] = field(default_factory=dict)
    """System to milliseconds from a probe to its reply, reading included."""


def measured_times(path: Path | None) -> MeasuredTimes:
    """The times of an earlier run, for example of one with `--limit`; None: nothing is known.

    Raises:
        RunFileError: The file is missing, foreign or damaged.
    """
    if path is None:
        return MeasuredTimes()
    turns: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    cells: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    with open_run(path) as run:
        for lane in run.lanes():
            if lane.status == "done" and lane.written:
                turns[lane.memory].append((lane.ingest_ms, lane.written))
        for cell in run.cells():
            if cell.status == "ok":
                cells[cell.key.system].append((cell.ms, 1))
    return MeasuredTimes(_means(turns), _means(cells))


def _means(found: Mapping[str, Sequence[tuple[float, int]]]) -> dict[str, float]:
    return {name: sum(ms for ms, _ in pairs) / sum(count for _, count in pairs) for name, pairs in found.items()}
