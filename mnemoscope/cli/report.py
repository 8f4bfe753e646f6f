"""`mnemoscope report`: one HTML page from run files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run files; systems of one name are merged.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write; an existing one is replaced.")],
    lang: Annotated[str, typer.Option("--lang", help="The page's own words: en or zh.")] = "en",
    baseline: Annotated[str | None, typer.Option("--baseline", help="Compare every system with this one.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a self-contained page: results, where memory was lost, differences, and each probe in full.

    The page loads nothing from anywhere and opens from a file.
    """
    from mnemoscope.report.writing import write_report

    written = write_report(runs, out, lang, baseline=baseline)
    if as_json:
        emit_json(
            {
                "report": str(written.path),
                "bytes": written.bytes,
                "probes_shown": written.probes_shown,
                "probes": written.probes,
                "content_hashes": list(written.content_hashes),
                "warnings": list(written.warnings),
            }
        )
        return
    shown = f"{written.probes_shown:,} of {written.probes:,} probes in full"
    show(f"{written.path}: {written.bytes / 1e6:.1f} MB, {shown}")
    for warning in written.warnings:
        note(f"warning: {warning}")
