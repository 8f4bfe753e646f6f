"""What the tests of the state machines share: turns, probes, ports, a scripted writer, a plain detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.ports import Draft, Embedder, Use, WritingTask
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import GoldView, MemoryBackend, Ports
from mnemoscope.graphs.conformance.material import CountingIds
from mnemoscope.graphs.traces import ListTrace, NullTrace
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Scope
from mnemoscope.scenarios.records import Cut, Gold, MemoryPool, PoolItem, Probe, Turn

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def turn(number: int, text: str, session: str = "s1", speaker: str = "Amy") -> Turn:
    return Turn(
        turn_id=f"t{number}",
        session_id=session,
        index=number,
        speaker=speaker,
        role="peer",
        text=text,
        at=START + timedelta(minutes=number),
    )


def probe(text: str = "Where is the boat?", *, pool: Sequence[str] | None = None, probe_id: str = "p1") -> Probe:
    items = None if pool is None else MemoryPool(items=tuple(PoolItem(item_id=f"m-{t}", text=t) for t in pool))
    return Probe(
        probe_id=probe_id,
        style="question",
        speaker="Bo",
        text=text,
        cut=Cut(seq=99, turn_id=None),
        now=START + timedelta(days=300),
        pool=items,
    )


class Golds:
    """A gold view over a mapping."""

    def __init__(self, **by_probe: Gold) -> None:
        self.by_probe = by_probe

    def gold(self, probe_id: str) -> Gold:
        return self.by_probe[probe_id]


@dataclass
class ScriptedWriter:
    """Says the lines of a script one after the other, the last one for ever; remembers its tasks."""

    lines: Sequence[str | Exception]
    key: str = "scripted"
    tasks: list[WritingTask] = field(default_factory=list)

    async def write(self, task: WritingTask) -> Draft:
        line = self.lines[min(len(self.tasks), len(self.lines) - 1)]
        self.tasks.append(task)
        if isinstance(line, Exception):
            raise line
        return Draft(line, hidden="thought")


class Contains:
    """A detector: the fact, without the frame of a turn, stands in the reply word for word."""

    key = "contains"

    def detect(self, reply: str, fact: str) -> Use:
        wanted = fact.rpartition(": ")[2] if fact.startswith("[") else fact
        return Use(wanted in reply, float(wanted in reply))


class FlakyEmbedder:
    """Fails at the calls whose numbers are given."""

    def __init__(self, *fails: int) -> None:
        self.inner, self.fails, self.calls = HashEmbedder(64), fails, 0

    id = "hash-1@64"
    dim = 64

    async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
        self.calls += 1
        if self.calls in self.fails:
            raise EndpointError("down", cause="timeout", retryable=True)
        return await self.inner.embed(texts, "document")

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        return None


def ports(embedder: Embedder | None = None, gold: GoldView | None = None, trace: ListTrace | None = None) -> Ports:
    return Ports(CountingIds(), np.random.default_rng(7), trace or NullTrace(), embedder or HashEmbedder(64), gold=gold)


async def opened(name: str, given: Ports | None = None, scope: str = "test") -> MemoryBackend:
    backend = create_architecture(name).backend()
    await backend.open(Scope(scope), given or ports())
    return backend


async def fed(name: str, turns: Sequence[Turn], given: Ports | None = None) -> MemoryBackend:
    backend = await opened(name, given)
    for one in turns:
        await backend.write(one)
    await backend.flush("history_end", None, turns[-1].at)
    return backend
