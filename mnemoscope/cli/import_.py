"""`mnemoscope import`: what another harness or a deployment produced, as a run file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

if TYPE_CHECKING:
    from mnemoscope.imports.importing import Imported

__all__ = ["import_"]

_LISTED = 20
Files = list[Path] | None


def import_(
    system: Annotated[str, typer.Option("--system", help="The name that the system gets.")],
    out: Annotated[Path, typer.Option("--out", help="The run file to write.")],
    scenario: Annotated[
        list[str] | None, typer.Option("--scenario", help="kind:path[,role=path…], or demo. Repeatable.")
    ] = None,
    replies: Annotated[Files, typer.Option("--replies", help="A file of replies; repeatable.")] = None,
    retrievals: Annotated[Files, typer.Option("--retrievals", help="A file of what was retrieved; repeatable.")] = None,
    verdicts: Annotated[Files, typer.Option("--verdicts", help="A file of verdicts; repeatable.")] = None,
    select: Annotated[str | None, typer.Option("--select", help="Which system, where a file holds several.")] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Who gave the verdicts; files of one judge and one input may be compared."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave out probes without a row, instead of counting them as failed.")
    ] = False,
    probes: Annotated[str | None, typer.Option(help="Styles to import, separated by commas. Default: all.")] = None,
    mode: Annotated[str | None, typer.Option(help="robust, repaired or strict-release. Default: robust.")] = None,
    encoding: Annotated[str | None, typer.Option(help="What the files were saved in. Default: utf-8.")] = None,
    lenient: Annotated[bool | None, typer.Option("--lenient/--strict", help="Load what can be loaded.")] = None,
    captions: Annotated[bool | None, typer.Option("--captions/--no-captions", help="Show image captions.")] = None,
    seed: Annotated[int | None, typer.Option(help="Order of memory pools. Default: 0.")] = None,
    max_failed: Annotated[
        float, typer.Option(help="Share of failed cells and unmatched rows that is accepted, 0 to 1.", min=0, max=1)
    ] = 0.0,
    as_json: JsonFlag = False,
) -> None:
    """Turn replies, retrievals and verdicts of another harness into a run file, matched by id.

    Formats are told by their keys: our own export, plain JSON Lines, and the files of MemUse, LoCoMo-Conv and
    memory-arena. Without --scenario, verdict files that carry ids are imported alone.
    """
    from mnemoscope.imports.importing import ImportRequest, import_run

    reading: dict[str, Any] = {
        "probes": tuple(style.strip() for style in probes.split(",")) if probes else (),
        "mode": mode,
        "encoding": encoding,
        "lenient": lenient,
        "captions": captions,
        "seed": seed,
    }
    done = import_run(
        ImportRequest(
            system=system,
            out=out,
            scenarios=tuple(scenario or ()),
            replies=tuple(replies or ()),
            retrievals=tuple(retrievals or ()),
            verdicts=tuple(verdicts or ()),
            select=select,
            judge=judge,
            partial=partial,
            reading=reading,
        )
    )
    if as_json:
        emit_json(_json(done))
    else:
        _say(done)
    raise typer.Exit(1 if done.failed_share > max_failed else 0)


def _json(done: Imported) -> dict[str, object]:
    return {
        "run": str(done.path),
        "files": [
            {"path": str(f.path), "sha256": f.sha256, "read_for": f.part, "format": f.form, "rows": f.rows}
            for f in done.files
        ],
        "cells": {"expected": done.expected, "failed": done.failed},
        "missing": list(done.missing),
        "unmatched": [row._asdict() for row in done.unmatched],
        "notes": list(done.notes),
        "content_hash": done.content_hash,
    }


def _say(done: Imported) -> None:
    answered = done.expected - len(done.missing)
    show(f"{done.path}: {answered:,} of {done.expected:,} probes are in the files, {done.failed:,} failed cells")
    for file in done.files:
        note(f"{file.path}: {file.rows:,} rows, {file.form}")
    for text in done.notes:
        note(f"note: {text}")
    rows = [f"{row.file}, {row.record}: {row.name}: {row.reason}" for row in done.unmatched]
    _list("rows without a probe", rows)
    _list("probes without a row", list(done.missing))
    show(f'content {done.content_hash}\nlook at it with: mnemoscope compare "{done.path}"')


def _list(what: str, lines: list[str]) -> None:
    if lines:
        note(f"{what}: {len(lines):,}")
        for line in lines[:_LISTED]:
            note(f"  {line}")
        if len(lines) > _LISTED:
            note(f"  … and {len(lines) - _LISTED:,} more; --json lists all")
