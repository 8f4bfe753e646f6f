"""What `mem0ai` remembers, with provenance: the package's memory and one item per memory beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId, canonical_json, sha256_of
from mnemoscope.core.ports import Embedder
from mnemoscope.memory_backends.adapters.mem0_client import Mem0Client, Memory
from mnemoscope.memory_backends.indexes.exact import ExactVectorIndex
from mnemoscope.memory_backends.item_store import ItemStore
from mnemoscope.memory_backends.record import MemoryItem, Snapshot
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["Mem0Store"]

SCHEMA_VERSION = 1
_NEVER = datetime.max.replace(tzinfo=UTC)


class Mem0Store(ItemStore):
    """Items that mirror the package's memories one to one; `client` is the package, which ranks.

    The package names memories at random and stamps them with the wall clock, so a snapshot holds the items, their
    vectors and the message buffer, and restoring adds them to a new memory of the package. Equal content gives equal
    bytes.

    Args:
        embedder: Whose vectors they are.
    """

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(ExactVectorIndex(embedder.dim), embedder_id=embedder.id)
        self._dimension = embedder.dim
        self._by_memory: dict[str, ItemId] = {}
        self.client = Mem0Client(embedder.dim)

    def mirror(self, items: Sequence[MemoryItem], memories: Sequence[Memory]) -> None:
        """Note what the package has just stored: one item per memory, with the same text."""
        if items:
            self.put(items, np.stack([memory.vector for memory in memories]))
            self._by_memory.update((memory.id, item.id) for memory, item in zip(memories, items, strict=True))

    def find(self, text: str) -> MemoryItem | None:
        """The oldest item with exactly this text; None where there is none."""
        return next((item for item in self.items() if item.text == text), None)

    async def search(self, text: str, k: int, now: datetime | None, embedder: Embedder) -> tuple[MemoryItem, ...]:
        """The package's best `k` memories known at `now`, ordered by its score, then time, then id."""
        hits = await self.client.search(text, k, now, embedder) if len(self) else []
        found = [self.get(self._by_memory[memory_id]).ranked(1, score) for memory_id, score in hits]
        found.sort(key=lambda item: (-(item.score or 0.0), item.seq_to, item.observed_at or _NEVER, item.id))
        return tuple(replace(item, rank=rank) for rank, item in enumerate(found, start=1))

    def snapshot(self) -> Snapshot:
        """Items, vectors and the message buffer."""
        inner = super().snapshot()
        header = canonical_json({"items": inner.schema_version, "messages": self.client.messages})
        data = header.encode("utf-8", "surrogatepass") + b"\n" + inner.data
        return Snapshot(data, SCHEMA_VERSION, sha256_of(data), inner.embedder_id, inner.dim)

    def restore(self, snapshot: Snapshot) -> None:
        """Become what was stored, in a new memory of the package.

        Raises:
            EmbedderMismatchError: The vectors were made by another embedder or have another dimension.
            BackendError: The snapshot is damaged or of another format; nothing has changed.
        """
        inner, messages = _parts(snapshot)
        super().restore(inner)
        self.client.close()
        self.client = Mem0Client(self._dimension)
        items = list(self.items(tombstones=True))
        rows = self.vectors([item.id for item in items])
        self._by_memory = {
            self.client.put_back(item.text, row, item.observed_at): item.id
            for item, row in zip(items, rows, strict=True)
        }
        self.client.put_back_messages(messages)

    def become(self, other: MemoryStore) -> None:
        """Hold what another one does, in a new memory of the package."""
        self.restore(other.snapshot())

    def close(self) -> None:
        """Release the package's stores."""
        self.client.close()
        super().close()


def _parts(snapshot: Snapshot) -> tuple[Snapshot, list[list[str]]]:
    if sha256_of(snapshot.data) != snapshot.sha256:
        raise BackendError("the snapshot is damaged: its sha256 does not match its bytes", phase="restore")
    line, _, rest = snapshot.data.partition(b"\n")
    try:
        header = json.loads(line.decode("utf-8", "surrogatepass"))
        version, messages = header["items"], header["messages"]
    except (ValueError, KeyError, TypeError) as error:
        raise BackendError(f"the snapshot cannot be read ({type(error).__name__}: {error})", phase="restore") from error
    if snapshot.schema_version != SCHEMA_VERSION:
        raise BackendError(
            f"the snapshot has format {snapshot.schema_version}, this version reads {SCHEMA_VERSION}", phase="restore"
        )
    return Snapshot(rest, version, sha256_of(rest), snapshot.embedder_id, snapshot.dim), messages
