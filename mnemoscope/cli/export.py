"""`mnemoscope export`: a run file in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

__all__ = ["export"]


def export(
    run: Annotated[Path, typer.Argument(help="The run file.", show_default=False)],
    form: Annotated[
        str, typer.Option("--format", help="jsonl, csv, or a benchmark's own: memuse, locomo-conv, stratmem.")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The file to write; a benchmark's own format gives one per system.")
    ],
    system: Annotated[list[str] | None, typer.Option("--system", help="Only this system; repeatable.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write a run's cells for people and spreadsheets, or its replies for the judge scripts of benchmarks."""
    from mnemoscope.exports.exporting import export_run

    written = export_run(run, form, out, systems=system or (), force=force)
    if as_json:
        files = [
            {"path": str(file.path), "bytes": file.bytes, "system": file.system, "replicate": file.replicate}
            for file in written.files
        ]
        emit_json({"format": form, "files": files, "notes": list(written.notes)})
        return
    for file in written.files:
        show(f"{file.path}: {file.bytes:,} bytes" + (f", {file.system}" if file.system else ""))
    for text in written.notes:
        note(f"note: {text}")
