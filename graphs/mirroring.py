"""A mirrored memory: one memory per person of a talk among peers, each person the user of their own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId, SessionId, TurnId, canonical_json, sha256_of
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture
from mnemoscope.graphs.backend import BackendFactory, MemoryBackend, Ports, ReadMode
from mnemoscope.graphs.nodes.read import fit_latest, fuse_ranks
from mnemoscope.memory_backends.budgeting import fit
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
from mnemoscope.scenarios.records import Scenario, Turn
from mnemoscope.scenarios.speakers import SpeakerMapping, from_side, peers_of

__all__ = ["MirroredBackend", "memory_of"]

_SCHEMA_VERSION = 1
_COVERED, _DEFERRED = "covered", "deferred"


class MirroredBackend:
    """The same history in one memory per person: there this person is the user, and the others are the assistant.

    A query by one of the people is answered by their own memory, as LoCoMo-Conv routes it; any other is answered by
    all, and what they find is merged: rankings by reciprocal rank fusion, blocks in the conversation's order, the same
    text once. Ids of items begin with the person's name. It costs as much as its memories together.

    Args:
        make: Makes one memory.
        people: Who talks, two or more.
    """

    def __init__(self, make: BackendFactory, people: Sequence[str]) -> None:
        self._make, self._people = make, tuple(people)
        self._sides: tuple[MemoryBackend, ...] = tuple(make() for _ in people)
        self._fates: tuple[dict[TurnId, str], ...] = tuple({} for _ in people)
        self._scope: Scope | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Those of its memories."""
        return self._sides[0].capabilities

    async def open(self, scope: Scope, ports: Ports) -> None:
        """Start empty for this scope."""
        self._scope = scope
        for side in self._sides:
            await side.open(scope, ports)

    async def write(self, turn: Turn) -> WriteReceipt:
        """Take one turn into every memory.

        Raises:
            BackendError: It was written before, or a memory failed; offered again, only those that failed take it.
        """
        if all(turn.turn_id in fates for fates in self._fates):
            raise BackendError("the turn was written before", phase="write", turn_ids=[turn.turn_id])
        receipts = []
        for person, side, fates in zip(self._people, self._sides, self._fates, strict=True):
            if turn.turn_id not in fates:
                receipts.append(self._noted(fates, person, await side.write(from_side(turn, person, self._people))))
        return self._joined(receipts)

    async def flush(self, reason: FlushReason, session_id: SessionId | None, now: datetime | None) -> WriteReceipt:
        """End something in every memory."""
        return self._joined(
            [
                self._noted(fates, person, await side.flush(reason, session_id, now))
                for person, side, fates in zip(self._people, self._sides, self._fates, strict=True)
            ]
        )

    async def retrieve(self, query: Query, budget: Budget, now: datetime | None, mode: ReadMode = "pure") -> Retrieval:
        """Ask the asker's own memory, or all of them."""
        places = [self._people.index(query.asker)] if query.asker in self._people else range(len(self._people))
        found = []
        for place in places:
            own = await self._sides[place].retrieve(query, budget, now, mode)
            items = tuple(_named(item, self._people[place]) for item in own.items)
            found.append(replace(own, items=items))
        return found[0] if len(found) == 1 else _merged(found, budget)

    async def snapshot(self) -> Snapshot:
        """All memories in one; equal content gives equal bytes."""
        parts = [await side.snapshot() for side in self._sides]
        header = {
            "people": list(self._people),
            "fates": [dict(fates) for fates in self._fates],
            "parts": [[len(p.data), p.schema_version, p.sha256, p.embedder_id, p.dim] for p in parts],
        }
        data = canonical_json(header).encode("utf-8", "surrogatepass") + b"\n" + b"".join(p.data for p in parts)
        return Snapshot(data, _SCHEMA_VERSION, sha256_of(data), parts[0].embedder_id, parts[0].dim)

    async def restore(self, snapshot: Snapshot) -> None:
        """Become that memory.

        Raises:
            EmbedderMismatchError: Stored vectors do not fit the embedder.
            BackendError: Damaged, or of other people, another scope or format.
        """
        header, rest = _opened(snapshot)
        if tuple(header["people"]) != self._people:
            raise BackendError("the snapshot is of other people", phase="restore")
        for side, (length, version, sha, embedder, dim) in zip(self._sides, header["parts"], strict=True):
            await side.restore(Snapshot(rest[:length], version, sha, embedder, dim))
            rest = rest[length:]
        self._fates = tuple({TurnId(name): fate for name, fate in fates.items()} for fates in header["fates"])

    async def fork(self) -> MemoryBackend:
        """Forks of all memories."""
        other = MirroredBackend(self._make, self._people)
        other._scope = self._scope
        other._sides = tuple([await side.fork() for side in self._sides])
        other._fates = tuple(dict(fates) for fates in self._fates)
        return other

    async def items(self) -> AsyncIterator[MemoryItem]:
        """Everything that is stored, person by person."""
        for person, side in zip(self._people, self._sides, strict=True):
            async for item in side.items():
                yield _named(item, person)

    async def stats(self) -> Stats:
        """One audit of all: items and usage add up, each turn counts once."""
        parts = [await side.stats() for side in self._sides]
        fates = Counter(self._fate(turn_id) for turn_id in self._written())
        items = [item async for item in self.items()]
        live = [item for item in items if item.is_live]
        kept = {source.turn_id for item in live for source in item.sources}
        covered = [turn_id for turn_id in self._written() if self._fate(turn_id) == _COVERED]
        return Stats(
            items_by_kind=dict(sorted(Counter(item.kind for item in live).items())),
            tombstones=len(items) - len(live),
            bytes=sum(part.bytes for part in parts),
            turns_written=len(self._written()),
            turns_covered=fates.pop(_COVERED, 0),
            turns_deferred=fates.pop(_DEFERRED, 0),
            turns_dropped=dict(sorted(fates.items())),
            turns_forgotten=sum(turn_id not in kept for turn_id in covered),
            parse_failures=sum(part.parse_failures for part in parts),
            usage=sum((part.usage for part in parts), Usage()),
            provenance_width_mean=sum(len(item.sources) for item in live) / len(live) if live else None,
            provenance_methods=dict(sorted(Counter(s.method for item in live for s in item.sources).items())),
        )

    def estimate(self, history: Sequence[Turn]) -> Usage:
        """What all memories would cost together."""
        views = ([from_side(turn, person, self._people) for turn in history] for person in self._people)
        costs = (side.estimate(view) for side, view in zip(self._sides, views, strict=True))
        return sum(costs, Usage())

    async def close(self) -> None:
        """Release all memories."""
        for side in self._sides:
            await side.close()

    def texts_to_embed(self, turns: Sequence[Turn], texts: Callable[[Sequence[Turn]], Sequence[str]]) -> Sequence[str]:
        """What taking in whole sessions will embed, over all memories.

        Args:
            turns: Whole sessions.
            texts: What one memory embeds of them.
        """
        return [
            text for person in self._people for text in texts([from_side(turn, person, self._people) for turn in turns])
        ]

    def _written(self) -> Mapping[TurnId, str]:
        return self._fates[0]

    def _fate(self, turn_id: TurnId) -> str:
        """A turn's fate over all memories: covered by any, else deferred by any, else dropped as the first says."""
        fates = [own[turn_id] for own in self._fates if turn_id in own]
        return next((fate for fate in (_COVERED, _DEFERRED) if fate in fates), fates[0])

    def _noted(self, fates: dict[TurnId, str], person: str, receipt: WriteReceipt) -> WriteReceipt:
        fates.update(dict.fromkeys(receipt.turn_ids, _COVERED))
        fates.update(dict.fromkeys(receipt.deferred, _DEFERRED))
        fates.update(receipt.dropped)
        return replace(
            receipt,
            added=tuple(_id(name, person) for name in receipt.added),
            updated=tuple(_id(name, person) for name in receipt.updated),
            invalidated=tuple(_id(name, person) for name in receipt.invalidated),
        )

    def _joined(self, receipts: Sequence[WriteReceipt]) -> WriteReceipt:
        turn_ids = tuple(dict.fromkeys(turn_id for receipt in receipts for turn_id in receipt.turn_ids))
        fates = {turn_id: self._fate(turn_id) for turn_id in turn_ids}
        return WriteReceipt(
            turn_ids=turn_ids,
            added=tuple(name for receipt in receipts for name in receipt.added),
            updated=tuple(name for receipt in receipts for name in receipt.updated),
            invalidated=tuple(name for receipt in receipts for name in receipt.invalidated),
            deferred=tuple(turn_id for turn_id, fate in fates.items() if fate == _DEFERRED),
            dropped={turn_id: fate for turn_id, fate in fates.items() if fate not in (_COVERED, _DEFERRED)},
            usage=sum((receipt.usage for receipt in receipts), Usage()),
            parse_failures=sum(receipt.parse_failures for receipt in receipts),
        )


def memory_of(architecture: Architecture, scenario: Scenario, speakers: SpeakerMapping) -> MemoryBackend:
    """An unopened memory for a scenario: a mirrored one where that is asked for and makes a difference.

    Args:
        architecture: Only one that works on pairs is mirrored; to any other, roles make no difference.
        scenario: Only one of two people or more among themselves is mirrored.
        speakers: How they are shown.
    """
    people = peers_of(scenario)
    if speakers == "mirrored" and architecture.capabilities.needs_pairs and len(people) > 1:
        return MirroredBackend(architecture.backend, people)
    return architecture.backend()


def _merged(found: Sequence[Retrieval], budget: Budget) -> Retrieval:
    """What several memories found, as one retrieval within the budget."""
    first = found[0]
    known: dict[str, MemoryItem] = {}
    lists = [[known.setdefault(item.text, item) for item in own.items] for own in found]
    if first.ranked:
        pairs = fuse_ranks(*lists)
        merged = fit([item.ranked(rank, score) for rank, (item, score) in enumerate(pairs, start=1)], budget)
    else:
        given = {item.id: item for own, items in zip(found, lists, strict=True) for item in items[: own.given]}
        block = sorted(given.values(), key=lambda item: (item.seq_from, item.seq_to, item.id))
        merged = fit_latest([item.ranked(rank, None) for rank, item in enumerate(block, start=1)], budget)
    return replace(
        merged,
        usage=sum((own.usage for own in found), Usage()),
        ranked=first.ranked,
        mutated=any(own.mutated for own in found),
        truncated=merged.truncated or any(own.truncated for own in found),
        blank_query=first.blank_query,
    )


def _named(item: MemoryItem, person: str) -> MemoryItem:
    """An item under an id that no other person's memory has."""
    return replace(
        item,
        id=_id(item.id, person),
        links=tuple(_id(link, person) for link in item.links),
        supersedes=None if item.supersedes is None else _id(item.supersedes, person),
    )


def _id(name: ItemId, person: str) -> ItemId:
    return ItemId(f"{person}/{name}")


def _opened(snapshot: Snapshot) -> tuple[dict[str, Any], bytes]:
    if sha256_of(snapshot.data) != snapshot.sha256 or snapshot.schema_version != _SCHEMA_VERSION:
        raise BackendError("the snapshot is damaged or of another format", phase="restore")
    head, _, rest = snapshot.data.partition(b"\n")
    try:
        header = json.loads(head.decode("utf-8", "surrogatepass"))
        if not isinstance(header, dict) or len(header["parts"]) != len(header["people"]):
            raise ValueError("other parts")
    except (ValueError, KeyError, TypeError) as error:
        raise BackendError("the snapshot is not one of a mirrored memory", phase="restore") from error
    return header, rest
