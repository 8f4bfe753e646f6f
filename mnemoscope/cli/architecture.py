"""`mnemoscope architecture`: which memories there are, and whether one keeps its contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, show

if TYPE_CHECKING:
    from mnemoscope.graphs.architecture import Architecture
    from mnemoscope.graphs.backend import BackendFactory

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Ways to remember: list them, check one.")

_SAID = (
    "needs_embedder",
    "needs_flush",
    "needs_pairs",
    "updates",
    "query_conditioned",
    "blob_context",
    "mutating_read",
)
_PER_TURN, _PER_QUERY = "model_calls_per_turn", "model_calls_per_query"


@app.command("list")
def list_architectures(as_json: JsonFlag = False) -> None:
    """List the architectures: what they do, what they are evidence of, and what they cost."""
    from mnemoscope.graphs.architecture import create_architecture
    from mnemoscope.graphs.registry import ARCHITECTURES

    rows = [_described(create_architecture(name)) for name in ARCHITECTURES.names()]
    if as_json:
        emit_json(rows)
        return
    from mnemoscope.cli.tables import plain_table

    table = plain_table(
        caption="evidence: package = the method itself or the system's own code;\n"
        "model = written anew, with a model; twin = rules in a model's place.\n"
        "calls: to a language model, per turn / per query."
    )
    table.add_column("name", no_wrap=True)
    table.add_column("what it does", max_width=20, overflow="fold")
    table.add_column("evidence", max_width=9, overflow="fold")
    table.add_column("provenance", no_wrap=True)
    table.add_column("calls", justify="right", no_wrap=True)
    table.add_column("notes", max_width=14, overflow="fold")
    for row in rows:
        said = row["capabilities"]
        notes = ["reads gold"] if row["privileged"] else []
        notes += [name.replace("_", " ") for name in _SAID if isinstance(said, list) and name in said]
        evidence = " ".join(filter(None, (str(row["evidence"]), str(row["mode"] or ""))))
        calls = f"{row[_PER_TURN]}/{row[_PER_QUERY]}"
        table.add_row(str(row["name"]), str(row["summary"]), evidence, str(row["provenance"]), calls, ", ".join(notes))
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


def _described(architecture: Architecture) -> dict[str, object]:
    from mnemoscope.core.identity import SessionId, TurnId
    from mnemoscope.scenarios.records import Turn

    one = Turn(turn_id=TurnId("t"), session_id=SessionId("s"), index=0, speaker="Ada", role="user", text="Hi.", at=None)
    estimate = architecture.backend().estimate([one])
    per_turn = sum(calls for phase, calls in estimate.calls_by_phase.items() if phase != "embed")
    capabilities = architecture.capabilities
    return {
        "name": architecture.name,
        "summary": architecture.summary,
        "mode": architecture.mode,
        "evidence": architecture.evidence_class,
        "provenance": capabilities.finest_provenance,
        "privileged": capabilities.privileged,
        "capabilities": [
            name
            for name in (*_SAID, "incremental", "gives_pool", "keeps_turns", "ranks", "selective")
            if getattr(capabilities, name)
        ],
        _PER_TURN: per_turn,
        # No READ graph asks a language model unless its architecture has a mode.
        _PER_QUERY: 0 if architecture.mode in (None, "heuristic") else None,
    }


def _factory(name: str) -> BackendFactory:
    from mnemoscope.graphs.architecture import create_architecture

    return create_architecture(name).backend
