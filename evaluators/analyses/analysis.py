"""What an analysis is: a named question to a whole run, answered as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from mnemoscope.evaluators.analyses.material import Material

__all__ = ["Analysis", "Column", "Findings", "Value"]

Value = str | int | float | None
"""A cell of a table; None is missing, and a note says why."""


class Column(NamedTuple):
    """One column."""

    name: str
    kind: Literal["text", "count", "share", "points", "number", "p"]
    """How it is printed: a share (0–1) as percent, `points` as a signed difference of shares, `p` as a p-value."""
    meaning: str
    """One sentence for the table's legend and the documentation."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The answer: a table, the sentences that must be read with it, or why there is none."""

    name: str
    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    notes: tuple[str, ...] = ()
    """What limits the figures, in sentences."""
    missing: str | None = None
    """Why the run cannot answer, and what would have to be run."""

    def to_json(self) -> dict[str, object]:
        """Plain data: shares are 0–1, what is missing is null."""
        names = [column.name for column in self.columns]
        rows: list[Mapping[str, Value]] = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {
            "analysis": self.name,
            "title": self.title,
            "columns": [column._asdict() for column in self.columns],
            "rows": rows,
            "notes": list(self.notes),
            "missing": self.missing,
        }


class Analysis(Protocol):
    """One analysis with its parameters."""

    @property
    def name(self) -> str:
        """A name that `ANALYSES.create` reads back as this analysis."""

    def analyse(self, material: Material) -> Findings:
        """Answer from one run; a run that lacks what is needed gives `missing`, never an error."""
