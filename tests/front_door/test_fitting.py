"""Wide tables in 80 columns: every cell is there, whole, whatever the names and numbers."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from mnemoscope.cli.fitting import Head, fitted
from mnemoscope.cli.tables import WIDTH

NAMES = ("a-mem-style(mode=llm)@strategic(k=3)", "记忆系统@baseline", "none@all", "x@y")
numbers = st.floats(-100, 100).map(lambda value: f"{value:+.1f} [{value - 1:+.1f}, {value + 1:+.1f}]")


def drawn(heads: list[Head], rows: list[list[str]]) -> str:
    out = io.StringIO()
    table = fitted("some · table", heads, rows, names=NAMES, notes=["a note " * 30])
    Console(file=out, width=200, markup=False, highlight=False).print(table)
    return out.getvalue()


@given(st.integers(1, 9), st.data())
def test_no_number_is_cut_and_no_line_is_too_long(columns: int, data: st.DataObject) -> None:
    heads = [Head("metric", True), Head("system", True), *(Head(f"some_value_{n}", False) for n in range(columns))]
    row = st.tuples(st.sampled_from(["integration", "recall@10"]), st.sampled_from(NAMES), *[numbers] * columns)
    rows = [list(found) for found in data.draw(st.lists(row, min_size=1, max_size=4))]
    text = drawn(heads, rows)
    assert max(map(cell_len, text.splitlines())) <= WIDTH
    for _, name, *cells in rows:
        assert name in text, "in its row, or in the legend"
        assert all(cell in text for cell in cells)


def test_names_stay_where_the_table_is_narrow() -> None:
    text = drawn([Head("system", True), Head("n", False)], [[NAMES[0], "3"]])
    assert NAMES[0] in text.splitlines()[3] and "A  " not in text


def test_names_in_a_list_become_letters_too() -> None:
    heads = [Head("metric", True), *(Head(f"value_{n}", False) for n in range(6)), Head("which", True)]
    rows = [["smc", *["+100.0 [+1.0, +2.0]"] * 6, ", ".join(NAMES)], ["use", *["–"] * 6, "all"]]
    text = drawn(heads, rows)
    assert "A, B, C, D" in text and f"A  {NAMES[0]}" in text and "all" in text
