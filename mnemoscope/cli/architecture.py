"""`mnemoscope architecture`: which memories there are, and whether one keeps its contracts."""

from __future__ import annotations

from dataclasses import fields
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, show

if TYPE_CHECKING:
    from mnemoscope.graphs.backend import BackendFactory
    from mnemoscope.graphs.describing import ArchitectureSheet

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Ways to remember: list them, check one.")


@app.command("list")
def list_architectures(as_json: JsonFlag = False) -> None:
    """List the architectures: what they remember and lose, what they are evidence of, and what they cost."""
    from mnemoscope.graphs.describing import FAMILIES, sheets

    found = sheets()
    if as_json:
        emit_json([_document(sheet) for sheet in found])
        return
    from rich.text import Text

    from mnemoscope.cli.tables import plain_table

    table = plain_table(
        caption="evidence: package = the method itself or the system's own code;\n"
        "twin = rules in a model's place (mode=heuristic, the default);\n"
        "llm: model = written anew, with a model (mode=llm).\n"
        "* = unverified: not shown to find as much as the system of that name.\n"
        "calls: to a model, per turn of the bundled scenarios / per query.\n"
        "sources: the tightest grade by which a memory names its turns."
    )
    table.add_column("name", no_wrap=True)
    table.add_column("what it does, and what it loses", max_width=29, overflow="fold")
    table.add_column("evidence", no_wrap=True)
    table.add_column("calls", justify="right", no_wrap=True)
    table.add_column("sources", no_wrap=True)
    for family, members in groupby(found, key=lambda sheet: sheet.family):
        table.add_section()
        table.add_row(Text(family, style="bold"), Text(FAMILIES[family], style="bold"))
        for sheet in members:
            table.add_row(*_cells(sheet))
    show(table)


@app.command()
def check(
    name: Annotated[
        str, typer.Argument(help="An architecture, or path.py:Name of one, or of a memory class.", show_default=False)
    ],
    as_json: JsonFlag = False,
) -> None:
    """Run the conformance kit: one row per contract. Exit code 1 where one is broken."""
    from mnemoscope.graphs.conformance.kit import run_conformance

    report = run_conformance(_factory(name))
    if as_json:
        rows = [{"id": r.id, "title": r.title, "status": r.status, "detail": r.detail} for r in report.rows]
        emit_json({"architecture": name, "passed": report.passed, "rows": rows})
    else:
        from mnemoscope.cli.tables import plain_table

        failed = f"{len(report.failures)} broken" if report.failures else "none broken"
        table = plain_table(f"contracts of {name}", f"{len(report.rows)} contracts, {failed}")
        table.add_column("id", no_wrap=True)
        table.add_column("outcome", no_wrap=True)
        table.add_column("contract", max_width=60, overflow="fold")
        for row in report.rows:
            style = {"failed": "bold red", "not_applicable": "dim"}.get(row.status)
            text = f"{row.title}: {row.detail}" if row.detail else row.title
            table.add_row(row.id, row.status.replace("_", " "), text, style=style)
        show(table)
    if not report.passed:
        raise typer.Exit(1)


def _cells(sheet: ArchitectureSheet) -> tuple[str, str, str, str, str]:
    said = f"{sheet.summary}\nloses: {sheet.loses}" if sheet.loses else sheet.summary
    evidence = [f"{'llm: ' * (way.mode == 'llm')}{way.evidence}{'*' * way.unverified}" for way in sheet.modes]
    evidence += ["reads gold"] if sheet.privileged else []
    calls = [f"{way.calls_per_turn:.2g}/{way.calls_per_query}" for way in sheet.modes]
    return sheet.name, said, "\n".join(evidence), "\n".join(calls), "\n".join(way.provenance for way in sheet.modes)


def _document(sheet: ArchitectureSheet) -> dict[str, object]:
    """A sheet as JSON; what stands beside `modes` is of the first one, which is the default."""
    first = sheet.modes[0]
    return {
        "name": sheet.name,
        "summary": sheet.summary,
        "family": sheet.family,
        "loses": sheet.loses,
        "mode": first.mode,
        "evidence": first.evidence,
        "provenance": first.provenance,
        "privileged": sheet.privileged,
        "capabilities": [f.name for f in fields(sheet.capabilities) if getattr(sheet.capabilities, f.name) is True],
        "model_calls_per_turn": first.calls_per_turn,
        "model_calls_per_query": first.calls_per_query,
        "modes": [
            {
                "mode": way.mode,
                "evidence": way.evidence,
                "unverified": way.unverified,
                "provenance": way.provenance,
                "model_calls_per_turn": way.calls_per_turn,
                "model_calls_per_query": way.calls_per_query,
                "embedded_texts_per_turn": way.embedded_per_turn,
            }
            for way in sheet.modes
        ],
    }


def _factory(name: str) -> BackendFactory:
    from mnemoscope.graphs.architecture import create_architecture

    return create_architecture(name).backend
