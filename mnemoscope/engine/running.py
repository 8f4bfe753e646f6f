"""A run from its configuration to a finished file: load, plan, do what is left, say how it went."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.agents.clock import SystemClock
from mnemoscope.agents.gateway.local.server import shared_servers
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, MnemoscopeError, RunFileError
from mnemoscope.engine.failures import failed_cell, failed_lane
from mnemoscope.engine.grid import Bundle, Lane, bundles, lanes_of, load_scenarios, refuse_unfit
from mnemoscope.engine.manifest import cores, manifest_of, refuse_other_run
from mnemoscope.engine.pool import run_in_workers
from mnemoscope.engine.progress import Progress
from mnemoscope.engine.stopping import Stop, StopReason
from mnemoscope.engine.tools import Tools, system_rows
from mnemoscope.engine.work import Told, open_lanes, run_lanes
from mnemoscope.offline import stay_offline
from mnemoscope.runfile.judging import Judgements, judgements_of
from mnemoscope.runfile.lock import exclusive
from mnemoscope.runfile.notices import run_warnings
from mnemoscope.runfile.reader import open_run
from mnemoscope.runfile.rows import RunStatus
from mnemoscope.runfile.schema import check_header
from mnemoscope.runfile.writer import RunFile

__all__ = ["RunOutcome", "WorkerLostError", "run"]


_WORTH_A_WORKER = 400
"""Cells that take as long as a worker takes to start; fewer are not shared out unless the user says so."""


class WorkerLostError(MnemoscopeError):
    """A worker process died with a lane in hand."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended."""

    path: Path
    status: RunStatus
    reason: StopReason | None
    """Why it stopped early, if it did."""
    expected: int
    """Cells of the whole grid."""
    stored: int
    """Cells that have an outcome now, failed ones included."""
    failed: int
    done_now: int
    """Cells done in this sitting."""
    seconds: float
    """Wall time of this sitting."""
    content_hash: str
    warnings: tuple[str, ...]
    judgements: Judgements | None = None
    """What judges were asked for and failed to give; None where no metric is judged."""

    @property
    def judge_failed_share(self) -> float:
        """Judgements that are no verdict among those asked for, 0–1."""
        return self.judgements.failed_share if self.judgements else 0.0

    @property
    def failed_share(self) -> float:
        """Failed cells among those stored, 0–1."""
        return self.failed / self.stored if self.stored else 0.0


@dataclass(slots=True)
class _Count:
    progress: Progress
    done: int = 0

    def cell(self, failed: bool) -> None:
        self.done += 1
        self.progress.cell(failed=failed)


def run(config: RunConfig, *, resume: bool, progress: Progress, stop: Stop) -> RunOutcome:
    """Do a run, or what is left of it.

    Args:
        config: What to do; `out` names the run file.
        resume: Go on with the file if it is there; what failed in it is tried again. Without it, a file that is there
            is an error.
        progress: Is told of every cell.
        stop: Ends the run early when requested; cells in flight are finished.

    Raises:
        ConfigError: An unusable setting, or a system that does not fit a scenario.
        DataError: A scenario file is not as it should be.
        RunFileError: The file is there, is no run file, was made otherwise, is being written, or cannot be written.
    """
    stay_offline()
    if config.out is None:
        raise ConfigError("no output is named; add --out RUN.db")
    path = config.out
    there = path.exists()
    if there and not resume:
        raise RunFileError(f"{path} exists and was not touched; add --resume to go on with it, or give another --out")
    if there:
        check_header(path)
    elif not path.parent.is_dir():
        raise RunFileError(f"output {path} cannot be written: there is no folder {path.parent}")
    systems = system_rows(config.system_specs())
    with exclusive(path):
        started = time.monotonic()
        scenarios = load_scenarios(config, progress.note, progress.read)
        refuse_unfit(systems, scenarios)
        manifest = manifest_of(config, systems)
        if there:
            with open_run(path) as before:
                before.check()
                refuse_other_run(before, manifest, scenarios)
        with RunFile.resume(path) if there else RunFile.create(path, manifest, systems, scenarios) as file:
            file.set_status("running", finished_at=None)
            file.forget_failures()
            finished = file.finished_cells()
            lanes = lanes_of(
                systems,
                file.asked(),
                config.replicates,
                finished,
                file.finished_lanes(),
                write_probes=config.write_probes,
            )
            del scenarios
            count = _Count(progress)
            progress.begin(sum(map(len, file.asked().values())) * len(systems) * config.replicates, len(finished))
            try:
                _work(config, file, lanes, stop, count)
            finally:
                progress.end()
            seconds = time.monotonic() - started
            status: RunStatus = (
                "stopped" if stop.reason == "budget" else "interrupted" if stop.requested else "complete"
            )
            file.set_status(status, finished_at=SystemClock().now(), add_seconds=seconds)
            file.settle()
        return _outcome(path, status, stop, count, seconds)


def _work(config: RunConfig, file: RunFile, lanes: Sequence[Lane], stop: Stop, count: _Count) -> None:
    if not lanes:
        return
    wanted = config.workers or min(cores(), 1 + sum(len(lane.cells) for lane in lanes) // _WORTH_A_WORKER)
    work = bundles(lanes, file.turn_counts(), wanted)
    workers = min(wanted, len(work))
    if workers == 1:
        _work_here(config, file, work, stop, count)
        return

    def lost(lane: Lane, why: str) -> None:
        _store_loss(config, file, lane, why, count)

    per_worker = max(1, config.concurrency // workers)
    with Tools(config) as tools:
        tools.keys()
        _ = tools.memory_model  # opens all models that the run asks
        with shared_servers():
            run_in_workers(
                config,
                file.path,
                work,
                workers=workers,
                concurrency=config.concurrency,
                ahead=2 * open_lanes(config, per_worker),
                stop=stop,
                cell=count.cell,
                lost=lost,
            )


def _work_here(config: RunConfig, file: RunFile, work: Sequence[Bundle], stop: Stop, count: _Count) -> None:
    left = deque(lane for bundle in work for lane in bundle.lanes)

    async def take() -> Lane | None:
        return left.popleft() if left else None

    told = Told(began=_nothing, cell=count.cell, ended=_nothing)
    asyncio.run(run_lanes(config, file, take, stop=stop, concurrency=config.concurrency, told=told))


def _store_loss(config: RunConfig, file: RunFile, lane: Lane, why: str, count: _Count) -> None:
    error = WorkerLostError(why)
    finished = file.finished_cells()
    scenario, evaluator = file.scenario(lane.scenario_id), Tools(config).evaluator
    for key in lane.cells:
        if key not in finished:
            file.commit_cell(asyncio.run(failed_cell(key, scenario, error, evaluator)))
            count.cell(True)
    file.commit_lane(failed_lane(lane, error))


def _outcome(path: Path, status: RunStatus, stop: Stop, count: _Count, seconds: float) -> RunOutcome:
    with open_run(path) as run_file:
        states = [cell.status for cell in run_file.cells()]
        return RunOutcome(
            path=path,
            status=status,
            reason=stop.reason,
            expected=run_file.expected_cells,
            stored=len(states),
            failed=states.count("error"),
            done_now=count.done,
            seconds=seconds,
            content_hash=run_file.content_hash(),
            warnings=run_warnings(run_file),
            judgements=judgements_of((run_file,)),
        )


def _nothing(lane: Lane) -> None:
    """Nobody needs to know."""
