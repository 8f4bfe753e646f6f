"""`rag`: the exchanges nearest to the question, out of the most important share (MemUse's RAG-k conditions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._shares import Share, embeds_exchanges, keep_exchanges
from mnemoscope.graphs.architectures._windowed import vector_store
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.parameters import named, whole
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["rag"]

DEFAULT_K, MOST_K = 10, 1_000


class SearchShare:
    """Node `search_share`: nearest exchanges by vector among those within reach; a summary stands in front.

    Args:
        share: What is within reach.
    """

    def __init__(self, share: Share) -> None:
        self._share = share

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query` and `now`; sets `found`."""
        embedder, store, now = runtime.context.ports.embedder, runtime.context.store, state.get("now")
        if embedder is None:
            raise BackendError("there is no embedder", phase="retrieve")
        summaries, exchanges = self._share.reach(store, now)
        if not exchanges:
            return {"found": summaries}
        vector = (await embedder.embed([state["query"].text], "query"))[0]
        within = {item.id for item in exchanges}
        near = [item for item in store.search_vector(vector, len(store), now=now) if item.id in within]
        head = [item.ranked(1, None) for item in summaries]
        tail = [item.ranked(rank, item.score) for rank, item in enumerate(near, start=len(head) + 1)]
        return {"found": (*head, *tail)}


class Cut:
    """Node `cut`: hands over at most `k` exchanges, and a summary besides.

    Args:
        k: Of the condition; a smaller one of the budget counts instead.
    """

    def __init__(self, k: int) -> None:
        self._k = k

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `found` and `budget`; sets `retrieval`."""
        found, budget = state["found"], state["budget"]
        head = int(bool(found) and found[0].kind == "summary")
        k = self._k if budget.k is None else min(self._k, budget.k)
        return {"retrieval": fit(found, replace(budget, k=k + head if k else 0))}


def rag(share: int = 100, k: int = DEFAULT_K, importance: str = "auto", summary: bool | str = False) -> Architecture:
    """Search over the exchanges that `lc` with the same share hands over whole.

    MemUse searches with text-embedding-3-small; here it is the embedder of the run, named in its settings.

    Args:
        share: Per cent of the exchanges in which the user speaks, 1 to 100, rounded up.
        k: Exchanges given at most, 1 to 1,000; the run's own `--k` holds too.
        importance: As for `lc`.
        summary: As for `lc`; it does not count towards `k`.
    """
    chosen, most = Share.checked(share, importance, summary), whole("k", k, 1, MOST_K)
    within = "" if chosen.share == 100 else f", of the {chosen.share} % most important"
    return Architecture(
        name=named("rag", {**chosen.parameters, "k": most}, {**chosen.defaults, "k": DEFAULT_K}),
        summary=f"the exchanges nearest to the question{within}",
        capabilities=Capabilities(
            needs_embedder=True, needs_flush=True, needs_pairs=True, selective=chosen.share < 100
        ),
        write=keep_exchanges(chosen, vectors=True),
        read=read_graph({"search_share": SearchShare(chosen), "cut": Cut(most)}),
        new_store=vector_store,
        embeds=embeds_exchanges(chosen),
        hands_over=memories(2, most),
        family="capacity",
        loses="exchanges far from the question"
        if chosen.share == 100
        else f"the {100 - chosen.share} % of exchanges ranked as least important, and what is far from the question",
        asks=chosen.asks,
        mode=chosen.mode,
        evidence_class=chosen.evidence_class,
    )
