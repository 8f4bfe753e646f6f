"""`lc`: the most important share of what the user said, with the replies, in order (MemUse's LC-k conditions)."""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.runtime import Runtime

from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._shares import Share, keep_exchanges
from mnemoscope.graphs.architectures._windowed import plain_store
from mnemoscope.graphs.handing_over import share_of_history
from mnemoscope.graphs.nodes.read import fit_latest
from mnemoscope.graphs.parameters import named
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["lc"]


class TakeShare:
    """Node `take_share`: the summary, where one is kept, then the exchanges within reach, in order.

    Args:
        share: What is within reach.
    """

    def __init__(self, share: Share) -> None:
        self._share = share

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `now`; sets `found`."""
        summaries, exchanges = self._share.reach(runtime.context.store, state.get("now"))
        found = (*summaries, *exchanges)
        return {"found": tuple(item.ranked(rank, None) for rank, item in enumerate(found, start=1))}


async def cut(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `cut`: a token budget cuts the oldest exchanges off, and a summary last; `k` does not apply."""
    found = state["found"]
    head = int(bool(found) and found[0].kind == "summary")
    return {"retrieval": fit_latest(found, state["budget"], head=head)}


def lc(share: int = 100, importance: str = "auto", summary: bool | str = False) -> Architecture:
    """Long context of the top share of the user's turns by importance, each with the assistant's reply.

    Importance is worked out when asked, on what was said until then. `share=100` is the whole history.

    Args:
        share: Per cent of the exchanges in which the user speaks, 1 to 100, rounded up.
        importance: `given` scores of the data; `salience`, a rule in the place of a trained model; `auto`: given ones
            where every exchange has one.
        summary: Whether the last session's summary stands in front, as in all of MemUse's conditions: the data's, or
            else one of chosen sentences (True) or of the memory model (`llm`). False is the memory-only arm.
    """
    chosen = Share.checked(share, importance, summary)
    what = "everything" if chosen.share == 100 else f"the {chosen.share} % most important of what"
    return Architecture(
        name=named("lc", chosen.parameters, chosen.defaults),
        summary=f"{what} the user said, with the replies, in order",
        capabilities=Capabilities(
            needs_flush=True, blob_context=True, ranks=False, needs_pairs=True, selective=chosen.share < 100
        ),
        write=keep_exchanges(chosen, vectors=False),
        read=read_graph({"take_share": TakeShare(chosen), "cut": cut}),
        new_store=plain_store,
        hands_over=share_of_history(chosen.share),
        family="capacity",
        loses="" if chosen.share == 100 else f"the {100 - chosen.share} % of exchanges ranked as least important",
        asks=chosen.asks,
        mode=chosen.mode,
        evidence_class=chosen.evidence_class,
    )
