"""Intervals of proportions, and what an interval is."""

from __future__ import annotations

from dataclasses import dataclass

from statsmodels.stats.proportion import proportion_confint

from mnemoscope.core.errors import ConfigError

__all__ = ["Interval", "wilson"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper end, or the reason why there is none."""

    low: float | None
    high: float | None
    method: str = ""
    reason: str | None = None


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion; rows count as independent.

    Args:
        successes: Number of ones.
        n: Number of rows; 0 gives no interval.
        confidence: Between 0 and 1.

    Raises:
        ConfigError: `successes` is not between 0 and `n`.

    Example:
        >>> wilson(0, 72).high is not None and wilson(0, 72).high > 0.05
        True
    """
    if not 0 <= successes <= n:
        raise ConfigError(f"{successes} successes of {n} rows; give a number from 0 to {n}")
    if n == 0:
        return Interval(None, None, reason="nothing scored")
    low, high = proportion_confint(successes, n, alpha=1 - confidence, method="wilson")
    return Interval(max(0.0, float(low)), min(1.0, float(high)), "wilson")
