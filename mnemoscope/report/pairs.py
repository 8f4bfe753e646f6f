"""The differences between systems as the report prints them: with a mark on each that says what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.comparison.strata import ALL, stratum_title
from mnemoscope.comparison.summary import Comparison, Headline, PairFigure
from mnemoscope.report.figures import Whisker, whisker
from mnemoscope.report.page import percent

__all__ = ["PairLine", "PairTable", "p_value", "pair_tables"]


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
    """`differs`, `equivalent`, `within_flips`, `no_difference` or `not_comparable`."""
    chart: Whisker | None


@dataclass(frozen=True, slots=True)
class PairTable:
    """The differences of one metric in one stratum."""

    title: str
    test: str
    """What the unclustered p-values are from."""
    lines: tuple[PairLine, ...]


def pair_tables(comparison: Comparison, benchmark: str, headlines: Sequence[Headline]) -> tuple[PairTable, ...]:
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


def _by_size(pair: PairFigure) -> tuple[bool, float, str, str]:
    return (not pair.comparable, -abs(pair.delta or 0.0), pair.a, pair.b)


def _pair_line(pair: PairFigure, reach: float) -> PairLine:
    interval = "" if pair.low is None else f"[{percent(pair.low, signed=True)}, {percent(pair.high, signed=True)}]"
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
        mark=_mark(pair),
        chart=whisker(pair.delta, pair.low, pair.high, start=-reach, end=reach, width=110.0),
    )


def _mark(pair: PairFigure) -> str:
    if not pair.comparable:
        return "not_comparable"
    if pair.is_significant:
        return "differs"
    if pair.is_equivalent:
        return "equivalent"
    return "within_flips" if pair.is_within_flips else "no_difference"


def p_value(p: float | None) -> str:
    """A p-value in three places, never as zero.

    Example:
        >>> p_value(0.0001), p_value(0.0449), p_value(None)
        ('< .001', '.045', '–')
    """
    if p is None:
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
