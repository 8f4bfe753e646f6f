"""Geometry of the report's charts, in the units of an SVG view box; the template only draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.comparison.summary import Funnel
from mnemoscope.evaluators.attribution import STAGES
from mnemoscope.report.outcomes import OUTCOME_STYLE

__all__ = ["Bar", "FunnelChart", "Segment", "Whisker", "funnel_chart", "whisker"]

WIDTH, LABEL, COUNT, ROW = 1040.0, 250.0, 90.0, 30.0
_FITS = 30.0
"""Narrowest segment that has room for its number."""
_LIGHT = frozenset({"unsaid", "unplanned", "wrong", "untold"})


@dataclass(frozen=True, slots=True)
class Segment:
    """One stage of one bar."""

    stage: str
    style: str
    x: float
    width: float
    count: int
    share: float
    has_room: bool
    ink: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One system's facts."""

    system: str
    privileged: bool
    y: float
    facts: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class FunnelChart:
    """Bars one below the other."""

    width: float
    height: float
    label: float
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]


def funnel_chart(funnels: Sequence[Funnel], privileged: frozenset[str]) -> FunnelChart:
    """Stacked bars of equal length, what came through first and the earliest loss last."""
    room = WIDTH - LABEL - COUNT
    bars = []
    for number, funnel in enumerate(funnels):
        x, segments = LABEL, []
        for stage in reversed(STAGES):
            count = funnel.stages.get(stage, 0)
            width = room * count / funnel.facts if funnel.facts else 0.0
            style = OUTCOME_STYLE[stage]
            if count:
                share, ink = count / funnel.facts, "on-light" if style in _LIGHT else "on-dark"
                segments.append(Segment(stage, style, round(x, 2), round(width, 2), count, share, width >= _FITS, ink))
            x += width
        y = 24 + number * ROW
        bars.append(Bar(funnel.system, funnel.system in privileged, y, funnel.facts, tuple(segments)))
    ticks = tuple((LABEL + room * part / 4, f"{part * 25} %") for part in range(5))
    return FunnelChart(WIDTH, 28 + len(funnels) * ROW, LABEL, tuple(bars), ticks)


@dataclass(frozen=True, slots=True)
class Whisker:
    """A value and its interval on a line of a fixed length."""

    width: float
    at: float
    low: float | None
    high: float | None
    zero: float


def whisker(
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    start: float = 0.0,
    end: float = 1.0,
    width: float = 120.0,
) -> Whisker | None:
    """Place a value on a line from `start` to `end`; None without a value."""
    if value is None or end <= start:
        return None

    def x(number: float) -> float:
        inside = min(max(number, start), end)
        return round(4 + (width - 8) * (inside - start) / (end - start), 2)

    if low is None or high is None:
        return Whisker(width, x(value), None, None, x(0.0))
    return Whisker(width, x(value), x(low), x(high), x(0.0))
