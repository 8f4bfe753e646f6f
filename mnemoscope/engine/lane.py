"""One lane: ingest a history once, fork the memory at each cut, answer its probes, judge, commit cell by cell.

Where probes are written back, the lane is one system's own: its probes are asked one after another, in their order, and
each is followed by its exchange. A cell that an earlier sitting stored is not asked again, and what it said is written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mnemoscope.agents.ids import ContentIds
from mnemoscope.core.errors import BackendError, BudgetStop, EndpointError, RunFileError
from mnemoscope.core.identity import ProbeId, SessionId, TurnId, derive_seed
from mnemoscope.core.usage import Usage
from mnemoscope.engine.failures import cause_in, cause_of, error_reply, failed_cell, failed_lane, unplaced_reply
from mnemoscope.engine.grid import Lane
from mnemoscope.engine.ingest import LaneProgress, NodeTimes, ingest, rest_of_session
from mnemoscope.engine.stopping import Stop
from mnemoscope.engine.tools import Tools, architecture_of, profile_of
from mnemoscope.engine.writeback import exchange, later, session_in_progress
from mnemoscope.evaluators.attribution import attribute
from mnemoscope.evaluators.case import EvaluationCase, StoredView
from mnemoscope.evaluators.verdict import JUDGE_ERROR, Verdict
from mnemoscope.graphs.backend import MemoryBackend, Ports
from mnemoscope.graphs.mirroring import MirroredBackend, memory_of
from mnemoscope.graphs.reply import Reply
from mnemoscope.graphs.state import AssistantContext
from mnemoscope.graphs.traces import ListTrace
from mnemoscope.memory_backends.record import MemoryItem, Scope, Stats
from mnemoscope.runfile.records import CellRecord, LaneRecord, LossRecord
from mnemoscope.runfile.rows import CellKey, Said
from mnemoscope.scenarios.records import Gold, Probe, Scenario, Turn, seen_id
from mnemoscope.scenarios.replay import ForkAt, HistoryEnd, SessionEnd, WriteTurn, replay

__all__ = ["CellSink", "LaneRunner"]


class CellSink(Protocol):
    """Where finished cells and lanes go; a run file is one."""

    def commit_cell(self, cell: CellRecord, *, replace: bool = False) -> None:
        """Keep a cell for good before returning."""

    def commit_lane(self, lane: LaneRecord) -> None:
        """Keep a lane's end for good before returning."""

    def said(self, key: CellKey) -> Said | None:
        """What a cell that was kept said; None where it was not."""


class _StoppedEarly(Exception):  # noqa: N818 - a clean end, not a fault
    """The run was asked to stop between two steps of a lane."""


@dataclass(frozen=True, slots=True)
class _ScenarioGold:
    """The gold of one scenario, for those who may see it, under the ids that they see."""

    by_probe: Mapping[ProbeId, Gold]

    @classmethod
    def of(cls, scenario: Scenario) -> _ScenarioGold:
        return cls({seen_id(probe_id): gold for probe_id, gold in scenario.gold_by_probe.items()})

    def gold(self, probe_id: str) -> Gold:
        return self.by_probe[ProbeId(probe_id)]


class LaneRunner:
    """Runs lanes of one process.

    Args:
        tools: The opened parts.
        sink: Where finished cells go.
        stop: Asked between steps; what is in flight is finished.
        finished: Is told of every stored cell, and whether it failed.
        concurrency: Cells in flight.
    """

    def __init__(
        self, tools: Tools, sink: CellSink, stop: Stop, finished: Callable[[bool], None], concurrency: int
    ) -> None:
        self._tools, self._sink, self._stop, self._finished = tools, sink, stop, finished
        self._gate = asyncio.Semaphore(concurrency)

    async def run(self, lane: Lane, scenario: Scenario) -> None:
        """Run a lane to its end; what fails becomes failed cells with the cause, and the lane says why.

        Args:
            lane: What to do; cells that it does not list are left alone.
            scenario: The lane's scenario.

        Raises:
            RunFileError: Results cannot be stored; nothing else makes sense then.
        """
        progress, times = LaneProgress(), NodeTimes()
        backend = memory_of(architecture_of(lane.memory), scenario, self._tools.config.speakers)
        try:
            try:
                await self._replay(lane, scenario, backend, progress, times)
                record = await self._close(lane, backend, progress, times)
            finally:
                await backend.close()
        except _StoppedEarly:
            return
        except BudgetStop:
            self._stop.request("budget")
            return
        except RunFileError:
            raise
        except Exception as error:
            await self._fail(lane, scenario, progress, error)
            return
        if not self._stop.requested or progress.done.issuperset(lane.cells):
            self._sink.commit_lane(record)

    async def _replay(
        self, lane: Lane, scenario: Scenario, backend: MemoryBackend, progress: LaneProgress, times: NodeTimes
    ) -> None:
        capabilities = backend.capabilities
        seed = derive_seed(self._tools.config.seed, "lane", lane.scenario_id, lane.memory)
        await backend.open(
            Scope(scenario.scenario_id),
            Ports(
                ids=ContentIds(),
                rng=np.random.default_rng(seed),
                trace=times,
                embedder=self._tools.embedder if capabilities.needs_embedder else None,
                model=self._tools.memory_model,
                vector_index=self._tools.vector_index(lane.key),
                gold=_ScenarioGold.of(scenario) if capabilities.privileged else None,
            ),
        )
        # A memory that does not work on pairs is shown roles as recorded, so the mapping cannot change what it holds.
        speakers = self._tools.config.speakers if capabilities.needs_pairs else "as-is"
        events = list(replay(scenario, pool_as_turns=not capabilities.gives_pool, speakers=speakers))
        at_end, session = False, None
        for place, event in enumerate(events):
            if self._stop.requested:
                raise _StoppedEarly
            if isinstance(event, ForkAt):
                if self._tools.config.write_probes:
                    now_in = session_in_progress(events, place)
                    await self._converse(lane, scenario, backend, event, progress, session=now_in, at_end=at_end)
                else:
                    await self._ask(lane, scenario, backend, event, progress, last=at_end)
                continue
            if isinstance(event, WriteTurn) and event.turn.session_id != session:
                session = event.turn.session_id
                await self._prefetch(lane, backend, rest_of_session(events, place), progress)
            elif isinstance(event, SessionEnd):
                session = None
            await ingest(backend, later(event, progress.written_back), progress)
            at_end = at_end or isinstance(event, HistoryEnd)

    async def _prefetch(
        self, lane: Lane, backend: MemoryBackend, turns: Sequence[Turn], progress: LaneProgress
    ) -> None:
        texts = architecture_of(lane.memory).texts_to_embed(turns)
        if isinstance(backend, MirroredBackend):
            texts = backend.texts_to_embed(turns, architecture_of(lane.memory).texts_to_embed)
        if not texts:
            return
        progress.embedded += texts
        started = time.perf_counter()
        try:
            await self._tools.embedder.embed(texts, "document")
            progress.outage = False
        except EndpointError as error:
            # The memory tries by itself, turn by turn; what is still down a session later ends the lane.
            if progress.outage or not error.retryable:
                raise
            progress.outage = True
        progress.ingest_ms += (time.perf_counter() - started) * 1e3

    async def _converse(
        self,
        lane: Lane,
        scenario: Scenario,
        live: MemoryBackend,
        fork: ForkAt,
        progress: LaneProgress,
        *,
        session: SessionId | None,
        at_end: bool,
    ) -> None:
        """Ask the probes of a cut one by one, and write each exchange to the live memory before the next."""
        for probe in fork.probes:
            key = CellKey(lane.system, lane.scenario_id, probe.probe_id, lane.replicate)
            if key in lane.cells:
                await self._ask(lane, scenario, live, replace(fork, probes=(probe,)), progress, last=at_end)
                if key not in progress.done:
                    raise _StoppedEarly
            if (said := self._sink.said(key)) is None:
                continue  # not one of those that are asked
            earlier = progress.written_back
            for event in exchange(scenario, probe, said, earlier=earlier, session=session, at_end=at_end):
                await ingest(live, event, progress)
                progress.written_back += isinstance(event, WriteTurn)

    async def _ask(
        self, lane: Lane, scenario: Scenario, live: MemoryBackend, fork: ForkAt, progress: LaneProgress, *, last: bool
    ) -> None:
        wanted: dict[str, Probe] = {probe.probe_id: probe for probe in fork.probes}
        cells = [key for key in lane.cells if key.probe_id in wanted]
        if not cells:
            return
        try:
            memory = live if last else await live.fork()
        except BackendError as lacking:  # turns that it may have by the next cut
            await self._give_up(cells, scenario, progress, lacking)
            return
        try:
            before = (await memory.snapshot()).sha256
            items = tuple([item async for item in memory.items()])
            history = scenario.turns[: fork.cut.seq]
            asked = _Asked(
                scenario=scenario,
                gold=_ScenarioGold.of(scenario),
                memory=memory,
                stored=StoredView(items, progress.written),
                history=history,
                known={turn.turn_id: turn for turn in history},
                profiles=dict(lane.systems),
            )
            if memory.capabilities.needs_embedder:
                with suppress(EndpointError):  # each cell tries by itself, and fails by itself
                    await self._tools.embedder.embed([wanted[key.probe_id].text for key in cells], "query")
            jobs = (self._cell(key, wanted[key.probe_id], asked, progress) for key in cells)
            for outcome in await asyncio.gather(*jobs, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
            if (await memory.snapshot()).sha256 != before:
                error = BackendError("a probe changed the memory; probes must leave no trace", phase="retrieve")
                for key in cells:
                    if key in progress.done:
                        # Its answer may rest on what another probe left behind.
                        row = await failed_cell(key, scenario, error, self._tools.evaluator)
                        self._sink.commit_cell(row, replace=True)
                raise error
        finally:
            if memory is not live:
                await memory.close()

    async def _cell(self, key: CellKey, probe: Probe, asked: _Asked, progress: LaneProgress) -> None:
        async with self._gate:
            if self._stop.requested:
                return
            trace = ListTrace()
            started = time.perf_counter()
            try:
                reply, cause = await self._reply(key, probe, asked, trace)
                ms = (time.perf_counter() - started) * 1e3
                verdicts, usage, losses = await self._judge(probe, reply, asked)
            except BudgetStop:
                self._stop.request("budget")
                return
            judging = {self._tools.judge.name: usage} if usage.calls else {}
            record = CellRecord(key, reply, ms, verdicts, judging, losses, trace.spans, cause)
            try:
                self._sink.commit_cell(record)
            except ValueError as error:  # text that no file can hold, such as half of an emoji from an endpoint
                record = await failed_cell(key, asked.scenario, error, self._tools.evaluator)
                self._sink.commit_cell(record)
            progress.done.add(key)
            self._finished(record.reply.status == "error")

    async def _reply(self, key: CellKey, probe: Probe, asked: _Asked, trace: ListTrace) -> tuple[Reply, str | None]:
        profile = profile_of(asked.profiles[key.system])
        reads_gold = profile.privileged or asked.memory.capabilities.privileged
        if reads_gold and asked.scenario.gold_by_probe[probe.probe_id].is_unplaced:
            return unplaced_reply(), None
        context = AssistantContext(
            backend=asked.memory,
            budget=self._tools.budget,
            writer=self._tools.writer,
            verifier=self._tools.verifier,
            model=self._tools.model,
            gold=asked.gold if profile.privileged else None,
            trace=trace,
            embedder=self._tools.embedder,
            replicate=key.replicate,
        )
        try:
            reply = await self._tools.assistant(profile.name).respond(probe.as_seen(), context)
        except BudgetStop:
            raise
        except Exception as error:
            return error_reply(error), cause_of(error)
        return reply, cause_in(reply.error) if reply.status == "error" else None

    async def _judge(
        self, probe: Probe, reply: Reply, asked: _Asked
    ) -> tuple[Sequence[Verdict], Usage, Sequence[LossRecord]]:
        case = EvaluationCase(
            probe=probe,
            gold=asked.scenario.gold_by_probe[probe.probe_id],
            reply=reply,
            history=asked.history,
            stored=asked.stored,
            known=asked.known,
        )
        verdicts, usage = await self._tools.evaluator.evaluate(case)
        try:
            losses = attribute(case, self._tools.detector)
        except Exception as error:
            return (*verdicts, _unattributed(error)), usage, ()
        return verdicts, usage, [LossRecord(loss.fact_id, loss.stage, loss.routes) for loss in losses]

    async def _close(self, lane: Lane, backend: MemoryBackend, progress: LaneProgress, times: NodeTimes) -> LaneRecord:
        stats: Stats = await backend.stats()
        items: list[MemoryItem] = [item async for item in backend.items()]
        unknown = self._tools.embedder.unknown_share(progress.embedded) if progress.embedded else None
        return LaneRecord(
            key=lane.key,
            status="done",
            written=progress.written,
            skipped=progress.skipped,
            stats=stats,
            items=items,
            usage=progress.usage,
            ingest_ms=progress.ingest_ms,
            node_ms=dict(sorted(times.ms.items())),
            unknown_share=unknown,
        )

    async def _fail(self, lane: Lane, scenario: Scenario, progress: LaneProgress, error: Exception) -> None:
        await self._give_up([key for key in lane.cells if key not in progress.done], scenario, progress, error)
        self._sink.commit_lane(
            replace(
                failed_lane(lane, error),
                written=progress.written,
                skipped=progress.skipped,
                usage=progress.usage,
                ingest_ms=progress.ingest_ms,
            )
        )

    async def _give_up(
        self, cells: Sequence[CellKey], scenario: Scenario, progress: LaneProgress, error: Exception
    ) -> None:
        for key in cells:
            self._sink.commit_cell(await failed_cell(key, scenario, error, self._tools.evaluator))
            progress.done.add(key)
            self._finished(True)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the probes of one cut share."""

    scenario: Scenario
    gold: _ScenarioGold
    memory: MemoryBackend
    stored: StoredView
    history: tuple[Turn, ...]
    known: dict[TurnId, Turn]
    """The history by turn id."""
    profiles: Mapping[str, str]
    """System name to profile name."""


def _unattributed(error: Exception) -> Verdict:
    said = f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()
    return Verdict("attribution", "reply", f"{JUDGE_ERROR}{type(error).__name__}", None, "error", raw=said)
