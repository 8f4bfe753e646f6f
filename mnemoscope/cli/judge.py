"""`mnemoscope judge`: which judges there are, how far one agrees with people, and what another one would change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

if TYPE_CHECKING:
    from mnemoscope.engine.tools import Tools
    from mnemoscope.evaluators.calibration.record import Calibration
    from mnemoscope.evaluators.judges.judge import Judge
    from mnemoscope.evaluators.judges.registry import JudgePorts

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Who judges replies: list, calibrate on labels, audit."
)

Model = Annotated[str | None, typer.Option("--judge-model", help="The model that judges.")]
Cache = Annotated[str | None, typer.Option(help="Folder of the caches, or none.")]


@app.command("list")
def list_judges(judge_model: Model = None, as_json: JsonFlag = False) -> None:
    """List the judges: what each does, its parameters, an example, whether it needs a model, and what it serves."""
    from mnemoscope.cli.judge_list import judge_sheets, sheet_table

    with _tools("offline", judge_model, "minilm", None) as tools:
        listed = list(judge_sheets(tools.judge_ports(lambda model: model)))
    if as_json:
        emit_json({"judges": [entry.to_json() for entry in listed]})
        return
    for entry in listed:
        show(sheet_table(entry))
        show("")
    show("keys by task: --json. A judge of your own: path.py:Name")


@app.command("calibrate")
def calibrate(
    judge: Annotated[str, typer.Argument(help="A judge's name, such as offline or llm(votes=3).", show_default=False)],
    labels: Annotated[
        list[str],
        typer.Argument(help="JSON Lines of labelled replies, or `bundled` for those that come with the program."),
    ],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Only rows of this metric or task; repeatable.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=99, help="How often each question is asked.")] = 1,
    out: Annotated[Path | None, typer.Option("--out", help="Write the calibration here, for compare.")] = None,
    judge_model: Model = None,
    embedder: Annotated[str, typer.Option(help="For judges that compare meanings.")] = "minilm",
    seed: Annotated[int, typer.Option(help="Of the resampling.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Questions in flight.")] = 8,
    cache: Cache = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure a judge against people's labels: agreement, κ with its interval, confusion, and what sways it.

    Rows are {id, cluster, metric, reply, question?, gold?, fact?, premise?, label}; `metric` is a metric or a task. The
    file that --out writes is bound to the judge's key and to the metric: `compare --calibration FILE` prints its κ
    beside that metric by that judge, and `uncalibrated` beside every other.
    """
    from mnemoscope.agents.clock import SystemClock
    from mnemoscope.cli.judge_calibration import calibration_json, calibration_tables
    from mnemoscope.core.errors import ConfigError
    from mnemoscope.evaluators.calibration.calibrating import calibrate as measure
    from mnemoscope.evaluators.calibration.labels import Labels, bundled_rows, read_labels

    files = [path for text in labels for path in (bundled_rows() if text == "bundled" else (Path(text),))]
    if out is not None and not out.parent.is_dir():
        raise ConfigError(f"calibration {out} cannot be written: there is no folder {out.parent}")
    rows = read_labels(files)
    if metric:
        kept = tuple(row for row in rows.rows if row.metric in metric)
        if not kept:
            held = ", ".join(sorted({row.metric for row in rows.rows}))
            raise ConfigError(f"no labelled reply of {', '.join(metric)}; the labels are of: {held}")
        rows = Labels(kept, rows.sha256, rows.source)
    done = 0

    def told() -> None:
        nonlocal done
        done += 1
        if done % 200 == 0:
            note(f"{done:,} questions")

    async def work() -> Calibration:
        tools = _tools(judge, judge_model, embedder, cache)
        try:
            askings, at = _askings(tools, repeats), SystemClock().now()
            return await measure(askings, rows, at=at, seed=seed, concurrency=concurrency, told=told)
        finally:
            await tools.aclose()

    found = asyncio.run(work())
    if out is not None:
        out.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if as_json:
        emit_json(calibration_json(found))
    else:
        for block in calibration_tables(found):
            show(block)
        if out is not None:
            show(f"written to {out}; use it with: mnemoscope compare RUN.db --calibration {out}")
    if left_out := sorted({row.metric for row in rows.rows} - {one.metric for one in found.metrics}):
        note(f"warning: {found.judge} does not judge {', '.join(left_out)}; these rows were left out")


@app.command("audit")
def audit(
    runs: Annotated[list[Path], typer.Argument(help="Run files that hold the same replies.", show_default=False)],
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="A judge by name, which judges what it has not judged yet, or a key in the file."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Only this; repeatable. Default: all that two judges share.")
    ] = None,
    across: Annotated[bool, typer.Option("--across", help="Compare all keys that the files hold.")] = False,
    examples: Annotated[
        int, typer.Option("--examples", min=0, help="Changed verdicts of each row to print with reply and quotes.")
    ] = 2,
    judge_model: Model = None,
    cache: Cache = None,
    as_json: JsonFlag = False,
) -> None:
    """Score the same replies by several judges, or with other inputs, and show what changes.

    Verdicts of different judge keys are never compared unless they are named here, or --across is given.
    """
    from mnemoscope.comparison.auditing import audit_runs
    from mnemoscope.comparison.changes import shown_changes

    judges = [_keys(runs, name, tuple(metric or ()), judge_model, cache) for name in judge or []]
    rows = audit_runs(runs, judges=judges, metrics=tuple(metric or ()), across=across)
    shown = shown_changes(runs, rows, examples)
    if as_json:
        audited = [
            {**row.to_json(), "examples": [one.to_json() for one in changes]}
            for row, changes in zip(rows, shown, strict=True)
        ]
        emit_json({"audit": audited})
        return
    from mnemoscope.cli.judge_audit import audit_table, change_lines

    show(audit_table(rows))
    for row, changes in zip(rows, shown, strict=True):
        for line in change_lines(row, changes):
            show(line)


def _tools(judge: str, judge_model: str | None, embedder: str, cache: str | None) -> Tools:
    from mnemoscope.config import load_config
    from mnemoscope.engine.tools import Tools

    given = {"judge": judge, "judge_model": judge_model, "embedder": embedder, "cache": cache}
    return Tools(load_config(None, given))


def _askings(tools: Tools, repeats: int) -> list[Judge]:
    """The judge, once per asking: a model is asked again under other replicate numbers."""
    from mnemoscope.evaluators.judges.asking_again import AskedAgain
    from mnemoscope.evaluators.judges.registry import open_judge

    def ports(asking: int) -> JudgePorts:
        return tools.judge_ports(lambda model: AskedAgain(model, asking))

    return [tools.judge, *(open_judge(tools.config.judge, ports(asking)) for asking in range(1, repeats))]


def _keys(
    runs: Sequence[Path], judge: str, metrics: tuple[str, ...], judge_model: str | None, cache: str | None
) -> list[str]:
    """The key under which a judge's verdicts stand; a judge by name judges first what it has not judged yet."""
    from mnemoscope.core.errors import ConfigError, UnknownNameError
    from mnemoscope.core.spec import parse_spec
    from mnemoscope.evaluators.judges.registry import JUDGES

    try:
        JUDGES.factory(parse_spec(judge).name)
    except (ConfigError, UnknownNameError):
        return [judge]
    from mnemoscope.cli.progress import open_progress
    from mnemoscope.engine.scoring import score
    from mnemoscope.engine.stopping import Stop, stop_on_signals

    stop, keys = Stop(), set[str]()
    with stop_on_signals(stop):
        for run in runs:
            asked = score(
                run, judge, metrics=metrics, judge_model=judge_model, cache=cache, progress=open_progress(), stop=stop
            )
            outcome = asyncio.run(asked)
            keys |= set(outcome.keys)
    if stop.requested:
        raise typer.Exit({"budget": 3, "interrupt": 130, "terminate": 143}[stop.reason or "interrupt"])
    return sorted(keys)
