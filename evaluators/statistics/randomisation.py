"""Whether conditions were dealt out evenly over users: a contingency test, and where it deviates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, chi2_contingency

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics._input import codes, same_length

__all__ = ["Randomisation", "chi_square_p", "randomisation"]


@dataclass(frozen=True, slots=True)
class Randomisation:
    """The units × conditions table against even dealing; a missing figure is None, and `reason` says why."""

    statistic: float | None
    df: int | None
    p: float | None
    """Small: conditions and units are associated, so that a difference of conditions may be one of units."""
    n: int
    units: tuple[Hashable, ...]
    conditions: tuple[Hashable, ...]
    table: tuple[tuple[int, ...], ...]
    """Rows per unit and condition."""
    residuals: tuple[tuple[float, ...], ...]
    """Adjusted standardised residuals, about standard normal: beyond ±3 a cell stands out."""
    sparse: float | None
    """Share of cells with fewer than 5 expected rows, where the approximation is rough."""
    reason: str | None = None


def chi_square_p(statistic: float, df: int) -> float:
    """Upper tail of the χ² distribution.

    Raises:
        ConfigError: The statistic is below 0 or not finite, or df below 1.

    Example:
        >>> round(chi_square_p(146.0, 168), 3)
        0.889
    """
    if not (np.isfinite(statistic) and statistic >= 0 and df >= 1):
        raise ConfigError(f"chi-square {statistic} with {df} degrees of freedom; give 0 or more, with at least 1")
    return float(chi2.sf(statistic, df))


def randomisation(units: Sequence[Hashable], conditions: Sequence[Hashable]) -> Randomisation:
    """Pearson's χ² of units × conditions, as MemUse (arXiv 2608.24189) checks its deployment: χ²(168) = 146.0.

    Args:
        units: Which user or history each row belongs to.
        conditions: Which condition it was given.

    Raises:
        ConfigError: The columns differ in length.
    """
    n = same_length(units=units, conditions=conditions)
    rows, row = codes(units)
    columns, at = codes(conditions)
    table = np.zeros((len(rows), len(columns)), dtype=np.int64)
    np.add.at(table, (row, at), 1)
    counts = tuple(tuple(int(x) for x in line) for line in table)
    if min(table.shape) < 2:
        reason = "nothing assigned" if not n else "one unit" if len(rows) < 2 else "one condition"
        return Randomisation(None, None, None, n, tuple(rows), tuple(columns), counts, (), None, reason)
    found = chi2_contingency(table, correction=False)
    expected = found.expected_freq
    share_row, share_column = table.sum(axis=1, keepdims=True) / n, table.sum(axis=0, keepdims=True) / n
    residuals = (table - expected) / np.sqrt(expected * (1 - share_row) * (1 - share_column))
    return Randomisation(
        statistic=float(found.statistic),
        df=int(found.dof),
        p=float(found.pvalue),
        n=n,
        units=tuple(rows),
        conditions=tuple(columns),
        table=counts,
        residuals=tuple(tuple(float(x) for x in line) for line in residuals),
        sparse=float((expected < 5).mean()),
    )
