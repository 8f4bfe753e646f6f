"""Nodes of the READ graph of anchored memories: facts lead to the chunks that they come from, events stand beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.rendering import render_block

__all__ = ["AnchorReadState", "Match", "anchor_chunks", "cut", "embed_query", "merge"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search leads to."""

    item: MemoryItem
    nearness: float
    """Cosine of the fact or event, 0–1 from the least to the most similar one of its kind."""
    anchored: bool
    """It is among those that the source hands over."""


class AnchorReadState(ReadState, total=False):
    """One run of the READ graph."""

    vector: np.ndarray
    """Of the query."""
    facts: tuple[Found, ...]
    """All facts, nearest first."""
    events: tuple[Found, ...]
    """All events, nearest first."""
    chunks: tuple[Found, ...]
    """The chunks that facts lead to, in order of the first fact that does."""


async def embed_query(state: AnchorReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `embed`: the query's vector; with nothing stored there is nothing to compare it with."""
    embedder = runtime.context.ports.embedder
    if embedder is None:
        raise BackendError("there is no embedder", phase="retrieve")
    if not len(runtime.context.store):
        return {"vector": np.zeros(embedder.dim, np.float32)}
    return {"vector": (await embedder.embed([state["query"].text], "query"))[0]}


class Match:
    """Node `match_facts` or `match_events`: all items of a kind by cosine, brought to 0–1.

    Args:
        kind: What is matched; the ranking goes to the channel of that name.
        top: How many of them the source hands over.
    """

    def __init__(self, kind: Literal["fact", "event"], top: int) -> None:
        self._kind, self._top = kind, top

    async def __call__(self, state: AnchorReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `vector` and `now`; sets `facts` or `events`."""
        store = runtime.context.store
        ranking = store.search_vector(state["vector"], len(store), now=state.get("now"), kinds=(self._kind,))
        scores = [item.score or 0.0 for item in ranking]
        low, spread = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
        return {
            f"{self._kind}s": tuple(
                Found(item, (score - low) / spread if spread else 1.0, place < self._top)
                for place, (item, score) in enumerate(zip(ranking, scores, strict=True))
            )
        }


async def anchor_chunks(state: AnchorReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `anchor_chunks`: the chunks that the facts were drawn from, each as near as the nearest of them."""
    store, chunks = runtime.context.store, dict[ItemId, Found]()
    for fact in state["facts"]:
        for link in fact.item.links:
            if link not in chunks and held_at(chunk := store.get(link), state.get("now")):
                chunks[link] = replace(fact, item=chunk)
    return {"chunks": tuple(chunks.values())}


async def merge(state: AnchorReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `merge`: chunks and events in one ranking.

    First comes what the source hands over, the chunks of the nearest facts and the nearest events, by nearness. Where
    a budget asks for more, what is next near follows without a score, so that the head never depends on the depth.
    """
    # stable: of equals, chunks come before events, and each kind keeps its order
    ranking = sorted((*state["chunks"], *state["events"]), key=lambda one: (not one.anchored, -one.nearness))
    return {
        "found": tuple(
            one.item.ranked(rank, one.nearness if one.anchored else None) for rank, one in enumerate(ranking, start=1)
        )
    }


async def cut(state: AnchorReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `cut`: hands over what the budget allows, chosen by rank and shown in order of the conversation."""
    return {"retrieval": fit(state["found"], state["budget"], _in_conversation_order)}


def _in_conversation_order(items: Sequence[MemoryItem]) -> str:
    """Chunks in order, then events in order."""
    return render_block(sorted(items, key=lambda item: (item.kind == "event", item.seq_from, item.seq_to, item.id)))
