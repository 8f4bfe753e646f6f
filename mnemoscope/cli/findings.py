"""Tables of analyses for a terminal: one table per analysis, its legend and its notes below."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from mnemoscope.cli.fitting import Head, fitted, wrapped
from mnemoscope.comparison.findings import printed
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value

__all__ = ["findings_table"]


def findings_table(findings: Findings, names: Collection[str] = ()) -> RenderableType:
    """One analysis as a table; without rows, the sentence that says what is missing.

    Args:
        findings: What to print.
        names: Names of systems and memories, which give way to letters where the table is too wide.
    """
    if findings.missing is not None:
        return Text(wrapped(f"{findings.name}: {findings.missing}") + "\n")
    places = list(_places(findings))
    heads = [_head(findings.columns, place) for place in places]
    rows = [[_cell(findings.columns, row, place) for place in places] for row in findings.rows]
    title = f"{findings.name} · {findings.title}"
    return fitted(title, heads, rows, names=names, notes=[*findings.notes, *_legend(findings.columns, places)])


def _legend(columns: Sequence[Column], places: Sequence[range]) -> Iterator[str]:
    """What columns mean, and once what all intervals are."""
    intervals = dict[str, None]()
    for first, *ends in ([columns[each] for each in place] for place in places):
        if first.kind != "text":
            yield f"{first.name}: {first.meaning}"
        if ends:
            intervals[re.sub(r" of `[^`]*`", "", ends[0].meaning).replace("Lower end", "ends")] = None
    yield from (f"[low, high]: {meaning}" for meaning in intervals)


def _places(findings: Findings) -> Iterator[range]:
    """Which columns are one here: a value and the ends of its interval stand together; empty strata are left out."""
    columns, place = findings.columns, 0
    while place < len(columns):
        ends = [column.name.rpartition("_")[2] for column in columns[place + 1 : place + 3]]
        width = 3 if ends == ["low", "high"] and columns[place].kind != "text" else 1
        if columns[place].name != "stratum" or any(row[place] for row in findings.rows):
            yield range(place, place + width)
        place += width


def _head(columns: Sequence[Column], place: range) -> Head:
    first = columns[place[0]]
    return Head(first.name if len(place) == 1 else f"{first.name}\n[low, high]", first.kind == "text")


def _cell(columns: Sequence[Column], row: Sequence[Value], place: range) -> str:
    value, *ends = (printed(columns[each], row[each]) for each in place)
    if not ends or row[place[0]] is None:
        return value
    return f"{value} [ – ]" if None in (row[each] for each in place) else f"{value} [{', '.join(ends)}]"
