"""`mnemoscope compare`: the table of one or more run files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

__all__ = ["Form", "compare"]


class Form(StrEnum):
    """Other forms of the table."""

    MD = "md"
    CSV = "csv"


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run files; systems of one name are merged.", show_default=False)],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Show this metric; repeatable, `all` for every one. Default: the headline."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="stratum, style, scenario, cluster, or one stratum by name or number."),
    ] = None,
    baseline: Annotated[str | None, typer.Option("--baseline", help="Compare every system with this one.")] = None,
    analysis: Annotated[
        list[str] | None,
        typer.Option(
            "--analysis", help="Print this analysis of the whole run instead; repeatable, `all` for every one."
        ),
    ] = None,
    calibration: Annotated[
        list[Path] | None,
        typer.Option("--calibration", help="A file of judge calibrate: prints its κ beside what it holds for."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="A configuration whose `statistics` table replaces that of the runs."),
    ] = None,
    form: Annotated[Form | None, typer.Option("--format", help="Markdown or CSV instead of a table.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare systems: figures with intervals and counts, paired differences, and what to know before believing them.

    Values are in percent, in JSON and CSV shares from 0 to 1. Warnings go to standard error, in JSON into the document.
    With --analysis only the analyses are printed; JSON holds the figures, too. --metric and --baseline say what power,
    equivalence, seeds, pooled and randomisation are about.
    """
    from mnemoscope.comparison.comparing import compare_runs

    everything = metric is not None and "all" in metric
    wanted: list[str] | Literal["headline"] | None = None if everything else metric or "headline"
    analyses = _analyses(analysis or [])
    files = calibration or []
    if as_json:
        figures = None if wanted == "headline" else wanted
        emit_json(compare_runs(runs, figures, by, baseline, analyses, files, config).to_json())
        return
    comparison = compare_runs(runs, wanted, by, baseline, analyses, files, config)
    if form is Form.CSV:
        from mnemoscope.comparison.export import to_csv

        show(to_csv(comparison))
    elif form is Form.MD:
        from mnemoscope.comparison.export import to_markdown

        show(to_markdown(comparison, by=by))
    elif analyses:
        from mnemoscope.cli.findings import findings_table

        names = {name for view in comparison.systems for name in (view.name, view.row.memory)}
        for findings in comparison.analyses:
            show(findings_table(findings, names))
    else:
        from mnemoscope.cli.tables import comparison_tables

        for block in comparison_tables(comparison, by=by):
            show(block)
    for warning in comparison.warnings:
        note(f"warning: {warning}")


def _analyses(names: list[str]) -> tuple[str, ...]:
    if "all" not in names:
        return tuple(dict.fromkeys(names))
    from mnemoscope.evaluators.analyses.registry import ANALYSES

    return ANALYSES.names()
