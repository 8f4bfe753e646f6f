"""Two systems on the same probes: difference, tests, and what could have been detected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_rel
from statsmodels.stats.contingency_tables import mcnemar

from mnemoscope.core.identity import derive_seed
from mnemoscope.evaluators.statistics.bootstrap import Floats, one_thread

__all__ = [
    "detectable",
    "holm",
    "mcnemar_exact",
    "paired_p",
    "sign_flip",
]

_EXACT_UP_TO = 12
_ALPHA = 0.05
_POWER = 1.959964 + 0.841621
"""Standard normal quantiles of a two-sided 5 % test and of 80 % power."""


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


def detectable(standard_error: float, clusters: int) -> float | None:
    """Difference that a two-sided 5 % test finds with 80 % power at this standard error: 2.80 of them.

    Args:
        standard_error: Of the difference, by the cluster bootstrap.
        clusters: Where even the most lopsided of their sign flips does not reach 5 % (five and fewer), none is found.

    Returns:
        None also where the error is 0 or NaN: no spread was seen.

    Example:
        >>> detectable(0.1, 10), detectable(0.1, 5)
        (0.2801585, None)
    """
    if not standard_error > 0 or 2 / 2**clusters >= _ALPHA:
        return None
    return _POWER * standard_error


@lru_cache(maxsize=8)
def _signs(clusters: int, resamples: int, seed: int) -> npt.NDArray[np.int8]:
    if clusters <= _EXACT_UP_TO:
        codes = np.arange(2**clusters)[:, None]
        return (1 - 2 * ((codes >> np.arange(clusters)) & 1)).astype(np.int8)
    rng = np.random.default_rng(derive_seed("sign-flip", clusters, resamples, seed))
    return (1 - 2 * rng.integers(0, 2, size=(resamples, clusters), dtype=np.int8)).astype(np.int8)
