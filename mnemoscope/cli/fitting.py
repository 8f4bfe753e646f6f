"""Wide tables in 80 columns: systems get letters, texts wrap, and columns go on below; no number is ever cut."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from string import ascii_uppercase
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemoscope.cli.tables import WIDTH, plain_table
from mnemoscope.core.language.display import visible_controls

__all__ = ["Head", "fitted", "wrapped"]

_TEXT, _GAP = 24, 2
"""Widths: what a text may take, and what stands between two columns."""


_LIST, _SUBJECT = ", ", " · "
"""What stands between names in one cell, and between a table's name and its subject."""


class Head(NamedTuple):
    """A column: its words stand below each other."""

    name: str
    is_text: bool

    @property
    def words(self) -> list[str]:
        """What stands on the lines of the head."""
        return self.name.replace("_", "\n").split("\n")


def fitted(
    title: str,
    heads: Sequence[Head],
    rows: Iterable[Sequence[str]],
    *,
    names: Collection[str] = (),
    notes: Iterable[str] = (),
) -> RenderableType:
    """A table, its legend and its notes, in 80 columns.

    Args:
        title: Above the table.
        heads: The columns; the leading ones that are texts are repeated where the others go on below.
        rows: One cell per column.
        names: Names of systems and memories: columns of such names become letters where the table is too wide.
        notes: Sentences below the table.
    """
    cells = [[visible_controls(cell) for cell in row] for row in rows]
    legend: dict[str, str] = {}
    widths = _widths(heads, cells)
    if _sum(widths) > WIDTH:
        cells, legend = _lettered(heads, cells, {visible_controls(name) for name in names})
        widths = [
            min(width, _TEXT) if head.is_text else width
            for head, width in zip(heads, _widths(heads, cells), strict=True)
        ]
    tables: list[RenderableType] = []
    for number, places in enumerate(_blocks(heads, widths)):
        table = plain_table(title if number == 0 else f"{title.partition(_SUBJECT)[0]}, continued")
        for place in places:
            _add_column(table, heads[place], widths[place])
        for row in cells:
            table.add_row(*(Text(row[place]) for place in places))
        tables += [table, Text("")]
    below = [f"{letter}  {name}" for name, letter in legend.items()] + list(notes)
    return Group(*tables, Text("\n".join(map(wrapped, below)), style="dim"), Text(""))


def wrapped(text: str) -> str:
    """A line in 80 columns, what follows indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent="   ", break_on_hyphens=False)


def _add_column(table: Table, head: Head, width: int) -> None:
    side, name = ("left" if head.is_text else "right"), Text("\n".join(head.words))
    table.add_column(name, justify=side, min_width=width, max_width=width, overflow="fold")  # type: ignore[arg-type]


def _widths(heads: Sequence[Head], cells: Sequence[Sequence[str]]) -> list[int]:
    """What each column takes as it is."""
    return [max(map(cell_len, [*head.words, *(row[i] for row in cells)])) for i, head in enumerate(heads)]


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _lettered(
    heads: Sequence[Head], cells: Sequence[Sequence[str]], names: Collection[str]
) -> tuple[list[list[str]], dict[str, str]]:
    """The cells with letters in the place of long names, and what each letter stands for."""
    of_names = [
        place
        for place, head in enumerate(heads)
        if head.is_text and any(name in names for row in cells for name in row[place].split(_LIST))
    ]
    letters, legend = _letters(), dict[str, str]()
    for row in cells:
        for place in of_names:
            for name in row[place].split(_LIST):
                if name in names and name not in legend:
                    legend[name] = next(letters)

    def short(cell: str) -> str:
        return _LIST.join(legend.get(name, name) for name in cell.split(_LIST))

    return [[short(cell) if place in of_names else cell for place, cell in enumerate(row)] for row in cells], legend


def _letters() -> Iterator[str]:
    """A to Z, then A1 to Z1 and so on."""
    for turn in count():
        yield from (f"{letter}{turn or ''}" for letter in ascii_uppercase)


def _blocks(heads: Sequence[Head], widths: Sequence[int]) -> list[list[int]]:
    """Which columns stand side by side."""
    keys = next((place for place, head in enumerate(heads) if not head.is_text), len(heads))
    room = WIDTH - _sum(widths[:keys])
    blocks: list[list[int]] = [[]]
    used = 0
    for place in range(keys, len(heads)):
        if blocks[-1] and used + _GAP + widths[place] > room:
            blocks.append([])
            used = 0
        blocks[-1].append(place)
        used += _GAP + widths[place]
    return [[*range(keys), *block] for block in blocks]
