"""`compressed`: the best turns, shortened to one text before the assistant is given them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from langgraph.runtime import Runtime

from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, Mode, embeds_nothing, read_graph
from mnemoscope.graphs.architectures._windowed import embeds_windows, keep_windows, vector_store
from mnemoscope.graphs.backend import Ports
from mnemoscope.graphs.handing_over import text_of
from mnemoscope.graphs.nodes.compress import Compress, compress_call
from mnemoscope.graphs.nodes.read import SearchVector, SearchWords
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.item_store import ItemStore
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["compressed"]

DEFAULT_ITEMS, MOST_ITEMS = 10, 200
DEFAULT_TOKENS, MOST_TOKENS = 200, 4_000


async def hand_over(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `hand_over`: the one text, whatever `k` is, unless it is beyond the token budget."""
    return {"retrieval": fit(state["found"], replace(state["budget"], k=None))}


def compressed(
    n: int = DEFAULT_ITEMS, tokens: int = DEFAULT_TOKENS, by: str = "dense", mode: str = "heuristic"
) -> Architecture:
    """LoCoMo-Conv's variant: the ten best turns, summarised with the question in mind to 200 tokens.

    Args:
        n: Turns that are summarised, 1 to 200.
        tokens: The longest summary, in estimated tokens, 1 to 4,000.
        by: How turns are found: `dense` or `bm25`.
        mode: `llm`: the memory model summarises. `heuristic`: whole sentences that share most words with the
            question, a rule in the model's place.
    """
    items, longest = whole("n", n, 1, MOST_ITEMS), whole("tokens", tokens, 1, MOST_TOKENS)
    way, how = one_of("by", by, ("dense", "bm25")), cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    dense = way == "dense"

    def words_only(ports: Ports) -> MemoryStore:
        return ItemStore(vector_index=None, lexical=True, embedder_id=None)

    return Architecture(
        name=named(
            "compressed",
            {"n": items, "tokens": longest, "by": way, "mode": how},
            {"n": DEFAULT_ITEMS, "tokens": DEFAULT_TOKENS, "by": "dense", "mode": "heuristic"},
        ),
        summary=f"the {items} best turns, shortened to one text",
        capabilities=Capabilities(
            needs_embedder=dense,
            blob_context=True,
            ranks=False,
            query_conditioned=True,
            finest_provenance="batch" if how == "llm" else "cited",
        ),
        write=keep_windows(vectors=dense),
        read=read_graph(
            {
                **({"search_vector": SearchVector()} if dense else {"search_words": SearchWords()}),
                "compress": Compress(items, longest, how),
                "hand_over": hand_over,
            }
        ),
        new_store=vector_store if dense else words_only,
        embeds=embeds_windows(1, 0) if dense else embeds_nothing,
        asks_to_read=compress_call(items, longest) if how == "llm" else Usage(),
        hands_over=text_of(longest),
        loses="what is not among the best turns, and what their summary leaves out",
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
    )
