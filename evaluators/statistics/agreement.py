"""Agreement of raters beyond chance: Cohen's κ of two, Fleiss' κ of several, with what κ must be read with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.evaluators.statistics._input import Floats, Indices, cluster_sums, codes, same_length
from mnemoscope.evaluators.statistics.bootstrap import IntervalMethod, bootstrap_of_counts
from mnemoscope.evaluators.statistics.intervals import Interval

__all__ = ["Agreement", "KappaWeights", "OneClass", "cohen", "fleiss"]

KappaWeights = Literal["none", "linear", "quadratic"]
OneClass = Literal["undefined", "published"]
"""κ where all raters use one and the same class: none, or 1 as LoCoMo-Conv (arXiv 2609.03467) counts it."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """κ, and beside it the raw agreement and what each rater says how often: κ collapses on skewed labels."""

    kappa: float | None
    observed: float | None
    """Share of items (of pairs of raters, for Fleiss) with the same label, unweighted."""
    rates: tuple[Mapping[str, float], ...]
    """Label to share, one mapping per rater."""
    by_item: Interval
    """Bootstrap over items, taken as independent."""
    by_cluster: Interval | None
    """Bootstrap over whole clusters; None where none were given."""
    n: int
    """Items that every rater labelled."""
    n_missing: int
    """Items left out, because a label is missing."""
    clusters: int | None
    degenerate: int
    """Draws over items in which κ is undefined."""
    reason: str | None = None


def cohen(
    first: Sequence[str | None],
    second: Sequence[str | None],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int,
    weights: KappaWeights = "none",
    order: Sequence[str] | None = None,
    one_class: OneClass = "undefined",
    method: IntervalMethod = "bca",
    resamples: int = 10_000,
) -> Agreement:
    """Cohen's κ of two raters.

    Args:
        first: A label per item; None where there is none.
        second: The other rater's labels of the same items.
        clusters: Which history each item belongs to.
        seed: Of the draws.
        weights: How disagreement grows with distance: `linear` or `quadratic` for ordered labels.
        order: The labels from lowest to highest; needed for weights.
        one_class: What to make of two raters who use one and the same class. Chance then agrees as often as they do;
            the published rule "1 if they agree, else 0" has no second case, since expected agreement is 1 only there.
        method: Of the intervals.
        resamples: Of each bootstrap.

    Raises:
        ConfigError: Weights without an order, a label outside it, or columns of unequal length.

    Example:
        >>> cohen(["yes", "no", "yes", "no"], ["yes", "no", "no", "no"], seed=1, resamples=100).kappa
        0.5
    """
    labels = _Labels.of((first, second), clusters, order)
    if weights != "none" and order is None:
        raise ConfigError(f"{weights} weights need the labels in order; give order=, from lowest to highest")
    size = len(labels.names)

    def kappa() -> float:
        table = np.bincount(labels.coded[0] * size + labels.coded[1], minlength=size**2).reshape(size, size)
        return float(cohens_kappa(table, wt=None if weights == "none" else weights, return_results=False))

    pairs = np.eye(size**2)[labels.coded[0] * size + labels.coded[1]]
    statistic = _Statistic(kappa, pairs, _cohen_of_sums(size, weights))
    return _agreement(labels, statistic, one_class, _Draws(seed, method, resamples))


def fleiss(
    raters: Sequence[Sequence[str | None]],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int,
    one_class: OneClass = "undefined",
    method: IntervalMethod = "bca",
    resamples: int = 10_000,
) -> Agreement:
    """Fleiss' κ of two or more raters, each of whom labelled the same items; arguments as of `cohen`.

    Args:
        raters: Labels per item, rater by rater.
        clusters: Which history each item belongs to.
        seed: Of the draws.
        one_class: What to make of raters who all use one and the same class.
        method: Of the intervals.
        resamples: Of each bootstrap.

    Raises:
        ConfigError: Fewer than two raters, or columns of unequal length.
    """
    if len(raters) < 2:
        raise ConfigError(f"agreement needs two raters or more; {len(raters)} given")
    labels = _Labels.of(raters, clusters, None)
    used = np.eye(len(labels.names))[labels.coded].sum(axis=0)
    agreeing = (used * (used - 1)).sum(axis=1, keepdims=True) / (len(raters) * (len(raters) - 1))
    statistic = _Statistic(
        lambda: float(fleiss_kappa(used, method="fleiss")),
        np.hstack([used, agreeing, np.ones_like(agreeing)]),
        _fleiss_of_sums,
    )
    return _agreement(labels, statistic, one_class, _Draws(seed, method, resamples))


class _Draws(NamedTuple):
    seed: int
    method: IntervalMethod
    resamples: int


class _Statistic(NamedTuple):
    kappa: Callable[[], float]
    features: Floats
    """Per item, shape (items, features): what adds up over items."""
    of_sums: Callable[[Floats], Floats]
    """From sums of features, shape (draws, features), to κ, NaN where it is undefined."""


class _Labels(NamedTuple):
    names: Sequence[str]
    coded: Indices
    """Shape (raters, items): labels by their place among the names."""
    missing: int
    cluster: Indices | None
    clusters: int | None

    @classmethod
    def of(
        cls,
        raters: Sequence[Sequence[str | None]],
        clusters: Sequence[Hashable] | None,
        order: Sequence[str] | None,
    ) -> _Labels:
        """The items that every rater labelled."""
        columns = {f"rater {i + 1}": labels for i, labels in enumerate(raters)}
        items = same_length(**columns, **({} if clusters is None else {"clusters": clusters}))
        rows = [row for row in zip(*raters, strict=True) if None not in row]
        names = sorted({label for row in rows for label in row if label is not None}) if order is None else list(order)
        place = {name: i for i, name in enumerate(names)}
        unknown = sorted({label for row in rows for label in row if label is not None} - set(place))
        if unknown or len(place) < len(names):
            raise ConfigError(f"labels {shown(unknown)} against the order {shown(names)}; give each label once")
        coded = np.array([[place[label] for label in row if label is not None] for row in rows], dtype=np.int64)
        known = (
            None
            if clusters is None
            else codes([c for c, *row in zip(clusters, *raters, strict=True) if None not in row])
        )
        return cls(
            names,
            coded.reshape(-1, len(raters)).T,
            items - len(rows),
            None if known is None else known[1],
            None if known is None else len(known[0]),
        )


def _agreement(labels: _Labels, statistic: _Statistic, one_class: OneClass, draws: _Draws) -> Agreement:
    raters, n = labels.coded.shape
    reason, kappa = None, None
    if not n:
        reason = "nothing labelled by all"
    elif np.ptp(labels.coded) == 0:
        reason = f"{'both' if raters == 2 else 'all'} raters use one class"
        kappa = 1.0 if one_class == "published" else None
    if reason is not None:
        none = Interval(None, None, reason=reason)
        by_item, by_cluster, degenerate = none, None if labels.cluster is None else none, 0
    else:
        kappa = statistic.kappa()
        by_item, degenerate = _interval(statistic, np.arange(n), n, draws)
        by_cluster = None
        if labels.cluster is not None:
            by_cluster, _ = _interval(statistic, labels.cluster, labels.clusters or 0, draws)
    used = np.eye(len(labels.names))[labels.coded]
    same = used.sum(axis=0)
    return Agreement(
        kappa=kappa,
        observed=float((same * (same - 1)).sum() / (n * raters * (raters - 1))) if n else None,
        rates=tuple(dict(zip(labels.names, share.tolist(), strict=True)) for share in used.mean(axis=1)) if n else (),
        by_item=by_item,
        by_cluster=by_cluster,
        n=n,
        n_missing=labels.missing,
        clusters=labels.clusters,
        degenerate=degenerate,
        reason=None if kappa is not None else reason,
    )


def _interval(statistic: _Statistic, index: Indices, clusters: int, draws: _Draws) -> tuple[Interval, int]:
    sums = cluster_sums(statistic.features, index, clusters)
    (estimate,) = bootstrap_of_counts(
        lambda counts: statistic.of_sums(counts @ sums)[:, None],
        clusters,
        seed=draws.seed,
        method=draws.method,
        resamples=draws.resamples,
    )
    if estimate.low is None:
        return Interval(None, None, reason=estimate.reason), estimate.degenerate
    return Interval(estimate.low, estimate.high, estimate.method), estimate.degenerate


def _cohen_of_sums(size: int, weights: KappaWeights) -> Callable[[Floats], Floats]:
    """κ = 1 - observed / expected disagreement, after Cohen (1968), over many cross-tables at once."""
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    distance = {"none": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}[weights]

    def of_sums(sums: Floats) -> Floats:
        tables = sums.reshape(-1, size, size)
        total = tables.sum(axis=(1, 2))
        observed = (tables * distance).sum(axis=(1, 2)) * total
        expected = np.einsum("di,ij,dj->d", tables.sum(axis=2), distance, tables.sum(axis=1))
        return np.asarray(1 - observed / np.where(expected > 0, expected, np.nan))

    return of_sums


def _fleiss_of_sums(sums: Floats) -> Floats:
    """Fleiss (1971) over many draws; the last two features are the share of agreeing pairs, and 1 per item."""
    used, agreeing, items = sums[:, :-2], sums[:, -2], sums[:, -1]
    expected = ((used / used.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.asarray((agreeing / items - expected) / np.where(expected < 1, 1 - expected, np.nan))
