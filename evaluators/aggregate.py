"""From verdicts to figures: a row per metric, system and stratum, a row per pair of systems, the counts beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mnemoscope.evaluators._tally import Cell, CellTable, Row, collect
from mnemoscope.evaluators.metrics.registry import lower_is_better
from mnemoscope.evaluators.statistics.bootstrap import Floats, bootstrap_columns
from mnemoscope.evaluators.statistics.intervals import Interval, wilson
from mnemoscope.evaluators.statistics.paired import detectable, holm, paired_p, sign_flip

__all__ = ["Aggregates", "MetricRow", "PairRow", "ProbeFacts", "ScoreRow", "aggregate"]

ALL = "all"


class ScoreRow(NamedTuple):
    """One verdict in the order in which run files hand them over; any tuple of this shape will do."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    metric: str
    subject: str
    label: str
    score: float | None
    status: str
    judge_key: str


class ProbeFacts(NamedTuple):
    """What groups a probe."""

    cluster: str
    strata: tuple[str, ...]
    benchmark: str


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One figure of one judge.

    `value` is over scored cells; `value_strict` counts failed and invalid ones as 0 or, where lower is better, 1.
    """

    metric: str
    system: str
    stratum: str
    n_expected: int
    """Cells that have a verdict of this metric, failures and exclusions included."""
    n_scored: int
    n_error: Mapping[str, int]
    """Cause to number."""
    n_invalid: int
    n_excluded: Mapping[str, int]
    """Reason to number."""
    value: float | None
    value_strict: float | None
    low: float | None
    high: float | None
    interval: str
    """`cluster-bootstrap`, `wilson` (independent rows, or all 0 or all 1), or why there is none."""
    clusters: int
    judge_key: str
    kappa: float | None
    """Agreement of the judge with people on labelled data; None: uncalibrated."""
    evidence: str


@dataclass(frozen=True, slots=True)
class PairRow:
    """The difference of two systems on the probes that both scored; `delta` is a minus b."""

    metric: str
    stratum: str
    a: str
    b: str
    delta: float | None
    low: float | None
    high: float | None
    p: float | None
    """Unclustered: McNemar's exact test, or a paired t test."""
    p_clustered: float | None
    """Sign flips of whole clusters."""
    p_adjusted: float | None
    """`p_clustered` after Holm, over the pairs of one metric and stratum; None for one cluster, which tells nothing."""
    test: str
    n: int
    clusters: int
    mde: float | None
    """Smallest difference that this many clusters show with 80 % power; see `detectable`."""


@dataclass(frozen=True, slots=True)
class Aggregates:
    """All figures of a set of verdicts, in a fixed order."""

    metrics: tuple[MetricRow, ...]
    pairs: tuple[PairRow, ...]
    warnings: tuple[str, ...] = field(default=())


def aggregate(
    rows: Iterable[Row],
    probes: Mapping[tuple[str, str], ProbeFacts],
    *,
    systems: Sequence[str] | None = None,
    evidence: Mapping[str, str] | None = None,
    kappa: Mapping[str, float] | None = None,
    baseline: str | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    max_error_gap: float = 0.05,
) -> Aggregates:
    """Figures of all metrics, systems and strata.

    Several verdicts of one metric on one cell (per fact, per memory) become one score, their mean; a cell counts as
    failed where one of them failed, as invalid where one is, as excluded where none is scored. Verdicts of two judges
    are never averaged and never compared. Intervals come from the cluster bootstrap with one draw for all systems; a
    binary figure over independent rows, or one that is all 0 or all 1, takes Wilson's interval, because resampling
    cannot see beyond the values it has. Rows of one cluster are not independent, so at 0 and 1 it counts clusters.

    Args:
        rows: Verdicts, as `ScoreRow`, with a failure for every cell that should have a verdict and has none.
        probes: (scenario id, probe id) to cluster, strata and benchmark. Figures are made for `all`, for every stratum
            and for every benchmark.
        systems: Order of systems; sorted by name where it is not given.
        evidence: System to its evidence class.
        kappa: Judge key to its agreement on labelled data.
        baseline: Compare every system with this one; all pairs where it is not given.
        seed: Of all draws.
        resamples: Of the bootstrap.
        max_error_gap: Share of failed cells by which two systems may differ before a warning says so.

    Returns:
        Rows sorted by metric and stratum (`all` first), systems in their order.

    Raises:
        KeyError: A verdict's probe is not among `probes`.
    """
    tables = collect(rows)
    judges: dict[str, list[str]] = defaultdict(list)
    for metric, judge in sorted(tables):
        judges[metric].append(judge)
    warnings = [
        f"{metric}: verdicts of several judges ({', '.join(keys)}) are not comparable"
        for metric, keys in judges.items()
        if len(keys) > 1
    ]
    metrics: list[MetricRow] = []
    pairs: list[PairRow] = []
    settings = _Settings(systems, evidence or {}, kappa or {}, baseline, seed, resamples)
    for (metric, judge), table in sorted(tables.items()):
        wanted = table if systems is None else [cell for cell in table if cell.system in systems]
        for stratum, part in _by_stratum(wanted, probes):
            group = _Group(metric, judge, stratum, part, probes, settings)
            metrics.extend(group.metric_rows())
            pairs.extend(group.pair_rows())
            if stratum == ALL:
                warnings.extend(group.warnings(max_error_gap))
    return Aggregates(tuple(metrics), tuple(pairs), tuple(dict.fromkeys(warnings)))


@dataclass(frozen=True, slots=True)
class _Settings:
    systems: Sequence[str] | None
    evidence: Mapping[str, str]
    kappa: Mapping[str, float]
    baseline: str | None
    seed: int
    resamples: int


class _Group:
    """One metric by one judge on one stratum: all systems that it has verdicts on."""

    def __init__(
        self,
        metric: str,
        judge: str,
        stratum: str,
        cells: CellTable,
        probes: Mapping[tuple[str, str], ProbeFacts],
        settings: _Settings,
    ) -> None:
        self.metric, self.judge, self.stratum, self.settings = metric, judge, stratum, settings
        present = {cell.system for cell in cells}
        order = sorted(present) if settings.systems is None else [s for s in settings.systems if s in present]
        self.cells: dict[str, list[Cell]] = {system: [] for system in order}
        for cell in cells:
            self.cells[cell.system].append(cell)
        units = sorted({(c.scenario_id, c.probe_id) for c in cells})
        named = [(probes[unit].benchmark, probes[unit].cluster) for unit in units]
        names = {name: i for i, name in enumerate(sorted(set(named)))}
        self.clusters = len(names)
        self.cluster_of = np.array([names[name] for name in named], dtype=np.int64)
        self.scores = np.full((len(units), len(self.cells)), np.nan)
        self.weights = np.zeros_like(self.scores)
        self._fill({unit: i for i, unit in enumerate(units)})

    def _fill(self, index: Mapping[tuple[str, str], int]) -> None:
        totals = np.zeros_like(self.scores)
        for column, cells in enumerate(self.cells.values()):
            for cell in cells:
                if cell.score is not None:
                    row = index[cell.scenario_id, cell.probe_id]
                    totals[row, column] += cell.score
                    self.weights[row, column] += 1
        some = self.weights > 0
        self.scores[some] = totals[some] / self.weights[some]

    def by_cluster(self, values: Floats) -> Floats:
        """Sums over probes by cluster, NaN as nothing; shape (clusters, columns)."""
        sums = np.zeros((self.clusters, values.shape[1]))
        np.add.at(sums, self.cluster_of, np.nan_to_num(values))
        return sums

    def metric_rows(self) -> list[MetricRow]:
        """One row per system."""
        sizes = self.by_cluster(self.weights)
        sums = self.by_cluster(np.nan_to_num(self.scores) * self.weights)
        low, high, _ = bootstrap_columns(sums, sizes, seed=self.settings.seed, resamples=self.settings.resamples)
        rows = []
        for column, (system, cells) in enumerate(self.cells.items()):
            values = [cell.score for cell in cells if cell.score is not None]
            clusters = int((sizes[:, column] > 0).sum())
            interval = self._interval(values, clusters, low[column], high[column])
            rows.append(self._metric_row(system, cells, values, interval, clusters))
        return rows

    def _interval(self, values: list[float], clusters: int, low: float, high: float) -> Interval:
        if not values:
            return Interval(None, None, reason="nothing scored")
        binary = all(value in (0.0, 1.0) for value in values)
        if binary and clusters == len(values):
            return wilson(int(sum(values)), clusters)
        if binary and clusters > 1 and len(set(values)) == 1:
            return wilson(int(values[0]) * clusters, clusters)
        if np.isnan(low):
            return Interval(None, None, reason="one cluster")
        return Interval(float(low), float(high), "cluster-bootstrap")

    def _metric_row(
        self, system: str, cells: list[Cell], values: list[float], interval: Interval, clusters: int
    ) -> MetricRow:
        errors = Counter(cell.label for cell in cells if cell.status == "error")
        invalid = sum(cell.status == "invalid" for cell in cells)
        failed = errors.total() + invalid
        worst = 1.0 if lower_is_better(self.metric) else 0.0
        total = float(np.sum(values)) if values else 0.0
        return MetricRow(
            metric=self.metric,
            system=system,
            stratum=self.stratum,
            n_expected=len(cells),
            n_scored=len(values),
            n_error=dict(sorted(errors.items())),
            n_invalid=invalid,
            n_excluded=dict(sorted(Counter(c.label for c in cells if c.status == "not_applicable").items())),
            value=_round(total / len(values)) if values else None,
            value_strict=_round((total + worst * failed) / (len(values) + failed)) if values or failed else None,
            low=_round(interval.low),
            high=_round(interval.high),
            interval=interval.method or (interval.reason or ""),
            clusters=clusters,
            judge_key=self.judge,
            kappa=self.settings.kappa.get(self.judge),
            evidence=self.settings.evidence.get(system, ""),
        )

    def pair_rows(self) -> list[PairRow]:
        """One row per pair of systems that share scored probes."""
        order = list(self.cells)
        if self.settings.baseline in order:
            base = order.index(self.settings.baseline)
            chosen = [(i, base) for i in range(len(order)) if i != base]
        else:
            chosen = list(combinations(range(len(order)), 2))
        if not chosen:
            return []
        first, second = (self.scores[:, [pair[side] for pair in chosen]] for side in (0, 1))
        difference = first - second
        both = ~np.isnan(difference)
        sums, sizes = self.by_cluster(difference), self.by_cluster(both.astype(np.float64))
        seed, resamples = self.settings.seed, self.settings.resamples
        low, high, error = bootstrap_columns(sums, sizes, seed=seed, resamples=resamples)
        flipped = sign_flip(sums, seed=seed, resamples=resamples)
        raw = [
            _pair(first[both[:, c], c], second[both[:, c], c], int((sizes[:, c] > 0).sum())) for c in range(len(chosen))
        ]
        clustered = [None if np.isnan(low[c]) else float(flipped[c]) for c in range(len(chosen))]
        adjusted = holm(clustered)
        return [
            PairRow(
                metric=self.metric,
                stratum=self.stratum,
                a=order[i],
                b=order[j],
                delta=_round(raw[c].delta),
                low=None if np.isnan(low[c]) else _round(low[c]),
                high=None if np.isnan(high[c]) else _round(high[c]),
                p=raw[c].p,
                p_clustered=clustered[c],
                p_adjusted=adjusted[c],
                test=raw[c].test,
                n=raw[c].n,
                clusters=raw[c].clusters,
                mde=_round(detectable(float(error[c]), raw[c].clusters)),
            )
            for c, (i, j) in enumerate(chosen)
            if raw[c].n
        ]

    def warnings(self, max_error_gap: float) -> list[str]:
        """What makes rows of this metric unequal."""
        shares = {
            system: sum(c.status in ("error", "invalid") for c in cells) / len(cells)
            for system, cells in self.cells.items()
        }
        if not shares or max(shares.values()) - min(shares.values()) <= max_error_gap:
            return []
        worst, best = max(shares, key=lambda s: shares[s]), min(shares, key=lambda s: shares[s])
        return [
            f"{self.metric}: {shares[worst]:.0%} of {worst}'s cells failed and {shares[best]:.0%} of {best}'s; "
            "compare the strict figures"
        ]


class _Raw(NamedTuple):
    delta: float | None
    p: float | None
    test: str
    n: int
    clusters: int


def _pair(first: Floats, second: Floats, clusters: int) -> _Raw:
    if not len(first):
        return _Raw(None, None, "none", 0, 0)
    p, test = paired_p(first, second)
    return _Raw(float((first - second).mean()), p, test, len(first), clusters)


def _by_stratum(cells: CellTable, probes: Mapping[tuple[str, str], ProbeFacts]) -> list[tuple[str, list[Cell]]]:
    parts: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        facts = probes[cell.scenario_id, cell.probe_id]
        for stratum in dict.fromkeys((ALL, *facts.strata, facts.benchmark)):
            parts[stratum].append(cell)
    return sorted(parts.items(), key=lambda part: (part[0] != ALL, part[0]))


def _round(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)
