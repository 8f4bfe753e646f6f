"""Nodes of a search that decides step by step: follow a cue, ask anew, or stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.policy_step import POLICY_STEP, Search, Step
from mnemoscope.graphs.entries import CUE_KINDS, ENTRY_KINDS
from mnemoscope.graphs.nodes.cue_search import HEAD, CueReadState, led_to, query_vector
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.rendering import item_text

__all__ = ["Policy", "PolicyState", "Seed", "expand", "keep", "requery", "way_on"]

MOST_STEPS = 6
"""Steps of one search; the policy of the paper takes 3.45 in the mean."""
FRONTIER = 30
"""Cues that are offered at once."""
SYNONYM = 0.85
"""Cosine from which two cues are followed as one."""
SYNONYMS = 4
"""Cues that are followed as one at most."""
FEWEST = 2
"""Entries that are kept, however unlike the question they are."""

_WAYS = {"EXPAND": "it follows a cue", "REQUERY": "it asks anew", "STOP": "it stops"}


class PolicyState(CueReadState, total=False):
    """One run of a READ graph that decides step by step."""

    working: Mapping[ItemId, MemoryItem]
    """The nearest entries, and those that a step led to; the score is the best cosine of the question and a way there.

    Those like the question and those that a step led to are in hand. The cues of the others lead on, too."""
    chosen: frozenset[ItemId]
    """Those that a step led to."""
    followed: frozenset[ItemId]
    """Cues."""
    frontier: tuple[MemoryItem, ...]
    """Cues that lead to entries not in hand, nearest to the question first; the score is that cosine."""
    step: Step
    steps: int


class Seed:
    """Node `seed`: the ten entries whose index is nearest to the query.

    Args:
        least: Cosine below which they are not like it: no more than stepping stones.
    """

    def __init__(self, least: float) -> None:
        self._least = least

    async def __call__(self, state: PolicyState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`; sets what the search starts from."""
        vector = await query_vector(state["query"].text, runtime)
        found = runtime.context.store.search_vector(vector, HEAD, now=state.get("now"), kinds=ENTRY_KINDS)
        return {
            "vector": vector,
            "least": self._least,
            "working": {item.id: item for item in found},
            "chosen": frozenset(),
            "followed": frozenset(),
            "steps": 0,
        }


class Policy:
    """Node `policy`: chooses the next step.

    Args:
        mode: Whether a model is asked, once per step. A reply that cannot be read is counted and ends the search.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: PolicyState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `working` and `steps`; sets `frontier`, `step`, `steps` and `parse_failures`."""
        working, steps = state["working"], state["steps"]
        if not working or steps >= MOST_STEPS:
            return {"step": Step("STOP")}
        frontier = _frontier(state, runtime.context)
        given = Search(
            question=state["query"].text,
            found=tuple(item_text(item) for item in _in_hand(state).values()),
            cues=tuple(cue.text for cue in frontier),
            nearness=tuple(cue.score or 0.0 for cue in frontier),
            taken=steps,
        )
        answer = await ask(POLICY_STEP, given, self._mode, runtime.context.ports.model)
        step = answer.value or Step("STOP")
        return {"frontier": frontier, "step": step, "steps": steps + 1, "parse_failures": answer.parse_failures}


async def way_on(state: PolicyState) -> str:
    """Which way the search goes, in words."""
    return _WAYS[state["step"].action]


async def expand(state: PolicyState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `expand`: brings in the entries that the chosen cue, and cues that say the same, lead to."""
    store, now = runtime.context.store, state.get("now")
    cue = state["frontier"][state["step"].cue - 1]
    alike = store.search_vector(store.vectors([cue.id])[0], SYNONYMS, now=now, kinds=CUE_KINDS)
    cues = {cue.id: cue} | {other.id: other for other in alike if (other.score or 0.0) >= SYNONYM}
    reached = led_to(list(cues.values()), state["vector"], now, store)
    held = _in_hand(state)
    new = [item for item in reached if item.id not in held][:HEAD]
    near = cue.score or 0.0
    return {
        **_with(state, (item if (item.score or 0.0) >= near else item.ranked(1, near) for item in new)),
        "followed": state["followed"] | cues.keys(),
    }


async def requery(state: PolicyState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `requery`: brings in the entries whose index is like the new words."""
    vector = await query_vector(state["step"].query, runtime)
    found = runtime.context.store.search_vector(vector, HEAD, now=state.get("now"), kinds=ENTRY_KINDS)
    return _with(state, (item for item in found if (item.score or 0.0) >= state["least"]))


async def keep(state: PolicyState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `filter`: keeps what is like the question and what a step led to, two entries at least; best first."""
    order = sorted(state["working"].values(), key=lambda item: (-(item.score or 0.0), item.seq_to, item.id))
    held = _in_hand(state)
    kept = [item for item in order if item.id in held] if len(held) >= FEWEST else order[:FEWEST]
    return {"found": tuple(item.ranked(rank, item.score) for rank, item in enumerate(kept, start=1))}


def _in_hand(state: PolicyState) -> dict[ItemId, MemoryItem]:
    chosen, least = state["chosen"], state["least"]
    return {i: item for i, item in state["working"].items() if i in chosen or (item.score or 0.0) >= least}


def _frontier(state: PolicyState, context: MemoryContext) -> tuple[MemoryItem, ...]:
    store, working, held, now = context.store, state["working"], _in_hand(state), state.get("now")
    links = dict.fromkeys(link for item in working.values() for link in item.links if link not in state["followed"])
    cues = [
        cue
        for cue in map(store.get, links)
        if held_at(cue, now) and any(i not in held and held_at(store.get(i), now) for i in cue.links)
    ]
    if not cues:
        return ()
    scores = (store.vectors([cue.id for cue in cues]) @ state["vector"]).tolist()
    near = [cue.ranked(1, score) for cue, score in zip(cues, scores, strict=True)]
    near.sort(key=lambda cue: (-(cue.score or 0.0), cue.id))
    return tuple(near[:FRONTIER])


def _with(state: PolicyState, reached: Iterable[MemoryItem]) -> dict[str, object]:
    """The working set with what a step led to; an entry that was in hand keeps the better score."""
    working, chosen = dict(state["working"]), set(state["chosen"])
    for item in reached:
        old = working.get(item.id)
        best = max(item.score or 0.0, old.score or 0.0) if old else item.score
        working[item.id] = replace(item, score=best)
        chosen.add(item.id)
    return {"working": working, "chosen": frozenset(chosen)}
