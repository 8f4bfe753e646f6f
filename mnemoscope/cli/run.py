"""`mnemoscope run`: replay scenarios through systems into one run file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemoscope.cli.estimate import show_estimate
from mnemoscope.cli.output import JsonFlag, emit_json, note, show
from mnemoscope.core.errors import ConfigError

if TYPE_CHECKING:
    from mnemoscope.config import RunConfig
    from mnemoscope.engine.running import RunOutcome

__all__ = ["code_of", "do_run", "run", "summary"]

Names = list[str] | None


def run(
    config: Annotated[Path | None, typer.Argument(help="A TOML file of settings; options win over it.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run file to write.")] = None,
    scenario: Annotated[Names, typer.Option("--scenario", help="kind:path[,role=path…], or demo. Repeatable.")] = None,
    system: Annotated[Names, typer.Option("--system", help="ARCHITECTURE@PROFILE. Repeatable.")] = None,
    architecture: Annotated[Names, typer.Option("--architecture", help="Crossed with the profiles.")] = None,
    profile: Annotated[Names, typer.Option("--profile", help="Crossed with the architectures.")] = None,
    model: Annotated[str | None, typer.Option(help="The model that replies. Default: the offline writer.")] = None,
    memory_model: Annotated[str | None, typer.Option(help="The model that writes memories. Default: --model.")] = None,
    judge: Annotated[str | None, typer.Option(help="Who judges; see mnemoscope judge list. Default: offline.")] = None,
    judge_model: Annotated[str | None, typer.Option(help="The model that judges. Default: --model.")] = None,
    embedder: Annotated[str | None, typer.Option(help="Default: minilm.")] = None,
    vector_store: Annotated[str | None, typer.Option(help="exact, qdrant:PATH or qdrant:URL. Default: exact.")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Memories given per probe at most. Default: 10.")] = None,
    memory_tokens: Annotated[int | None, typer.Option(help="Tokens of memory per probe at most (estimate).")] = None,
    replicates: Annotated[int | None, typer.Option(help="How often each probe is asked. Default: 1.")] = None,
    limit: Annotated[int | None, typer.Option(help="Probes per scenario set, drawn over strata and clusters.")] = None,
    probes: Annotated[str | None, typer.Option(help="Styles to ask, separated by commas. Default: all.")] = None,
    cluster: Annotated[
        Names,
        typer.Option(
            "--cluster",
            help="Only these conversations, by cluster or scenario, separated by commas. Repeatable. Default: all.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of every draw. Default: 0.")] = None,
    mode: Annotated[str | None, typer.Option(help="robust, repaired or strict-release. Default: robust.")] = None,
    encoding: Annotated[str | None, typer.Option(help="What the files were saved in. Default: utf-8.")] = None,
    lenient: Annotated[bool | None, typer.Option("--lenient/--strict", help="Load what can be loaded.")] = None,
    captions: Annotated[bool | None, typer.Option("--captions/--no-captions", help="Show image captions.")] = None,
    speakers: Annotated[
        str | None,
        typer.Option(
            help="People among themselves, to memories that need a user and an assistant: speaker-b-as-assistant, "
            "mirrored or as-is. Default: speaker-b-as-assistant."
        ),
    ] = None,
    write_probes: Annotated[
        bool | None,
        typer.Option(
            "--write-probes/--pure-probes",
            help="Write each probe and its reply to the memory of the system asked. Default: probes leave no trace.",
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes. Default: one per core.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls in flight. Default: 8.")] = None,
    cache: Annotated[str | None, typer.Option(help="Folder of the caches, or none.")] = None,
    max_failed: Annotated[float | None, typer.Option(help="Share of failed cells that is accepted, 0 to 1.")] = None,
    max_judge_failed: Annotated[
        float | None,
        typer.Option(help="Share of judgements that may fail, 0 to 1; a failed one is never a no. Default: 0.05."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run file, failed cells included; settings may be left out.")
    ] = False,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Print what the run would cost and stop: nothing is asked, nothing written."),
    ] = False,
    price: Annotated[
        Names,
        typer.Option(help="With --estimate: MODEL=PROMPT/REPLY, US dollars per million tokens. Repeatable."),
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option(help="With --estimate: an earlier run file of these systems, whose times are taken."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Replay scenarios through systems and write every reply and verdict to one run file.

    Each finished cell is kept at once: after a crash, a kill or Ctrl-C, --resume goes on.
    """
    given: dict[str, Any] = {
        "out": out,
        "scenarios": tuple(scenario or ()),
        "systems": tuple(system or ()),
        "architectures": tuple(architecture or ()),
        "profiles": tuple(profile or ()),
        "model": model,
        "memory_model": memory_model,
        "judge": judge,
        "judge_model": judge_model,
        "embedder": embedder,
        "vector_store": vector_store,
        "k": k,
        "memory_tokens": memory_tokens,
        "replicates": replicates,
        "limit": limit,
        "probes": tuple(style.strip() for style in probes.split(",")) if probes else (),
        "clusters": tuple(name.strip() for one in cluster or () for name in one.split(",")),
        "seed": seed,
        "mode": mode,
        "encoding": encoding,
        "lenient": lenient,
        "captions": captions,
        "speakers": speakers,
        "write_probes": write_probes,
        "workers": workers,
        "concurrency": concurrency,
        "cache": cache,
        "max_failed": max_failed,
        "max_judge_failed": max_judge_failed,
    }
    settings = _settings(config, given, resume=resume)
    if estimate:
        _refuse(resume, "an estimate is of a whole run; leave out --resume")
        show_estimate(settings, tuple(price or ()), times, as_json=as_json)
        return
    _refuse(bool(price or times), "--price and --times belong to an estimate; add --estimate")
    outcome = do_run(settings, resume=resume)
    if as_json:
        emit_json(summary(outcome))
    else:
        show(_said(outcome))
    for warning in outcome.warnings:
        note(f"warning: {warning}")
    raise typer.Exit(code_of(outcome, settings))


def do_run(config: RunConfig, *, resume: bool) -> RunOutcome:
    """Do a run with progress on standard error; the first Ctrl-C stops it cleanly."""
    from mnemoscope.cli.progress import open_progress
    from mnemoscope.engine.running import run as run_engine
    from mnemoscope.engine.stopping import Stop, stop_on_signals

    stop = Stop()
    with stop_on_signals(stop):
        return run_engine(config, resume=resume, progress=open_progress(), stop=stop)


def code_of(outcome: RunOutcome, settings: RunConfig) -> int:
    """The exit code of a run that was not ended by an error."""
    match outcome.reason:
        case "budget":
            return 3
        case "interrupt":
            return 130
        case "terminate":
            return 143
    failed = outcome.failed_share > settings.max_failed or outcome.judge_failed_share > settings.max_judge_failed
    return 1 if failed else 0


def summary(outcome: RunOutcome) -> dict[str, object]:
    """What `--json` prints."""
    return {
        "run": str(outcome.path),
        "status": outcome.status,
        "cells": {"expected": outcome.expected, "stored": outcome.stored, "failed": outcome.failed},
        "judgements": None if outcome.judgements is None else outcome.judgements.to_json(),
        "done_now": outcome.done_now,
        "seconds": round(outcome.seconds, 3),
        "content_hash": outcome.content_hash,
        "warnings": list(outcome.warnings),
    }


def _said(outcome: RunOutcome) -> str:
    lines = [
        f"{outcome.status}: {outcome.stored:,} of {outcome.expected:,} cells in {outcome.path}, "
        f"{outcome.failed:,} failed; {outcome.seconds:.1f} s",
        f"content {outcome.content_hash}",
    ]
    if outcome.judgements is not None:
        lines.append(str(outcome.judgements))
    if outcome.stored < outcome.expected:
        lines.append(f'go on with: mnemoscope run --resume --out "{outcome.path}"')
    else:
        lines.append(f'look at it with: mnemoscope compare "{outcome.path}"')
    return "\n".join(lines)


def _refuse(given: bool, why: str) -> None:
    if given:
        raise ConfigError(why)


def _settings(config: Path | None, given: dict[str, Any], *, resume: bool) -> RunConfig:
    """The settings as asked for; a resumed run that names no scenario takes those that its file was made with."""
    from mnemoscope.config import load_config

    settings = load_config(config, given)
    if not resume or settings.scenarios or settings.out is None or not settings.out.exists():
        return settings
    from mnemoscope.runfile.reader import open_run

    with open_run(settings.out) as before:
        return load_config(
            None, {**before.config.model_dump(), **{k: v for k, v in given.items() if v not in (None, ())}}
        )
