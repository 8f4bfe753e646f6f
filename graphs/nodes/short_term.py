"""Node of a short-term memory: pages, a user's turns with the reply to them, in a queue of limited length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from mnemoscope.core.language.entities import entities
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.contracts.themes import said
from mnemoscope.graphs.nodes.exchanges import ObserveExchanges
from mnemoscope.graphs.nodes.facts import document_vectors
from mnemoscope.graphs.nodes.write import window_text
from mnemoscope.graphs.provenance import free_ids, made_from
from mnemoscope.graphs.segments import moved_on
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = [
    "TURNS",
    "PageState",
    "StmPush",
    "compared_by",
    "from_pool",
    "page_item",
    "shared_names",
    "short_term",
    "turns_of",
]

TURNS = "turns"
"""Attribute of a page: its turns as JSON until it is analysed, and then nothing."""
NAMES = "names"
"""Attribute of a page: the names that it mentions, one a line."""
SPEAKERS = "speakers"
"""Attribute of a page: who speaks in it, one a line."""

_TURNS: TypeAdapter[tuple[Turn, ...]] = TypeAdapter(tuple[Turn, ...])


class PageState(WriteState, total=False):
    """What the short-term memory hands on. `drafts` is the new page, if one is complete."""

    vectors: Vectors
    """One row per draft."""
    evicted: tuple[MemoryItem, ...]
    """Stored pages that leave the short-term memory in this run, oldest first."""
    before: MemoryItem | None
    """The page that left it before them."""


class StmPush:
    """Node `stm_push`: completes a page and pushes it; where the memory was full, the oldest pages leave it.

    Args:
        capacity: Pages that it holds.
        batch: Pages that leave together.
    """

    def __init__(self, capacity: int, batch: int) -> None:
        self._capacity, self._batch = capacity, batch
        self._observe = ObserveExchanges()

    async def __call__(self, state: PageState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event`, `buffer` and `waiting`; sets `ready`, `drafts`, `vectors`, `evicted` and `before`."""
        observed = await self._observe(state, runtime)
        ready = observed["ready"]
        if not isinstance(ready, tuple) or not ready:
            return observed
        store = runtime.context.store
        stored = list(store.items("page", tombstones=True))
        drafts = tuple(page_item(turns, store) for turns in ready)
        left, leaving = (moved_on(n, self._capacity, self._batch) for n in (len(stored), len(stored) + len(drafts)))
        return {
            **observed,
            "drafts": drafts,
            "vectors": await document_vectors([compared_by(turns) for turns in ready], runtime),
            "evicted": tuple(stored[left:leaving]),
            "before": stored[left - 1] if left else None,
        }


def compared_by(page: Sequence[Turn]) -> str:
    """The text that stands for a page where vectors are compared; what a probe brought along is the bare fact."""
    return window_text(page) if page[0].session_id == POOL_SESSION else said(page)


def page_item(turns: Sequence[Turn], store: MemoryStore) -> MemoryItem:
    """A page as an item: a dated line per turn, each a verbatim source; one side may be missing."""
    speakers = dict.fromkeys(turn.speaker for turn in turns)
    names = dict.fromkeys(name.casefold() for turn in turns for name in entities(turn.text))
    return made_from(
        turns,
        item_id=free_ids([f"page-{turns[0].turn_id}"], store)[0],
        kind="page",
        text=window_text(turns),
        sources=[Source(turn.turn_id, "verbatim", 1 / len(turns)) for turn in turns],
        attrs={
            TURNS: _TURNS.dump_json(tuple(turns), exclude={"__all__": {"meta"}}, exclude_defaults=True).decode(),
            NAMES: "\n".join(names),
            SPEAKERS: "\n".join(speakers),
        },
    )


def turns_of(page: MemoryItem) -> tuple[Turn, ...]:
    """The turns of a page that is not analysed yet; none of one that is."""
    kept = page.attrs[TURNS]
    return _TURNS.validate_json(kept) if kept else ()


def shared_names(one: MemoryItem, other: MemoryItem) -> frozenset[str]:
    """The names that two pages mention, in small letters, without those that their speakers call each other."""
    speakers = {name.casefold() for page in (one, other) for name in page.attrs[SPEAKERS].splitlines()}
    both = frozenset(one.attrs[NAMES].splitlines()) & frozenset(other.attrs[NAMES].splitlines())
    return frozenset(name for name in both if not any(called.startswith(name) for called in speakers))


def from_pool(page: MemoryItem) -> bool:
    """A page that a probe brought along: a fact of its own, which continues nothing and is not analysed."""
    return page.attrs["session"] == POOL_SESSION


def short_term(store: MemoryStore, now: datetime | None, capacity: int, batch: int) -> list[MemoryItem]:
    """The pages that were in the short-term memory at `now`, oldest first; None: at the end of what is stored."""
    known = [
        item
        for item in store.items("page", tombstones=True)
        if now is None or item.observed_at is None or item.observed_at <= now
    ]
    return [page for page in known[moved_on(len(known), capacity, batch) :] if held_at(page, now)]
