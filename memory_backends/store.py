"""The store port: primitives to keep items and to find them again. Control flow lives in the graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Snapshot, Source

__all__ = ["Hit", "LexicalIndex", "MemoryStore", "VectorIndex"]

Hit = tuple[ItemId, float]
"""An item's id and its score, higher is better."""


class VectorIndex(Protocol):
    """Nearest vectors by inner product of unit vectors; exact or approximate, in process or served."""

    @property
    def dim(self) -> int:
        """Length of every vector."""

    def upsert(self, ids: Sequence[ItemId], vectors: Vectors) -> None:
        """Add vectors, or replace those of known ids."""

    def remove(self, ids: Sequence[ItemId]) -> None:
        """Forget vectors; unknown ids are an error."""

    def search(self, vector: np.ndarray, k: int, among: np.ndarray | None = None) -> list[Hit]:
        """The `k` best, best first; more only where the last place is tied. An empty index gives an empty list.

        `among` says of each entry, in order of insertion, whether it may be found; None: all.
        """

    def vectors(self, ids: Sequence[ItemId]) -> Vectors:
        """The stored vectors of these ids, in this order."""

    def become(self, other: VectorIndex, ids: Sequence[ItemId]) -> None:
        """Hold what another index does, `ids` in order of insertion; neither reaches the other afterwards."""

    def __len__(self) -> int: ...

    def close(self) -> None:
        """Release files and connections."""


class LexicalIndex(Protocol):
    """BM25 over script-aware tokens. Zero-score items are never hits."""

    def upsert(self, ids: Sequence[ItemId], texts: Sequence[str]) -> None:
        """Add texts, or replace those of known ids; the index is rebuilt lazily at the next search."""

    def remove(self, ids: Sequence[ItemId]) -> None:
        """Forget texts; unknown ids are an error."""

    def search(self, text: str, k: int, among: np.ndarray | None = None) -> list[Hit]:
        """The `k` best with a score above zero, best first; more only where the last place is tied.

        `among` says of each entry, in order of insertion, whether it may be found; None: all.
        """

    def fork(self) -> LexicalIndex:
        """Another index with the same content; neither reaches the other afterwards."""

    def __len__(self) -> int: ...


class MemoryStore(Protocol):
    """Items with provenance, versions and tombstones, and the indexes over them.

    Searches return items that held at `now` (observed by then, and not yet replaced or invalidated; `None`: at the
    end of what is stored), ordered by score, then time, then id, with `score` and `rank` set.
    """

    def put(self, items: Sequence[MemoryItem], vectors: Vectors | None = None) -> None:
        """Add new items, with their vectors where the store has a vector index; a known id is an error."""

    def update(
        self,
        item_id: ItemId,
        *,
        text: str,
        sources: Sequence[Source],
        at: datetime | None,
        vector: Vectors | None = None,
        seq: int | None = None,
    ) -> MemoryItem:
        """Replace an item by a new version under a new id; the old one becomes a tombstone, sources are united.

        `seq` is the index of the latest new source turn; None keeps the old one.
        """

    def invalidate(self, item_id: ItemId, *, at: datetime | None) -> MemoryItem:
        """Turn an item into a tombstone; it is kept and no longer found."""

    def amend(
        self,
        item_id: ItemId,
        *,
        sources: Sequence[Source] = (),
        links: Sequence[ItemId] | None = None,
        attrs: Mapping[str, str] | None = None,
        text: str | None = None,
        vector: Vectors | None = None,
    ) -> MemoryItem:
        """Change a live item in place: further sources, links, attributes, or how its unchanged content is put."""

    def get(self, item_id: ItemId) -> MemoryItem:
        """One item by id, tombstones included; `KeyError` if there is none."""

    def search_vector(
        self, vector: np.ndarray, k: int, *, now: datetime | None = None, kinds: Collection[ItemKind] | None = None
    ) -> list[MemoryItem]:
        """Nearest items by vector; `kinds` leaves out all others."""

    def search_lexical(
        self, text: str, k: int, *, now: datetime | None = None, kinds: Collection[ItemKind] | None = None
    ) -> list[MemoryItem]:
        """Best items by BM25; `kinds` leaves out all others."""

    def vectors(self, ids: Sequence[ItemId]) -> Vectors:
        """The stored vectors of items, in this order; `KeyError` for an unknown id."""

    def items(self, *kinds: ItemKind, tombstones: bool = False) -> Iterator[MemoryItem]:
        """Stored items in order of writing, of these kinds; of all where none is named."""

    def held(self, now: datetime | None, *kinds: ItemKind) -> list[MemoryItem]:
        """The items that held at `now`, as a search would find them, in order of writing."""

    def __len__(self) -> int: ...

    def snapshot(self) -> Snapshot:
        """The whole store as canonical bytes: equal content gives equal bytes."""

    def restore(self, snapshot: Snapshot) -> None:
        """Become what was stored; raises `EmbedderMismatchError` where the vectors do not fit."""

    def become(self, other: MemoryStore) -> None:
        """Hold what another store of the same making does, as from its snapshot; neither reaches the other later."""

    def close(self) -> None:
        """Release indexes."""
