"""`recent`: remembers the last turns and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.architecture import Architecture, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import nothing_ready, plain_store
from mnemoscope.graphs.architectures.full_context import take_all
from mnemoscope.graphs.handing_over import last_turns
from mnemoscope.graphs.nodes.read import cut_oldest
from mnemoscope.graphs.nodes.write import index_words, render
from mnemoscope.graphs.parameters import named, whole
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["recent"]

DEFAULT_TURNS = 20
MOST_TURNS = 10_000


class ObserveLast:
    """Node `observe`: keeps the last `n` turns and lets older ones go by policy.

    Args:
        n: Turns kept.
    """

    def __init__(self, n: int) -> None:
        self._n = n

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event` and `buffer`; sets `buffer`, `ready` and `dropped`."""
        turn = state["event"].turn
        if turn is None:
            return {"ready": ()}
        if turn.is_empty:
            return {"ready": (), "dropped": {turn.turn_id: "empty"}}
        turns = (*state["buffer"], turn)
        gone, kept = turns[: -self._n], turns[-self._n :]
        return {"ready": ((turn,),), "buffer": kept, "dropped": {old.turn_id: "policy" for old in gone}}


async def forget(state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `forget`: turns the items of dropped turns into tombstones."""
    gone = tuple(ItemId(turn_id) for turn_id in state["dropped"])
    at = state["ready"][-1][-1].at
    for item_id in gone:
        runtime.context.store.invalidate(item_id, at=at)
    return {"invalidated": gone}


def recent(n: int = DEFAULT_TURNS) -> Architecture:
    """Keeps the last `n` turns, in order; `k` does not apply, and a token budget cuts the oldest off.

    Args:
        n: Turns kept, 1 to 10,000.
    """
    turns = whole("n", n, 1, MOST_TURNS)
    return Architecture(
        name=named("recent", {"n": turns}, {"n": DEFAULT_TURNS}),
        summary=f"the last {turns} turns; older ones are forgotten",
        capabilities=Capabilities(blob_context=True, keeps_turns=False, ranks=False),
        write=write_graph(
            {"observe": ObserveLast(turns), "render": render, "index": index_words, "forget": forget},
            skip_after={"observe": nothing_ready},
        ),
        read=read_graph({"take_last": take_all, "cut": cut_oldest}),
        new_store=plain_store,
        hands_over=last_turns(turns),
        family="control",
        loses=f"all but the last {turns} turns",
    )
