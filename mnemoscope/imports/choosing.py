"""Whose rows of a file are read, and that they hold what the file is read for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mnemoscope.core.errors import ConfigError, DataError, UnknownNameError
from mnemoscope.imports.matching import Part
from mnemoscope.imports.rows import FileRows, Row

__all__ = ["chosen_rows"]


def chosen_rows(file: FileRows, part: Part, select: str | None) -> Iterator[Row]:
    """The rows of one system of a file; each must hold what the file is read for.

    Args:
        file: The file, opened.
        part: What it is read for.
        select: The system as the file names it; None: the only one.

    Raises:
        ConfigError: Several systems, and none is chosen.
        UnknownNameError: The file does not hold the chosen one.
        DataError: A row without that part.
    """
    names: Counter[str] = Counter()
    for row in file.rows:
        names[row.source] += 1
        if select is None and len(names) > 1:
            first, second = list(names)[:2]
            raise ConfigError(
                f"{file.path} holds several systems ({first or 'unnamed'}, {second or 'unnamed'}, …); "
                "choose one with --select"
            )
        if select is None or row.source in (select, ""):
            _refuse_empty(row, part, file)
            yield row
    if select is not None and not {select, ""} & names.keys():
        raise UnknownNameError(f"system in {file.path.name}", select, sorted(names)[:5])


def _refuse_empty(row: Row, part: Part, file: FileRows) -> None:
    """Refuse a file of another kind. Cells of our own may lack any part: not every system retrieves."""
    has = {"reply": row.reply, "retrieval": row.retrieval, "verdicts": row.verdicts}[part]
    if not has and file.form not in ("mnemoscope", "memory-arena"):
        held = [name for name in ("reply", "retrieval", "verdicts") if getattr(row, name)]
        raise DataError(
            f"the row holds no {part.removesuffix('s')}",
            file=row.file,
            record=row.record,
            field=part,
            fix=f"it was read as {file.form}, and holds {', '.join(held) or 'nothing that is known'}",
        )
