"""Judging the replies of a run again: no assistant is asked, and earlier verdicts stay beside the new ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.config import RunConfig
from mnemoscope.core.errors import BudgetStop, ConfigError
from mnemoscope.engine.progress import Progress
from mnemoscope.engine.stopping import Stop, StopReason
from mnemoscope.engine.tools import Tools
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.metrics.metric import Metric, tasks_of
from mnemoscope.evaluators.metrics.registry import default_metrics, open_metrics
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.memory_backends.record import Retrieval
from mnemoscope.runfile.lock import exclusive
from mnemoscope.runfile.reader import RunReader, open_run
from mnemoscope.runfile.rows import CellRow, StoredReply
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
    reason: StopReason | None
    """Why it stopped early, if it did."""
    seconds: float


def score(
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
    """Judge the stored replies of a run.

    Only judged metrics are scored: what a rule decides was decided when the run was made, from memories that a run file
    keeps in part. Verdicts go to the file cell by cell, so that judging can be stopped and gone on with: a cell that
    has this judge's verdicts on all the metrics is passed over, one on which the judge failed is judged again.

    Args:
        path: The run file.
        judge: The judge's name with its parameters.
        metrics: Judged metrics by name; empty: all that run by default.
        judge_model: The model that judges; None: the model that the run's replies were written with.
        again: Judge cells that have the judge's verdicts too.
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
        config = RunConfig.model_validate({**run.config.model_dump(), **asked})
        with Tools(config) as tools:
            evaluator = _evaluator(tools, metrics)
            scorer = _Scorer(run, evaluator, stop, progress)
            wanted = scorer.wanted(again=again)
            total = sum(1 for _ in run.cells())
            progress.begin(total, total - len(wanted))
            with RunFile.resume(path) as file:
                try:
                    asyncio.run(scorer.run(wanted, file, concurrency, tools))
                finally:
                    progress.end()
                file.settle()
            return ScoreOutcome(
                path=path,
                judge=tools.judge.name,
                keys=tuple(sorted({tools.judge.key(task) for m in evaluator.metrics for task in tasks_of(m)})),
                metrics=tuple(metric.name for metric in evaluator.metrics),
                left_out=tuple(evaluator.left_out),
                cells=total,
                judged_now=scorer.done,
                failed=scorer.failed,
                reason=stop.reason,
                seconds=time.monotonic() - started,
            )


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


class _Scorer:
    """Judges cells of one run, a scenario at a time."""

    def __init__(self, run: RunReader, evaluator: Evaluator, stop: Stop, progress: Progress) -> None:
        self._run, self._evaluator, self._stop, self._progress = run, evaluator, stop, progress
        self.done = self.failed = 0

    def wanted(self, *, again: bool) -> list[CellRow]:
        """Cells that lack a verdict of this judge on a metric that applies to them."""
        return [cell for cell in self._run.cells() if again or not self._is_judged(cell)]

    async def run(self, cells: Sequence[CellRow], file: RunFile, concurrency: int, tools: Tools) -> None:
        """Judge the cells, and store each as soon as it is judged."""
        gate = asyncio.Semaphore(concurrency)
        try:
            for batch in _batches(cells, 4 * concurrency):
                results = await asyncio.gather(*(self._one(cell, file, gate) for cell in batch), return_exceptions=True)
                for result in results:
                    if isinstance(result, BudgetStop):
                        self._stop.request("budget")
                    elif isinstance(result, BaseException):
                        raise result
                if self._stop.requested:
                    return
        finally:
            await tools.aclose()

    async def _one(self, cell: CellRow, file: RunFile, gate: asyncio.Semaphore) -> None:
        async with gate:
            if self._stop.requested:
                return
            verdicts, usage = await self._evaluator.evaluate(self._case(cell))
            name = self._evaluator.judge.name
            file.add_verdicts(cell.key, verdicts, {name: usage} if usage.calls else {})
            failed = any(verdict.status in ("error", "invalid") for verdict in verdicts)
            self.done += 1
            self.failed += failed
            self._progress.cell(failed=failed)

    def _case(self, cell: CellRow) -> EvaluationCase:
        scenario = self._run.scenario(cell.scenario_id)
        probe = next(probe for probe in scenario.probes if probe.probe_id == cell.probe_id)
        reply = _reply(cell, self._run.reply_of(cell))
        return EvaluationCase(probe, scenario.gold_by_probe[probe.probe_id], reply, scenario.turns[: probe.cut.seq])

    def _is_judged(self, cell: CellRow) -> bool:
        scenario = self._run.scenario(cell.scenario_id)
        probe = next(probe for probe in scenario.probes if probe.probe_id == cell.probe_id)
        gold = scenario.gold_by_probe[probe.probe_id]
        judge = self._evaluator.judge
        settled = {(v.metric, v.judge_key) for v in self._run.verdicts_of(cell) if v.status != "error"}
        for metric in self._evaluator.metrics:
            keys = [judge.key(task) for task in tasks_of(metric)]
            own = any(name == metric.name and _rests_on(key, keys) for name, key in settled)
            if not own and cell.status == "ok" and metric.applies(gold, probe):
                return False
        return True


def _rests_on(judge_key: str, keys: Sequence[str]) -> bool:
    """Whether a verdict's key is one of the judge's, or is joined from them; an exclusion has none."""
    return not judge_key or any(key in judge_key for key in keys)


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


def _batches(cells: Sequence[CellRow], size: int) -> Iterator[Sequence[CellRow]]:
    for start in range(0, len(cells), size):
        yield cells[start : start + size]
