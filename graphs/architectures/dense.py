"""`dense`: finds turns, or windows of turns, by the nearness of their embeddings."""

from __future__ import annotations

from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import check_window, embeds_windows, keep_windows, vector_store
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.read import SearchVector, cut
from mnemoscope.graphs.parameters import named
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["dense"]


def dense(window: int = 1, overlap: int = 0) -> Architecture:
    """Exact nearest neighbours by cosine; what is embedded is the item's text.

    Args:
        window: Turns per item, 1 to 50.
        overlap: Turns that an item shares with the one before, 0 to `window - 1`.
    """
    size, shared = check_window(window, overlap)
    return Architecture(
        name=named("dense", {"window": size, "overlap": shared}, {"window": 1, "overlap": 0}),
        summary="turns found by the nearness of their embeddings",
        capabilities=Capabilities(needs_embedder=True, needs_flush=size > 1),
        write=keep_windows(size, shared, vectors=True),
        read=read_graph({"search_vector": SearchVector(), "cut": cut}),
        new_store=vector_store,
        embeds=embeds_windows(size, shared),
        hands_over=memories(size),
        loses="rare names and numbers; the tail of texts longer than the embedder reads",
    )
