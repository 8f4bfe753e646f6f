"""A memory made of an architecture's compiled graphs: the generic `MemoryBackend`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import regex
from langgraph.errors import GraphRecursionError

from mnemoscope.core.errors import BackendError, ConfigError, EndpointError, MnemoscopeError
from mnemoscope.core.identity import ItemId, SessionId, TurnId
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture
from mnemoscope.graphs.backend import MemoryBackend, Ports, ReadMode, UnfinishedReadError
from mnemoscope.graphs.metering import MeteredEmbedder, MeteredModel, metering
from mnemoscope.graphs.snapshot import GraphMemory, pack, unpack
from mnemoscope.graphs.state import MemoryContext, ReadState, WriteEvent, WriteState
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
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = ["GraphBackend"]

RECURSION_LIMIT = 50
"""Steps of one WRITE or READ run; far above any bundled graph, so that a graph without an exit is stopped."""

_VISIBLE = regex.compile(r"[^\s\p{Cf}\p{Cc}]")


class GraphBackend:
    """A memory of one scope. Its graphs were compiled once, with the architecture; it holds what is remembered.

    Writes are serialised by a lock. A turn whose run fails at an endpoint stays deferred and is tried again by the
    next write or flush, and until then the memory is neither forked nor asked; any other failure raises and leaves the
    turn with the caller.

    Args:
        architecture: What it is a memory of.
    """

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self._lock = asyncio.Lock()
        self._memory = GraphMemory()
        self._context: MemoryContext | None = None
        self._given: Ports | None = None
        self._outage: EndpointError | None = None
        """Why the backlog waits."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can and cannot do."""
        return self.architecture.capabilities

    async def open(self, scope: Scope, ports: Ports) -> None:
        """Start empty for this scope.

        Raises:
            BackendError: It is open already.
            ConfigError: An embedder or a gold view is needed and not given.
        """
        if self._context is not None:
            raise BackendError("the memory is open already; one instance has one scope", phase="open")
        if self.capabilities.needs_embedder and ports.embedder is None:
            raise ConfigError(f"{self.architecture.name} needs an embedder")
        self._given = ports
        metered = replace(
            ports,
            embedder=None if ports.embedder is None else MeteredEmbedder(ports.embedder),
            model=None if ports.model is None else MeteredModel(ports.model),
            gold=ports.gold if self.capabilities.privileged else None,
        )
        self._context = MemoryContext(scope, self._new_store(ports), metered)
        self._memory = GraphMemory()

    async def write(self, turn: Turn) -> WriteReceipt:
        """Take in one turn.

        Returns:
            What became of it, and of earlier deferred turns that this call settled.

        Raises:
            BackendError: The turn was written before, the graph failed, or it lost a turn.
        """
        async with self._lock:
            memory = self._memory
            self._opened("write")
            if turn.turn_id in memory.ledger.written:
                raise BackendError("the turn was written before", phase="write", turn_ids=[turn.turn_id])
            memory.ledger.enter(turn.turn_id)
            try:
                return await self._take(WriteEvent("turn", turn), [turn.turn_id], "write")
            except BackendError:
                memory.ledger.withdraw(turn.turn_id)
                raise

    async def flush(self, reason: FlushReason, session_id: SessionId | None, now: datetime | None) -> WriteReceipt:
        """A session or the history has ended, or it is time for upkeep.

        Returns:
            What became of the turns that were deferred.

        Raises:
            BackendError: The graph failed, or the history has ended and turns are still deferred; the flush may be
                tried again.
        """
        async with self._lock:
            self._opened("flush")
            offered = list(self._memory.ledger.deferred)
            event = WriteEvent("flush", None, reason, session_id, now)
            receipt = await self._take(event, offered, "flush")
            if reason == "history_end" and receipt.deferred:
                self._withdraw(event)
                raise self._behind("the history has ended and turns are still deferred", "flush") from self._outage
            return receipt

    async def retrieve(self, query: Query, budget: Budget, now: datetime | None, mode: ReadMode = "pure") -> Retrieval:
        """Find what helps. A blank query finds nothing and is marked so.

        Raises:
            EndpointError: An embedder or a model failed.
            BackendError: The graph failed, or an endpoint keeps turns from the memory.
        """
        context = self._whole("retrieve")
        if not _VISIBLE.search(query.text):
            return Retrieval(items=(), given=0, blank_query=True)
        if not self.capabilities.mutating_read:
            return await self._read(context, query, budget, now)
        if mode == "pure":
            fork = await self._fork("retrieve")
            try:
                return await fork._read(fork._opened("retrieve"), query, budget, now)
            finally:
                await fork.close()
        async with self._lock:
            return replace(await self._read(context, query, budget, now), mutated=True)

    async def snapshot(self) -> Snapshot:
        """The memory as bytes, deferred turns and counters included; equal content gives equal bytes."""
        async with self._lock:
            return self._packed()

    async def restore(self, snapshot: Snapshot) -> None:
        """Become that memory.

        Raises:
            EmbedderMismatchError: The stored vectors do not fit the embedder.
            BackendError: Damaged, or of another architecture, scope or format.
        """
        async with self._lock:
            context = self._opened("restore")
            memory, stored = unpack(self.architecture.name, context.scope, snapshot)
            context.store.restore(stored)
            ledger = memory.ledger
            ledger.covered = {
                source.turn_id
                for item in context.store.items(tombstones=True)
                for source in item.sources
                if source.turn_id not in ledger.dropped
            }
            ledger.deferred = dict.fromkeys(
                turn for turn in ledger.written if turn not in ledger.covered and turn not in ledger.dropped
            )
            self._memory, self._outage = memory, None

    async def fork(self) -> MemoryBackend:
        """A second memory with the same content; what is done to one does not reach the other.

        Raises:
            BackendError: An endpoint keeps turns from the memory.
        """
        return await self._fork("fork")

    async def items(self) -> AsyncIterator[MemoryItem]:
        """Everything that is stored, tombstones included, in order of writing."""
        for item in self._opened("items").store.items(tombstones=True):
            yield item

    async def stats(self) -> Stats:
        """An audit; `bytes` is the size of the snapshot."""
        async with self._lock:
            memory, store = self._memory, self._opened("stats").store
            items = list(store.items(tombstones=True))
            live = [item for item in items if item.is_live]
            ledger = memory.ledger
            kept = {source.turn_id for item in live for source in item.sources}
            return Stats(
                items_by_kind=dict(sorted(Counter(item.kind for item in live).items())),
                tombstones=len(items) - len(live),
                bytes=len(self._packed().data),
                turns_written=len(ledger.written),
                turns_covered=len(ledger.covered),
                turns_deferred=len(ledger.deferred),
                turns_dropped=ledger.dropped_by_reason,
                turns_forgotten=len(ledger.covered - kept),
                parse_failures=memory.parse_failures,
                usage=memory.usage,
                provenance_width_mean=sum(len(item.sources) for item in live) / len(live) if live else None,
                provenance_methods=dict(sorted(Counter(s.method for item in live for s in item.sources).items())),
            )

    def estimate(self, history: Sequence[Turn]) -> Usage:
        """Texts that ingesting this history would embed, and what it would ask a model."""
        return self.architecture.asks(history) + Usage(embedded_texts=len(self.architecture.texts_to_embed(history)))

    async def close(self) -> None:
        """Release the store; a closed memory cannot be used again."""
        if self._context is not None:
            self._context.store.close()

    def _new_store(self, ports: Ports) -> MemoryStore:
        if self.architecture.new_store is None:
            raise ConfigError(f"{self.architecture.name} names no store")
        return self.architecture.new_store(ports)

    def _opened(self, phase: str) -> MemoryContext:
        if self._context is None:
            raise BackendError("the memory is not open", phase=phase)
        return self._context

    def _packed(self) -> Snapshot:
        context = self._opened("snapshot")
        return pack(self.architecture.name, context.scope, self._memory, context.store.snapshot())

    def _whole(self, phase: str) -> MemoryContext:
        """The open memory; one that lacks turns must not be asked, because what it finds would count as its best."""
        context = self._opened(phase)
        if self._memory.backlog:
            raise self._behind("an endpoint keeps turns from the memory", phase) from self._outage
        return context

    def _behind(self, what: str, phase: str) -> BackendError:
        why = "" if self._outage is None else f"; {self._outage.cause}: {self._outage}"
        return BackendError(f"{what}{why}", phase=phase, turn_ids=list(self._memory.ledger.deferred))

    async def _fork(self, phase: str) -> GraphBackend:
        context, other = self._whole(phase), GraphBackend(self.architecture)
        await other.open(context.scope, cast("Ports", self._given))
        async with self._lock:
            other._opened(phase).store.become(context.store)
            other._memory = self._memory.copy()
        return other

    async def _take(self, event: WriteEvent, offered: Sequence[TurnId], phase: str) -> WriteReceipt:
        """Run the WRITE graph for the backlog and this event, in order, until one fails at an endpoint."""
        memory, receipt = self._memory, WriteReceipt(())
        memory.backlog = (*memory.backlog, event)
        self._outage = None
        try:
            while memory.backlog:
                receipt = _joined(receipt, await self._run(memory.backlog[0], phase))
                memory.backlog = memory.backlog[1:]
        except EndpointError as error:
            self._outage = error
        except BackendError:
            self._withdraw(event)
            raise
        held = [*memory.waiting, *(kept.turn.turn_id for kept in memory.backlog if kept.turn is not None)]
        memory.ledger.check(held, phase)
        reported = tuple(dict.fromkeys((*offered, *receipt.turn_ids)))
        return replace(
            receipt,
            turn_ids=reported,
            deferred=tuple(turn for turn in reported if turn in memory.ledger.deferred),
        )

    def _withdraw(self, event: WriteEvent) -> None:
        self._memory.backlog = tuple(held for held in self._memory.backlog if held is not event)

    async def _run(self, event: WriteEvent, phase: str) -> WriteReceipt:
        """One run of the WRITE graph; what it made is entered in the ledger."""
        memory = self._memory
        given = WriteState(event=event, buffer=memory.buffer, waiting=memory.waiting)
        if memory.admission is not None:
            given["admission"] = memory.admission
        with metering() as failed:
            try:
                state = cast("WriteState", await self._invoke(self.architecture.write_graph, given))
            except EndpointError:
                memory.usage = memory.usage + failed.usage
                raise
            except MnemoscopeError:
                raise
            except Exception as error:
                turn_ids = [] if event.turn is None else [event.turn.turn_id]
                raise BackendError(f"{type(error).__name__}: {error}", phase=phase, turn_ids=turn_ids) from error
        memory.buffer, memory.waiting, memory.admission = state["buffer"], state["waiting"], state.get("admission")
        receipt = self._settled(state, phase)
        memory.usage = memory.usage + receipt.usage
        memory.parse_failures += receipt.parse_failures
        return receipt

    def _settled(self, state: WriteState, phase: str) -> WriteReceipt:
        ledger, store = self._memory.ledger, self._opened(phase).store
        added, updated = state.get("added", ()), state.get("updated", ())
        dropped = state.get("dropped", {})
        covered = ledger.cover([store.get(ItemId(item_id)) for item_id in (*added, *updated)], phase)
        return WriteReceipt(
            turn_ids=(*covered, *ledger.drop(dropped, phase)),
            added=added,
            updated=updated,
            invalidated=state.get("invalidated", ()),
            dropped=dropped,
            usage=state.get("usage", Usage()),
            parse_failures=state.get("parse_failures", 0),
        )

    async def _read(self, context: MemoryContext, query: Query, budget: Budget, now: datetime | None) -> Retrieval:
        try:
            state = await self._invoke(self.architecture.read_graph, ReadState(query=query, budget=budget, now=now))
            retrieval = cast("Retrieval", state["retrieval"])
        except MnemoscopeError:
            raise
        except Exception as error:
            raise BackendError(f"{type(error).__name__}: {error}", phase="retrieve") from error
        found = replace(
            retrieval,
            usage=state.get("usage", Usage()),
            ranked=self.capabilities.ranks,
            parse_failures=state.get("parse_failures", 0),
        )
        if (failure := state.get("outage")) is not None:
            raise UnfinishedReadError(failure, found) from failure
        return found

    async def _invoke(self, graph: Any, state: Any) -> dict[str, Any]:
        config = {"recursion_limit": RECURSION_LIMIT}
        try:
            return cast("dict[str, Any]", await graph.ainvoke(state, config, context=self._context))
        except GraphRecursionError:
            raise RuntimeError(f"the graph has no way out: it was stopped after {RECURSION_LIMIT} steps") from None


def _joined(first: WriteReceipt, second: WriteReceipt) -> WriteReceipt:
    return WriteReceipt(
        turn_ids=(*first.turn_ids, *second.turn_ids),
        added=(*first.added, *second.added),
        updated=(*first.updated, *second.updated),
        invalidated=(*first.invalidated, *second.invalidated),
        dropped={**first.dropped, **second.dropped},
        usage=first.usage + second.usage,
        parse_failures=first.parse_failures + second.parse_failures,
    )
