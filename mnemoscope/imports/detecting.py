"""Which format a foreign file is in, by its keys alone, and its rows.

A file whose name ends in `.jsonl` or `.ndjson` is JSON Lines; any other is one JSON document. Then:

1. an object with `natural` is a MemUse responses file; with `per_instance`, a MemUse judge report; with
   `recall_records`, a result file of memory-arena;
2. a list, or lines: the first row decides. `record: mnemoscope-cell/1` is our own export; `sample_idx` or `q_idx` with
   `docs` is LoCoMo-Conv's retrieval cache, with `response` its responses, with `fact_score` or `coverage_score` its
   scores; `instance_id` with `question_idx` is MemUse's judged rows; any other row is a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mnemoscope.core.errors import DataError
from mnemoscope.exports.cells import CELL_RECORD
from mnemoscope.imports import arena, locomo_conv, memuse, own, plain
from mnemoscope.imports.rows import FileRows, Row
from mnemoscope.scenarios.jsonl import open_jsonl
from mnemoscope.scenarios.reading import Fields, read_json
from mnemoscope.scenarios.source import DataReport

__all__ = ["FORMATS", "open_rows"]

_LINES = (".jsonl", ".ndjson")
Records = Iterator[Fields]

FORMATS: Mapping[str, str] = {
    "mnemoscope": "our own export of cells",
    "plain": "rows of {probe_id | id | question_id | instance_id | cluster_id, reply | response | answer, …}",
    "memuse-responses": "MemUse responses",
    "memuse-report": "MemUse judge report",
    "memuse-judged": "MemUse judged rows",
    "locomo-conv-responses": "LoCoMo-Conv responses",
    "locomo-conv-retrievals": "LoCoMo-Conv retrieval cache",
    "locomo-conv-scores": "LoCoMo-Conv scores",
    "memory-arena": "memory-arena result file",
}
"""Names of the formats, and what they are."""

_BY_ROW: Mapping[str, Callable[[Records, Path, list[str]], Iterator[Row]]] = {
    "mnemoscope": own.rows,
    "plain": plain.rows,
    "memuse-judged": memuse.judged_rows,
    "locomo-conv-responses": locomo_conv.responses,
    "locomo-conv-retrievals": locomo_conv.retrievals,
    "locomo-conv-scores": locomo_conv.scores,
}
_BY_DOCUMENT: Mapping[str, tuple[str, Callable[[Fields, Path, list[str]], Iterator[Row]]]] = {
    "natural": ("memuse-responses", memuse.responses),
    "per_instance": ("memuse-report", memuse.report),
    "recall_records": ("memory-arena", arena.rows),
}


def open_rows(path: Path, *, encoding: str = "utf-8") -> FileRows:
    """Open a foreign file and tell its format.

    Args:
        path: The file.
        encoding: What it was saved in.

    Raises:
        DataError: The file cannot be read, holds nothing, or is in no format that is known here.
    """
    notes: list[str] = []
    if path.suffix.lower() in _LINES:
        lines = open_jsonl(path, encoding=encoding)
        values = ((f"line {line.number}", line.value) for line in lines.read(DataReport()))
        return _of_rows(values, path, lines.sha256, notes)
    file = read_json(path, encoding=encoding)
    if isinstance(file.value, list):
        values = ((f"row {place}", value) for place, value in enumerate(file.value, start=1))
        return _of_rows(values, path, file.sha256, notes, size=len(file.value))
    document = Fields.of(file.value, file=str(path), record="top level")
    for key, (form, read) in _BY_DOCUMENT.items():
        if key in document.values:
            return FileRows(path, file.sha256, form, read(document, path, notes), notes)
    keys = ", ".join(sorted(document.values)[:8]) or "none"
    raise DataError(
        "a format that is not known",
        file=path,
        record="top level",
        fix=f"its keys are {keys}; see docs/interoperability.md",
    )


def _of_rows(
    values: Iterator[tuple[str, object]], path: Path, sha256: str, notes: list[str], size: int | None = None
) -> FileRows:
    first = next(values, None)
    if first is None:
        raise DataError("the file holds no row", file=path)
    if not isinstance(first[1], dict):
        count = f"{size} rows" if size is not None else "rows"
        raise DataError(
            f"{count} without ids",
            file=path,
            record=first[0],
            seen=first[1],
            fix='rows are matched by id, never by position; write objects such as {"id": …, "reply": …}',
        )
    form = _form_of_row(first[1])

    def records() -> Records:
        yield Fields.of(first[1], file=str(path), record=first[0])
        for record, value in values:
            yield Fields.of(value, file=str(path), record=record)

    return FileRows(path, sha256, form, _BY_ROW[form](records(), path, notes), notes)


def _form_of_row(row: Mapping[str, object]) -> str:
    if row.get("record") == CELL_RECORD:
        return "mnemoscope"
    if "instance_id" in row and "question_idx" in row:
        return "memuse-judged"
    if "sample_idx" in row or "q_idx" in row:
        for key, form in (("response", "responses"), ("docs", "retrievals"), ("fact_score", "scores")):
            if key in row:
                return f"locomo-conv-{form}"
        if "coverage_score" in row or "variant" in row:
            return "locomo-conv-scores"
    if "docs" in row and "cluster_id" in row:
        return "locomo-conv-retrievals"
    return "plain"
