"""What no run can have written: looked for once when a file is opened, so that no figure is made of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from mnemoscope.core.errors import RunFileError, shown
from mnemoscope.evaluators.verdict import VerdictStatus

__all__ = ["refuse_impossible_rows"]


def _one_of(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


class _Check(NamedTuple):
    table: str
    column: str
    row: str
    """SQL of what names the row."""
    wrong: str
    """SQL of what makes it impossible; `t` is the table."""
    expected: str


_STATUSES: tuple[str, ...] = get_args(VerdictStatus)
_CELL = "t.system || ' × ' || t.scenario_id || ' × ' || t.probe_id"
_VERDICT = "'cell ' || t.cell_id || ', ' || t.metric || ', ' || t.subject"
_CHECKS = (
    _Check(
        "cell", "probe_id", _CELL,
        "NOT EXISTS (SELECT 1 FROM probe p WHERE p.scenario_id = t.scenario_id AND p.probe_id = t.probe_id)",
        "a probe of the file",
    ),
    _Check("cell", "status", _CELL, "t.status NOT IN ('ok', 'error', 'excluded')", "ok, error or excluded"),
    _Check(
        "lane", "status", "t.scenario_id || ' × ' || t.memory", "t.status NOT IN ('done', 'failed')", "done or failed"
    ),
    _Check("verdict", "status", _VERDICT, f"t.status NOT IN ({_one_of(_STATUSES)})", ", ".join(_STATUSES)),
    _Check(
        "verdict", "agreement", _VERDICT, "t.agreement NOT BETWEEN 0 AND 1", "a share from 0 to 1, or nothing"
    ),
    # what is not a number is stored as nothing
    _Check(
        "verdict", "score", _VERDICT,
        "(t.status = 'scored' AND t.score IS NULL) OR t.score NOT BETWEEN -1.7976931348623157e308 AND "
        "1.7976931348623157e308",
        "a finite number where the status is scored",
    ),
)  # fmt: skip


def refuse_impossible_rows(db: sqlite3.Connection, path: Path) -> None:
    """Look at every cell, lane and verdict once.

    Args:
        db: The file, open and of the present schema.
        path: Its place, for the message.

    Raises:
        RunFileError: A row holds a value that no run writes: an unknown status, a share outside 0–1, a score that is
            no finite number, or a cell or verdict that belongs to nothing.
        sqlite3.Error: The file cannot be read.
    """
    for table in ("cell", "lane", "verdict"):
        of_table = [check for check in _CHECKS if check.table == table]
        wrong = " OR ".join(f"({check.wrong})" for check in of_table)
        if db.execute(f"SELECT 1 FROM {table} t WHERE {wrong} LIMIT 1").fetchone() is None:  # noqa: S608
            continue
        for check in of_table:
            query = f"SELECT {check.row}, t.{check.column} FROM {table} t WHERE {check.wrong} LIMIT 1"  # noqa: S608
            if found := db.execute(query).fetchone():
                row, value = found
                raise _damaged(path, table, row, value, check.column, check.expected)
    stray = db.execute("SELECT cell_id FROM verdict EXCEPT SELECT cell_id FROM cell LIMIT 1").fetchone()
    if stray is not None:
        raise _damaged(path, "verdict", f"cell {stray[0]}", stray[0], "cell_id", "a cell of the file")


def _damaged(path: Path, table: str, row: object, value: object, column: str, expected: str) -> RunFileError:
    return RunFileError(
        f"run file {path} is damaged: table {table}, row {row}: {column} is {shown(value)}, not {expected}; nothing "
        "was changed, take a copy of the file from before, or make the run again"
    )
