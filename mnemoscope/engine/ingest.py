"""Taking a replayed history into a memory: one event at a time, with what it cost and how far it has come."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from mnemoscope.core.ports import Span
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.memory_backends.record import WriteReceipt
from mnemoscope.runfile.rows import CellKey
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import ForkAt, HistoryEnd, ReplayEvent, SessionEnd, SkipTurn, WriteTurn

__all__ = ["LaneProgress", "NodeTimes", "ingest", "rest_of_session"]


@dataclass(slots=True)
class NodeTimes:
    """A trace that keeps sums: an ingest has thousands of spans."""

    ms: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Add the time that the block takes."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.ms[name] += (time.perf_counter() - started) * 1e3

    def record(self, span: Span) -> None:
        """Add a span's time."""
        self.ms[span.name] += span.ms


@dataclass(slots=True)
class LaneProgress:
    """How far a lane has come."""

    written: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    usage: Usage = Usage()
    ingest_ms: float = 0.0
    embedded: list[str] = field(default_factory=list)
    outage: bool = False
    """The last session could not be embedded ahead."""
    written_back: int = 0
    """Turns that probes and replies became."""
    done: set[CellKey] = field(default_factory=set)


async def ingest(memory: MemoryBackend, event: ReplayEvent, progress: LaneProgress) -> None:
    """Do what an event asks of a memory; a fork asks nothing."""
    started = time.perf_counter()
    receipt = await _done(memory, event, progress)
    progress.ingest_ms += (time.perf_counter() - started) * 1e3
    if receipt is not None:
        progress.usage = progress.usage + receipt.usage


def rest_of_session(events: Sequence[ReplayEvent], place: int) -> list[Turn]:
    """The turns from this event on that will be written before their session ends."""
    turns: list[Turn] = []
    for event in islice(events, place, None):
        if isinstance(event, SessionEnd):
            break
        if isinstance(event, WriteTurn):
            turns.append(event.turn)
    return turns


async def _done(memory: MemoryBackend, event: ReplayEvent, progress: LaneProgress) -> WriteReceipt | None:
    match event:
        case WriteTurn(turn):
            receipt = await memory.write(turn)
            progress.written += 1
            return receipt
        case SkipTurn(_, reason):
            progress.skipped[reason] += 1
            return None
        case SessionEnd(session_id, now):
            return await memory.flush("session_end", session_id, now)
        case HistoryEnd(now):
            return await memory.flush("history_end", None, now)
        case ForkAt():
            return None
