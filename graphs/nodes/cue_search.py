"""Nodes that find entries by their index and by their cues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.entries import CUE_KINDS, ENTRY_KINDS
from mnemoscope.graphs.nodes.read import deep_enough, fuse_ranks
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["HEAD", "CueReadState", "EmbedQuery", "by_cue", "by_index", "fuse", "led_to", "query_vector"]

HEAD = 10
"""Entries found by their index, and cues, that count in the fused ranking."""
WEIGHTS = (2.0, 1.0)
"""Of a rank by index and of one by cue."""


class CueReadState(ReadState, total=False):
    """One run of a READ graph over entries and cues."""

    vector: Vectors
    """Of the query, shape `(dim,)`."""
    least: float
    """Cosine below which nothing counts as found."""
    by_cue: tuple[MemoryItem, ...]
    """Entries that the cues nearest to the query lead to."""


class EmbedQuery:
    """Node `embed`: the query's vector.

    Args:
        least: Cosine below which nothing counts as found.
    """

    def __init__(self, least: float) -> None:
        self._least = least

    async def __call__(self, state: CueReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`; sets `vector` and `least`."""
        return {"vector": await query_vector(state["query"].text, runtime), "least": self._least}


async def by_index(state: CueReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `primary`: entries whose index is like the query, as deep as the budget asks; sets `by_vector`."""
    store, vector, now = runtime.context.store, state["vector"], state.get("now")
    found = deep_enough(
        lambda k: store.search_vector(vector, k, now=now, kinds=ENTRY_KINDS), state["budget"], len(store)
    )
    return {"by_vector": tuple(item for item in found if _score(item) >= state["least"])}


async def by_cue(state: CueReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `cue`: entries that the cues like the query lead to, those of the best cue first; sets `by_cue`."""
    store, vector, now = runtime.context.store, state["vector"], state.get("now")
    found: dict[ItemId, MemoryItem] = {}
    for cue in store.search_vector(vector, HEAD, now=now, kinds=CUE_KINDS):
        if _score(cue) >= state["least"]:
            found |= {item.id: item for item in led_to([cue], vector, now, store) if item.id not in found}
    return {"by_cue": tuple(found.values())}


async def fuse(state: CueReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `rrf`: reciprocal rank fusion, 2 : 1, of the ten best by index and those by cue.

    Further entries by index follow without a score, so that the head does not depend on how deep the budget asks.
    """
    by_vector = state["by_vector"]
    head = [
        item.ranked(rank, score)
        for rank, (item, score) in enumerate(fuse_ranks(by_vector[:HEAD], state["by_cue"], weights=WEIGHTS), start=1)
    ]
    taken = {item.id for item in head}
    rest = [item for item in by_vector if item.id not in taken]
    return {"found": (*head, *(item.ranked(rank, None) for rank, item in enumerate(rest, start=len(head) + 1)))}


def led_to(
    cues: Sequence[MemoryItem], vector: Vectors, now: datetime | None, store: MemoryStore
) -> tuple[MemoryItem, ...]:
    """The entries that cues lead to and that held at `now`, those whose index is nearest to a vector first.

    Args:
        cues: Items of kind `cue`.
        vector: Of unit length, shape `(dim,)`.
        now: None: at the end of what is stored.
        store: Which has them all.

    Returns:
        Each once, with the cosine as its score.
    """
    linked = (store.get(link) for link in dict.fromkeys(link for cue in cues for link in cue.links))
    held = [item for item in linked if held_at(item, now)]
    if not held:
        return ()
    scores = (store.vectors([item.id for item in held]) @ vector).tolist()
    scored = [item.ranked(1, score) for item, score in zip(held, scores, strict=True)]
    return tuple(sorted(scored, key=lambda item: (-_score(item), item.seq_to, item.id)))


async def query_vector(text: str, runtime: Runtime[MemoryContext]) -> Vectors:
    """The vector of a question, shape `(dim,)`.

    Raises:
        BackendError: There is no embedder.
    """
    embedder = runtime.context.ports.embedder
    if embedder is None:
        raise BackendError("there is no embedder", phase="retrieve")
    row: Vectors = (await embedder.embed([text], "query"))[0]
    return row


def _score(item: MemoryItem) -> float:
    return item.score or 0.0
