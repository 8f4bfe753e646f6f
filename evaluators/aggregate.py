"""From verdicts to figures: a row per metric, system and stratum, a row per pair of systems, the counts beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mnemoscope.evaluators._macro import macro_intervals, mean_of
from mnemoscope.evaluators._tally import Cell, CellTable, Row, collect
from mnemoscope.evaluators.metrics.registry import lower_is_better
from mnemoscope.evaluators.rows import ALL, MACRO, Aggregates, MetricRow, PairRow, ProbeFacts, ScoreRow
from mnemoscope.evaluators.statistics.bootstrap import Floats, bootstrap_columns
from mnemoscope.evaluators.statistics.config import DEFAULT_STATISTICS, StatisticsConfig
from mnemoscope.evaluators.statistics.intervals import Interval, wilson
from mnemoscope.evaluators.statistics.multiplicity import adjusted
from mnemoscope.evaluators.statistics.paired import detectable, paired_p, sign_flip

__all__ = ["MACRO", "Aggregates", "MetricRow", "PairRow", "ProbeFacts", "ScoreRow", "aggregate"]


def aggregate(
    rows: Iterable[Row],
    probes: Mapping[tuple[str, str], ProbeFacts],
    *,
    systems: Sequence[str] | None = None,
    evidence: Mapping[str, str] | None = None,
    baseline: str | None = None,
    categories: Sequence[str] = (),
    seed: int = 0,
    resamples: int = 10_000,
    max_error_gap: float = 0.05,
    statistics: StatisticsConfig = DEFAULT_STATISTICS,
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
        baseline: Compare every system with this one; all pairs where it is not given.
        categories: Strata that part a benchmark. Where two or more of them are there, a row of stratum `macro` gives
            the mean of their figures beside `all`, in which every probe weighs the same.
        seed: Of all draws.
        resamples: Of the bootstrap.
        max_error_gap: Share of failed cells by which two systems may differ before a warning says so.
        statistics: How p-values are adjusted, and at which level differences are detectable.

    Returns:
        Rows sorted by metric and stratum (`all` first, `macro` last), systems in their order.

    Raises:
        KeyError: A verdict's probe is not among `probes`.
        ValueError: A probe is in two of the categories.
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
    settings = _Settings(systems, evidence or {}, baseline, seed, resamples, statistics)
    for (metric, judge), table in sorted(tables.items()):
        wanted = table if systems is None else [cell for cell in table if cell.system in systems]
        for stratum, part in _by_stratum(wanted, probes):
            group = _Group(metric, judge, stratum, part, probes, settings)
            metrics.extend(group.metric_rows())
            pairs.extend(group.pair_rows())
            if stratum == ALL:
                warnings.extend(group.warnings(max_error_gap))
        metrics.extend(_macro_rows(metric, judge, wanted, metrics, categories, probes, settings))
    return Aggregates(tuple(metrics), tuple(pairs), tuple(dict.fromkeys(warnings)))


@dataclass(frozen=True, slots=True)
class _Settings:
    systems: Sequence[str] | None
    evidence: Mapping[str, str]
    baseline: str | None
    seed: int
    resamples: int
    statistics: StatisticsConfig


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
        self.units = units
        self._fill({unit: i for i, unit in enumerate(units)})

    def _fill(self, index: Mapping[tuple[str, str], int]) -> None:
        totals = np.zeros_like(self.scores)
        for column, cells in enumerate(self.cells.values()):
            there = [cell for cell in cells if cell.score is not None]
            rows = [index[cell.scenario_id, cell.probe_id] for cell in there]
            np.add.at(totals[:, column], rows, np.array([cell.score for cell in there], dtype=np.float64))
            np.add.at(self.weights[:, column], rows, 1.0)
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
            strict=_round((total + worst * failed) / (len(values) + failed)) if values or failed else None,
            low=_round(interval.low),
            high=_round(interval.high),
            interval=interval.method or (interval.reason or ""),
            clusters=clusters,
            judge_key=self.judge,
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
        corrected = adjusted(clustered, self.settings.statistics.correction)
        return [
            PairRow(
                metric=self.metric,
                judge_key=self.judge,
                stratum=self.stratum,
                a=order[i],
                b=order[j],
                delta=_round(raw[c].delta),
                low=None if np.isnan(low[c]) else _round(low[c]),
                high=None if np.isnan(high[c]) else _round(high[c]),
                p=raw[c].p,
                p_clustered=clustered[c],
                p_adjusted=corrected[c],
                test=raw[c].test,
                n=raw[c].n,
                clusters=raw[c].clusters,
                mde=_round(detectable(float(error[c]), raw[c].clusters, self.settings.statistics.alpha)),
                error=None if np.isnan(error[c]) else _round(error[c]),
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


def _macro_rows(
    metric: str,
    judge: str,
    cells: CellTable,
    found: Sequence[MetricRow],
    categories: Sequence[str],
    probes: Mapping[tuple[str, str], ProbeFacts],
    settings: _Settings,
) -> list[MetricRow]:
    """One row per system: the mean of its rows over the categories that are there."""
    category_of = _categories(cells, categories, probes)
    present = [name for name in categories if name in category_of.values()]
    if len(present) < 2:
        return []
    inside = [cell for cell in cells if (cell.scenario_id, cell.probe_id) in category_of]
    group = _Group(metric, judge, MACRO, inside, probes, settings)
    place = np.array([present.index(category_of[unit]) for unit in group.units], dtype=np.int64)
    intervals = macro_intervals(
        np.nan_to_num(group.scores) * group.weights,
        group.weights,
        place,
        group.cluster_of,
        seed=settings.seed,
        resamples=settings.resamples,
    )
    by_key = {(row.stratum, row.system): row for row in found if (row.metric, row.judge_key) == (metric, judge)}
    rows = []
    for whole, interval in zip(group.metric_rows(), intervals, strict=True):
        parts = [by_key[name, whole.system] for name in present if (name, whole.system) in by_key]
        every = len(parts) == len(present)
        value = mean_of([part.value for part in parts]) if every else None
        rows.append(
            replace(
                whole,
                value=_round(value),
                strict=_round(mean_of([part.strict for part in parts])) if every else None,
                low=_round(interval.low) if value is not None else None,
                high=_round(interval.high) if value is not None else None,
                interval=(interval.method or interval.reason or "") if value is not None else "a category has no score",
            )
        )
    return rows


def _categories(
    cells: CellTable, categories: Sequence[str], probes: Mapping[tuple[str, str], ProbeFacts]
) -> dict[tuple[str, str], str]:
    wanted = frozenset(categories)
    found: dict[tuple[str, str], str] = {}
    for unit in {(cell.scenario_id, cell.probe_id) for cell in cells} if wanted else ():
        names = wanted.intersection(probes[unit].strata)
        if len(names) > 1:
            raise ValueError(
                f"probe {unit[1]} of {unit[0]} is in {' and '.join(sorted(names))}; categories part probes"
            )
        for name in names:
            found[unit] = name
    return found


def _by_stratum(cells: CellTable, probes: Mapping[tuple[str, str], ProbeFacts]) -> list[tuple[str, list[Cell]]]:
    parts: dict[str, list[Cell]] = defaultdict(list)
    strata_of: dict[tuple[str, str], tuple[str, ...]] = {}
    for cell in cells:
        unit = cell.scenario_id, cell.probe_id
        if (strata := strata_of.get(unit)) is None:
            facts = probes[unit]
            strata = strata_of[unit] = tuple(dict.fromkeys((ALL, *facts.strata, facts.benchmark)))
        for stratum in strata:
            parts[stratum].append(cell)
    return sorted(parts.items(), key=lambda part: (part[0] != ALL, part[0]))


def _round(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)
