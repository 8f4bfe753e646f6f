"""`mnemoscope score`: judge the replies of a run again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

if TYPE_CHECKING:
    from mnemoscope.engine.scoring import ScoreOutcome

__all__ = ["score"]


def score(
    run: Annotated[Path, typer.Argument(help="The run file; verdicts are added to it.", show_default=False)],
    judge: Annotated[str, typer.Option("--judge", help="Who judges; see mnemoscope judge list.")],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="A judged metric; repeatable. Default: all that apply.")
    ] = None,
    judge_model: Annotated[str | None, typer.Option(help="The model that judges. Default: the run's --model.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Judge what this judge has judged before too.")] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Cells in flight.")] = 8,
    cache: Annotated[str | None, typer.Option(help="Folder of the caches, or none.")] = None,
    max_judge_failed: Annotated[
        float,
        typer.Option(help="Share of judgements that may fail, 0 to 1; a failed one is never a no.", min=0, max=1),
    ] = 0.05,
    as_json: JsonFlag = False,
) -> None:
    """Judge stored replies; no assistant is asked again, and verdicts of other judges stay.

    Verdicts are kept cell by cell: stop at any time and run the same command to go on.
    """
    from mnemoscope.cli.progress import open_progress
    from mnemoscope.engine.scoring import score as judge_run
    from mnemoscope.engine.stopping import Stop, stop_on_signals

    stop = Stop()
    with stop_on_signals(stop):
        outcome = asyncio.run(
            judge_run(
                run,
                judge,
                metrics=tuple(metric or ()),
                judge_model=judge_model,
                again=again,
                concurrency=concurrency,
                cache=cache,
                progress=open_progress(),
                stop=stop,
            )
        )
    if as_json:
        emit_json(_summary(outcome))
    else:
        show(_said(outcome))
    if outcome.left_out:
        note(f"warning: {outcome.judge} does not judge {', '.join(outcome.left_out)}")
    if outcome.judgements.failed:
        note(f"warning: {outcome.judgements}; the same command asks again where the judge failed")
    failed = int(outcome.judgements.failed_share > max_judge_failed)
    raise typer.Exit({None: failed, "budget": 3, "interrupt": 130, "terminate": 143}[outcome.reason])


def _summary(outcome: ScoreOutcome) -> dict[str, object]:
    return {
        "run": str(outcome.path),
        "judge": outcome.judge,
        "metrics": list(outcome.metrics),
        "left_out": list(outcome.left_out),
        "cells": outcome.cells,
        "judged_now": outcome.judged_now,
        "failed": outcome.failed,
        "judgements": outcome.judgements.to_json(),
        "seconds": round(outcome.seconds, 3),
    }


def _said(outcome: ScoreOutcome) -> str:
    before = outcome.cells - outcome.judged_now
    lines = [
        f"{outcome.judge} judged {outcome.judged_now:,} of {outcome.cells:,} cells in {outcome.path}; "
        f"{before:,} were left as they are, on {outcome.failed:,} a verdict failed; {outcome.seconds:.1f} s",
        f"metrics: {', '.join(outcome.metrics) or 'none'}",
        f'look at it with: mnemoscope compare "{outcome.path}"',
    ]
    return "\n".join(lines)
