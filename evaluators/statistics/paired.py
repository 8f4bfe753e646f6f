"""Two systems on the same probes: difference, tests, and what could have been detected."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as count_from

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed
from mnemoscope.evaluators.statistics._input import ROUNDING, Indices, cluster_sums, codes, column, same_length
from mnemoscope.evaluators.statistics.bootstrap import Floats, IntervalMethod, bootstrap_ratios, one_thread

__all__ = [
    "McNemarPair",
    "clusters_needed",
    "detectable",
    "mcnemar_exact",
    "mcnemar_pair",
    "paired_p",
    "sign_flip",
    "sign_flip_exact",
    "smallest_difference",
    "smallest_p",
]

_EXACT_UP_TO = 12
_ALPHA = 0.05
_POWER = 0.8


@dataclass(frozen=True, slots=True)
class McNemarPair:
    """Two systems right or wrong on the same rows: both tests, with all that they must be read with."""

    n: int
    clusters: int
    n10: int
    """Rows that only the first got right."""
    n01: int
    """Rows that only the second got right."""
    difference: float | None
    """Share right of the first minus that of the second."""
    low: float | None
    high: float | None
    interval: str
    """`bca` or `percentile`, by the cluster bootstrap, or why there is none."""
    p: float | None
    """McNemar's exact test, rows taken as independent."""
    p_clustered: float | None
    """All sign flips of whole clusters' differences; None for one cluster, which tells nothing."""
    p_floor: float | None
    """Smallest p that flips of this many clusters can give."""
    smallest: int | None
    """Smallest |n10 - n01| that reaches p < .05 with as many discordant rows; None: none does."""

    def __str__(self) -> str:
        if self.difference is None:
            return "nothing scored"
        ends = "" if self.low is None or self.high is None else f" [{self.low:+.3f}, {self.high:+.3f}]"
        line = f"{self.difference:+.3f}{ends}, n10 {self.n10}, n01 {self.n01} of {self.n}; p {self.p:.2g}"
        if self.p_clustered is not None:
            line += f", by {self.clusters} clusters {self.p_clustered:.2g}"
        if self.p is not None and self.p >= _ALPHA:
            reach = "no difference" if self.smallest is None else f"{self.smallest} of {self.n}"
            line += f"; no difference shown: {self.n10 + self.n01} discordant rows can show {reach}"
        return line


def mcnemar_pair(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    clusters: Sequence[Hashable],
    *,
    seed: int,
    method: IntervalMethod = "bca",
    resamples: int = 10_000,
) -> McNemarPair:
    """McNemar's exact test and its clustered twin; rows that one of the systems did not score are left out first.

    Args:
        first: 0 or 1 per row.
        second: The same rows of the other system.
        clusters: Which history each row belongs to.
        seed: Of the interval's draw; both tests are exact and draw nothing.
        method: Of the interval.
        resamples: Of the interval.

    Raises:
        ConfigError: A score is neither 0 nor 1, or the columns differ in length.

    Example:
        >>> pair = mcnemar_pair([1, 1, 1, 0], [1, 0, 0, 0], ["a", "b", "c", "d"], seed=1)
        >>> pair.n10, pair.n01, pair.difference, pair.p, pair.p_clustered, pair.p_floor
        (2, 0, 0.5, 0.5, 0.5, 0.125)
    """
    n = same_length(first=first, second=second, clusters=clusters)
    one, other = _binary("first", first), _binary("second", second)
    names, index = codes(clusters)
    if not n:
        return McNemarPair(0, 0, 0, 0, None, None, None, "nothing scored", None, None, None, None)
    n10, n01 = int((one > other).sum()), int((other > one).sum())
    sums = cluster_sums(one - other, index, len(names))
    (estimate,) = bootstrap_ratios(
        sums, cluster_sums(np.ones(n), index, len(names)), seed=seed, method=method, resamples=resamples
    )
    several = len(names) > 1
    return McNemarPair(
        n=n,
        clusters=len(names),
        n10=n10,
        n01=n01,
        difference=(n10 - n01) / n,
        low=estimate.low,
        high=estimate.high,
        interval=estimate.method if estimate.low is not None else estimate.reason or "",
        p=mcnemar_exact(n10, n01),
        p_clustered=sign_flip_exact(sums[:, 0].astype(np.int64)) if several else None,
        p_floor=smallest_p(len(names)) if several else None,
        smallest=smallest_difference(n10 + n01),
    )


def paired_p(first: Floats, second: Floats) -> tuple[float | None, str]:
    """Unclustered p and its test: McNemar's exact one where all scores are 0 or 1, else a paired t test."""
    if np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all():
        return mcnemar_exact(int((first > second).sum()), int((second > first).sum())), "mcnemar-exact"
    difference = first - second
    if len(first) < 2:
        return None, "paired-t"
    if np.ptp(difference) < 1e-12:
        return (1.0 if abs(float(difference[0])) < 1e-12 else None), "paired-t"
    return float(ttest_rel(first, second).pvalue), "paired-t"


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact McNemar p from the discordant counts; 1 where there is none.

    Example:
        >>> round(mcnemar_exact(3, 12), 4)
        0.0352
    """
    if only_first + only_second == 0:
        return 1.0
    return min(1.0, float(mcnemar([[0, only_first], [only_second, 0]], exact=True).pvalue))


def sign_flip(sums: Floats, *, seed: int, resamples: int = 10_000) -> Floats:
    """Two-sided p by flipping the sign of whole clusters' differences, one per column.

    Exact (all flips) for up to 12 clusters, else by seeded draws with the observed one counted in.

    Args:
        sums: Σ of differences, shape (clusters, columns).
        seed: Of the draws.
        resamples: Number of draws beyond 12 clusters.
    """
    clusters = sums.shape[0]
    observed = np.abs(sums.sum(axis=0))
    signs = _signs(clusters, resamples, seed)
    extreme = np.zeros(sums.shape[1])
    with one_thread():
        for start in range(0, len(signs), 1_000):
            flipped = np.abs(signs[start : start + 1_000].astype(np.float64) @ sums)
            extreme += (flipped >= observed - 1e-9).sum(axis=0)
    if clusters <= _EXACT_UP_TO:
        return np.asarray(extreme / len(signs))
    return np.asarray((extreme + 1) / (len(signs) + 1))


def sign_flip_exact(sums: Indices) -> float:
    """Two-sided p over all 2^C sign flips of clusters' whole-number differences, without drawing one.

    The flipped total is a sum of independent ±dᵢ, so that its distribution is a product of two-point ones. With one row
    per cluster this is McNemar's exact test.

    Example:
        >>> sign_flip_exact(np.array([1, 1, 1])), sign_flip_exact(np.array([0, 0]))
        (0.25, 1.0)
    """
    chances = np.ones(1)  # of the totals -D, -D + 2, …, D: they share one parity
    for size in np.abs(sums[sums != 0]):
        wider = np.zeros(len(chances) + int(size))
        wider[: len(chances)] += chances / 2
        wider[int(size) :] += chances / 2
        chances = wider
    largest = len(chances) - 1
    totals = np.arange(-largest, largest + 1, 2)
    return min(1.0, float(chances[np.abs(totals) >= abs(int(sums.sum()))].sum()))


def smallest_p(clusters: int) -> float:
    """Smallest two-sided p that sign flips of this many clusters can give: 2 of their 2^C.

    Example:
        >>> smallest_p(5), smallest_p(10)
        (0.0625, 0.001953125)
    """
    return min(1.0, 2.0 ** (1 - clusters))


@lru_cache(maxsize=1024)
def smallest_difference(discordant: int) -> int | None:
    """Smallest |n10 - n01| that reaches p < .05 by McNemar's exact test with this many discordant rows.

    Returns:
        None where even all rows on one side do not (five and fewer).

    Example:
        >>> smallest_difference(15), smallest_difference(5)  # 3 against 12
        (9, None)
    """
    lower = np.arange(discordant // 2 + 1)
    reaching = lower[2 * binom.cdf(lower, discordant, 0.5) < _ALPHA]
    return discordant - 2 * int(reaching[-1]) if len(reaching) else None


def detectable(standard_error: float, clusters: int, alpha: float = _ALPHA) -> float | None:
    """Difference that a two-sided test finds with 80 % power at this standard error: at 5 %, 2.80 of them.

    Args:
        standard_error: Of the difference, by the cluster bootstrap.
        clusters: Where even the most lopsided of their sign flips does not reach alpha (at 5 %, five and fewer), none
            is found.
        alpha: Level of the test.

    Returns:
        None also where the error is 0 or NaN: no spread was seen.

    Example:
        >>> round(detectable(0.1, 10), 3), detectable(0.1, 5)
        (0.28, None)
    """
    if not standard_error > ROUNDING or smallest_p(clusters) >= alpha:
        return None
    return _errors_apart(alpha) * standard_error


def clusters_needed(difference: float, standard_error: float, clusters: int, alpha: float = _ALPHA) -> int | None:
    """Clusters with which a two-sided test finds this difference with 80 % power, if others are like those at hand.

    Args:
        difference: To be found; its sign does not matter.
        standard_error: Of the difference, with the clusters at hand; it falls with the root of their number.
        clusters: At hand.
        alpha: Level of the test.

    Returns:
        Never fewer than sign flips need to reach alpha; None where the difference or the error is 0, up to rounding,
        or not known.

    Example:
        >>> clusters_needed(0.14, 0.1, 10), clusters_needed(0.9, 0.1, 10), clusters_needed(0.0, 0.1, 10)
        (41, 6, None)
    """
    if not (standard_error > ROUNDING and abs(difference) > ROUNDING):
        return None
    enough = math.ceil(clusters * (_errors_apart(alpha) * standard_error / difference) ** 2)
    return max(enough, next(count for count in count_from(1) if smallest_p(count) < alpha))


@lru_cache(maxsize=8)
def _errors_apart(alpha: float) -> float:
    """Standard errors between nothing and what a two-sided test finds with 80 % power."""
    return float(norm.ppf(1 - alpha / 2) + norm.ppf(_POWER))


def _binary(name: str, values: Sequence[float] | Floats) -> Floats:
    found = column(name, values)
    wrong = np.flatnonzero((found != 0) & (found != 1))
    if wrong.size:
        row = int(wrong[0])
        raise ConfigError(f"{name}, row {row} is {found[row]:g}; McNemar's test compares scores that are 0 or 1")
    return found


@lru_cache(maxsize=8)
def _signs(clusters: int, resamples: int, seed: int) -> npt.NDArray[np.int8]:
    if clusters <= _EXACT_UP_TO:
        codes = np.arange(2**clusters)[:, None]
        return (1 - 2 * ((codes >> np.arange(clusters)) & 1)).astype(np.int8)
    rng = np.random.default_rng(derive_seed("sign-flip", clusters, resamples, seed))
    return (1 - 2 * rng.integers(0, 2, size=(resamples, clusters), dtype=np.int8)).astype(np.int8)
