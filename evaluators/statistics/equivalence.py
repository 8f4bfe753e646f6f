"""Two one-sided tests: whether a difference is small enough not to matter, which a large p never shows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm, t

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics._input import Floats, cluster_sums, codes, column, same_length
from mnemoscope.evaluators.statistics.bootstrap import bootstrap_ratios

__all__ = ["Equivalence", "EquivalenceUnit", "equivalence_by_cluster", "tost"]

EquivalenceUnit = Literal["row", "cluster-mean"]
"""What counts alike: every row (session), or the mean of every cluster (user)."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Outcome of the two one-sided tests; a missing figure is None, and `reason` says why."""

    difference: float | None
    error: float | None
    """Standard error of the difference."""
    margin: float
    """Differences strictly between minus and plus this do not matter; fixed before scoring."""
    df: float | None
    """Degrees of freedom; None: normal."""
    p: float | None
    """The larger of the two one-sided p."""
    low: float | None
    """Lower end of the interval of confidence 1 - 2 alpha, inside the margin exactly where equivalence is shown."""
    high: float | None
    equivalent: bool
    reason: str | None = None

    @property
    def verdict(self) -> str:
        """`equivalent` or `not shown`; that the systems differ is never its outcome."""
        return "equivalent" if self.equivalent else "not shown"


def tost(
    difference: float, error: float, margin: float, *, df: float | None = None, alpha: float = 0.05
) -> Equivalence:
    """Schuirmann's two one-sided tests (1987) from an estimate and its standard error.

    Args:
        difference: Estimated difference.
        error: Its standard error, above 0; 0 means that no spread was seen, and shows nothing.
        margin: Above 0, in the unit of the difference.
        df: Of the t distribution; None: normal.
        alpha: Level of each test; the interval has confidence 1 - 2 alpha.

    Raises:
        ConfigError: The margin is not above 0, alpha not between 0 and one half, df below 1, or an estimate not finite.

    Example:
        >>> tost(0.02, 0.06, 0.25).verdict, tost(0.2, 0.06, 0.25).verdict
        ('equivalent', 'not shown')
    """
    _check(difference, error, margin, df, alpha)
    if error == 0:
        return Equivalence(difference, error, margin, df, None, None, None, False, "no spread was seen")
    law = norm if df is None else t(df)
    p = max(float(law.sf((difference + margin) / error)), float(law.cdf((difference - margin) / error)))
    half = float(law.ppf(1 - alpha)) * error
    return Equivalence(difference, error, margin, df, p, difference - half, difference + half, p < alpha)


def equivalence_by_cluster(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    clusters: Sequence[Hashable],
    margin: float,
    *,
    seed: int,
    unit: EquivalenceUnit = "row",
    alpha: float = 0.05,
    resamples: int = 10_000,
) -> Equivalence:
    """TOST of two systems on the same rows, with the standard error of the cluster bootstrap and C - 1 df.

    MemUse (arXiv 2608.24189) tests with a margin of .25 within-user SD and does not say of which unit: report both.
    The bootstrap's error is multiplied by √(C / (C - 1)), because draws from C clusters spread that much too little.

    Args:
        first: Scores, one per row.
        second: The same rows of the other system.
        clusters: Which history or user each row belongs to.
        margin: Above 0, in the unit of the scores.
        seed: Of the draw.
        unit: `row` weighs every row alike, `cluster-mean` every cluster.
        alpha: Level of each of the two tests.
        resamples: Of the bootstrap.

    Raises:
        ConfigError: As of `tost`; or the columns differ in length.
    """
    n = same_length(first=first, second=second, clusters=clusters)
    difference = column("first", first) - column("second", second)
    _check(0.0, 0.0, margin, None, alpha)
    names, index = codes(clusters)
    if not n:
        return Equivalence(None, None, margin, None, None, None, None, False, "nothing scored")
    count = len(names)
    sums, sizes = cluster_sums(difference, index, count), cluster_sums(np.ones(n), index, count)
    if unit == "cluster-mean":
        sums, sizes = sums / sizes, np.ones_like(sizes)
    (estimate,) = bootstrap_ratios(sums, sizes, seed=seed, method="percentile", resamples=resamples)
    if estimate.value is None or estimate.error is None:
        return Equivalence(estimate.value, None, margin, None, None, None, None, False, estimate.reason)
    error = estimate.error * np.sqrt(count / (count - 1))
    spread = float(error) if error > 1e-12 * max(1.0, abs(estimate.value)) else 0.0
    return tost(estimate.value, spread, margin, df=count - 1, alpha=alpha)


def _check(difference: float, error: float, margin: float, df: float | None, alpha: float) -> None:
    if not (np.isfinite(margin) and margin > 0):
        raise ConfigError(f"the equivalence margin is {margin}; give a finite one above 0, fixed before scoring")
    if not 0 < alpha < 0.5:
        raise ConfigError(f"alpha is {alpha}; give one between 0 and 0.5")
    if df is not None and not df >= 1:
        raise ConfigError(f"df is {df}; give at least 1, or None for the normal distribution")
    if not (np.isfinite(difference) and np.isfinite(error) and error >= 0):
        raise ConfigError(f"difference {difference}, standard error {error}: give finite numbers, the error from 0")
