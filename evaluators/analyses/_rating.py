"""Rates with intervals, as analyses print them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from mnemoscope.evaluators.analyses.analysis import Column
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.statistics.bootstrap import bootstrap_ratios
from mnemoscope.evaluators.statistics.intervals import wilson

__all__ = ["PREVALENCE", "Rated", "ends", "few_clusters", "projected_precision", "rated", "rated_share", "share"]

PREVALENCE = 0.014
"""Memory moments per user turn in MemUse's deployment (arXiv 2608.24189); benchmarks hold ten times as many."""


_FEW = 10
"""As in `bootstrap_columns`: intervals of fewer clusters are too narrow."""


class Rated(NamedTuple):
    """A mean with its 95 % interval by the cluster bootstrap; no interval for one cluster."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def rated(values: Sequence[float], clusters: Sequence[str], material: Material) -> Rated:
    """The mean of values, whole clusters resampled."""
    if not values:
        return Rated(None, None, None, 0)
    names = sorted(set(clusters))
    place = {name: i for i, name in enumerate(names)}
    sums, sizes = np.zeros((len(names), 1)), np.zeros((len(names), 1))
    for value, cluster in zip(values, clusters, strict=True):
        sums[place[cluster], 0] += value
        sizes[place[cluster], 0] += 1
    (found,) = bootstrap_ratios(sums, sizes, seed=material.seed, resamples=material.resamples)
    return Rated(found.value, found.low, found.high, len(values))


def rated_share(values: Sequence[float], clusters: Sequence[str], material: Material) -> Rated:
    """A mean of values from 0 to 1, as `rated`.

    Where all are 0, or all are 1, resampling sees no spread, and the interval is Wilson's over clusters.
    """
    found, told = rated(values, clusters, material), len(set(clusters))
    if found.value not in (0.0, 1.0) or told < 2:
        return found
    interval = wilson(int(found.value) * told, told)
    return found._replace(low=interval.low, high=interval.high)


def ends(of: str, prefix: str = "", kind: Literal["share", "points"] = "share") -> tuple[Column, Column]:
    """The two columns of an interval, `low` and `high` or with a prefix."""
    return (
        Column(f"{prefix}low", kind, f"Lower end of the 95 % interval of `{of}`, by cluster; a dash for one cluster."),
        Column(f"{prefix}high", kind, "Upper end."),
    )


def few_clusters(clusters: Iterable[str], what: str = "") -> tuple[str, ...]:
    """The note that intervals need: none of one cluster, and too narrow ones of a few.

    Args:
        clusters: Clusters behind a table, or behind some of its rows.
        what: These rows, for the note; empty: all.
    """
    told, of = len(set(clusters)), f"{what}: " if what else ""
    if told == 1:
        return (f"{of}one cluster, so that there are no intervals",)
    return (f"{of}{told} clusters; intervals of fewer than {_FEW} are too narrow",) if 1 < told < _FEW else ()


def share(part: float, whole: float) -> float | None:
    """A share; None of nothing."""
    return part / whole if whole else None


def projected_precision(hit: float | None, false: float | None, prevalence: float = PREVALENCE) -> float | None:
    """Share of mentions that are wanted, where moments are as rare as `prevalence` says.

    Args:
        hit: Share of moments at which the memory is mentioned, 0–1.
        false: Share of other turns at which it is, 0–1.
        prevalence: Share of turns that are moments.

    Example:
        >>> round(projected_precision(0.8, 0.05, 0.15), 2), round(projected_precision(0.8, 0.05, 0.014), 2)
        (0.74, 0.19)
    """
    if hit is None or false is None:
        return None
    return share(hit * prevalence, hit * prevalence + false * (1 - prevalence))
