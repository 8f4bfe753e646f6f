"""Comparing systems: one summary from run files, which every table, export and report prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.comparison.comparing import compare_runs
    from mnemoscope.comparison.summary import Comparison, Figure, PairFigure

__all__ = ["Comparison", "Figure", "PairFigure", "compare_runs"]

__getattr__ = lazy_names(
    __name__,
    {"Comparison": "summary", "Figure": "summary", "PairFigure": "summary", "compare_runs": "comparing"},
)
