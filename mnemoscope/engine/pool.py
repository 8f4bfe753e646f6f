"""Sharing lanes among worker processes, and outliving any of them."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, MnemoscopeError, RunFileError
from mnemoscope.engine.grid import Bundle, Lane
from mnemoscope.engine.stopping import Stop
from mnemoscope.runfile.rows import LaneKey

__all__ = ["run_in_workers"]

_LOOK = 0.2
"""Seconds between two looks at the stop flag."""
_CRASHES = 3
"""Workers that may end before they began a lane, until the run gives up."""
_KNOWN_ERRORS: dict[str, type[MnemoscopeError]] = {"RunFileError": RunFileError, "ConfigError": ConfigError}


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[str]
    given: dict[LaneKey, Lane] = field(default_factory=dict)
    """Lanes that it was given and has not ended."""
    begun: set[LaneKey] = field(default_factory=set)
    told_end: bool = False

    def tell(self, **order: object) -> None:
        """One line to the worker; one that has died is noticed elsewhere."""
        stdin = self.process.stdin
        try:
            if stdin is not None:
                stdin.write(json.dumps(order) + "\n")
                stdin.flush()
        except (BrokenPipeError, OSError):
            return

    def end(self) -> int:
        """Wait for the process to end and release its pipes; its exit code."""
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return code


class _Pool:
    def __init__(
        self,
        config: RunConfig,
        path: Path,
        work: Sequence[Bundle],
        stop: Stop,
        cell: Callable[[bool], None],
        lost: Callable[[Lane, str], None],
    ) -> None:
        self._config, self._path, self._stop, self._cell, self._lost = config, path, stop, cell, lost
        self._work = deque(work)
        self._events: queue.Queue[tuple[_Worker, dict[str, Any] | None]] = queue.Queue()
        self._workers: list[_Worker] = []
        self._crashes = 0
        self._error: MnemoscopeError | None = None

    def run(self, workers: int, concurrency: int, ahead: int) -> None:
        self._concurrency, self._ahead = max(1, -(-concurrency // workers)), ahead
        try:
            for _ in range(workers):
                self._start()
            told = False
            while self._workers:
                if (self._stop.requested or self._error) and not told:
                    told = True
                    for worker in self._workers:
                        worker.tell(kind="stop")
                try:
                    worker, message = self._events.get(timeout=_LOOK)
                except queue.Empty:
                    continue
                self._heard(worker, message)
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.end()
        if self._error is not None:
            raise self._error

    def _start(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mnemoscope.engine.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            process_group=0 if os.name == "posix" else None,  # Ctrl-C reaches this process alone; it asks its workers
        )
        worker = _Worker(process)
        self._workers.append(worker)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        config = self._config.model_dump(mode="json")
        worker.tell(path=str(self._path), config=config, concurrency=self._concurrency)
        self._feed(worker)

    def _listen(self, worker: _Worker) -> None:
        for line in worker.process.stdout or ():
            self._events.put((worker, json.loads(line)))
        self._events.put((worker, None))

    def _feed(self, worker: _Worker) -> None:
        while self._work and len(worker.given) < self._ahead and not self._stop.requested:
            for lane in self._work.popleft().lanes:
                worker.given[lane.key] = lane
                worker.tell(
                    kind="lane",
                    scenario_id=lane.scenario_id,
                    memory=lane.memory,
                    systems=lane.systems,
                    cells=lane.cells,
                    system=lane.system,
                    replicate=lane.replicate,
                )
        if not self._work and not worker.told_end:
            worker.told_end = True
            worker.tell(kind="end")

    def _heard(self, worker: _Worker, message: dict[str, Any] | None) -> None:
        match message:
            case None:
                self._gone(worker)
            case {"kind": "cell", "failed": failed}:
                self._cell(bool(failed))
            case {"kind": "began", "lane": key}:
                worker.begun.add(LaneKey(*key))
            case {"kind": "ended", "lane": key}:
                worker.given.pop(LaneKey(*key), None)
                self._feed(worker)
            case {"kind": "budget"}:
                self._stop.request("budget")
            case {"kind": "fatal", "error": name, "text": text}:
                known = _KNOWN_ERRORS.get(str(name))
                self._error = self._error or (known(text) if known else MnemoscopeError(f"{name}: {text}"))

    def _gone(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        code = worker.end()
        if code == 0 or self._stop.requested or self._error:
            return
        begun = [lane for key, lane in worker.given.items() if key in worker.begun]
        why = f"the worker process ended with code {code}" + (" (killed; out of memory?)" if code == -9 else "")
        for lane in begun:
            self._lost(lane, why)
        self._crashes += not begun
        if self._crashes >= _CRASHES:
            self._error = MnemoscopeError(f"{why}, {self._crashes} times before it began a lane")
            return
        left = tuple(lane for key, lane in worker.given.items() if key not in worker.begun)
        if left:
            self._work.appendleft(Bundle(left, 0))
        if self._work:
            self._start()


def run_in_workers(
    config: RunConfig,
    path: Path,
    work: Sequence[Bundle],
    *,
    workers: int,
    concurrency: int,
    ahead: int,
    stop: Stop,
    cell: Callable[[bool], None],
    lost: Callable[[Lane, str], None],
) -> None:
    """Run bundles in worker processes, each with its own connection to the run file.

    A worker that dies costs the lanes it had begun; another one takes its place.

    Args:
        config: Of the run.
        path: The run file, which exists.
        work: The heaviest bundles first.
        workers: Processes.
        concurrency: Cells in flight over all of them.
        ahead: Lanes that a worker is given before it has ended others.
        stop: Passed on to the workers, which then finish the cells in flight.
        cell: Is told of each stored cell, and whether it failed.
        lost: Is told of each lane that died with its worker, and why.

    Raises:
        RunFileError: A worker could not store its results.
        MnemoscopeError: Workers cannot be run at all.
    """
    _Pool(config, path, work, stop, cell, lost).run(workers, concurrency, ahead)
