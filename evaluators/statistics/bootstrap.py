"""The cluster bootstrap of a ratio: whole clusters are drawn, so that rows of one history stay together."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from mnemoscope.core.identity import derive_seed

__all__ = ["Floats", "bootstrap_columns", "one_thread", "resample_counts"]

Floats = npt.NDArray[np.float64]
_CHUNK = 1_000


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
    ratios = np.empty((resamples, columns))
    counts = resample_counts(sums.shape[0], resamples, seed)
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        for start in range(0, resamples, _CHUNK):
            drawn = counts[start : start + _CHUNK].astype(np.float64)
            ratios[start : start + _CHUNK] = (drawn @ sums) / (drawn @ sizes)
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
