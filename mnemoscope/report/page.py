"""What the report's page shows, as plain values in the order of the page; the template only lays them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.comparison.strata import ALL, shown_strata, stratum_title
from mnemoscope.comparison.summary import Comparison, Figure, Headline, SystemView
from mnemoscope.report.figures import Whisker, whisker
from mnemoscope.report.wording import Wording

__all__ = [
    "Cell",
    "Column",
    "Part",
    "Row",
    "Table",
    "headline_table",
    "percent",
    "stratum_tables",
]

_PARTS = ("ranked", "imported", "privileged")
"""In the order of `SystemView.part`."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure as printed."""

    value: str
    interval: str
    n: str
    strict: str
    """The figure with failures as the worst outcome; empty where nothing failed."""
    sort: str
    best: bool
    chart: Whisker | None
    missing: str = ""
    """Why there is no figure."""
    gap: str = ""
    """Points above or below `none`, and `oracle`; empty where neither is there."""


@dataclass(frozen=True, slots=True)
class Column:
    """One metric in one stratum."""

    title: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One system."""

    system: str
    tags: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that are ordered among themselves only."""

    kind: str
    """`ranked`, `imported` or `privileged`."""
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table of figures."""

    title: str
    columns: tuple[Column, ...]
    parts: tuple[Part, ...]


def percent(value: float | None, *, signed: bool = False) -> str:
    """A share in percent with one decimal, with a true minus sign; a dash for what is missing."""
    if value is None:
        return "–"
    text = f"{value * 100:+.1f}" if signed else f"{value * 100:.1f}"
    return text.replace("-", "−")


def headline_table(
    comparison: Comparison, benchmark: str, headlines: Sequence[Headline], words: Wording, lower: frozenset[str]
) -> Table:
    """The headline figures of one benchmark: systems by their first figure, those that read gold below."""
    figures = {(f.metric, f.stratum, f.system): f for f in comparison.metrics if f.benchmark == benchmark}
    columns = [
        (
            Column(
                h.metric,
                (
                    *(() if h.stratum == ALL else (stratum_title(benchmark, h.stratum),)),
                    *_notes(next((f for k, f in figures.items() if k[:2] == h), None), words, h.metric in lower),
                ),
            ),
            {name: f for (metric, stratum, name), f in figures.items() if (metric, stratum) == h},
            h.metric in lower,
        )
        for h in headlines
    ]
    return Table(
        benchmark, tuple(c for c, _, _ in columns), _parts(comparison.systems, [c[1:] for c in columns], words)
    )


def stratum_tables(
    comparison: Comparison, benchmark: str, headlines: Sequence[Headline], words: Wording, lower: frozenset[str]
) -> tuple[Table, ...]:
    """One table per headline metric with its strata side by side; metrics without strata are left out."""
    tables = []
    for metric in dict.fromkeys(h.metric for h in headlines):
        figures = [f for f in comparison.metrics if f.benchmark == benchmark and f.metric == metric and f.n_expected]
        strata = shown_strata(benchmark, (f.stratum for f in figures))
        if len(set(strata) - {ALL}) < 2:
            continue
        columns = []
        for stratum in strata:
            inside = {f.system: f for f in figures if f.stratum == stratum}
            size = max(f.n_expected for f in inside.values())
            columns.append((Column(stratum_title(benchmark, stratum), (f"n = {size:,}",)), inside, metric in lower))
        parts = _parts(comparison.systems, [c[1:] for c in columns], words, charts=False)
        tables.append(Table(metric, tuple(c for c, _, _ in columns), parts))
    return tuple(tables)


def _notes(figure: Figure | None, words: Wording, lower: bool) -> tuple[str, ...]:
    first = f"%, {words('lower')}" if lower else "%"
    if figure is None:
        return (first,)
    flips = "" if figure.flip_rate is None else words("flips", share=percent(figure.flip_rate))
    return tuple(filter(None, (first, calibration(figure, words), *_of_tasks(figure, words), flips)))


def calibration(figure: Figure, words: Wording) -> str:
    """What is known of the judge behind a figure: its agreement, `uncalibrated`, or that ids alone decided."""
    if figure.agreement is not None:
        return str(figure.agreement)
    return words("uncalibrated") if figure.judged else words("rule")


def _of_tasks(figure: Figure, words: Wording) -> tuple[str, ...]:
    """κ of what an uncalibrated metric asks its judge: it does not hold for the metric."""
    return tuple(f"{words('task_kappa', task=task)} {kappa}" for task, kappa in figure.task_agreement.items())


def _parts(
    systems: Sequence[SystemView],
    columns: Sequence[tuple[Mapping[str, Figure], bool]],
    words: Wording,
    *,
    charts: bool = True,
) -> tuple[Part, ...]:
    best = [_best(systems, figures, lower) if charts else frozenset() for figures, lower in columns]
    parts: dict[int, list[Row]] = {}
    for view in _ordered(systems, columns):
        name = view.name
        if not any(name in figures for figures, _ in columns):
            continue
        cells = tuple(
            _cell(figures.get(name), words, best=name in winners, charts=charts)
            for (figures, _), winners in zip(columns, best, strict=True)
        )
        parts.setdefault(view.part, []).append(Row(name, system_tags(view, words), cells))
    return tuple(Part(_PARTS[part], tuple(rows)) for part, rows in parts.items())


def system_tags(view: SystemView, words: Wording) -> tuple[str, ...]:
    """Marks beside a system's name: evidence class, mode, gold, settings of its own, whether cells are missing."""
    tags = [view.row.evidence_class, view.row.mode, words("unshown") if view.row.is_unverified else ""]
    tags.append(words("privileged") if view.row.privileged else "")
    tags += [words("other_setting", name=setting) for setting in view.unequal]
    tags.append("" if view.is_complete else words("incomplete"))
    return tuple(tag for tag in tags if tag)


def _ordered(systems: Sequence[SystemView], columns: Sequence[tuple[Mapping[str, Figure], bool]]) -> list[SystemView]:
    figures, lower = columns[0] if columns else ({}, False)

    def key(view: SystemView) -> tuple[int, bool, float, int]:
        figure = figures.get(view.name)
        value = None if figure is None or view.is_imported else figure.value
        return (view.part, value is None, (value or 0.0) * (1 if lower else -1), view.row.position)

    return sorted(systems, key=key)


def _best(systems: Sequence[SystemView], figures: Mapping[str, Figure], lower: bool) -> frozenset[str]:
    values = {
        view.name: figure.value
        for view in systems
        if view.part == 0 and (figure := figures.get(view.name)) is not None and figure.value is not None
    }
    if len(set(values.values())) < 2:
        return frozenset()
    top = min(values.values()) if lower else max(values.values())
    return frozenset(name for name, value in values.items() if value == top)


def _cell(figure: Figure | None, words: Wording, *, best: bool, charts: bool) -> Cell:
    if figure is None:
        return Cell("–", "", "", "", "", False, None)
    n = f"{figure.n_scored:,}/{figure.n_expected:,}"
    if figure.value is None:
        reasons = {**figure.n_error, **figure.n_excluded}
        why = max(reasons, key=lambda reason: reasons[reason]) if reasons else words("not_scored")
        return Cell("–", "", n, "", "", False, None, why)
    interval = f"[{percent(figure.low)}, {percent(figure.high)}]"
    if figure.low is None:
        interval = words("one_cluster") if figure.clusters == 1 else figure.interval
    strict = f"{words('strict')} {percent(figure.strict)}" if figure.n_failed and figure.strict is not None else ""
    if not charts and figure.n_scored == figure.n_expected:
        n = ""  # the column's head says it
    chart = whisker(figure.value, figure.low, figure.high, width=96.0) if charts else None
    sort = f"{figure.value:.6f}"
    return Cell(percent(figure.value), interval, n, strict, sort, best, chart, gap=_gap(figure, words))


def _gap(figure: Figure, words: Wording) -> str:
    found = [("vs_none", figure.vs_none), ("vs_oracle", figure.vs_oracle)]
    return " · ".join(words(name, v=percent(value, signed=True)) for name, value in found if value is not None)
