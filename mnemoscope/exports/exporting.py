"""One run file to one or several files in a format of the user's choice."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.core.errors import ConfigError, UnknownNameError
from mnemoscope.exports.cells import RunView, cells_csv, cells_jsonl
from mnemoscope.exports.official import OFFICIAL, Answers, refuse_without
from mnemoscope.exports.parts import Part, targets, write_text
from mnemoscope.runfile.reader import open_run
from mnemoscope.runfile.rows import SystemRow

__all__ = ["FORMATS", "Exported", "ExportedFile", "export_run"]

_WHOLE: dict[str, Callable[[RunView], Iterator[str]]] = {"jsonl": cells_jsonl, "csv": cells_csv}
FORMATS = (*_WHOLE, *OFFICIAL)
"""What `--format` takes."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file that was written."""

    path: Path
    bytes: int
    system: str | None
    """None where it holds several systems."""
    replicate: int | None


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote, and what must be said about it."""

    files: tuple[ExportedFile, ...]
    notes: tuple[str, ...]


def export_run(
    run: str | Path, form: str, out: str | Path, *, systems: Sequence[str] = (), force: bool = False
) -> Exported:
    """Write a run in another format.

    `jsonl` and `csv` hold all systems in one file. The benchmarks' own formats hold one system and one replicate per
    file: where there are several, each file's name gets their slug before its ending. Equal content gives equal bytes.

    Args:
        run: The run file.
        form: One of `FORMATS`.
        out: The file to write.
        systems: Only these; empty: all.
        force: Replace files that are there.

    Returns:
        The files, and notes on what a format could not hold.

    Raises:
        ConfigError: An unknown format, nothing to write, or an output that is there or cannot be written.
        UnknownNameError: A system that the run does not hold.
        RunFileError: The run file cannot be read.

    Example:
        >>> export_run("run.db", "jsonl", "cells.jsonl").files[0].path  # doctest: +SKIP
        PosixPath('cells.jsonl')
    """
    if form not in FORMATS:
        raise ConfigError(f"there is no export format {form!r}; it is {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    target = Path(out)
    if target.resolve() == Path(run).resolve():
        raise ConfigError(f"{out} is the run file itself; give the export a name of its own")
    with open_run(run) as reader:
        view = RunView(reader, _chosen(reader.systems(), systems))
        notes: list[str] = []
        parts = [Part("", None, None, _WHOLE[form](view))] if form in _WHOLE else _official(view, form, notes)
        paths = targets(target, [part.label for part in parts])
        _refuse_taken(paths, force=force)
        written = []
        for path, part in zip(paths, parts, strict=True):
            size = write_text(path, part.text)
            written.append(ExportedFile(path, size, part.system, part.replicate))
    return Exported(tuple(written), tuple(notes))


def _official(view: RunView, form: str, notes: list[str]) -> list[Part]:
    refuse_without(view, form)
    several = len(view.replicates) > 1
    parts = []
    for system in view.systems:
        for replicate in view.replicates:
            label = f"{system.name} r{replicate}" if several else system.name
            answers = Answers(view, system, replicate, form, notes)
            parts.append(Part(label, system.name, replicate, _lazy(OFFICIAL[form], answers)))
    return parts


def _lazy(write: Callable[[Answers], str], answers: Answers) -> Iterator[str]:
    yield write(answers)


def _chosen(rows: Sequence[SystemRow], names: Sequence[str]) -> tuple[SystemRow, ...]:
    known = {row.name: row for row in rows}
    for name in names:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.3) or list(known)[:3]
            raise UnknownNameError("system in this run", name, nearest)
    return tuple(row for row in rows if not names or row.name in names)


def _refuse_taken(paths: Sequence[Path], *, force: bool) -> None:
    for path in paths:
        if path.is_dir():
            raise ConfigError(f"output {path} is a folder; name a file")
        if not path.parent.is_dir():
            raise ConfigError(f"output {path} cannot be written: there is no folder {path.parent}")
        if path.exists() and not force:
            raise ConfigError(f"{path} exists and was not touched; add --force to replace it, or give another --out")
