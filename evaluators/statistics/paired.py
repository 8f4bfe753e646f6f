"""Two systems on the same probes: difference, tests, and what could have been detected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar

from mnemoscope.core.identity import derive_seed
from mnemoscope.evaluators.statistics.bootstrap import Floats, bootstrap_columns, one_thread

__all__ = [
    "PairedTest",
    "detectable_by_error",
    "detectable_by_mcnemar",
    "holm",
    "mcnemar_exact",
    "paired_difference",
    "paired_p",
    "sign_flip",
]

_EXACT_UP_TO = 12
_POWER = 1.959964 + 0.841621
"""Standard normal quantiles of a two-sided 5 % test and of 80 % power."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The comparison of two systems on shared probes; `delta` is first minus second."""

    delta: float | None
    low: float | None
    high: float | None
    p: float | None
    p_clustered: float | None
    test: str
    n: int
    clusters: int
    mde: float | None
    """Smallest difference that this comparison could have shown; see `detectable_by_mcnemar`, `detectable_by_error`."""


def paired_difference(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[str], *, seed: int, resamples: int = 10_000
) -> PairedTest:
    """Mean difference over probes with its interval and tests.

    Args:
        a: Scores of the first system, one per probe.
        b: Scores of the second, same probes in the same order.
        clusters: The cluster of each probe.
        seed: Of the draws; both systems share each draw.
        resamples: Of the bootstrap and of the sign flips.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if not len(first) == len(second) == len(clusters):
        raise ValueError(f"{len(first)}, {len(second)} scores and {len(clusters)} clusters")
    if not len(first):
        return PairedTest(None, None, None, None, None, "none", 0, 0, None)
    names, index = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    sums = np.bincount(index, weights=first - second, minlength=len(names)).astype(np.float64)[:, None]
    sizes = np.bincount(index, minlength=len(names)).astype(np.float64)[:, None]
    low, high, error = bootstrap_columns(sums, sizes, seed=seed, resamples=resamples)
    p, test, mde = paired_p(first, second)
    told = not np.isnan(low[0])
    return PairedTest(
        delta=float((first - second).mean()),
        low=float(low[0]) if told else None,
        high=float(high[0]) if told else None,
        p=p,
        p_clustered=float(sign_flip(sums, seed=seed, resamples=resamples)[0]) if told else None,
        test=test,
        n=len(first),
        clusters=len(names),
        mde=mde if test == "mcnemar-exact" else detectable_by_error(float(error[0])) if told else None,
    )


def paired_p(first: Floats, second: Floats) -> tuple[float | None, str, float | None]:
    """Unclustered p, its test, and the detectable difference where the test is McNemar's.

    Scores that are all 0 or 1 take McNemar's exact test, others a paired t test.
    """
    if np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all():
        only_first, only_second = int((first > second).sum()), int((second > first).sum())
        mde = detectable_by_mcnemar(only_first + only_second, len(first))
        return mcnemar_exact(only_first, only_second), "mcnemar-exact", mde
    difference = first - second
    if len(first) < 2:
        return None, "paired-t", None
    if np.ptp(difference) < 1e-12:
        return (1.0 if abs(float(difference[0])) < 1e-12 else None), "paired-t", None
    return float(ttest_rel(first, second).pvalue), "paired-t", None


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


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjustment within one family; a missing p stays missing and does not count.

    Example:
        >>> holm([0.01, None, 0.04])
        [0.02, None, 0.04]
    """
    # statsmodels' multipletests collects garbage on every call, which takes minutes over a run's worth of families
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    floor = 0.0
    for rank, (p, i) in enumerate(known):
        floor = max(floor, min(1.0, p * (len(known) - rank)))
        adjusted[i] = floor
    return adjusted


def detectable_by_mcnemar(discordant: int, n: int, alpha: float = 0.05) -> float | None:
    """Smallest difference in shares that reaches p < alpha with so many discordant pairs out of n.

    None where not even one-sided discordance would reach it (fewer than 6 discordant pairs at 5 %).

    Example:
        >>> detectable_by_mcnemar(15, 72)
        0.125
    """
    fewer = _most_lopsided(discordant, alpha)
    return None if fewer is None else (discordant - 2 * fewer) / n


def detectable_by_error(standard_error: float) -> float:
    """Difference that a two-sided 5 % test finds with 80 % power at this standard error: 2.80 of them."""
    return _POWER * standard_error


@lru_cache(maxsize=4_096)
def _most_lopsided(discordant: int, alpha: float) -> int | None:
    """Largest count of the rarer direction that still reaches p < alpha."""
    reached = np.flatnonzero(2 * binom.cdf(np.arange(discordant // 2 + 1), discordant, 0.5) < alpha)
    return int(reached[-1]) if len(reached) else None


@lru_cache(maxsize=8)
def _signs(clusters: int, resamples: int, seed: int) -> npt.NDArray[np.int8]:
    if clusters <= _EXACT_UP_TO:
        codes = np.arange(2**clusters)[:, None]
        return (1 - 2 * ((codes >> np.arange(clusters)) & 1)).astype(np.int8)
    rng = np.random.default_rng(derive_seed("sign-flip", clusters, resamples, seed))
    return (1 - 2 * rng.integers(0, 2, size=(resamples, clusters), dtype=np.int8)).astype(np.int8)
