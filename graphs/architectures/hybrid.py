"""`hybrid`: fuses the rankings of `dense` and `bm25`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from langgraph.runtime import Runtime

from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import check_window, embeds_windows, keep_windows, vector_store
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.read import SearchVector, SearchWords, cut, fills, fuse_ranks
from mnemoscope.graphs.parameters import named, whole
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["hybrid"]

DEFAULT_DEPTH = 50
MOST_DEPTH = 1_000


class Fuse:
    """Node `fuse`: reciprocal rank fusion of the best `depth` of both rankings, each item once.

    Where the budget asks for a deeper ranking than that, the rest follows without a score, fused in the same way;
    so the head never depends on how deep the ranking is kept.

    Args:
        depth: Ranks taken from each ranking.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `by_vector` and `by_words`; sets `found`."""
        by_vector, by_words = state["by_vector"], state["by_words"]
        head = [
            item.ranked(rank, score)
            for rank, (item, score) in enumerate(fuse_ranks(by_vector[: self._depth], by_words[: self._depth]), start=1)
        ]
        if fills(head, state["budget"]):
            return {"found": tuple(head)}
        taken = {item.id for item in head}
        rest = [item for item, _ in fuse_ranks(by_vector, by_words) if item.id not in taken]
        return {"found": (*head, *(item.ranked(rank, None) for rank, item in enumerate(rest, start=len(head) + 1)))}


def hybrid(window: int = 1, overlap: int = 0, depth: int = DEFAULT_DEPTH) -> Architecture:
    """Reciprocal rank fusion with constant 60 (Cormack, Clarke and Büttcher 2009) of dense and BM25 rankings.

    Args:
        window: Turns per item, 1 to 50.
        overlap: Turns that an item shares with the one before, 0 to `window - 1`.
        depth: Ranks taken from each ranking, 1 to 1,000.
    """
    size, shared = check_window(window, overlap)
    ranks = whole("depth", depth, 1, MOST_DEPTH)
    return Architecture(
        name=named(
            "hybrid",
            {"window": size, "overlap": shared, "depth": ranks},
            {"window": 1, "overlap": 0, "depth": DEFAULT_DEPTH},
        ),
        summary="turns found by words and by embeddings, the two rankings fused",
        capabilities=Capabilities(needs_embedder=True, needs_flush=size > 1),
        write=keep_windows(size, shared, vectors=True),
        read=read_graph(
            {
                "search_vector": SearchVector("by_vector"),
                "search_words": SearchWords("by_words"),
                "fuse": Fuse(ranks),
                "cut": cut,
            },
            together=("search_vector", "search_words"),
        ),
        new_store=partial(vector_store, lexical=True),
        embeds=embeds_windows(size, shared),
        hands_over=memories(size),
        loses="what is said in other words and is not near in meaning either",
    )
