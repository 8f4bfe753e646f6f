"""`bm25`: finds turns, or windows of turns, by their words."""

from __future__ import annotations

from typing import cast

from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import check_window, keep_windows
from mnemoscope.graphs.backend import Ports
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.read import SearchWords, cut
from mnemoscope.graphs.parameters import named, one_of
from mnemoscope.memory_backends.indexes.lexical import Bm25Index, Bm25Method
from mnemoscope.memory_backends.item_store import ItemStore
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["bm25"]

METHODS = ("lucene", "atire")


def bm25(window: int = 1, overlap: int = 0, method: str = "lucene") -> Architecture:
    """BM25 with k1 = 1.5 and b = .75 over script-aware tokens; nothing without a shared token is ever found.

    Args:
        window: Turns per item, 1 to 50.
        overlap: Turns that an item shares with the one before, 0 to `window - 1`.
        method: `lucene` or `atire`, the way idf is kept above zero.
    """
    size, shared = check_window(window, overlap)
    variant = cast("Bm25Method", one_of("method", method, METHODS))

    def store(ports: Ports) -> MemoryStore:
        return ItemStore(vector_index=None, lexical=Bm25Index(method=variant), embedder_id=None)

    return Architecture(
        name=named(
            "bm25",
            {"window": size, "overlap": shared, "method": variant},
            {"window": 1, "overlap": 0, "method": "lucene"},
        ),
        summary="turns found by their words (BM25)",
        capabilities=Capabilities(needs_flush=size > 1),
        write=keep_windows(size, shared),
        read=read_graph({"search_words": SearchWords(), "cut": cut}),
        new_store=store,
        hands_over=memories(size),
        loses="what is said in other words than the question",
    )
