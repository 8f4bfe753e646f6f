"""The conformance kit: what every memory must do, checked over a factory of memories."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemoscope.core.identity import ScenarioId, TurnId
from mnemoscope.graphs.backend import BackendFactory, MemoryBackend, Ports
from mnemoscope.graphs.conformance.material import OneGold, conformance_ports
from mnemoscope.graphs.conformance.report import (
    ConformanceReport,
    ConformanceRow,
    NotApplicableError,
    ViolationError,
)
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Retrieval, Scope, WriteReceipt
from mnemoscope.scenarios.records import Gold, MemoryPool, Turn

__all__ = ["Fates", "Kit", "Row", "check_conformance", "require", "run_conformance"]

ROW_SECONDS = 300.0
DEFAULT_SIZE = 600
MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One contract: its id, its title and the check, which raises `ViolationError` or `NotApplicableError`."""

    id: str
    title: str
    check: Callable[[Kit], Awaitable[None]]


@dataclass(slots=True)
class Fates:
    """What a memory's receipts said of each turn, the newest word counting."""

    offered: dict[TurnId, None]
    deferred: set[TurnId]
    dropped: dict[TurnId, str]

    def note(self, receipt: WriteReceipt) -> None:
        """Take in one receipt."""
        self.deferred.difference_update(receipt.turn_ids)
        self.deferred.update(receipt.deferred)
        self.dropped.update(receipt.dropped)


@dataclass(frozen=True, slots=True)
class Kit:
    """What rows are given: a way to open memories and to feed and ask them."""

    factory: BackendFactory
    ports_factory: Callable[[], Ports]
    size: int = DEFAULT_SIZE
    """Turns of the long history."""
    gold: OneGold = field(default_factory=OneGold)
    """What privileged memories are told to find."""

    async def open(self, name: str = "conformance", ports: Ports | None = None) -> MemoryBackend:
        """A new memory of a scope."""
        backend = self.factory()
        await backend.open(Scope(ScenarioId(name)), replace(ports or self.ports_factory(), gold=self.gold))
        return backend

    async def fed(self, turns: Sequence[Turn], name: str = "conformance") -> tuple[MemoryBackend, Fates]:
        """A new memory that has taken in a whole history."""
        backend = await self.open(name)
        fates = await self.feed(backend, turns)
        require(not fates.deferred, f"turns are still deferred after the end: {_listed(sorted(fates.deferred))}")
        return backend, fates

    async def feed(
        self, backend: MemoryBackend, turns: Sequence[Turn], *, ends: bool = True, fates: Fates | None = None
    ) -> Fates:
        """Write turns, end each session and, with `ends`, the history."""
        fates = fates or Fates({}, set(), {})
        for number, turn in enumerate(turns):
            fates.offered[turn.turn_id] = None
            fates.note(await backend.write(turn))
            following = turns[number + 1] if number + 1 < len(turns) else None
            if following is not None and following.session_id != turn.session_id:
                fates.note(await backend.flush("session_end", turn.session_id, turn.at))
        if ends and turns:
            fates.note(await backend.flush("session_end", turns[-1].session_id, turns[-1].at))
            fates.note(await backend.flush("history_end", None, turns[-1].at))
        return fates

    async def ask(
        self,
        backend: MemoryBackend,
        text: str,
        *,
        budget: Budget | None = None,
        now: datetime | None = None,
        gold: Sequence[str] = (),
        pool: MemoryPool | None = None,
    ) -> Retrieval:
        """A pure read; `gold` is what a privileged memory is told to find."""
        self.gold.current = Gold(evidence=tuple(gold))
        return await backend.retrieve(Query(text, probe_id="probe", pool=pool), budget or Budget(), now, "pure")

    async def stored(self, backend: MemoryBackend) -> list[MemoryItem]:
        """Every stored item, tombstones included."""
        return [item async for item in backend.items()]

    async def covered(self, backend: MemoryBackend, fates: Fates) -> None:
        """Each offered turn is covered by a stored item, deferred, or dropped with a reason; exactly one of them."""
        sources = {source.turn_id for item in await self.stored(backend) for source in item.sources}
        lost = [turn for turn in fates.offered if turn not in sources | fates.deferred | fates.dropped.keys()]
        require(not lost, f"turns are neither covered, deferred nor dropped: {_listed(lost)}")
        nameless = [turn for turn, reason in fates.dropped.items() if not reason]
        require(not nameless, f"turns were dropped without a reason: {_listed(nameless)}")
        both = [turn for turn in fates.deferred if turn in fates.dropped]
        require(not both, f"turns are both deferred and dropped: {_listed(both)}")
        invented = sorted(sources - fates.offered.keys())
        require(not invented, f"items name turns that were never written: {_listed(invented)}")
        stats = await backend.stats()
        require(stats.turns_written == len(fates.offered), f"stats count {stats.turns_written} turns written")
        total = stats.turns_covered + stats.turns_deferred + sum(stats.turns_dropped.values())
        require(total == stats.turns_written, f"covered, deferred and dropped add up to {total}, not to all turns")
        dropped = sum(stats.turns_dropped.values())
        require(dropped == len(fates.dropped), f"stats count {dropped} dropped turns, receipts {len(fates.dropped)}")

    def may_drop(self, backend: MemoryBackend, fates: Fates, turns: Sequence[str]) -> None:
        """The row does not apply where a memory that says so drops turns; one that keeps turns must not drop these."""
        gone = [turn for turn in turns if turn in fates.dropped]
        if gone and not backend.capabilities.keeps_turns:
            raise NotApplicableError(f"drops turns by policy ({fates.dropped[TurnId(gone[0])]})")
        require(not gone, f"turns with something to remember are dropped: {_listed(gone)}")

    async def found(self, backend: MemoryBackend, fates: Fates, text: str, *wanted: str) -> Retrieval:
        """Ask, and require these turns among the sources of what is found."""
        self.may_drop(backend, fates, wanted)
        result = await self.ask(backend, text, gold=wanted)
        reached = {source.turn_id for item in result.items for source in item.sources}
        missing = [turn for turn in wanted if turn not in reached]
        if missing and backend.capabilities.selective:
            raise NotApplicableError(f"chooses what is within reach without the query; {_listed(missing)} is not")
        require(not missing, f"{text!r} does not find {_listed(missing)}")
        return result


def require(holds: bool, otherwise: str) -> None:
    """Raise `ViolationError` where a contract does not hold."""
    if not holds:
        raise ViolationError(otherwise)


async def check_conformance(
    factory: BackendFactory,
    *,
    ports_factory: Callable[[], Ports] = conformance_ports,
    size: int = DEFAULT_SIZE,
    rows: Sequence[str] | None = None,
) -> ConformanceReport:
    """Run the kit.

    Args:
        factory: Makes unopened memories.
        ports_factory: Makes the ports of each; deterministic, the same each time.
        size: Turns of the long history of C22.
        rows: Ids of the rows to run; None: all.

    Returns:
        One row per contract; a row never raises.
    """
    kit = Kit(factory, ports_factory, size)
    return ConformanceReport(tuple([await _run(row, kit) for row in all_rows() if rows is None or row.id in rows]))


def run_conformance(
    factory: BackendFactory,
    *,
    ports_factory: Callable[[], Ports] = conformance_ports,
    size: int = DEFAULT_SIZE,
    rows: Sequence[str] | None = None,
) -> ConformanceReport:
    """`check_conformance` for callers without an event loop; inside a running loop it uses a thread of its own."""

    def run() -> ConformanceReport:
        return asyncio.run(check_conformance(factory, ports_factory=ports_factory, size=size, rows=rows))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run).result()


def all_rows() -> tuple[Row, ...]:
    """Every row, in order of ids."""
    from mnemoscope.graphs.conformance import rows_read, rows_state, rows_write

    return tuple(sorted((*rows_write.ROWS, *rows_read.ROWS, *rows_state.ROWS), key=lambda row: row.id))


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:MOST_SHOWN]))
    return shown if len(ids) <= MOST_SHOWN else f"{shown} and {len(ids) - MOST_SHOWN} more"


async def _run(row: Row, kit: Kit) -> ConformanceRow:
    try:
        await asyncio.wait_for(row.check(kit), ROW_SECONDS)
    except NotApplicableError as reason:
        return ConformanceRow(row.id, row.title, "not_applicable", str(reason))
    except ViolationError as broken:
        return ConformanceRow(row.id, row.title, "failed", str(broken))
    except Exception as error:
        return ConformanceRow(row.id, row.title, "failed", f"{type(error).__name__}: {error}")
    return ConformanceRow(row.id, row.title, "passed")
