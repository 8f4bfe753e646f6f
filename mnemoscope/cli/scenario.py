"""`mnemoscope scenario`: which kinds there are, what a file holds, and whether it is as its format says."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, show
from mnemoscope.cli.progress import reading
from mnemoscope.cli.scenario_build import app as build_app

if TYPE_CHECKING:
    from mnemoscope.cli.scenario_census import Census

__all__ = ["Mode", "app"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="What can be replayed: list, inspect, validate, build."
)
app.add_typer(build_app, name="build")

_KINDS = {
    "chatlog": "your own chat logs: JSONL, message lists or CSV (chatlog:FILE), asked at the last session's turns",
    "demo": "six bundled scenarios: preferences, a trajectory, a wrong recollection, a wrong plan, a pool, moments",
    "locomo": "LoCoMo: ten long conversations with questions (locomo:locomo10.json, or its folder)",
    "locomo-conv": "LoCoMo's questions as people say them (locomo-conv:locomo10_dialog.json,locomo=…,composed=…)",
    "longmemeval": "LongMemEval: 500 questions, each with its own sessions (longmemeval:FILE; s, m or oracle)",
    "memuse": "MemUse: real moments at which a diary assistant's memory was needed, or not (memuse:FILE or FOLDER)",
    "native": "your own scenarios in YAML or JSON (native:FILE or native:FOLDER)",
    "pragma": "PRAGMA: guidance that rests on events and on a trajectory, right or misremembered (pragma:FOLDER)",
    "stratmem": "StratMem-Bench: queries with pools of must, nice and irrelevant memories (stratmem:FILE)",
}
_NOTICES_SHOWN = 3
"""Notices of one kind that are shown without --all."""


class Mode(StrEnum):
    """How a published release's oddities are handled."""

    ROBUST = "robust"
    REPAIRED = "repaired"
    STRICT_RELEASE = "strict-release"


Spec = Annotated[str, typer.Argument(help="kind:path[,role=path…], or demo.", show_default=False)]
ModeOption = Annotated[Mode, typer.Option("--mode", help="How oddities of a release are handled.")]
Encoding = Annotated[str, typer.Option("--encoding", help="What the file was saved in.")]


@app.command("list")
def list_kinds(as_json: JsonFlag = False) -> None:
    """List the kinds of scenarios, and the bundled ones."""
    from mnemoscope.scenarios.opening import LOADERS, open_source

    kinds = [{"kind": name, "summary": _KINDS.get(name, "from a plug-in")} for name in LOADERS.names()]
    bundled = [
        {
            "scenario": scenario.scenario_id,
            "sessions": len(scenario.sessions),
            "turns": len(scenario.turns),
            "probes": len(scenario.probes),
        }
        for scenario in open_source("demo")
    ]
    if as_json:
        emit_json({"kinds": kinds, "demo": bundled})
        return
    from mnemoscope.cli.tables import plain_table

    table = plain_table()
    table.add_column("kind", no_wrap=True)
    table.add_column("what it reads", max_width=66, overflow="fold")
    for kind in kinds:
        table.add_row(kind["kind"], kind["summary"])
    show(table)
    table = plain_table("\nbundled (demo)")
    table.add_column("scenario", no_wrap=True)
    for name in ("sessions", "turns", "probes"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in bundled:
        table.add_row(*(str(value) for value in row.values()))
    show(table)


@app.command()
def info(
    spec: Spec,
    mode: ModeOption = Mode.ROBUST,
    encoding: Encoding = "utf-8",
    lenient: Annotated[bool, typer.Option("--lenient", help="Load what can be loaded and list the rest.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every notice.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Count what a file holds: its card, its strata, its conversations, every oddity and every unresolvable id."""
    from mnemoscope.cli.scenario_census import read_census
    from mnemoscope.scenarios.opening import open_source

    with reading() as told:
        census = read_census(open_source(spec, mode=mode.value, encoding=encoding, lenient=lenient, progress=told))
    if as_json:
        emit_json(census.to_json())
        return
    _show_card(census)
    _show_counts(census)
    _show_conversations(census)
    _show_notices(census, everything=everything)


@app.command()
def validate(
    spec: Spec, mode: ModeOption = Mode.ROBUST, encoding: Encoding = "utf-8", as_json: JsonFlag = False
) -> None:
    """Check a file: own scenarios against the JSON Schema and their references, other kinds by loading them.

    Exit code 2 where there is a problem; each is listed with its place.
    """
    problems = _problems(spec, mode, encoding)
    if as_json:
        emit_json({"spec": spec, "valid": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            show(f"- {problem['message']}")
        show(f"{len(problems):,} problem{'s' if len(problems) > 1 else ''} in {spec}")
    else:
        show(f"{spec} is valid")
    if problems:
        raise typer.Exit(2)


def _problems(spec: str, mode: Mode, encoding: str) -> list[dict[str, str]]:
    from mnemoscope.core.errors import DataError
    from mnemoscope.core.language.display import visible_controls
    from mnemoscope.scenarios.opening import open_source, parse_source_spec

    kind, path, _ = parse_source_spec(spec)
    if kind == "native" and path is not None:
        from mnemoscope.scenarios.loaders.native import validate_native

        errors = [problem.error() for problem in validate_native(path, encoding=encoding)]
    else:
        errors = []
        try:
            with reading() as told:
                for _ in open_source(spec, mode=mode.value, encoding=encoding, progress=told):
                    pass
        except DataError as error:
            errors.append(error)
    return [
        {
            "file": error.file,
            "record": "" if error.record is None else str(error.record),
            "field": error.field or "",
            "what": error.what,
            "fix": error.fix or "",
            "message": visible_controls(str(error)),
        }
        for error in errors
    ]


def _show_card(census: Census) -> None:
    from mnemoscope.cli.tables import plain_table

    card = census.card
    settings, errors = card.get("settings"), card.get("known_errors")
    table = plain_table(str(card["benchmark"]))
    table.show_header = False
    table.add_column("", no_wrap=True, style="dim")
    table.add_column("", max_width=64, overflow="fold")
    for name in ("file", "sha256", "source", "licence", "annotation", "mode"):
        if card.get(name):
            table.add_row(name, str(card[name]))
    for text in errors if isinstance(errors, list) else ():
        table.add_row("known error", str(text))
    for name, value in settings.items() if isinstance(settings, dict) else ():
        table.add_row(name.replace("_", " "), str(value))
    show(table)


def _show_counts(census: Census) -> None:
    from mnemoscope.cli.tables import plain_table

    table = plain_table("\ncensus")
    table.add_column("what", max_width=60, overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    # Categories are counted in the order of the file; the rest keeps the loader's order.
    numbered = sorted(name for name in census.counts if name.startswith("category "))
    for name in [*(name for name in census.counts if name not in numbered), *numbered]:
        table.add_row(name, f"{census.counts[name]:,}")
    for style, count in census.styles.items():
        if f"style {style}" not in census.counts:
            table.add_row(f"style {style}", f"{count:,}")
    show(table)
    if census.strata:
        source = str(census.card.get("strata_source") or "")
        table = plain_table("\nstrata")
        table.add_column("stratum", max_width=60, overflow="fold")
        table.add_column("n", justify="right", no_wrap=True)
        for row in census.strata:
            table.add_row(row.title, f"{row.probes:,}")
        show(table)
        if source:
            show(f"named after {source}")


def _show_conversations(census: Census) -> None:
    from mnemoscope.cli.tables import plain_table
    from mnemoscope.core.language.display import clip, visible_controls

    shown = census.conversations[:_CONVERSATIONS_SHOWN]
    more = len(census.conversations) - len(shown)
    table = plain_table("\nconversations", f"and {more:,} more; --json lists all" if more else "")
    for name in ("scenario", "cluster"):
        table.add_column(name, max_width=24, overflow="ellipsis", no_wrap=True)
    for name in ("sessions", "turns", "empty", "probes"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in shown:
        names = (visible_controls(clip(text, 24)) for text in (row.scenario_id, row.cluster))
        numbers = (row.sessions, row.turns, row.empty_turns, row.probes)
        table.add_row(*names, *(f"{number:,}" for number in numbers))
    show(table)


_CONVERSATIONS_SHOWN = 40


def _show_notices(census: Census, *, everything: bool) -> None:
    from mnemoscope.core.language.display import visible_controls

    lines = ["", f"unresolvable evidence ids: {len(census.unresolvable):,}"]
    lines += [f"  {row.probe_id}: {row.text!r}" for row in census.unresolvable]
    lines += ["", f"notices: {len(census.notices):,}"]
    for kind, count in census.notice_counts.items():
        lines.append(f"  {kind}: {count:,}")
        of_kind = [notice for notice in census.notices if notice.kind == kind]
        shown = of_kind if everything else of_kind[:_NOTICES_SHOWN]
        lines += [f"    {notice.where}: {notice.detail}" for notice in shown]
        if len(shown) < count:
            lines.append(f"    and {count - len(shown):,} more (--all)")
    show(visible_controls("\n".join(lines)))
