"""Nodes that read a three-tier memory: segments, pages in them, statements, all of the short term, the profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.contracts.knowledge import OWNERS
from mnemoscope.graphs.nodes.long_term import profile_in
from mnemoscope.graphs.nodes.mid_term import THREAD
from mnemoscope.graphs.nodes.persist_tiers import OWNER
from mnemoscope.graphs.nodes.read import fuse_ranks
from mnemoscope.graphs.nodes.short_term import short_term
from mnemoscope.graphs.segments import Segment
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import ItemKind, MemoryItem

__all__ = ["Assemble", "TierReadState", "find_knowledge", "find_pages", "find_segments", "touch"]

SEGMENTS = 5
PAGES = 7
NEAR = 0.1
"""Cosine from which a segment, and a page in it, is found."""
STATEMENTS = 20
"""About the user, and as many about the assistant."""
STATEMENT_NEAR = 0.01

_ROUTES: tuple[ItemKind, ...] = ("segment",)


class TierReadState(ReadState, total=False):
    """One run of the READ graph."""

    vector: Vectors
    """Of the query."""
    segments: tuple[MemoryItem, ...]
    visited: tuple[ItemId, ...]
    """Segments with a page that was found."""
    pages: tuple[MemoryItem, ...]
    statements: tuple[MemoryItem, ...]


async def find_segments(state: TierReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `segments`: the nearest ones."""
    embedder, store = runtime.context.ports.embedder, runtime.context.store
    if embedder is None:
        raise BackendError("there is no embedder", phase="retrieve")
    if not len(store):
        return {"vector": np.zeros(embedder.dim), "segments": ()}
    vector = (await embedder.embed([state["query"].text], "query"))[0]
    found = store.search_vector(vector, SEGMENTS, now=state.get("now"), kinds=_ROUTES)
    return {"vector": vector, "segments": tuple(item for item in found if (item.score or 0.0) >= NEAR)}


async def find_pages(state: TierReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `pages`: the nearest ones in the segments that were found."""
    store, now = runtime.context.store, state.get("now")
    linked = dict.fromkeys(page for segment in state["segments"] for page in segment.links)
    known = [page for page in map(store.get, linked) if held_at(page, now)]
    near = [page for page in _scored(known, state, runtime) if (page.score or 0.0) >= NEAR]
    ids = {page.id for page in near}
    return {
        "pages": tuple(near[:PAGES]),
        "visited": tuple(segment.id for segment in state["segments"] if ids & {*segment.links}),
    }


async def find_knowledge(state: TierReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `knowledge`: the nearest statements about the user, and about the assistant."""
    now = state.get("now")
    held = runtime.context.store.held(now, "statement")
    near = [one for one in _scored(held, state, runtime) if (one.score or 0.0) >= STATEMENT_NEAR]
    best = [[one for one in near if one.attrs[OWNER] == owner][:STATEMENTS] for owner in OWNERS]
    return {"statements": tuple(one for some in best for one in some)}


class Assemble:
    """Node `assemble`: the profile, the pages that were found, then statements and the whole short-term memory.

    The last two rank side by side, each nearest first: a statement is so short that its cosine is higher than that of
    any page.

    Args:
        capacity: Pages of the short-term memory.
        batch: Pages that leave it together.
    """

    def __init__(self, capacity: int, batch: int) -> None:
        self._capacity, self._batch = capacity, batch

    async def __call__(self, state: TierReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `pages` and `statements`; sets `retrieval`, cut to the budget."""
        store, now = runtime.context.store, state.get("now")
        recent = short_term(store, now, self._capacity, self._batch)
        profile = profile_in(store, now)
        beside = fuse_ranks(_scored(recent, state, runtime), state["statements"])
        found = [*([profile] if profile else ()), *state["pages"], *(item for item, _ in beside)]
        once = {item.id: item for item in found}.values()
        shown = [_with_thread(item).ranked(rank, None) for rank, item in enumerate(once, start=1)]
        return {"retrieval": fit(shown, state["budget"])}


async def touch(state: TierReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `touch`: segments that a page was found in have been visited, which keeps them and makes them hot."""
    store, now = runtime.context.store, state.get("now")
    for item in map(store.get, state["visited"]):
        if item.is_live:
            store.amend(item.id, attrs=Segment.of(item).visited(now).attrs)
    return {}


def _scored(items: Sequence[MemoryItem], state: TierReadState, runtime: Runtime[MemoryContext]) -> list[MemoryItem]:
    """Items with their cosine to the query, nearest first; of equals the earlier one."""
    if not items:
        return []
    rows = runtime.context.store.vectors([item.id for item in items]).astype(np.float64)
    cosines = rows @ np.asarray(state["vector"], dtype=np.float64)
    scored = [replace(item, score=round(float(cosine), 6)) for item, cosine in zip(items, cosines, strict=True)]
    return sorted(scored, key=lambda item: (-(item.score or 0.0), item.seq_to, item.id))


def _with_thread(item: MemoryItem) -> MemoryItem:
    """A page that goes on with earlier ones is shown with what these were about."""
    thread = item.attrs.get(THREAD)
    return replace(item, text=f"{item.text}\n(Thread: {' / '.join(thread.splitlines())})") if thread else item
