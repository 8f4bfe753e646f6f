"""`oracle`: hands over the gold evidence of a probe. Privileged: the ceiling of every memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import keep_windows, plain_store
from mnemoscope.graphs.handing_over import mean_turns
from mnemoscope.graphs.nodes.gold import hits_gold
from mnemoscope.graphs.nodes.read import known_by
from mnemoscope.graphs.parameters import named, whole
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.record import Capabilities, MemoryItem
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["oracle"]

MOST_AROUND = 100


class TakeGold:
    """Node `take_gold`: the stored turns that hold the evidence, in order of the conversation.

    Args:
        around: Turns of the same session that are taken with each, on either side.
    """

    def __init__(self, around: int) -> None:
        self._around = around

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query` and `now`; sets `found`."""
        view, probe_id = runtime.context.ports.gold, state["query"].probe_id
        if view is None or probe_id is None:
            raise ConfigError("oracle reads gold; it needs a gold view and the id of the probe")
        gold = view.gold(probe_id)
        known = known_by(runtime.context.store.items(), state.get("now"))
        hits = [place for place, item in enumerate(known) if hits_gold(item, gold)]
        taken = {near for place in hits for near in self._near(known, place)}
        return {"found": tuple(known[place].ranked(rank, None) for rank, place in enumerate(sorted(taken), start=1))}

    def _near(self, known: Sequence[MemoryItem], place: int) -> list[int]:
        session = known[place].attrs.get("session")
        if session == POOL_SESSION:
            return [place]
        span = range(max(0, place - self._around), min(len(known), place + self._around + 1))
        return [near for near in span if known[near].attrs.get("session") == session]


async def hand_over(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `hand_over`: all of the evidence, whatever `k` is; a token budget cuts it at the end."""
    return {"retrieval": fit(state["found"], replace(state["budget"], k=None))}


def oracle(around: int = 0) -> Architecture:
    """Keeps every turn and finds those that the gold names: must and nice memories of a pool, else the evidence.

    Args:
        around: Turns before and after each piece of evidence, within its session, that are handed over with it, 0 to
            100; 5 is LoCoMo-Conv's oracle with context.
    """
    turns = whole("around", around, 0, MOST_AROUND)
    context = f" with {turns} turns around it" if turns else ""
    return Architecture(
        name=named("oracle", {"around": turns}, {"around": 0}),
        summary=f"the gold evidence{context}, and nothing else: the ceiling (reads gold)",
        capabilities=Capabilities(privileged=True, ranks=False),
        write=keep_windows(),
        read=read_graph({"take_gold": TakeGold(turns), "hand_over": hand_over}),
        new_store=plain_store,
        hands_over=mean_turns(2 * (2 * turns + 1)),
        family="control",
        loses="what gold does not name",
    )
