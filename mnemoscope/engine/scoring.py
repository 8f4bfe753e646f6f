"""Judging the replies of a run again: no assistant is asked, and earlier verdicts stay beside the new ones."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mnemoscope.config import RunConfig, load_config
from mnemoscope.core.errors import BudgetStop, ConfigError
from mnemoscope.engine.progress import Progress
from mnemoscope.engine.stopping import Stop, StopReason
from mnemoscope.engine.tools import Tools
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.judges.recording import writes_down
from mnemoscope.evaluators.metrics.metric import Metric, judge_key, tasks_of
from mnemoscope.evaluators.metrics.registry import default_metrics, open_metrics
from mnemoscope.evaluators.verdict import JUDGE_ERROR, Verdict
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.memory_backends.record import Retrieval
from mnemoscope.runfile.asked import AskedJudge
from mnemoscope.runfile.judging import Judgements
from mnemoscope.runfile.lock import exclusive
from mnemoscope.runfile.reader import RunReader, open_run
from mnemoscope.runfile.rows import NO_REPLY, CellRow, StoredReply
from mnemoscope.runfile.writer import RunFile

__all__ = ["ScoreOutcome", "score"]


@dataclass(frozen=True, slots=True)
class ScoreOutcome:
    """How judging ended."""

    path: Path
    judge: str
    keys: tuple[str, ...]
    """What its verdicts on these metrics are bound to, sorted."""
    metrics: tuple[str, ...]
    left_out: tuple[str, ...]
    """Judged metrics that this judge cannot serve."""
    cells: int
    """Cells of the run that have an outcome."""
    judged_now: int
    """Cells judged in this sitting; the others had the judge's verdicts already."""
    failed: int
    """Cells of this sitting on which some verdict is an error or invalid."""
    judgements: Judgements
    """Verdicts that the judge was asked for in this sitting, and those that it failed to give."""
    reason: StopReason | None
    """Why it stopped early, if it did."""
    seconds: float


async def score(
    path: Path,
    judge: str,
    *,
    metrics: Sequence[str] = (),
    judge_model: str | None = None,
    again: bool = False,
    concurrency: int = 8,
    cache: str | None = None,
    progress: Progress,
    stop: Stop,
) -> ScoreOutcome:
    """Judge the stored replies of a run; a notebook awaits it.

    Only judged metrics are scored: what a rule decides was decided when the run was made, from memories that a run file
    keeps in part. Verdicts go to the file cell by cell, so that judging can be stopped and gone on with: on each cell
    the metrics that have this judge's verdicts are passed over, and those on which it failed are judged again. A cell
    without a reply gets its error for each metric that is new to this judge.

    Args:
        path: The run file.
        judge: The judge's name with its parameters.
        metrics: Judged metrics by name; empty: all that run by default.
        judge_model: The model that judges; None: the model that the run's replies were written with.
        again: Judge what has the judge's verdicts too; a judge that writes its answers down is always asked.
        concurrency: Cells in flight.
        cache: Folder of the caches; None: the user's; `none`: keep nothing.
        progress: Is told of every cell.
        stop: Ends the work early when requested; cells in flight are finished.

    Raises:
        ConfigError: An unknown judge or metric, one that no judge is asked for, or one that this judge cannot serve.
        RunFileError: The file cannot be read or written.
    """
    started = time.monotonic()
    with exclusive(path), open_run(path) as run:
        asked = {"judge": judge, "judge_model": judge_model, "concurrency": concurrency, "cache": cache}
        config = load_config(None, {**run.config.told().model_dump(), **asked})
        with Tools(config) as tools:
            evaluator = _evaluator(tools, metrics)
            scorer = _Scorer(run, evaluator, stop, progress)
            wanted = scorer.wanted(again=again or writes_down(tools.judge))
            total = sum(1 for _ in run.cells())
            progress.begin(total, total - len(wanted))
            with RunFile.resume(path) as file:
                file.add_asked_judges(_asked(evaluator, config))
                try:
                    await scorer.run(wanted, file, concurrency, tools)
                finally:
                    progress.end()
                file.settle()
            return ScoreOutcome(
                path=path,
                judge=tools.judge.name,
                keys=tuple(sorted({judge_key(metric, tools.judge) for metric in evaluator.metrics})),
                metrics=tuple(metric.name for metric in evaluator.metrics),
                left_out=tuple(evaluator.left_out),
                cells=total,
                judged_now=scorer.done,
                failed=scorer.failed,
                judgements=Judgements(scorer.asked, dict(sorted(scorer.missed.items()))),
                reason=stop.reason,
                seconds=time.monotonic() - started,
            )


def _asked(evaluator: Evaluator, config: RunConfig) -> Iterator[AskedJudge]:
    public = config.public()
    for metric in evaluator.metrics:
        yield AskedJudge(metric.name, judge_key(metric, evaluator.judge), public.judge, public.judge_model)


def _evaluator(tools: Tools, names: Sequence[str]) -> Evaluator:
    chosen: tuple[Metric, ...] = open_metrics(names) if names else default_metrics()
    rules = [metric.name for metric in chosen if not tasks_of(metric)]
    if names and rules:
        raise ConfigError(f"metric {rules[0]} asks no judge; it was scored when the run was made")
    evaluator = Evaluator([metric for metric in chosen if tasks_of(metric)], tools.judge)
    if names and evaluator.left_out:
        name, tasks = next(iter(evaluator.left_out.items()))
        raise ConfigError(
            f"judge {tools.judge.name} cannot score {name}: it does not judge {', '.join(tasks)}; "
            "see mnemoscope judge list"
        )
    return evaluator


class _Due(NamedTuple):
    """What is left to judge on one cell."""

    cell: CellRow
    metrics: tuple[str, ...]


class _Scorer:
    """Judges cells of one run, a scenario at a time."""

    def __init__(self, run: RunReader, evaluator: Evaluator, stop: Stop, progress: Progress) -> None:
        self._run, self._evaluator, self._stop, self._progress = run, evaluator, stop, progress
        self._parts = {tuple(metric.name for metric in evaluator.metrics): evaluator}
        self.done = self.failed = self.asked = 0
        self.missed: Counter[str] = Counter()

    def wanted(self, *, again: bool) -> list[_Due]:
        """Cells with the metrics that apply to them and lack a verdict of this judge."""
        due = (_Due(cell, self._due(cell, again=again)) for cell in self._run.cells())
        return [one for one in due if one.metrics]

    async def run(self, wanted: Sequence[_Due], file: RunFile, concurrency: int, tools: Tools) -> None:
        """Judge the cells, and store each as soon as it is judged."""
        gate = asyncio.Semaphore(concurrency)
        try:
            for batch in _batches(wanted, 4 * concurrency):
                results = await asyncio.gather(*(self._one(due, file, gate) for due in batch), return_exceptions=True)
                for result in results:
                    if isinstance(result, BudgetStop):
                        self._stop.request("budget")
                    elif isinstance(result, BaseException):
                        raise result
                if self._stop.requested:
                    return
        finally:
            await tools.aclose()

    async def _one(self, due: _Due, file: RunFile, gate: asyncio.Semaphore) -> None:
        async with gate:
            if self._stop.requested:
                return
            verdicts, usage = await self._evaluator_of(due.metrics).evaluate(self._case(due.cell))
            name = self._evaluator.judge.name
            file.add_verdicts(due.cell.key, verdicts, {name: usage} if usage.calls else {})
            if due.cell.status == "ok":
                self._count(verdicts)
            failed = any(verdict.status in ("error", "invalid") for verdict in verdicts)
            self.done += 1
            self.failed += failed
            self._progress.cell(failed=failed)

    def _count(self, verdicts: Sequence[Verdict]) -> None:
        asked = [verdict for verdict in verdicts if verdict.status != "not_applicable"]
        self.asked += len(asked)
        self.missed.update(v.label.removeprefix(JUDGE_ERROR) for v in asked if v.status != "scored")

    def _evaluator_of(self, names: tuple[str, ...]) -> Evaluator:
        """The evaluator of some of the metrics; a run has few such sets."""
        if names not in self._parts:
            chosen = [metric for metric in self._evaluator.metrics if metric.name in names]
            self._parts[names] = Evaluator(chosen, self._evaluator.judge)
        return self._parts[names]

    def _case(self, cell: CellRow) -> EvaluationCase:
        scenario = self._run.scenario(cell.scenario_id)
        probe = next(probe for probe in scenario.probes if probe.probe_id == cell.probe_id)
        reply = _reply(cell, self._run.reply_of(cell))
        return EvaluationCase(probe, scenario.gold_by_probe[probe.probe_id], reply, scenario.turns[: probe.cut.seq])

    def _due(self, cell: CellRow, *, again: bool) -> tuple[str, ...]:
        scenario = self._run.scenario(cell.scenario_id)
        probe = next(probe for probe in scenario.probes if probe.probe_id == cell.probe_id)
        gold = scenario.gold_by_probe[probe.probe_id]
        verdicts = self._run.verdicts_of(cell)
        not_imported = self._run.reply_of(cell).reasoning == NO_REPLY  # verdicts without the reply they are about
        due = []
        for metric in self._evaluator.metrics:
            if metric.applies(gold, probe) and not not_imported:
                own = (metric.name, judge_key(metric, self._evaluator.judge))
                said = [verdict for verdict in verdicts if (verdict.metric, verdict.judge_key) == own]
                if cell.status == "ok":
                    said = [] if again or any(verdict.status in ("error", "invalid") for verdict in said) else said
                if not said:
                    due.append(metric.name)
        return tuple(due)


def _reply(cell: CellRow, stored: StoredReply) -> Reply:
    """The reply as it was judged before: what a run file keeps of its retrieval is what the assistant was given."""
    kept = stored.retrieval
    given = kept.given if kept is not None else ()
    retrieval = None if kept is None else Retrieval(given, len(given), context_tokens=kept.context_tokens)
    return Reply(
        visible_text=stored.visible_text,
        hidden_trace=HiddenTrace(stored.queries, stored.drafts, stored.reasoning, stored.fallback),
        retrieval=retrieval,
        plan=stored.plan,
        realised=stored.realised,
        usage=cell.usage,
        status=cell.status,
        error=cell.error,
    )


def _batches(wanted: Sequence[_Due], size: int) -> Iterator[Sequence[_Due]]:
    for start in range(0, len(wanted), size):
        yield wanted[start : start + size]
