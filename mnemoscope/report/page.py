"""What the report's page shows, as plain values in the order of the page; the template only lays them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.comparison.strata import ALL, shown_strata, stratum_title
from mnemoscope.comparison.summary import Comparison, Figure, Headline, PairFigure, SystemView
from mnemoscope.report.figures import Whisker, whisker
from mnemoscope.report.wording import Wording

__all__ = ["Cell", "Column", "PairLine", "PairTable", "Row", "Table", "headline_table", "pair_tables", "stratum_tables"]


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
    privileged: bool
    apart: bool
    """First of the privileged rows."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table of figures."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class PairLine:
    """One difference."""

    a: str
    b: str
    delta: str
    interval: str
    p: str
    p_clustered: str
    p_adjusted: str
    n: int
    clusters: int
    mde: str
    mark: str
    """`differs`, `not_comparable` or nothing."""
    chart: Whisker | None


@dataclass(frozen=True, slots=True)
class PairTable:
    """The differences of one metric in one stratum."""

    title: str
    test: str
    """What the unclustered p-values are from."""
    lines: tuple[PairLine, ...]


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
    return Table(benchmark, tuple(c for c, _, _ in columns), _rows(comparison.systems, [c[1:] for c in columns], words))


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
        rows = _rows(comparison.systems, [c[1:] for c in columns], words, charts=False)
        tables.append(Table(metric, tuple(c for c, _, _ in columns), rows))
    return tuple(tables)


def pair_tables(
    comparison: Comparison, benchmark: str, headlines: Sequence[Headline], words: Wording
) -> tuple[PairTable, ...]:
    """The differences behind each headline figure, largest first."""
    tables = []
    for headline in headlines:
        pairs = [p for p in comparison.pairs if p.benchmark == benchmark and (p.metric, p.stratum) == headline]
        if not pairs:
            continue
        reach = max([0.05, *(abs(v) for p in pairs for v in (p.delta, p.low, p.high) if v is not None)])
        lines = tuple(_pair_line(p, reach) for p in sorted(pairs, key=_by_size))
        title = headline.metric + ("" if headline.stratum == ALL else f", {stratum_title(benchmark, headline.stratum)}")
        tables.append(PairTable(title, ", ".join(sorted({p.test for p in pairs})), lines))
    return tuple(tables)


def _notes(figure: Figure | None, words: Wording, lower: bool) -> tuple[str, ...]:
    first = f"%, {words('lower')}" if lower else "%"
    return (first,) if figure is None else (first, calibration(figure, words))


def calibration(figure: Figure, words: Wording) -> str:
    """What is known of the judge behind a figure: its agreement, `uncalibrated`, or that ids alone decided."""
    if figure.kappa is not None:
        return words("kappa", k=f"{figure.kappa:.2f}")
    return words("uncalibrated") if figure.judged else words("rule")


def _rows(
    systems: Sequence[SystemView],
    columns: Sequence[tuple[Mapping[str, Figure], bool]],
    words: Wording,
    *,
    charts: bool = True,
) -> tuple[Row, ...]:
    best = [_best(systems, figures, lower) if charts else frozenset() for figures, lower in columns]
    rows = []
    was_privileged = False
    for view in _ordered(systems, columns):
        name = view.name
        if not any(name in figures for figures, _ in columns):
            continue
        cells = tuple(
            _cell(figures.get(name), words, best=name in winners, charts=charts)
            for (figures, _), winners in zip(columns, best, strict=True)
        )
        privileged = view.row.privileged
        rows.append(Row(name, system_tags(view, words), privileged, privileged and not was_privileged, cells))
        was_privileged = privileged
    return tuple(rows)


def system_tags(view: SystemView, words: Wording) -> tuple[str, ...]:
    """Marks beside a system's name: evidence class, mode, whether it reads gold, whether cells are missing."""
    tags = [view.row.evidence_class, view.row.mode, words("privileged") if view.row.privileged else ""]
    tags.append("" if view.is_complete else words("incomplete"))
    return tuple(tag for tag in tags if tag)


def _ordered(systems: Sequence[SystemView], columns: Sequence[tuple[Mapping[str, Figure], bool]]) -> list[SystemView]:
    figures, lower = columns[0] if columns else ({}, False)

    def key(view: SystemView) -> tuple[bool, bool, float, int]:
        figure = figures.get(view.name)
        value = None if figure is None else figure.value
        return (view.row.privileged, value is None, (value or 0.0) * (1 if lower else -1), view.row.position)

    return sorted(systems, key=key)


def _best(systems: Sequence[SystemView], figures: Mapping[str, Figure], lower: bool) -> frozenset[str]:
    values = {
        view.name: figure.value
        for view in systems
        if not view.row.privileged and (figure := figures.get(view.name)) is not None and figure.value is not None
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
    return Cell(percent(figure.value), interval, n, strict, f"{figure.value:.6f}", best, chart)


def _by_size(pair: PairFigure) -> tuple[bool, float, str, str]:
    return (not pair.comparable, -abs(pair.delta or 0.0), pair.a, pair.b)


def _pair_line(pair: PairFigure, reach: float) -> PairLine:
    interval = "" if pair.low is None else f"[{percent(pair.low, signed=True)}, {percent(pair.high, signed=True)}]"
    mark = "differs" if pair.is_significant else "" if pair.comparable else "not_comparable"
    return PairLine(
        a=pair.a,
        b=pair.b,
        delta=percent(pair.delta, signed=True),
        interval=interval,
        p=p_value(pair.p),
        p_clustered=p_value(pair.p_clustered),
        p_adjusted=p_value(pair.p_adjusted),
        n=pair.n,
        clusters=pair.clusters,
        mde="–" if pair.mde is None else f"±{percent(pair.mde)}",
        mark=mark,
        chart=whisker(pair.delta, pair.low, pair.high, start=-reach, end=reach, width=110.0),
    )


def p_value(p: float | None) -> str:
    """A p-value in three places, never as zero.

    Example:
        >>> p_value(0.0001), p_value(0.0449), p_value(None)
        ('< .001', '.045', '–')
    """
    if p is None:
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
