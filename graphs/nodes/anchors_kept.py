"""Node `persist` of anchored memories: all changes of a session's end, after every endpoint has answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId, sha256_of
from mnemoscope.graphs.contracts.extract_facts import Fact
from mnemoscope.graphs.nodes.anchors import AnchorState, Group, Told, with_told
from mnemoscope.graphs.nodes.facts import document_vectors
from mnemoscope.graphs.provenance import SUPPORTED, containment
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.item_store import united_sources
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["persist"]


async def persist(state: AnchorState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `persist`: stores chunks, facts and events, and notes which groups were told.

    Chunks have no vector of their own, since facts lead to them.
    """
    store, told, vectors = runtime.context.store, state.get("told", ()), state["vectors"]
    live = {item.text: item for item in store.items("event")}
    made = _events(told)
    events = [event for text, event in made.items() if text not in live]
    rows = await document_vectors([event.text for event in events], runtime) if events else vectors[:0]
    chunks, facts = state["drafts"], state["facts"]
    old, new = facts[: len(facts) - len(vectors)], facts[len(facts) - len(vectors) :]
    items = [*chunks, *new, *events]
    store.put(items, np.vstack([np.zeros((len(chunks), vectors.shape[1]), np.float32), vectors, rows]))
    for one in told:
        store.amend(one.group.anchor.id, attrs=with_told(one.group))
    updated = [*_said_again(old, store), *_told_again(made, live, store)]
    return {"added": tuple(item.id for item in items), "updated": tuple(updated)}


def _events(told: Sequence[Told]) -> dict[str, MemoryItem]:
    """The events of all groups by their text; one that two groups tell is of both."""
    events: dict[str, MemoryItem] = {}
    for one in told:
        for event in one.events:
            item = _event_item(one.group, event)
            known = events.get(item.text)
            events[item.text] = item if known is None else _of_both(known, item)
    return events


def _event_item(group: Group, event: Fact) -> MemoryItem:
    facts = [group.facts[number - 1] for number in sorted(event.numbers)] or list(group.facts)
    supported = containment(event.text, [fact.text for fact in facts]) >= SUPPORTED
    turns = united_sources(*(fact.sources for fact in facts))
    last = max(facts, key=lambda fact: (fact.seq_to, fact.id))
    at = max((fact.observed_at for fact in facts if fact.observed_at is not None), default=None)
    return MemoryItem(
        id=ItemId(f"event-{sha256_of(event.text)[:16]}"),
        kind="event",
        text=event.text,
        sources=tuple(
            Source(turn.turn_id, "inherited" if supported and turn.method != "unknown" else "unknown", 1 / len(turns))
            for turn in turns
        ),
        observed_at=at,
        valid_from=at,
        seq_from=min(fact.seq_from for fact in facts),
        seq_to=last.seq_to,
        links=tuple(fact.id for fact in facts),
        attrs={"session": last.attrs["session"]},
    )


def _of_both(one: MemoryItem, other: MemoryItem) -> MemoryItem:
    return replace(
        one,
        sources=united_sources(one.sources, other.sources),
        links=tuple(dict.fromkeys((*one.links, *other.links))),
    )


def _said_again(facts: Sequence[MemoryItem], store: MemoryStore) -> list[ItemId]:
    """Stored facts that gained turns or chunks."""
    changed = [fact for fact in facts if fact.links != store.get(fact.id).links]
    return [store.amend(fact.id, sources=fact.sources, links=fact.links).id for fact in changed]


def _told_again(made: Mapping[str, MemoryItem], live: Mapping[str, MemoryItem], store: MemoryStore) -> list[ItemId]:
    """Stored events that another group tells in the same words."""
    both = [_of_both(live[text], event) for text, event in made.items() if text in live]
    return [store.amend(one.id, sources=one.sources, links=one.links).id for one in both]
