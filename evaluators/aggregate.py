"""From verdicts to figures: a row per metric, system and stratum, a row per pair of systems, the counts beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mnemoscope.evaluators._tally import Cell, CellTable, collect
from mnemoscope.evaluators.metrics.registry import lower_is_better
from mnemoscope.evaluators.statistics.bootstrap import Floats, bootstrap_columns
from mnemoscope.evaluators.statistics.intervals import Interval, wilson
from mnemoscope.evaluators.statistics.paired import detectable_by_error, holm, paired_p, sign_flip

__all__ = ["Aggregates", "MetricRow", "PairRow", "ProbeFacts", "ScoreRow", "aggregate", "macro"]

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
    """One figure. `value` is over scored cells; `value_strict` counts failed and invalid cells as the worst score."""

    metric: str
    system: str
    stratum: str
    n_expected: int
    """Cells that the metric applies to, those of other systems on the same probes included."""
    n_scored: int
    n_error: Mapping[str, int]
    """Cause to number; `missing` is a cell that other systems have and this one lacks."""
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
    """Holm over the pairs of one metric and stratum, of `p_clustered`, or of `p` where there is one cluster."""
    test: str
    n: int
    clusters: int
    mde: float | None


@dataclass(frozen=True, slots=True)
class Aggregates:
    """All figures of a set of verdicts, in a fixed order."""

    metrics: tuple[MetricRow, ...]
    pairs: tuple[PairRow, ...]
    warnings: tuple[str, ...] = field(default=())


def aggregate(
    rows: Iterable[tuple[str, str, str, int, str, str, str, float | None, str, str]],
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
    failed where one of them failed, as invalid where one is, as excluded where none is scored. Intervals come from
    the cluster bootstrap with one draw for all systems; a binary figure over independent rows, or one that is all 0
    or all 1, takes Wilson's interval, because resampling cannot see beyond the values it has.

    Args:
        rows: Verdicts, as `ScoreRow`.
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
    present = {cell.system for table in tables.values() for cell in table}
    order = [s for s in systems if s in present] if systems is not None else sorted(present)
    metrics: list[MetricRow] = []
    pairs: list[PairRow] = []
    warnings: list[str] = []
    settings = _Settings(order, evidence or {}, kappa or {}, baseline, seed, resamples)
    for metric in sorted(tables):
        table = [cell for cell in tables[metric] if cell.system in set(order)]
        for stratum, part in _by_stratum(table, probes):
            group = _Group(metric, stratum, part, probes, settings)
            metrics.extend(group.metric_rows())
            pairs.extend(group.pair_rows())
            if stratum == ALL:
                warnings.extend(group.warnings(max_error_gap))
    return Aggregates(tuple(metrics), tuple(pairs), tuple(dict.fromkeys(warnings)))


def macro(rows: Iterable[MetricRow], strata: Sequence[str]) -> float | None:
    """Mean of a figure over strata, each counting the same; None where one of them has no value.

    Args:
        rows: Rows of one metric and one system.
        strata: The strata to average, as named in the rows.
    """
    values = {row.stratum: row.value for row in rows}
    picked = [values.get(stratum) for stratum in strata]
    known = [value for value in picked if value is not None]
    return float(np.mean(known)) if known and len(known) == len(picked) else None


@dataclass(frozen=True, slots=True)
class _Settings:
    systems: Sequence[str]
    evidence: Mapping[str, str]
    kappa: Mapping[str, float]
    baseline: str | None
    seed: int
    resamples: int


class _Group:
    """One metric on one stratum: all systems."""

    def __init__(
        self,
        metric: str,
        stratum: str,
        cells: CellTable,
        probes: Mapping[tuple[str, str], ProbeFacts],
        settings: _Settings,
    ) -> None:
        self.metric, self.stratum, self.settings = metric, stratum, settings
        self.cells: dict[str, list[Cell]] = {system: [] for system in settings.systems}
        for cell in cells:
            self.cells[cell.system].append(cell)
        self.expected = {(c.scenario_id, c.probe_id, c.replicate) for c in cells}
        units = sorted({(c.scenario_id, c.probe_id) for c in cells})
        named = [(probes[unit].benchmark, probes[unit].cluster) for unit in units]
        names = {name: i for i, name in enumerate(sorted(set(named)))}
        self.clusters = len(names)
        self.cluster_of = np.array([names[name] for name in named], dtype=np.int64)
        self.scores = np.full((len(units), len(settings.systems)), np.nan)
        self.weights = np.zeros_like(self.scores)
        self._fill({unit: i for i, unit in enumerate(units)})

    def _fill(self, index: Mapping[tuple[str, str], int]) -> None:
        totals = np.zeros_like(self.scores)
        for column, system in enumerate(self.settings.systems):
            for cell in self.cells[system]:
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
        for column, system in enumerate(self.settings.systems):
            cells = self.cells[system]
            values = [cell.score for cell in cells if cell.score is not None]
            interval = self._interval(values, int((sizes[:, column] > 0).sum()), low[column], high[column])
            rows.append(self._metric_row(system, cells, values, interval, int((sizes[:, column] > 0).sum())))
        return rows

    def _interval(self, values: list[float], clusters: int, low: float, high: float) -> Interval:
        if not values:
            return Interval(None, None, reason="nothing scored")
        binary = all(value in (0.0, 1.0) for value in values)
        ones = int(sum(values)) if binary else 0
        if binary and (clusters == len(values) or (clusters > 1 and ones in (0, len(values)))):
            return wilson(ones, len(values))
        if np.isnan(low):
            return Interval(None, None, reason="one cluster")
        return Interval(float(low), float(high), "cluster-bootstrap")

    def _metric_row(
        self, system: str, cells: list[Cell], values: list[float], interval: Interval, clusters: int
    ) -> MetricRow:
        errors = Counter(cell.label for cell in cells if cell.status == "error")
        if missing := len(self.expected) - len(cells):
            errors["missing"] += missing
        invalid = sum(cell.status == "invalid" for cell in cells)
        failed = errors.total() + invalid
        worst = 1.0 if lower_is_better(self.metric) else 0.0
        total = float(np.sum(values)) if values else 0.0
        keys = sorted({cell.judge_key for cell in cells if cell.judge_key})
        key = " | ".join(keys)
        return MetricRow(
            metric=self.metric,
            system=system,
            stratum=self.stratum,
            n_expected=len(self.expected),
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
            judge_key=key,
            kappa=self.settings.kappa.get(key),
            evidence=self.settings.evidence.get(system, ""),
        )

    def pair_rows(self) -> list[PairRow]:
        """One row per pair of systems that share scored probes."""
        order = list(self.settings.systems)
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
            self._pair(order[i], order[j], first[both[:, c], c], second[both[:, c], c], sizes[:, c])
            for c, (i, j) in enumerate(chosen)
        ]
        clustered = [None if np.isnan(low[c]) else float(flipped[c]) for c in range(len(chosen))]
        adjusted = holm([one if one is not None else raw[c].p for c, one in enumerate(clustered)])
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
                mde=_round(raw[c].mde if raw[c].test == "mcnemar-exact" else _detectable(error[c])),
            )
            for c, (i, j) in enumerate(chosen)
            if raw[c].n
        ]

    def _pair(self, a: str, b: str, first: Floats, second: Floats, sizes: Floats) -> _Raw:
        if not len(first):
            return _Raw(None, None, "none", 0, 0, None)
        p, test, mde = paired_p(first, second)
        return _Raw(float((first - second).mean()), p, test, len(first), int((sizes > 0).sum()), mde)

    def warnings(self, max_error_gap: float) -> list[str]:
        """What makes rows of this metric unequal."""
        found = []
        keys = sorted({c.judge_key for cells in self.cells.values() for c in cells if c.judge_key})
        if len(keys) > 1:
            found.append(f"{self.metric}: verdicts of several judges ({', '.join(keys)}) are not comparable")
        shares = {
            system: (len(self.expected) - len(cells) + sum(c.status in ("error", "invalid") for c in cells))
            / len(self.expected)
            for system, cells in self.cells.items()
        }
        if shares and max(shares.values()) - min(shares.values()) > max_error_gap:
            worst, best = max(shares, key=lambda s: shares[s]), min(shares, key=lambda s: shares[s])
            found.append(
                f"{self.metric}: {shares[worst]:.0%} of {worst}'s cells failed and {shares[best]:.0%} of {best}'s; "
                "compare the strict figures"
            )
        return found


class _Raw(NamedTuple):
    delta: float | None
    p: float | None
    test: str
    n: int
    clusters: int
    mde: float | None


def _by_stratum(cells: CellTable, probes: Mapping[tuple[str, str], ProbeFacts]) -> list[tuple[str, list[Cell]]]:
    parts: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        facts = probes[cell.scenario_id, cell.probe_id]
        for stratum in dict.fromkeys((ALL, *facts.strata, facts.benchmark)):
            parts[stratum].append(cell)
    return sorted(parts.items(), key=lambda part: (part[0] != ALL, part[0]))


def _detectable(error: float) -> float | None:
    return None if np.isnan(error) else detectable_by_error(float(error))


def _round(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)
