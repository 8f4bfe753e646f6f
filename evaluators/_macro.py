"""Intervals of a mean over categories, by the same draw of clusters as every other figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemoscope.evaluators.statistics._input import Floats, Indices
from mnemoscope.evaluators.statistics.bootstrap import bootstrap_of_counts
from mnemoscope.evaluators.statistics.intervals import Interval, wilson

__all__ = ["macro_intervals", "mean_of"]


def mean_of(values: Sequence[float | None]) -> float | None:
    """The unweighted mean; None where one is missing, because a mean over fewer categories is another figure."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there and len(there) == len(values) else None


def macro_intervals(
    totals: Floats, weights: Floats, category: Indices, cluster: Indices, *, seed: int, resamples: int
) -> list[Interval]:
    """95 % intervals of each column's mean over categories, Σ scores / Σ cells in each.

    A draw in which a category has no rows is left out. Where every score is 0, or every one 1, resampling sees no
    spread, and the interval is Wilson's over clusters.

    Args:
        totals: Scores summed over a probe's replicates, shape (probes, systems).
        weights: Scored replicates, the same shape.
        category: Category of each probe, from 0.
        cluster: Cluster of each probe, from 0.
        seed: Of the draw.
        resamples: How often to draw.
    """
    clusters, kinds, systems = int(cluster.max()) + 1, int(category.max()) + 1, totals.shape[1]
    sums, sizes = np.zeros((clusters, kinds, systems)), np.zeros((clusters, kinds, systems))
    np.add.at(sums, (cluster, category), totals)
    np.add.at(sizes, (cluster, category), weights)
    flat_sums, flat_sizes = sums.reshape(clusters, -1), sizes.reshape(clusters, -1)

    def macro(counts: Floats) -> Floats:
        ratios = (counts @ flat_sums) / (counts @ flat_sizes)
        return np.asarray(ratios.reshape(len(counts), kinds, systems).mean(axis=1))

    present = sizes.sum(axis=1) > 0
    found = bootstrap_of_counts(macro, clusters, seed=seed, method="percentile", resamples=resamples, present=present)
    intervals = []
    for column, estimate in enumerate(found):
        told = int(present[:, column].sum())
        share = float(totals[:, column].sum() / max(weights[:, column].sum(), 1.0))
        if share in (0.0, 1.0) and told > 1:
            intervals.append(wilson(int(share) * told, told))
        elif estimate.low is None or estimate.high is None:
            intervals.append(Interval(None, None, reason=estimate.reason or "one cluster"))
        else:
            intervals.append(Interval(estimate.low, estimate.high, "cluster-bootstrap"))
    return intervals
