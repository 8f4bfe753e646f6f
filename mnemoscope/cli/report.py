"""`mnemoscope report`: one HTML page from run files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run files; systems of one name are merged.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", help="The HTML file to write; an existing one is replaced.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", help="Write nothing: say whether this report still shows the run files.")
    ] = None,
    probe: Annotated[
        list[str] | None, typer.Option("--probe", help="Show this probe in full, and no other; repeatable.")
    ] = None,
    lang: Annotated[str, typer.Option("--lang", help="The page's own words: en or zh.")] = "en",
    baseline: Annotated[str | None, typer.Option("--baseline", help="Compare every system with this one.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a self-contained page: results, where memory was lost, differences, and each probe in full.

    The page loads nothing from anywhere and opens from a file. With --check, exit code 1 says that a page is stale.
    """
    from mnemoscope.core.errors import ConfigError

    if (out is None) == (check is None):
        raise ConfigError("give either --out report.html to write a report, or --check report.html to check one")
    if check is not None:
        _check(runs, check, as_json=as_json)
    elif out is not None:
        _write(runs, out, lang, baseline, probe or [], as_json=as_json)


def _check(runs: list[Path], page: Path, *, as_json: bool) -> None:
    from mnemoscope.report.checking import check_report

    found = check_report(runs, page)
    if as_json:
        emit_json({"report": str(page), "current": found.is_current, "says": str(found)})
    else:
        show(str(found))
    raise typer.Exit(0 if found.is_current else 1)


def _write(runs: list[Path], out: Path, lang: str, baseline: str | None, probes: list[str], *, as_json: bool) -> None:
    from mnemoscope.report.writing import write_report

    written = write_report(runs, out, lang, baseline=baseline, probes=probes)
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
