"""Items with provenance, versions and tombstones, and the vector and lexical indexes over them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from mnemoscope.core.errors import BackendError, EmbedderMismatchError
from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends import _snapshot_format
from mnemoscope.memory_backends._table import ItemTable
from mnemoscope.memory_backends.indexes.lexical import Bm25Index
from mnemoscope.memory_backends.record import PROVENANCE_ORDER, ItemKind, MemoryItem, Snapshot, Source
from mnemoscope.memory_backends.store import Hit, LexicalIndex, MemoryStore, VectorIndex

__all__ = ["ItemStore", "held_at", "united_sources"]

_ALWAYS = datetime.min.replace(tzinfo=UTC)
_NEVER = datetime.max.replace(tzinfo=UTC)


def held_at(item: MemoryItem, now: datetime | None) -> bool:
    """Whether an item was known and not yet replaced or invalidated at `now`; None: at the end of what is stored."""
    if now is None:
        return item.valid_to is None
    return (item.observed_at is None or item.observed_at <= now) and (item.valid_to is None or item.valid_to > now)


def united_sources(*groups: Sequence[Source]) -> tuple[Source, ...]:
    """Sources of all groups in order of first mention; a turn named twice keeps its tightest method and weight."""
    best: dict[TurnId, Source] = {}
    for source in (source for group in groups for source in group):
        other = best.setdefault(source.turn_id, source)
        if (PROVENANCE_ORDER.index(source.method), -source.weight) < (
            PROVENANCE_ORDER.index(other.method),
            -other.weight,
        ):
            best[source.turn_id] = source
    return tuple(best.values())


class ItemStore:
    """A `MemoryStore` in memory, over one vector index, one lexical index, both, or none.

    Tombstones stay in the indexes, so that a search at an earlier `now` finds what held then; BM25 frequencies
    therefore count them. Not safe for concurrent writers: a memory serialises its own calls.

    Args:
        vector_index: An empty index; then every item is put with its vector.
        lexical: True: BM25 with default parameters. An index: that one, empty.
        embedder_id: Whose vectors they are; restoring checks it.
        lexical_kinds: What the lexical index takes in, so that side tables change no word statistics; None: everything.
    """

    def __init__(
        self,
        vector_index: VectorIndex | None = None,
        lexical: bool | LexicalIndex = False,
        embedder_id: str | None = None,
        lexical_kinds: Collection[ItemKind] | None = None,
    ) -> None:
        self._items: list[MemoryItem] = []
        self._places: dict[ItemId, int] = {}
        self._table = ItemTable()
        self._vectors = vector_index
        self._words: LexicalIndex | None = (Bm25Index() if lexical else None) if isinstance(lexical, bool) else lexical
        self._embedder_id = embedder_id
        self._lexical_kinds = lexical_kinds
        self._snapshot: Snapshot | None = None

    def __len__(self) -> int:
        """Number of items, tombstones included."""
        return len(self._items)

    def put(self, items: Sequence[MemoryItem], vectors: Vectors | None = None) -> None:
        """Add new items, with one vector row each where the store has a vector index; all of them or none.

        Raises:
            BackendError: A known id, an id given twice, vectors missing or of another shape, or vectors without an
                index.
        """
        if not items:
            return
        ids = [item.id for item in items]
        known = next((i for i in ids if i in self._places), None)
        if known is not None or len(set(ids)) != len(ids):
            raise BackendError(f"item {known or ids[0]!r} is already stored", phase="write")
        if (vectors is None) != (self._vectors is None):
            have = "needs" if vectors is None else "has no index for"
            raise BackendError(f"this store {have} vectors", phase="write")
        if self._vectors is not None and vectors is not None:
            self._vectors.upsert(ids, vectors)
        self._index_words(items)
        self._take(
            [one if one.score is None and one.rank is None else replace(one, score=None, rank=None) for one in items]
        )
        self._snapshot = None

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
        """Replace an item by a new version; the old one becomes a tombstone at `at`.

        Args:
            item_id: A live item.
            text: The new text.
            sources: What the new text was made from; the old sources are kept with them.
            at: When the conversation stated it; None keeps the old time.
            vector: The new text's vector, where the store has a vector index.
            seq: Index of the latest new source turn; None keeps the old one.

        Returns:
            The new version, under a new id (`note-3` becomes `note-3~2`, then `note-3~3`).

        Raises:
            KeyError: No such item.
            BackendError: It is a tombstone already, or vectors are missing or do not fit.
        """
        old = self._live(item_id)
        root = old.id.removesuffix(f"~{old.version}") if old.version > 1 else old.id
        new = replace(
            old,
            id=ItemId(f"{root}~{old.version + 1}"),
            text=text,
            sources=united_sources(old.sources, sources),
            observed_at=at if at is not None else old.observed_at,
            valid_from=at if at is not None else old.valid_from,
            seq_to=old.seq_to if seq is None else max(old.seq_to, seq),
            version=old.version + 1,
            supersedes=old.id,
        )
        self.put([new], None if vector is None else np.atleast_2d(vector))
        self._bury(old, at)
        return new

    def invalidate(self, item_id: ItemId, *, at: datetime | None) -> MemoryItem:
        """Turn an item into a tombstone; it is kept, and found only by searches at an earlier time.

        Without a time it counts as invalid since it was observed.

        Raises:
            KeyError: No such item.
            BackendError: It is a tombstone already.
        """
        return self._bury(self._live(item_id), at)

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
        """Change a live item in place; its id, times and version stay, so a search at an earlier time sees it changed.

        What a memory comes to hold instead of something else is an `update`; this is for what is kept beside the
        content (who else said it, links, counters, tags) and for the way in which unchanged content is put.

        Args:
            item_id: A live item.
            sources: Further sources; none is lost.
            links: All links from now on; None keeps them.
            attrs: Attributes to set; others stay.
            text: The text from now on; None keeps it.
            vector: The new text's vector, where the store has a vector index and the text changes.

        Returns:
            The item as it is now.

        Raises:
            KeyError: No such item.
            BackendError: It is a tombstone, or a new text lacks its vector, or a vector comes without a text.
        """
        old = self._live(item_id)
        if (vector is not None) != (text is not None and self._vectors is not None):
            raise BackendError(f"a new text of item {item_id!r} and its vector go together", phase="write")
        if self._vectors is not None and vector is not None:
            self._vectors.upsert([item_id], np.atleast_2d(vector))
        new = replace(
            old,
            sources=united_sources(old.sources, sources),
            links=old.links if links is None else tuple(links),
            attrs={**old.attrs, **(attrs or {})},
            text=old.text if text is None else text,
        )
        if text is not None:
            self._index_words([new])
        self._items[self._places[item_id]] = new
        self._snapshot = None
        return new

    def get(self, item_id: ItemId) -> MemoryItem:
        """One item by id, tombstones included; `KeyError` if there is none."""
        return self._items[self._places[item_id]]

    def search_vector(
        self, vector: np.ndarray, k: int, *, now: datetime | None = None, kinds: Collection[ItemKind] | None = None
    ) -> list[MemoryItem]:
        """The `k` nearest items that held at `now`; a zero vector (a blank text) finds nothing.

        Args:
            vector: Of unit length, shape `(dim,)`.
            k: How many.
            now: None: at the end of what is stored.
            kinds: Only these; None: all.

        Raises:
            BackendError: The store has no vector index, or the vector does not fit it.
        """
        index = self._vectors
        if index is None:
            raise BackendError("this store has no vector index", phase="retrieve")
        return self._ranked(index.search(vector, k, self._findable(now, kinds)), k)

    def search_lexical(
        self, text: str, k: int, *, now: datetime | None = None, kinds: Collection[ItemKind] | None = None
    ) -> list[MemoryItem]:
        """The `k` best items by BM25 that held at `now`, all with a score above zero.

        Args:
            text: What to look for.
            k: How many.
            now: None: at the end of what is stored.
            kinds: Only these; None: all.

        Raises:
            BackendError: The store has no lexical index.
        """
        index = self._words
        if index is None:
            raise BackendError("this store has no lexical index", phase="retrieve")
        held = self._findable(now, kinds)
        if held is not None and self._lexical_kinds is not None:
            held = held[self._table.of(self._lexical_kinds)]
        return self._ranked(index.search(text, k, held), k)

    def vectors(self, ids: Sequence[ItemId]) -> Vectors:
        """The stored vectors of items, in this order; `KeyError` for an unknown id."""
        if self._vectors is None:
            raise BackendError("this store has no vector index", phase="retrieve")
        return self._vectors.vectors(ids)

    def items(self, *kinds: ItemKind, tombstones: bool = False) -> Iterator[MemoryItem]:
        """Stored items in order of writing, of these kinds; of all where none is named."""
        if not tombstones:
            return iter(self.held(None, *kinds))
        return iter(self._at(self._table.of(kinds)) if kinds else list(self._items))

    def held(self, now: datetime | None, *kinds: ItemKind) -> list[MemoryItem]:
        """The items that held at `now`, as a search would find them, in order of writing."""
        return self._at(self._table.held(now, kinds or None))

    def snapshot(self) -> Snapshot:
        """The whole store as canonical bytes: equal items in equal order give equal bytes."""
        if self._snapshot is None:
            vectors = None if self._vectors is None else self._vectors.vectors(list(self._places))
            self._snapshot = _snapshot_format.encode(self._items, vectors, self._embedder_id, self._dim())
        return self._snapshot

    def restore(self, snapshot: Snapshot) -> None:
        """Become what was stored; nothing changes where it cannot be read.

        Raises:
            EmbedderMismatchError: The vectors were made by another embedder or have another dimension.
            BackendError: The snapshot is damaged or of another format.
        """
        items, vectors, embedder_id, dim = _snapshot_format.decode(snapshot)
        if (embedder_id, dim) != (self._embedder_id, self._dim()):
            raise EmbedderMismatchError(
                stored_id=embedder_id or "no embedder",
                stored_dim=dim or 0,
                given_id=self._embedder_id or "no embedder",
                given_dim=self._dim() or 0,
            )
        before = list(self._places)
        ids = [item.id for item in items]
        if self._vectors is not None and vectors is not None:
            self._vectors.remove(before)
            self._vectors.upsert(ids, vectors)
        if self._words is not None:
            self._words.remove([item.id for item in self._items if self._has_words(item)])
            self._index_words(items)
        self._items, self._places, self._table = [], {}, ItemTable()
        self._take(items)
        self._snapshot = snapshot

    def become(self, other: MemoryStore) -> None:
        """Hold what another store of the same making does; items, which never change, are shared."""
        if not isinstance(other, ItemStore):
            self.restore(other.snapshot())
            return
        if self._vectors is not None and other._vectors is not None:
            self._vectors.become(other._vectors, list(other._places))
        self._words = None if other._words is None else other._words.fork()
        self._items, self._places, self._table = list(other._items), dict(other._places), other._table.copy()
        self._snapshot = other._snapshot

    def close(self) -> None:
        """Release the vector index."""
        if self._vectors is not None:
            self._vectors.close()

    def _dim(self) -> int | None:
        return None if self._vectors is None else self._vectors.dim

    def _has_words(self, item: MemoryItem) -> bool:
        return self._lexical_kinds is None or item.kind in self._lexical_kinds

    def _index_words(self, items: Sequence[MemoryItem]) -> None:
        if self._words is not None:
            worded = [item for item in items if self._has_words(item)]
            self._words.upsert([item.id for item in worded], [item.text for item in worded])

    def _live(self, item_id: ItemId) -> MemoryItem:
        item = self.get(item_id)
        if not item.is_live:
            raise BackendError(f"item {item_id!r} was replaced or invalidated before", phase="write")
        return item

    def _bury(self, item: MemoryItem, at: datetime | None) -> MemoryItem:
        ended = at or item.observed_at or _ALWAYS
        dead = replace(item, valid_to=ended)
        place = self._places[item.id]
        self._items[place] = dead
        self._table.end(place, ended)
        self._snapshot = None
        return dead

    def _take(self, items: Sequence[MemoryItem]) -> None:
        self._places.update((item.id, place) for place, item in enumerate(items, start=len(self._items)))
        self._items += items
        self._table.append(items)

    def _findable(self, now: datetime | None, kinds: Collection[ItemKind] | None) -> np.ndarray | None:
        held = self._table.held(now, kinds)
        return None if held.all() else held

    def _at(self, wanted: np.ndarray) -> list[MemoryItem]:
        return [self._items[place] for place in np.flatnonzero(wanted).tolist()]

    def _ranked(self, hits: Sequence[Hit], k: int) -> list[MemoryItem]:
        """The `k` best; those that tie with the last one come along, and time decides about them."""
        found = sorted(((self.get(item_id), score) for item_id, score in hits), key=_by_score_time_id)
        return [item.ranked(rank, score) for rank, (item, score) in enumerate(found[: max(0, k)], start=1)]


def _by_score_time_id(hit: tuple[MemoryItem, float]) -> tuple[float, int, datetime, ItemId]:
    item, score = hit
    return -score, item.seq_to, item.observed_at or _NEVER, item.id
