"""`none`: remembers nothing. The floor that every comparison needs."""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.runtime import Runtime

from mnemoscope.graphs.architecture import Architecture, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import plain_store
from mnemoscope.graphs.handing_over import nothing
from mnemoscope.graphs.nodes.read import cut
from mnemoscope.graphs.nodes.write import drop_turn
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["none"]


async def find_nothing(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `find_nothing`."""
    return {"found": ()}


def none() -> Architecture:
    """Drops every turn by policy and finds nothing."""
    return Architecture(
        name="none",
        summary="remembers nothing: the floor",
        capabilities=Capabilities(keeps_turns=False, ranks=False),
        write=write_graph({"drop": drop_turn}),
        read=read_graph({"find_nothing": find_nothing, "cut": cut}),
        new_store=plain_store,
        hands_over=nothing(),
        family="control",
        loses="everything",
    )
