"""`pool`: hands over the memories that a probe brings along, all of them, as they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.identity import TurnId
from mnemoscope.graphs.architecture import Architecture, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import plain_store
from mnemoscope.graphs.nodes.write import drop_turn
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.record import Capabilities, MemoryItem, Query, Source

__all__ = ["pool"]


async def take_pool(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `take_pool`: the probe's memories in the order given; nothing where a probe brings none."""
    return {"found": pool_items(state["query"])}


async def hand_over(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `hand_over`: the whole pool, whatever `k` is; a token budget cuts it at the end."""
    return {"retrieval": fit(state["found"], replace(state["budget"], k=None))}


def pool_items(query: Query) -> tuple[MemoryItem, ...]:
    """A pool's memories as items whose source is the pool's own id."""
    given = query.pool.items if query.pool else ()
    return tuple(
        MemoryItem(
            id=entry.item_id,
            kind="fact",
            text=entry.text,
            sources=(Source(TurnId(entry.item_id), "verbatim"),),
            observed_at=entry.at,
            valid_from=entry.at,
            rank=rank,
        )
        for rank, entry in enumerate(given, start=1)
    )


def pool() -> Architecture:
    """Gives a probe's own pool, unselected; the history is dropped by policy."""
    return Architecture(
        name="pool",
        summary="the memories that a benchmark hands over with a probe, all of them",
        capabilities=Capabilities(gives_pool=True, keeps_turns=False, ranks=False),
        write=write_graph({"drop": drop_turn}),
        read=read_graph({"take_pool": take_pool, "hand_over": hand_over}),
        new_store=plain_store,
        family="control",
        loses="the whole conversation: it hands over what the probe brings",
    )
