"""Run files to one summary: figures and differences per benchmark, and everything that must be said beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from mnemoscope.comparison.agreement import calibrations_of, caution_warnings, stale_warnings, with_kappa
from mnemoscope.comparison.caveats import caveats
from mnemoscope.comparison.ceilings import ceiling_warnings, gold_ceilings, with_ceilings
from mnemoscope.comparison.conditions import unequal_settings
from mnemoscope.comparison.flipping import flips_of
from mnemoscope.comparison.gaps import with_gaps
from mnemoscope.comparison.headline import headline_metrics, headlines_for
from mnemoscope.comparison.material import RunMaterial
from mnemoscope.comparison.merging import RunSet, open_runs
from mnemoscope.comparison.naming import nearest_names, refuse_unknown_metrics, written_metrics
from mnemoscope.comparison.strata import ALL, categories_of, stratum_title
from mnemoscope.comparison.summary import Comparison, Figure, PairFigure, SystemView
from mnemoscope.comparison.tallies import costs, funnels, system_views
from mnemoscope.comparison.testing import equivalence_of, margin_warnings, statistics_of
from mnemoscope.comparison.verdicts import all_verdicts
from mnemoscope.core.errors import UnknownNameError
from mnemoscope.evaluators.aggregate import Aggregates, MetricRow, PairRow, ProbeFacts, aggregate
from mnemoscope.evaluators.analyses.material import Scope
from mnemoscope.evaluators.analyses.registry import ANALYSES
from mnemoscope.evaluators.statistics.config import StatisticsConfig
from mnemoscope.runfile.judging import is_judged, is_recorded, judgements_of
from mnemoscope.runfile.rows import ProbeRow, VerdictRow

__all__ = ["ALL_PAIRS_LIMIT", "BY", "ERROR_SHARE_GAP", "compare_runs", "compare_set"]

ALL_PAIRS_LIMIT = 8
"""Systems up to which every pair is compared; above it, each with the baseline."""
ERROR_SHARE_GAP = 0.05
"""Two systems whose shares of failed cells differ by more get no significance mark."""

BY = ("stratum", "style", "scenario", "cluster")
"""What probes can be grouped by."""
_BASELINES = ("recent", "full-context", "bm25", "none")


def compare_runs(
    paths: Sequence[str | Path],
    metrics: Sequence[str] | Literal["headline"] | None = None,
    by: str | None = None,
    baseline: str | None = None,
    analyses: Sequence[str] = (),
    calibrations: Sequence[Path] = (),
    config: Path | None = None,
) -> Comparison:
    """Compare the systems of one or more run files.

    Args:
        paths: Run files; systems of one name are merged where their settings agree.
        metrics: Names of the metrics wanted; `headline`: the few that tables show of each benchmark; None: all.
        by: Group probes by `stratum` (as the benchmark names them; the default), `style`, `scenario` or `cluster`, or
            the name or number of one stratum, which alone is kept beside the whole.
        baseline: Compare every system with this one. None: all pairs up to eight systems, above that the first of
            recent, full-context, bm25 and none that is there.
        analyses: Names of analyses that are made beside the figures.
        calibrations: Files of `mnemoscope judge calibrate`, beside those that come with the program.
        config: A configuration whose `[statistics]` takes the place of what the runs were made with.

    Returns:
        The summary. Figures carry 95 % intervals; pairs carry adjusted p-values and, where the configuration sets a
        margin, whether the two are shown to be equivalent.

    Raises:
        UnknownNameError: A metric, a stratum or a baseline that the runs do not hold; the nearest are listed.
        RunFileError: A file cannot be read, or two hold different data under one name.
        ConfigError: The runs were made with different `[statistics]`, and no configuration decides.

    Example:
        >>> compare_runs(["run.db"], metrics=["recall@10"]).to_json()["pairs"]  # doctest: +SKIP
    """
    with open_runs(paths) as runs:
        return compare_set(runs, metrics, by, baseline, analyses, calibrations, config)


def compare_set(
    runs: RunSet,
    metrics: Sequence[str] | Literal["headline"] | None = None,
    by: str | None = None,
    baseline: str | None = None,
    analyses: Sequence[str] = (),
    calibrations: Sequence[Path] = (),
    config: Path | None = None,
) -> Comparison:
    """As `compare_runs`, over files that are already open."""
    named = () if metrics is None or metrics == "headline" else written_metrics(metrics)
    statistics = statistics_of(runs, config)
    systems = system_views(runs)
    names = [system.name for system in systems]
    chosen = _baseline(systems, baseline)
    rows = _rows_by_benchmark(runs, named, headline_only=metrics == "headline")
    kept = _kept_stratum(runs.probes(), by)
    evidence = {system.name: system.row.evidence_class for system in systems}
    figures: list[Figure] = []
    pairs: list[PairFigure] = []
    warned: list[str] = margin_warnings(runs, statistics)
    several, votes = len(rows) > 1, tuple(runs.votes())
    for benchmark, scored in rows.items():
        facts = {
            (p.scenario_id, p.probe_id): ProbeFacts(p.cluster, _groups(p, by), ALL)
            for p in runs.probes()
            if p.benchmark == benchmark
        }
        found = aggregate(
            scored,
            facts,
            systems=names,
            evidence=evidence,
            baseline=chosen,
            categories=categories_of(benchmark) if by in (None, "stratum") else (),
            max_error_gap=ERROR_SHARE_GAP,
            statistics=statistics,
        )
        part = [_figure(row, benchmark) for row in found.metrics if _is_kept(row.stratum, kept)]
        flips = flips_of(votes, {probe: known.strata for probe, known in facts.items()})
        figures += map(flips.on_figure, part)
        pairs += map(flips.on_pair, _pairs(found, benchmark, part, systems, kept, statistics))
        warned += [f"{benchmark}: {text}" if several else text for text in found.warnings]
    ceilings = gold_ceilings(runs)
    figures = list(with_ceilings(figures, ceilings))
    warned += ceiling_warnings(figures, ceilings)
    known = calibrations_of(calibrations)
    figures = list(with_kappa(with_gaps(figures, systems), known))
    warned += [*stale_warnings(figures, calibrations), *caution_warnings(figures)]
    shown = tuple(dict.fromkeys(figure.metric for figure in figures)) if metrics is None else named
    scopes = _scopes(runs.probes(), figures, named, rows)
    material = RunMaterial(runs, scopes=scopes, baseline=chosen, statistics=statistics, calibrations=known)
    return Comparison(
        systems=systems,
        metrics=tuple(figures),
        pairs=tuple(pairs),
        warnings=caveats(runs, systems, figures, warned),
        funnels=funnels(runs),
        costs=costs(runs),
        headlines={benchmark: headlines_for(benchmark, figures, shown) for benchmark in rows},
        baseline=chosen,
        baseline_is_chosen=baseline is None and chosen is not None,
        judges=_judges(runs, figures),
        detectors=tuple(dict.fromkeys(d for m in runs.members if (d := m.run.meta.keys.get("detector")))),
        judgements=judgements_of(member.run for member in runs.members),
        analyses=tuple(ANALYSES.create(name).analyse(material) for name in analyses),
        statistics=statistics,
    )


def _judges(runs: RunSet, figures: Sequence[Figure]) -> Mapping[str, tuple[str, ...]]:
    """Who judged the metrics that are compared; imported verdicts name no judge but their key."""
    found: dict[str, dict[str, None]] = {}
    judged = {(f.metric, f.judge_key): f.system for f in figures if f.judged and f.judge_key}
    for (metric, key), system in sorted(judged.items()):
        by = key if is_recorded(key) else runs.members_of(system)[0].run.judge_of(metric, key).judge
        found.setdefault(by, {})[key] = None
    return {judge: tuple(keys) for judge, keys in found.items()}


def _scopes(
    probes: Sequence[ProbeRow], figures: Sequence[Figure], named: Sequence[str], benchmarks: Iterable[str]
) -> tuple[Scope, ...]:
    """What analyses of figures are about: the named metrics or, whatever else is listed, the usual headlines."""
    scopes = []
    for benchmark in benchmarks:
        for metric, stratum in headlines_for(benchmark, figures, named):
            inside = (p for p in probes if p.benchmark == benchmark and (stratum == ALL or stratum in p.strata))
            where = "" if stratum == ALL else stratum_title(benchmark, stratum)
            scopes.append(Scope(metric, where, frozenset((p.scenario_id, p.probe_id) for p in inside)))
    return tuple(scopes)


def _rows_by_benchmark(runs: RunSet, metrics: Sequence[str], *, headline_only: bool) -> dict[str, list[VerdictRow]]:
    benchmarks = {row.scenario_id: row.benchmark for row in runs.scenarios()}
    rows: dict[str, list[VerdictRow]] = {benchmark: [] for benchmark in benchmarks.values()}
    wanted = {benchmark: headline_metrics(benchmark) if headline_only else frozenset(metrics) for benchmark in rows}
    seen: set[str] = set()
    for row in all_verdicts(runs):
        benchmark = benchmarks[row.scenario_id]
        seen.add(row.metric)
        if not wanted[benchmark] or row.metric in wanted[benchmark]:
            rows[benchmark].append(row)
    refuse_unknown_metrics(metrics, seen)
    return rows


def _baseline(systems: Sequence[SystemView], baseline: str | None) -> str | None:
    names = [system.name for system in systems]
    if baseline is not None:
        if baseline not in names:
            raise UnknownNameError("system in these runs", baseline, nearest_names(baseline, names))
        return baseline
    if len(names) <= ALL_PAIRS_LIMIT:
        return None
    fair = [system for system in systems if not system.row.privileged] or list(systems)
    by_memory = {system.row.memory.partition("(")[0]: system.name for system in reversed(fair)}
    return next((by_memory[memory] for memory in _BASELINES if memory in by_memory), fair[0].name)


def _groups(probe: ProbeRow, by: str | None) -> tuple[str, ...]:
    if by == "style":
        return (probe.style,)
    if by == "scenario":
        return (probe.scenario_id,)
    return (probe.cluster,) if by == "cluster" else probe.strata


def _kept_stratum(probes: Iterable[ProbeRow], by: str | None) -> str | None:
    """The one stratum that `by` names; None where it names a way of grouping, or nothing."""
    if by is None or by in BY:
        return None
    known: dict[str, str] = {}
    for probe in probes:
        for stratum in probe.strata:
            title = stratum_title(probe.benchmark, stratum)
            known |= {stratum: stratum, title: stratum, title.partition(" ")[0]: stratum}
    if by not in known:
        raise UnknownNameError("stratum in these runs", by, nearest_names(by, [*BY, *known]))
    return known[by]


def _is_kept(stratum: str, kept: str | None) -> bool:
    return kept is None or stratum in (ALL, kept)


def _figure(row: MetricRow, benchmark: str) -> Figure:
    return Figure(**_fields(row), benchmark=benchmark, judged=is_judged(row.metric, row.judge_key))


def _fields(row: MetricRow | PairRow) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _pairs(
    found: Aggregates,
    benchmark: str,
    figures: Sequence[Figure],
    systems: Sequence[SystemView],
    kept: str | None,
    statistics: StatisticsConfig,
) -> list[PairFigure]:
    fair = _fair_pairs(systems)
    failed = {(f.metric, f.judge_key, f.stratum, f.system): f.n_failed / f.n_expected for f in figures if f.n_expected}

    def share(row: PairRow, system: str) -> float:
        return failed.get((row.metric, row.judge_key, row.stratum, system), 0.0)

    return [
        PairFigure(
            **_fields(row),
            benchmark=benchmark,
            comparable=fair[frozenset((row.a, row.b))]
            and abs(share(row, row.a) - share(row, row.b)) <= ERROR_SHARE_GAP,
            alpha=statistics.alpha,
            equivalence=equivalence_of(row, statistics),
        )
        for row in found.pairs
        if _is_kept(row.stratum, kept)
    ]


def _fair_pairs(systems: Sequence[SystemView]) -> Mapping[frozenset[str], bool]:
    """Whether a significance mark may be set for two systems at all."""
    return {
        frozenset((a.name, b.name)): a.row.evidence_class == b.row.evidence_class
        and not (a.row.privileged or b.row.privileged)
        and not unequal_settings(a, b)
        for a, b in combinations(systems, 2)
    }
