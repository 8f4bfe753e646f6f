"""The contract of a memory: what every architecture, compiled or wrapped, lets the engine do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.identity import SessionId
from mnemoscope.core.ports import Embedder, Ids, LanguageModel, Rng, Trace
from mnemoscope.core.usage import Usage
from mnemoscope.memory_backends.record import (
    Budget,
    Capabilities,
    FlushReason,
    MemoryItem,
    Query,
    Retrieval,
    Scope,
    Snapshot,
    Stats,
    WriteReceipt,
)
from mnemoscope.memory_backends.store import VectorIndex
from mnemoscope.scenarios.records import Gold, Turn

__all__ = ["BackendFactory", "GoldView", "MemoryBackend", "Ports", "ReadMode", "UnfinishedReadError"]

ReadMode = Literal["pure", "live"]


class GoldView(Protocol):
    """Gold of the probe in hand. Only privileged architectures and planners are ever given one."""

    def gold(self, probe_id: str) -> Gold:
        """The gold of one probe; `KeyError` if there is none."""


class UnfinishedReadError(EndpointError):
    """An endpoint failed in the middle of a reading.

    Args:
        failure: Why.
        reached: What had been found by then, and what that had cost, the failure included.
    """

    def __init__(self, failure: EndpointError, reached: Retrieval) -> None:
        super().__init__(
            str(failure), cause=failure.cause, retryable=failure.retryable, retry_after=failure.retry_after
        )
        self.usage, self.reached = failure.usage, reached


@dataclass(frozen=True, slots=True)
class Ports:
    """What a memory is given from outside; it brings no clock, no chance and no client of its own."""

    ids: Ids
    rng: Rng
    trace: Trace
    embedder: Embedder | None = None
    model: LanguageModel | None = None
    vector_index: Callable[[int], VectorIndex] | None = None
    """Makes an empty index of a given dimension; None: exact, in numpy."""
    gold: GoldView | None = None


@runtime_checkable
class MemoryBackend(Protocol):
    """A memory of one scope.

    Contracts that the conformance kit proves: every written turn is covered by some item's sources, deferred, or
    dropped with a reason; a pure read leaves the snapshot's hash as it was; no item is returned whose sources are
    all later than `now`; restoring a snapshot and going on equals an uninterrupted run; two scopes never meet.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What it can and cannot do."""

    async def open(self, scope: Scope, ports: Ports) -> None:
        """Start empty for this scope."""

    async def write(self, turn: Turn) -> WriteReceipt:
        """Take in one turn; calls are serialised by the memory itself."""

    async def flush(self, reason: FlushReason, session_id: SessionId | None, now: datetime | None) -> WriteReceipt:
        """A session or the history has ended, or it is time for upkeep."""

    async def retrieve(self, query: Query, budget: Budget, now: datetime | None, mode: ReadMode = "pure") -> Retrieval:
        """Find what helps; `pure` leaves no trace, `live` lets a read change the memory where its design does so."""

    async def snapshot(self) -> Snapshot:
        """The memory as bytes; equal content gives equal bytes."""

    async def restore(self, snapshot: Snapshot) -> None:
        """Become that memory; raises `EmbedderMismatchError` where stored vectors do not fit."""

    async def fork(self) -> MemoryBackend:
        """A second memory with the same content; what is done to one does not reach the other."""

    def items(self) -> AsyncIterator[MemoryItem]:
        """Everything that is stored, tombstones included, in order of writing."""

    async def stats(self) -> Stats:
        """An audit."""

    def estimate(self, history: Sequence[Turn]) -> Usage:
        """Calls and tokens that ingesting this history would take, before anything is spent."""

    async def close(self) -> None:
        """Release what `open` took."""


BackendFactory = Callable[[], MemoryBackend]
"""Makes an unopened memory; the conformance kit asks for one."""
