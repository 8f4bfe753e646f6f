"""What a two-sample comparison can find; rows count as independent, so that clustered data can find less."""

from __future__ import annotations

import math

import numpy as np
from statsmodels.stats.power import TTestIndPower

from mnemoscope.core.errors import ConfigError

__all__ = ["power_of_difference", "rows_for_power"]


def power_of_difference(d: float, n: int, other: int | None = None, *, alpha: float = 0.05) -> float:
    """Power of a two-sided two-sample t test for Cohen's d.

    The 20.9 % that MemUse (arXiv 2608.24189) gives for d = .10 belong to its 1,850 unfiltered sessions in 7 cells; the
    1,270 that it keeps have 15.8 %.

    Args:
        d: Difference in standard deviations; its sign does not matter.
        n: Rows of the first sample, at least 2.
        other: Rows of the second; None: as many.
        alpha: Level of the test.

    Raises:
        ConfigError: A sample has fewer than two rows, `d` is not finite, or alpha not between 0 and 1.

    Example:
        >>> round(power_of_difference(0.10, 264), 3), round(power_of_difference(0.10, 181), 3)
        (0.209, 0.158)
    """
    second = n if other is None else other
    _check(d, alpha)
    if min(n, second) < 2:
        raise ConfigError(f"samples of {n} and {second} rows; a two-sample test needs at least 2 in each")
    return float(TTestIndPower().power(abs(d), n, alpha, ratio=second / n))


def rows_for_power(d: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Rows per sample with which a two-sided two-sample t test finds Cohen's d; None for d = 0.

    Args:
        d: Difference in standard deviations.
        power: Chance to find it, above alpha and below 1.
        alpha: Level of the test.

    Raises:
        ConfigError: `d` is not finite, or a probability out of range.

    Example:
        >>> rows_for_power(0.5), rows_for_power(0.1)
        (64, 1571)
    """
    _check(d, alpha)
    if not alpha < power < 1:
        raise ConfigError(f"power is {power}; give one between alpha ({alpha}) and 1")
    if d == 0:
        return None
    low, high = 1, 2  # exact on whole rows, where a root finder stops short or fails to converge for tiny d
    while high < 2**40 and power_of_difference(d, high, alpha=alpha) < power:
        low, high = high, 2 * high
    if high >= 2**40:
        return None
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if power_of_difference(d, middle, alpha=alpha) >= power else (middle, high)
    return high


def _check(d: float, alpha: float) -> None:
    if not np.isfinite(d):
        raise ConfigError(f"d is {d}; give a finite difference in standard deviations")
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha is {alpha}; give one between 0 and 1")
