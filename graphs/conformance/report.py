"""What the conformance kit found: one row per contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ConformanceReport", "ConformanceRow", "NotApplicableError", "RowStatus", "ViolationError"]

RowStatus = Literal["passed", "failed", "not_applicable"]


class ViolationError(AssertionError):
    """A memory broke the contract of a row; the message says how."""


class NotApplicableError(Exception):
    """A row does not concern this memory; the message says why."""


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """One contract and what came of it."""

    id: str
    title: str
    status: RowStatus
    detail: str = ""
    """What was broken, or why the row does not apply; empty where it passed."""


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """All rows, in order of their ids."""

    rows: tuple[ConformanceRow, ...]

    @property
    def passed(self) -> bool:
        """No row failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[ConformanceRow, ...]:
        """Rows that failed."""
        return tuple(row for row in self.rows if row.status == "failed")

    def __str__(self) -> str:
        return "\n".join(
            f"{row.id}  {row.status.replace('_', ' '):<14}  {row.title}" + (f": {row.detail}" if row.detail else "")
            for row in self.rows
        )
