"""Spearman's rank correlation of rows that come in clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed
from mnemoscope.evaluators.statistics._input import Floats, Indices, codes, column, same_length
from mnemoscope.evaluators.statistics.bootstrap import IntervalMethod, bootstrap_of_counts, one_thread

__all__ = ["Association", "spearman", "spearman_p"]

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Association:
    """A rank correlation; a missing figure is None, and `reason` says why."""

    rho: float | None
    """Pearson's correlation of average ranks, -1 to 1."""
    low: float | None
    high: float | None
    interval: str
    """`bca` or `percentile`, by the cluster bootstrap, or why there is none."""
    p: float | None
    """Two-sided, by the t approximation, rows taken as independent; what is usually published."""
    p_within: float | None
    """Two-sided, by permuting the second column inside clusters; None where no cluster has two rows."""
    n: int
    clusters: int
    degenerate: int
    """Draws of the bootstrap in which a column is constant."""
    reason: str | None = None


def spearman(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int,
    method: IntervalMethod = "bca",
    resamples: int = 10_000,
) -> Association:
    """Spearman's ρ with average ranks, both p, and an interval by the cluster bootstrap.

    Ranks are taken over all rows, and anew in every draw of the bootstrap. The permutation test keeps them, and asks
    whether the order inside clusters carries anything: what only lies between clusters does not make it significant.

    Args:
        first: One value per row.
        second: The other value of the same rows.
        clusters: Which history or user each row belongs to; None: every row stands alone, and there is no inside.
        seed: Of draws and permutations.
        method: Of the interval.
        resamples: Draws, and permutations.

    Raises:
        ConfigError: A value is not finite, or the columns differ in length.

    Example:
        >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4], seed=1, resamples=200).rho, 6)
        0.8
    """
    n = same_length(first=first, second=second, **({} if clusters is None else {"clusters": clusters}))
    one, other = column("first", first), column("second", second)
    names, index = codes(clusters if clusters is not None else range(n))
    count = len(names)
    if n < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        reason = "fewer than two rows" if n < 2 else "a column is constant"
        return Association(None, None, None, reason, None, None, n, count, 0, reason)
    a, b = _centred(one), _centred(other)
    rho = float(np.clip(a @ b, -1, 1))
    (estimate,) = bootstrap_of_counts(
        _WeightedSpearman(one, other, index), count, seed=seed, method=method, resamples=resamples
    )
    return Association(
        rho=rho,
        low=estimate.low,
        high=estimate.high,
        interval=estimate.method if estimate.low is not None else estimate.reason or "",
        p=spearman_p(rho, n),
        p_within=_within_p(a, b, index, seed, resamples) if count < n else None,
        n=n,
        clusters=count,
        degenerate=estimate.degenerate,
    )


def spearman_p(rho: float, n: int) -> float | None:
    """Two-sided p of a rank correlation by t with n - 2 degrees of freedom; None for fewer than three rows.

    Raises:
        ConfigError: ρ is not between -1 and 1.

    Example:
        >>> round(spearman_p(0.29, 48), 4)
        0.0456
    """
    if not -1 <= rho <= 1:
        raise ConfigError(f"rho is {rho}; a correlation lies between -1 and 1")
    if n < 3:
        return None
    if abs(rho) == 1:
        return 0.0
    return float(2 * t.sf(abs(rho) * np.sqrt((n - 2) / (1 - rho**2)), n - 2))


class _WeightedSpearman:
    """ρ of rows repeated as often as their cluster was drawn; a statistic of counts.

    A value's average rank among repeated rows is the weight below it plus half of its own weight and one half.
    """

    def __init__(self, first: Floats, second: Floats, index: Indices) -> None:
        self.index = index
        self.levels = [np.unique(values, return_inverse=True) for values in (first, second)]

    def __call__(self, counts: Floats) -> Floats:
        weights = counts[:, self.index]
        a, b = (self._ranks(weights, len(levels), code) for levels, code in self.levels)
        total = weights.sum(axis=1, keepdims=True)
        a -= (weights * a).sum(axis=1, keepdims=True) / total
        b -= (weights * b).sum(axis=1, keepdims=True) / total
        square_a, square_b = (weights * a * a).sum(axis=1), (weights * b * b).sum(axis=1)
        product = np.where((square_a > 1e-9) & (square_b > 1e-9), square_a * square_b, np.nan)
        return np.asarray((weights * a * b).sum(axis=1) / np.sqrt(product))[:, None]

    @staticmethod
    def _ranks(weights: Floats, levels: int, code: Indices) -> Floats:
        order = np.argsort(code, kind="stable")
        starts = np.searchsorted(code[order], np.arange(levels))
        held = np.add.reduceat(weights[:, order], starts, axis=1)
        return np.asarray((np.cumsum(held, axis=1) - held / 2 + 0.5)[:, code])


def _centred(values: Floats) -> Floats:
    """Average ranks with mean 0 and length 1."""
    ranks = rankdata(values) - (len(values) + 1) / 2
    return np.asarray(ranks / np.linalg.norm(ranks))


def _within_p(a: Floats, b: Floats, index: Indices, seed: int, resamples: int) -> float:
    """Both tails apart and doubled: what lies between clusters keeps the permuted ρ from being centred at 0."""
    order = np.lexsort((b, a, index))  # so that the order of rows changes no permutation
    a, b, index = a[order], b[order], index[order]
    rng = np.random.default_rng(derive_seed("within-cluster", len(a), resamples, seed))
    observed, above, below = float(a @ b), 0, 0
    with one_thread():
        for start in range(0, resamples, _CHUNK):
            keys = rng.random((min(_CHUNK, resamples - start), len(a))) + index
            permuted = b[np.argsort(keys, axis=1)] @ a
            above += int((permuted >= observed - 1e-9).sum())
            below += int((permuted <= observed + 1e-9).sum())
    return min(1.0, 2 * (min(above, below) + 1) / (resamples + 1))
