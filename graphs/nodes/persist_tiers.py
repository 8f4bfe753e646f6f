"""Node `persist`: carries a run of a three-tier memory out, and lets go of what there is no room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.contracts.knowledge import OWNERS
from mnemoscope.graphs.nodes.long_term import Portrayed, Stated, TierState, profile_in
from mnemoscope.graphs.nodes.mid_term import OVERVIEW, THREAD, event_time
from mnemoscope.graphs.nodes.short_term import TURNS
from mnemoscope.graphs.provenance import free_ids, made_from
from mnemoscope.graphs.segments import Segment, least_used
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["OWNER", "PersistTiers"]

OWNER = "owner"
"""Attribute of a statement: whom it is about, `user` or `assistant`."""


class PersistTiers:
    """Node `persist`: the only one that changes the store, after everything that can fail.

    Args:
        segments: The most segments; the least used go, and with them the pages that no other segment has.
        statements: The most statements about either; the oldest go.
    """

    def __init__(self, segments: int, statements: int) -> None:
        self._segments, self._statements = segments, statements

    async def __call__(self, state: TierState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads what the run made; sets `added`, `updated` and `invalidated`."""
        store, at = runtime.context.store, event_time(state)
        store.put(state["drafts"], state["vectors"])
        added = [page.id for page in state["drafts"]]
        if not state["evicted"]:
            return {"added": tuple(added)}
        _link(state, store)
        added += _keep_segments(state, store)
        invalidated = _let_go(state, self._segments, store, at)
        updated = [one for one in state["changed"] if one not in added]
        if state["hot"]:
            for page in state["hot"] if state["learnt"] else ():
                if store.get(page.id).is_live:
                    store.amend(page.id, attrs={TURNS: ""})
            if (portrayed := state["profile"]) is not None:
                profile, replaced = _keep_profile(portrayed, np.zeros_like(state["vectors"][:1]), store)
                (updated if replaced else added).append(profile)
                invalidated += replaced
            added += _keep_statements(state, store)
            invalidated += _oldest_statements(store, self._statements, at)
        return {"added": tuple(added), "updated": tuple(updated), "invalidated": tuple(invalidated)}


def _link(state: TierState, store: MemoryStore) -> None:
    before = state["before"]
    for page, continues, overview in zip(state["evicted"], state["continues"], state["overviews"], strict=True):
        links = [before.id] if before is not None and continues else []
        store.amend(page.id, links=links, attrs={OVERVIEW: overview, THREAD: overview if continues else ""})
        before = page


def _keep_segments(state: TierState, store: MemoryStore) -> list[ItemId]:
    segments = {one.id: one for one in state["segments"]}
    if (hottest := state["hottest"]) is not None:
        segments[hottest] = segments[hottest].analysed()
    for new in state["made"]:
        one = segments[new.item.id]
        store.put([_with(new.item, one)], np.atleast_2d(new.vector))
    made = [new.item.id for new in state["made"]]
    for item_id in dict.fromkeys((*state["changed"], *([hottest] if hottest else ()))):
        if item_id not in made:
            store.amend(item_id, links=segments[item_id].pages, attrs=segments[item_id].attrs)
    return made


def _with(item: MemoryItem, segment: Segment) -> MemoryItem:
    return replace(item, links=segment.pages, attrs={**item.attrs, **segment.attrs})


def _let_go(state: TierState, capacity: int, store: MemoryStore, at: datetime | None) -> list[ItemId]:
    """Segments beyond the capacity, and the pages that are in no other one."""
    going = least_used(state["segments"], capacity, state["changed"])
    if not going:
        return []
    gone = {one.id for one in going}
    kept = {page for one in state["segments"] if one.id not in gone for page in one.pages}
    pages = dict.fromkeys(page for one in going for page in one.pages if page not in kept)
    return _buried((*(one.id for one in going), *pages), store, at)


def _keep_profile(new: Portrayed, row: Vectors, store: MemoryStore) -> tuple[ItemId, list[ItemId]]:
    """The profile's id, and that of the one it replaces; its row is empty, for it is handed over whole."""
    old = profile_in(store)
    made = made_from(
        new.turns, item_id=free_ids(["profile"], store)[0], kind="profile", text=new.text, sources=new.sources
    )
    if old is None:
        store.put([made], row)
        return made.id, []
    at = max((time for time in (old.observed_at, made.observed_at) if time is not None), default=None)
    return store.update(old.id, text=new.text, sources=new.sources, at=at, vector=row, seq=made.seq_to).id, [old.id]


def _keep_statements(state: TierState, store: MemoryStore) -> list[ItemId]:
    stated = state["statements"]
    ids = free_ids([f"statement-{one.fact.turns[0].turn_id}" for one in stated], store)
    items = [_statement(item_id, one) for item_id, one in zip(ids, stated, strict=True)]
    store.put(items, state["statement_vectors"])
    return ids


def _statement(item_id: ItemId, stated: Stated) -> MemoryItem:
    fact = stated.fact
    return made_from(
        fact.turns,
        item_id=item_id,
        kind="statement",
        text=fact.text,
        sources=fact.sources,
        attrs={OWNER: stated.owner, "speaker": fact.speaker},
    )


def _oldest_statements(store: MemoryStore, capacity: int, at: datetime | None) -> list[ItemId]:
    live = list(store.items("statement"))
    queues: list[Sequence[MemoryItem]] = [[one for one in live if one.attrs[OWNER] == owner] for owner in OWNERS]
    return _buried([one.id for queue in queues for one in queue[: max(0, len(queue) - capacity)]], store, at)


def _buried(ids: Iterable[ItemId], store: MemoryStore, at: datetime | None) -> list[ItemId]:
    return [store.invalidate(item_id, at=at).id for item_id in ids]
