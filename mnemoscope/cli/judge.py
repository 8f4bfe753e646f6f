"""`mnemoscope judge`: which judges there are, how far one agrees with people, and what another one would change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mnemoscope.engine.tools import Tools
    from mnemoscope.evaluators.calibration.auditing import AuditRow
    from mnemoscope.evaluators.calibration.record import Calibration, MetricCalibration
    from mnemoscope.evaluators.judges.judge import Judge

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Who judges replies: list, calibrate on labels, audit."
)
_CHANGES_SHOWN = 5

Model = Annotated[str | None, typer.Option("--judge-model", help="The model that judges.")]
Cache = Annotated[str | None, typer.Option(help="Folder of the caches, or none.")]


class _Listed(NamedTuple):
    judge: str
    tasks: dict[str, str]
    """Task to the key of its answers."""
    metrics: list[str]
    needs: str | None


@app.command("list")
def list_judges(judge_model: Model = None, as_json: JsonFlag = False) -> None:
    """List the judges, what each can judge, and which metrics it serves."""
    from mnemoscope.evaluators.judges.question import TASKS
    from mnemoscope.evaluators.judges.registry import JUDGES
    from mnemoscope.evaluators.metrics.metric import tasks_of
    from mnemoscope.evaluators.metrics.registry import default_metrics

    judged = [metric for metric in default_metrics() if tasks_of(metric)]
    found: list[_Listed] = []
    for name in JUDGES.names():
        judge = _try_open(name, judge_model)
        keys = {} if isinstance(judge, str) else {str(task): key for task in TASKS if (key := judge.key(task))}
        serves = [metric.name for metric in judged if tasks_of(metric) <= set(keys)]
        found.append(_Listed(name, keys, serves, judge if isinstance(judge, str) else None))
    if as_json:
        emit_json({"judges": [entry._asdict() for entry in found]})
        return
    from mnemoscope.cli.tables import plain_table

    table = plain_table()
    table.add_column("judge", no_wrap=True)
    table.add_column("judges", max_width=40, overflow="fold")
    table.add_column("serves", max_width=60, overflow="fold")
    for entry in found:
        table.add_row(entry.judge, ", ".join(entry.tasks) or f"needs: {entry.needs}", ", ".join(entry.metrics))
    show(table)
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
        emit_json(found.model_dump(mode="json"))
    else:
        for block in _calibration_tables(found):
            show(block)
        if out is not None:
            show(f"written to {out}; use it with: mnemoscope compare RUN.db --calibration {out}")


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
    judge_model: Model = None,
    cache: Cache = None,
    as_json: JsonFlag = False,
) -> None:
    """Score the same replies by several judges, or with other inputs, and show what changes.

    Verdicts of different judge keys are never compared unless they are named here, or --across is given.
    """
    from mnemoscope.comparison.auditing import audit_runs

    judges = [_keys(runs, name, tuple(metric or ()), judge_model, cache) for name in judge or []]
    rows = audit_runs(runs, judges=judges, metrics=tuple(metric or ()), across=across)
    if as_json:
        emit_json({"audit": [row.to_json() for row in rows]})
        return
    show(_audit_table(rows))
    for row in rows:
        for change in row.changes[:_CHANGES_SHOWN]:
            where = " ".join((row.metric, change.item.system, change.item.probe_id, change.item.subject))
            show(f"{where}: {change.before.label} → {change.after.label}")
        if len(row.changes) > _CHANGES_SHOWN:
            show(f"{row.metric} {row.system}: {len(row.changes) - _CHANGES_SHOWN} more; --json has all")


def _try_open(name: str, judge_model: str | None) -> Judge | str:
    """The judge, or what it needs."""
    from mnemoscope.core.errors import MnemoscopeError

    try:
        with _tools(name, judge_model, "minilm", None) as tools:
            return tools.judge
    except MnemoscopeError as error:
        return str(error)


def _tools(judge: str, judge_model: str | None, embedder: str, cache: str | None) -> Tools:
    from mnemoscope.config import load_config
    from mnemoscope.engine.tools import Tools

    given = {"judge": judge, "judge_model": judge_model, "embedder": embedder, "cache": cache}
    return Tools(load_config(None, given))


def _askings(tools: Tools, repeats: int) -> list[Judge]:
    """The judge, once per asking: a model is asked again under other replicate numbers."""
    from mnemoscope.core.ports import LanguageModel
    from mnemoscope.evaluators.judges.asking_again import AskedAgain
    from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge

    def ports(asking: int) -> JudgePorts:
        def again(text: str | None) -> LanguageModel | None:
            model = tools.open_model(text)
            return model if model is None else AskedAgain(model, asking)

        return JudgePorts(again(tools.config.judge_model), tools.embedder, again)

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
            outcome = score(
                run, judge, metrics=metrics, judge_model=judge_model, cache=cache, progress=open_progress(), stop=stop
            )
            keys |= set(outcome.keys)
    if stop.requested:
        raise typer.Exit({"budget": 3, "interrupt": 130, "terminate": 143}[stop.reason or "interrupt"])
    return sorted(keys)


def _calibration_tables(found: Calibration) -> list[RenderableType]:
    from mnemoscope.cli.tables import plain_table

    table = plain_table(f"{found.judge} against {found.source}", _swayed(found))
    for name in ("metric", "n", "cl.", "agree", "κ [95 % interval]", "sens.", "spec.", "judge says", "people say"):
        table.add_column(name, justify="left" if name in ("metric", "judge says", "people say") else "right")
    for one in found.metrics:
        table.add_row(
            one.metric,
            f"{one.n}/{one.rows}",
            str(one.clusters),
            _share(one.agreement),
            _kappa(one),
            _share(one.sensitivity.value),
            _share(one.specificity.value),
            _rates(one.judge),
            _rates(one.people),
        )
    kinds = plain_table("accepted, by kind of reply (judge / people)")
    kinds.add_column("kind")
    for one in found.metrics:
        kinds.add_column(one.metric, justify="right")
    names = sorted({kind for one in found.metrics for kind in one.kinds})
    for kind in names:
        cells = [one.kinds.get(kind) for one in found.metrics]
        kinds.add_row(kind, *("" if c is None else f"{c.judge.count}/{c.people.count} of {c.judge.n}" for c in cells))
    return [table, "", kinds] if names else [table]


def _swayed(found: Calibration) -> str:
    lines = []
    for one in found.metrics:
        lines += [
            f"{one.metric}: {name}: {p.gap:+.3f} (n={p.n}; {p.meaning})" for name, p in one.probes.items() if p.gap
        ]
        if one.consistency is not None:
            flips = one.consistency.flips
            lines.append(
                f"{one.metric}: asked {one.consistency.asked} times: {flips.count} of {flips.n} answers differ"
            )
        lines += [f"{one.metric}: {one.n_invalid} invalid, {one.n_error} failed"] if one.n_invalid + one.n_error else []
    if found.injection is not None:
        steered = found.injection.steered
        lines.append(f"steered by instructions in replies: {steered.count} of {steered.n}")
    return "\n".join(lines)


def _kappa(one: MetricCalibration) -> str:
    if one.kappa is None:
        return f"– ({one.reason})"
    ends = "" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]"
    return f"{one.kappa:.2f}{ends}"


def _rates(rates: dict[str, float] | object) -> str:
    assert isinstance(rates, dict)
    return ", ".join(f"{label} {share:.0%}" for label, share in rates.items())


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _audit_table(rows: Sequence[AuditRow]) -> RenderableType:
    from mnemoscope.cli.tables import plain_table

    keys = list(dict.fromkeys(name for row in rows for name in (row.first, row.second)))
    letters = {key: chr(ord("A") + place) if place < 26 else f"#{place}" for place, key in enumerate(keys)}
    table = plain_table(
        "the same replies under two scorings",
        "\n".join(f"{letter}: {key}" for key, letter in letters.items())
        + "\np: McNemar, exact; by cluster: all flips of whole clusters",
    )
    heads = ("metric", "system", "from", "to", "n", "first", "second", "1→0", "0→1", "p", "by cluster", "κ")
    for name in heads:
        table.add_column(name, justify="left" if name in ("metric", "system") else "right")
    for row in rows:
        pair, agreed = row.pair, row.agreement
        table.add_row(
            row.metric,
            row.system,
            letters[row.first],
            letters[row.second],
            str(row.n),
            "–" if row.value_first is None else f"{row.value_first:.3f}",
            "–" if row.value_second is None else f"{row.value_second:.3f}",
            "–" if pair is None else str(pair.n10),
            "–" if pair is None else str(pair.n01),
            "–" if pair is None or pair.p is None else f"{pair.p:.2g}",
            "–" if pair is None or pair.p_clustered is None else f"{pair.p_clustered:.2g}",
            "–" if agreed is None or agreed.kappa is None else f"{agreed.kappa:.2f}",
        )
    return table
