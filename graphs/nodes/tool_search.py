"""The tools by which an agent searches recall and archival memory, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.contracts.desk import Result
from mnemoscope.graphs.contracts.tool_calls import BY_DATE, SEARCH_ARCHIVAL, SEARCH_RECALL, Call
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import ItemKind, MemoryItem
from mnemoscope.memory_backends.rendering import without_time
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["PAGE", "SEARCHES", "having", "messages_of", "paged", "search"]

PAGE = 5
"""Hits of a page."""
SEARCHES = (SEARCH_ARCHIVAL.name, SEARCH_RECALL.name, BY_DATE.name)
"""Tools that change nothing."""
_PASSAGES: tuple[ItemKind, ...] = ("passage",)


async def search(
    call: Call, runtime: Runtime[MemoryContext], now: datetime | None, unstored: Sequence[MemoryItem] = ()
) -> Result:
    """Run a call of one of `SEARCHES`. Nothing is cached: what was stored a moment ago is found.

    Args:
        call: One that can be run.
        runtime: Store and embedder.
        now: What is found was known by then; None: all that is stored.
        unstored: Passages that this loop has made and not stored yet.
    """
    store = runtime.context.store
    if call.tool == SEARCH_ARCHIVAL.name:
        return paged(call, await _nearest(call.texts["query"], call.page * PAGE, runtime, now, unstored))
    if call.tool == SEARCH_RECALL.name:
        return paged(call, _counted(having(call.texts["query"], messages_of(store, now))))
    try:
        first, last = (date.fromisoformat(call.texts[key].strip()) for key in ("start", "end"))
    except ValueError:
        return Result(call.tool, "error: start and end must be days such as 2023-05-08", failed=True)
    said = [item for item in messages_of(store, now) if item.observed_at and first <= item.observed_at.date() <= last]
    return paged(call, _counted(said))


def paged(call: Call, found: tuple[Sequence[MemoryItem], int]) -> Result:
    """One page of what was found, with its place among all of it.

    Args:
        call: Says which page, from 1.
        found: The hits, as far as this page at least, best first; and how many there are in all.
    """
    hits, total = found
    first = (call.page - 1) * PAGE
    page = Result(call.tool, "", tuple(hits[first : first + PAGE])).fitted()
    if not page.hits:
        return replace(page, text=f"nothing on page {call.page}; {total} in all")
    return replace(page, text=f"{first + 1} to {first + len(page.hits)} of {total}, page {call.page}")


def messages_of(store: MemoryStore, now: datetime | None) -> list[MemoryItem]:
    """Recall memory as of a time, the newest message first."""
    held = [item for item in store.items("message") if held_at(item, now)]
    return sorted(held, key=lambda item: (-item.seq_to, item.id))


def having(words: str, messages: Sequence[MemoryItem]) -> list[MemoryItem]:
    """The messages that have these words as they stand, in any case; the speaker's name counts, the time does not."""
    wanted = words.strip().casefold()
    return [item for item in messages if wanted in without_time(item.text).casefold()]


def _counted(found: Sequence[MemoryItem]) -> tuple[Sequence[MemoryItem], int]:
    return [item.ranked(rank, None) for rank, item in enumerate(found, start=1)], len(found)


async def _nearest(
    query: str, depth: int, runtime: Runtime[MemoryContext], now: datetime | None, unstored: Sequence[MemoryItem]
) -> tuple[Sequence[MemoryItem], int]:
    embedder, store = runtime.context.ports.embedder, runtime.context.store
    if embedder is None:
        raise BackendError("there is no embedder", phase="retrieve")
    total = sum(1 for item in store.items(*_PASSAGES) if held_at(item, now))
    if not total and not unstored:
        return (), 0
    vector: Vectors = (await embedder.embed([query], "query"))[0]
    found = store.search_vector(vector, depth, now=now, kinds=_PASSAGES)
    if unstored:
        rows = await embedder.embed([item.text for item in unstored], "document")
        scores = np.asarray(rows @ vector, dtype=np.float64)
        found += [item.ranked(1, float(score)) for item, score in zip(unstored, scores, strict=True)]
        found.sort(key=lambda item: (-(item.score or 0.0), item.seq_to, item.id))
    return [item.ranked(rank, item.score) for rank, item in enumerate(found, start=1)], total + len(unstored)
