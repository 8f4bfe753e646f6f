"""`random`: hands over turns drawn by chance. What remembering anything at all is worth, and nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed
from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import keep_windows, plain_store
from mnemoscope.graphs.handing_over import mean_turns
from mnemoscope.graphs.nodes.gold import hits_gold
from mnemoscope.graphs.nodes.read import known_by
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["random_turns"]

DEFAULT_TURNS = 3
MOST_TURNS = 1_000
MOST_SEED = 2**31


class DrawTurns:
    """Node `draw`: turns in the conversation's order, drawn by a hash of the seed, the probe and the turn.

    So a draw never depends on what else is asked, and the same probe gets the same turns in every run.

    Args:
        n: How many.
        seed: Of the draw.
        avoids_gold: Leave out what the gold names.
    """

    def __init__(self, n: int, seed: int, *, avoids_gold: bool) -> None:
        self._n, self._seed, self._avoids = n, seed, avoids_gold

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query` and `now`; sets `found`."""
        context, query = runtime.context, state["query"]
        known = known_by(context.store.items(), state.get("now"))
        if self._avoids:
            view = context.ports.gold
            if view is None or query.probe_id is None:
                raise ConfigError("random(avoid=gold) reads gold; it needs a gold view and the id of the probe")
            gold = view.gold(query.probe_id)
            known = tuple(item for item in known if not hits_gold(item, gold))
        asked = (self._seed, str(context.scope.scenario_id), query.probe_id or query.text)
        drawn = sorted(known, key=lambda item: derive_seed("random", *asked, str(item.id)))[: self._n]
        drawn.sort(key=lambda item: item.rank or 0)
        return {"found": tuple(item.ranked(rank, None) for rank, item in enumerate(drawn, start=1))}


async def hand_over(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `hand_over`: all that was drawn, whatever `k` is; a token budget cuts it at the end."""
    return {"retrieval": fit(state["found"], replace(state["budget"], k=None))}


def random_turns(n: int = DEFAULT_TURNS, seed: int = 0, avoid: str = "nothing") -> Architecture:
    """Turns of the same conversation, drawn per probe, in the conversation's order.

    LoCoMo-Conv's variant draws three turns that are not gold: `random(avoid=gold)`, which has to read the gold in
    order to avoid it, so its rows are marked as privileged. Without that, a draw may hit the gold by chance.

    Args:
        n: Turns drawn, 1 to 1,000.
        seed: Of the draw, 0 to 2³¹.
        avoid: `nothing` or `gold`.
    """
    turns, drawn = whole("n", n, 1, MOST_TURNS), whole("seed", seed, 0, MOST_SEED)
    avoids = one_of("avoid", avoid, ("nothing", "gold"))
    privileged = avoids == "gold"
    return Architecture(
        name=named(
            "random",
            {"n": turns, "seed": drawn, "avoid": avoids},
            {"n": DEFAULT_TURNS, "seed": 0, "avoid": "nothing"},
        ),
        summary=f"{turns} turns drawn by chance{', none of them gold (reads gold)' if privileged else ''}",
        capabilities=Capabilities(privileged=privileged, blob_context=True, ranks=False, selective=True),
        write=keep_windows(),
        read=read_graph({"draw": DrawTurns(turns, drawn, avoids_gold=privileged), "hand_over": hand_over}),
        new_store=plain_store,
        hands_over=mean_turns(turns),
        family="control",
        loses=f"all but {turns} turns, whatever is asked",
    )
