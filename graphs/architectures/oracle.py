"""`oracle`: hands over the gold evidence of a probe. Privileged: the ceiling of every memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import keep_windows, plain_store
from mnemoscope.graphs.nodes.gold import hits_gold
from mnemoscope.graphs.nodes.read import known_by
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["oracle"]


async def take_gold(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `take_gold`: the stored turns that hold the evidence, in order of the conversation."""
    view, probe_id = runtime.context.ports.gold, state["query"].probe_id
    if view is None or probe_id is None:
        raise ConfigError("oracle reads gold; it needs a gold view and the id of the probe")
    gold = view.gold(probe_id)
    items = [item for item in runtime.context.store.items() if hits_gold(item, gold)]
    return {"found": known_by(items, state.get("now"))}


async def hand_over(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `hand_over`: all of the evidence, whatever `k` is; a token budget cuts it at the end."""
    return {"retrieval": fit(state["found"], replace(state["budget"], k=None))}


def oracle() -> Architecture:
    """Keeps every turn and finds those that the gold names: must and nice memories of a pool, else the evidence."""
    return Architecture(
        name="oracle",
        summary="the gold evidence, and nothing else: the ceiling (reads gold)",
        capabilities=Capabilities(privileged=True, ranks=False),
        write=keep_windows(),
        read=read_graph({"take_gold": take_gold, "hand_over": hand_over}),
        new_store=plain_store,
    )
