"""The cluster bootstrap: whole clusters are drawn, so that rows of one history stay together.

A statistic is a function of how often each cluster was drawn. One draw then serves many statistics, the jackknife that
BCa needs is the same function with one count set to 0, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed
from mnemoscope.evaluators.statistics._input import Floats

__all__ = [
    "Estimate",
    "Floats",
    "IntervalMethod",
    "OfCounts",
    "bootstrap_columns",
    "bootstrap_of_counts",
    "bootstrap_ratios",
    "bootstrap_statistic",
    "one_thread",
    "ratio_of_counts",
    "resample_counts",
]

IntervalMethod = Literal["percentile", "bca"]
OfCounts = Callable[[Floats], Floats]
"""From counts, shape (draws, clusters), to values, shape (draws, columns); NaN where a draw has no value."""

_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its interval by the cluster bootstrap; a missing figure is None, and `reason` says why."""

    value: float | None
    low: float | None
    high: float | None
    error: float | None
    """Standard deviation over draws."""
    method: IntervalMethod
    """How the interval was made: `percentile` also where BCa was asked for and is undefined."""
    clusters: int
    degenerate: int
    """Draws in which the statistic has no value (nothing scored, one class, no spread); they are left out."""
    without_one: tuple[float, float] | None
    """Lowest and highest value with one cluster left out: what a single history can change."""
    reason: str | None = None


def bootstrap_columns(
    sums: Floats, sizes: Floats, *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> tuple[Floats, Floats, Floats]:
    """Percentile intervals of many ratios over the same clusters, the same draw applied to all of them.

    Each is Σ values / Σ rows over clusters drawn with replacement, not the mean of cluster means. With few clusters (10
    conversations, say) such intervals are too narrow.

    Args:
        sums: Numerators, shape (clusters, columns), clusters in sorted order.
        sizes: Denominators, the same shape; a resample in which a column has none is left out of that column.
        seed: Of the draw.
        resamples: How often to draw.
        confidence: Between 0 and 1.

    Returns:
        Lower ends, upper ends and standard errors by column; NaN where fewer than two clusters have rows.
    """
    columns = sums.shape[1]
    ratios = _drawn(ratio_of_counts(sums, sizes), sums.shape[0], resamples, seed)
    low, high, error = (np.full(columns, np.nan) for _ in range(3))
    tail = (1 - confidence) / 2
    told = (sizes > 0).sum(axis=0) > 1
    whole = told & ~np.isnan(ratios).any(axis=0)
    if whole.any():
        picked = ratios[:, whole]
        low[whole], high[whole] = np.quantile(picked, [tail, 1 - tail], axis=0)
        error[whole] = picked.std(axis=0, ddof=1)
    for column in np.flatnonzero(told & ~whole):
        some = ratios[:, column][~np.isnan(ratios[:, column])]
        low[column], high[column] = np.quantile(some, [tail, 1 - tail])
        error[column] = some.std(ddof=1)
    return low, high, error


def bootstrap_ratios(
    sums: Floats,
    sizes: Floats,
    *,
    seed: int,
    method: IntervalMethod = "bca",
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> list[Estimate]:
    """One estimate per ratio Σ values / Σ rows, the same draw applied to all; arguments as of `bootstrap_columns`.

    Example:
        >>> ratio, = bootstrap_ratios(np.array([[1.0], [2.0], [3.0]]), np.full((3, 1), 4.0), seed=1)
        >>> ratio.value, ratio.without_one
        (0.5, (0.375, 0.625))
    """
    return bootstrap_of_counts(
        ratio_of_counts(sums, sizes),
        sums.shape[0],
        seed=seed,
        method=method,
        resamples=resamples,
        confidence=confidence,
        present=sizes > 0,
    )


def bootstrap_statistic(
    rows_by_cluster: Sequence[Floats],
    statistic: Callable[[Floats], float],
    *,
    seed: int,
    method: IntervalMethod = "bca",
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> Estimate:
    """Any statistic of rows: it is called once per draw on the rows of the drawn clusters, duplicates kept.

    A statistic that can be written as a function of counts (`bootstrap_of_counts`) runs many times faster.

    Args:
        rows_by_cluster: Rows of each cluster, shape (rows,) or (rows, columns), clusters in a fixed order.
        statistic: From rows to a number; NaN where they have none.
        seed: Of the draw; the same clusters and seed give the same draw as in every other function here.
        method: `bca` or `percentile`.
        resamples: How often to draw.
        confidence: Between 0 and 1.

    Example:
        >>> rows = [np.array([1.0, 2.0]), np.array([3.0]), np.array([9.0])]
        >>> bootstrap_statistic(rows, lambda r: float(np.median(r)), seed=1, resamples=200).value
        2.5
    """
    rows = list(rows_by_cluster)
    order = np.arange(len(rows))

    def of_counts(counts: Floats) -> Floats:
        values = np.full((len(counts), 1), np.nan)
        for draw, times in enumerate(counts.astype(np.int64)):
            picked = [rows[i] for i in np.repeat(order, times)]
            if sum(map(len, picked)):
                values[draw] = statistic(np.concatenate(picked))
        return values

    return bootstrap_of_counts(
        of_counts, len(rows), seed=seed, method=method, resamples=resamples, confidence=confidence
    )[0]


def bootstrap_of_counts(
    statistic: OfCounts,
    clusters: int,
    *,
    seed: int,
    method: IntervalMethod = "bca",
    resamples: int = 10_000,
    confidence: float = 0.95,
    present: npt.NDArray[np.bool_] | None = None,
) -> list[Estimate]:
    """One estimate per column of a statistic of counts.

    BCa after Efron and Tibshirani (1993), chapter 14: the bias from the share of draws below the value (ties count
    half), the acceleration from the jackknife over clusters. Where all draws lie on one side of the value it is
    undefined; the interval is then the percentile one, and `method` says so.

    On simulated shares (1,000 data sets) 95 % intervals of either kind cover 93 to 94 % over 260 clusters. Over 10 they
    cover 90 to 91 %, and where shares are skewed 86 % by percentiles and 88 % by BCa: read `without_one` beside them.

    Args:
        statistic: Of counts.
        clusters: Number of clusters.
        seed: Of the draw.
        method: `bca` or `percentile`.
        resamples: How often to draw.
        confidence: Between 0 and 1.
        present: Which clusters have rows in which column, shape (clusters, columns), where not all have. The others are
            drawn like all, so that columns stay comparable, and are counted and left out nowhere.

    Raises:
        ConfigError: `confidence` is not between 0 and 1, or fewer than two resamples are asked for.
    """
    if not 0 < confidence < 1 or resamples < 2:
        raise ConfigError(f"confidence {confidence}, resamples {resamples}: give one between 0 and 1, and at least 2")
    if clusters == 0:
        return [Estimate(None, None, None, None, method, 0, 0, None, "nothing scored")]
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        observed = statistic(np.ones((1, clusters)))[0]
        left_out = statistic(1.0 - np.eye(clusters))
    values = _drawn(statistic, clusters, resamples, seed)
    if present is None:
        present = np.ones((clusters, len(observed)), dtype=np.bool_)
    return [
        _estimate(float(observed[c]), left_out[present[:, c], c], values[:, c], method, confidence)
        for c in range(len(observed))
    ]


def ratio_of_counts(sums: Floats, sizes: Floats) -> OfCounts:
    """Σ values / Σ rows as a statistic of counts; both arguments have shape (clusters, columns)."""
    return lambda counts: np.asarray((counts @ sums) / (counts @ sizes))


def one_thread() -> AbstractContextManager[object]:
    """Keeps matrix products on one thread: they are small, and waiting for other threads takes many times longer."""
    context: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return context


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=8)
def resample_counts(clusters: int, resamples: int, seed: int) -> npt.NDArray[np.uint16]:
    """How often each cluster is drawn in each resample, shape (resamples, clusters); rows add up to `clusters`."""
    rng = np.random.default_rng(derive_seed("cluster-bootstrap", clusters, resamples, seed))
    counts = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples).astype(np.uint16)
    counts.flags.writeable = False
    return counts


def _drawn(statistic: OfCounts, clusters: int, resamples: int, seed: int) -> Floats:
    counts = resample_counts(clusters, resamples, seed)
    starts = range(0, resamples, _CHUNK)
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        return np.concatenate([statistic(counts[start : start + _CHUNK].astype(np.float64)) for start in starts])


def _estimate(value: float, left_out: Floats, drawn: Floats, method: IntervalMethod, confidence: float) -> Estimate:
    usable = drawn[np.isfinite(drawn)]
    clusters, lost = len(left_out), len(drawn) - len(usable)
    if not np.isfinite(value):
        return Estimate(None, None, None, None, method, clusters, lost, None, "no value on these rows")
    left_out = left_out[np.isfinite(left_out)]
    without_one = (float(left_out.min()), float(left_out.max())) if len(left_out) else None
    if clusters < 2 or len(usable) < 2:
        none = "one cluster" if clusters < 2 else "no draw has a value"
        return Estimate(value, None, None, None, method, clusters, lost, without_one, none)
    tail = (1 - confidence) / 2
    tails = _bca_tails(value, left_out, usable, tail) if method == "bca" else None
    low, high = np.quantile(usable, tails or (tail, 1 - tail))
    reason = "BCa undefined: the draws lie on one side of the value" if method == "bca" and tails is None else None
    used: IntervalMethod = "bca" if tails else "percentile"
    error = float(usable.std(ddof=1))
    return Estimate(value, float(low), float(high), error, used, clusters, lost, without_one, reason)


def _bca_tails(value: float, left_out: Floats, drawn: Floats, tail: float) -> tuple[float, float] | None:
    slack = 1e-12 * max(1.0, abs(value))  # sums in another order differ in the last bits; such draws are ties
    below, ties = np.mean(drawn < value - slack), np.mean(np.abs(drawn - value) <= slack)
    share = float(below + ties / 2)
    if not 0 < share < 1:
        return None
    off = left_out.mean() - left_out if len(left_out) else np.zeros(1)
    spread = float((off**2).sum())
    acceleration = float((off**3).sum()) / (6 * spread**1.5) if spread > slack**2 else 0.0
    bias = float(norm.ppf(share))
    ends = [bias + float(norm.ppf(tail)), bias + float(norm.ppf(1 - tail))]
    if any(acceleration * end >= 1 for end in ends):
        return None
    low, high = (float(norm.cdf(bias + end / (1 - acceleration * end))) for end in ends)
    return low, high
