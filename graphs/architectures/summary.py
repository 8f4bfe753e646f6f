"""`summary`: remembers a summary of the last session and nothing else (MemUse's SUMMARY condition)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from langgraph.runtime import Runtime

from mnemoscope.graphs.architecture import Architecture, Mode, asks_nothing, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import plain_store
from mnemoscope.graphs.handing_over import text_of
from mnemoscope.graphs.nodes.read import cut_oldest
from mnemoscope.graphs.nodes.summaries import (
    DEFAULT_WORDS,
    ObserveSession,
    Retire,
    Summarise,
    nothing_ended,
    summary_calls,
)
from mnemoscope.graphs.nodes.write import index_words
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["summary"]

MOST_WORDS = 2_000


async def take_summary(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `take_summary`: the one that held at `now`."""
    now = state.get("now")
    held = [item for item in runtime.context.store.items(tombstones=True) if held_at(item, now)]
    return {"found": tuple(item.ranked(rank, None) for rank, item in enumerate(held[-1:], start=1))}


def summary(words: int = DEFAULT_WORDS, mode: str = "heuristic") -> Architecture:
    """A rolling summary of the last session that is over. The session in progress is everyone's and is not in it.

    Where the data brings a summary of the session (MemUse's corpus), that is used. Without one, `llm` asks the memory
    model, and `heuristic` takes the sentences that speak most of what the session speaks of, a rule in a model's place.

    Args:
        words: The longest summary that is made, 1 to 2,000; given ones stay as they are.
        mode: `heuristic` or `llm`.
    """
    longest = whole("words", words, 1, MOST_WORDS)
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    return Architecture(
        name=named("summary", {"words": longest, "mode": how}, {"words": DEFAULT_WORDS, "mode": "heuristic"}),
        summary="a summary of the last session; older ones are forgotten",
        capabilities=Capabilities(
            needs_flush=True,
            blob_context=True,
            keeps_turns=False,
            ranks=False,
            selective=True,
            finest_provenance="batch" if how == "llm" else "cited",
        ),
        write=write_graph(
            {
                "observe": ObserveSession(),
                "summarise": Summarise(longest, how),
                "index": index_words,
                "retire": Retire(lets_turns_go=True),
            },
            skip_after={"observe": nothing_ended},
        ),
        read=read_graph({"take_summary": take_summary, "cut": cut_oldest}),
        new_store=plain_store,
        asks=summary_calls(longest) if how == "llm" else asks_nothing,
        hands_over=text_of(2 * longest),
        family="summary",
        loses="every session but the last, and what its summary leaves out",
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
    )
