"""`full-context`: hands over the whole history in order, as far as the token budget allows."""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.runtime import Runtime

from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import keep_windows, plain_store
from mnemoscope.graphs.nodes.read import cut_oldest, known_by
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["full_context", "take_all"]


async def take_all(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `take_all`: everything said by `now`, in order of the conversation."""
    return {"found": known_by(runtime.context.store.items(), state.get("now"))}


def full_context() -> Architecture:
    """Keeps every turn; `k` does not apply, and a token budget cuts the oldest turns off."""
    return Architecture(
        name="full-context",
        summary="the whole history in order; a token budget cuts the oldest turns off",
        capabilities=Capabilities(blob_context=True, ranks=False),
        write=keep_windows(),
        read=read_graph({"take_all": take_all, "cut": cut_oldest}),
        new_store=plain_store,
    )
