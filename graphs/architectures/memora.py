"""`memora-style`: what was said in full, found by short names of the matter and by cues that memories share."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

from langgraph.graph import END, START, StateGraph

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import (
    Architecture,
    Mode,
    ReadGraph,
    WriteGraph,
    asks_nothing,
    read_graph,
    write_graph,
)
from mnemoscope.graphs.architectures._windowed import nothing_ready, vector_store
from mnemoscope.graphs.contracts.asking import planned_call
from mnemoscope.graphs.contracts.policy_step import POLICY_STEP, STEPS
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.abstractions import (
    STRETCH,
    AddCues,
    DrawFacts,
    Segmenting,
    abstraction_calls,
    abstraction_texts,
    keep_episodes,
)
from mnemoscope.graphs.nodes.consolidation import Consolidate, ConsolidationState, persist
from mnemoscope.graphs.nodes.cue_policy import Policy, PolicyState, Seed, expand, keep, requery, way_on
from mnemoscope.graphs.nodes.cue_search import CueReadState, EmbedQuery, by_cue, by_index, fuse
from mnemoscope.graphs.nodes.read import cut
from mnemoscope.graphs.nodes.write import ObserveWindows
from mnemoscope.graphs.parameters import named, one_of, within
from mnemoscope.graphs.spans import spanned
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import Capabilities

__all__ = ["memora_style"]

_A_SEARCH = "[8 May 2023, 13:56] Somebody: what was said, in a sentence or two.\n" * 12 + "Somebody a matter\n" * 20
"""As much as one step of the policy is usually shown; for estimates."""


def memora_style(
    read: str = "semantic",
    least: float = 0.4,
    episodic: bool = True,
    consolidate: bool = True,
    mode: str = "heuristic",
) -> Architecture:
    """Memora (arXiv 2602.03315), written anew from the paper and its code.

    A session is divided into segments of two to eight turns. Each is kept word for word as an episode, and facts are
    drawn from it: a value in full, which is shown, under an index of a few words, which is embedded. Both get up to
    three cues, short phrases that entries share. A fact whose index is near a stored one's (cosine ≥ 0.8) may be merged
    into it. A read fuses entries by index and entries by cue, 2 : 1; or a policy follows cues step by step.

    Differences from the source: facts name their turns, and a merged fact has those of both (the update of the
    original forgets them); two facts under one index are compared, not skipped; a replaced version stays as a
    tombstone that reads as of an earlier time find; a stretch of at most 40 turns is segmented at once; a later
    episode of the same run is compared with earlier ones too; cues are asked for 24 entries at a time; entries are
    ordered by rank, not by time, as for every memory; ids of episodes are not kept in facts, whose sources say the
    same; nothing is classed as procedural; the trained policy is replaced by a prompted model, and its filter by a
    threshold. In `heuristic` mode clauses are the values; the index is the speaker and the keyphrases, or, of what
    one has one of at a time, the slot; cues are names with keyphrases; the same slot of the same person is merged;
    the policy follows the best cue while its cosine is at least 0.5, three times at most.

    Args:
        read: `semantic` or `policy`.
        least: Cosine of a question and an index or a cue, 0 to 1, below which nothing is found; embedders differ in it.
        episodic: False: no episodes; a turn that no fact was drawn from is dropped, as LoCoMo-Conv ran it.
        consolidate: False: nothing is merged, as LoCoMo-Conv ran it.
        mode: `heuristic` or `llm`.
    """
    way = one_of("read", read, ("semantic", "policy"))
    floor = within("least", least, 0, 1)
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    for name, value in (("episodic", episodic), ("consolidate", consolidate)):
        if not isinstance(value, bool):
            raise ConfigError(f"{name} is {shown(value)}; it must be true or false")
    return Architecture(
        name=named(
            "memora-style",
            {"read": way, "least": floor, "episodic": episodic, "consolidate": consolidate, "mode": how},
            {"read": "semantic", "least": 0.4, "episodic": True, "consolidate": True, "mode": "heuristic"},
        ),
        summary="values in full, found by the name of the matter and by shared cues",
        capabilities=Capabilities(
            needs_flush=True,
            needs_embedder=True,
            updates=consolidate and not episodic,
            keeps_turns=episodic,
            finest_provenance="verbatim" if episodic else "cited",
        ),
        write=_writing(how, episodic=episodic, merges=consolidate),
        read=_by_policy(floor, how) if way == "policy" else _by_similarity(floor),
        new_store=vector_store,
        embeds=abstraction_texts(episodic=episodic),
        asks=abstraction_calls(episodic=episodic) if how == "llm" else asks_nothing,
        asks_to_read=planned_call(POLICY_STEP, _A_SEARCH, STEPS) if way == "policy" and how == "llm" else Usage(),
        hands_over=memories(turns=3) if episodic else memories(),
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
        family="graph",
        loses="what the name of a matter and its cues leave out; whatever is unlike every name and cue",
    )


def _writing(mode: Mode, *, episodic: bool, merges: bool) -> WriteGraph:
    return write_graph(
        {
            "observe": ObserveWindows(STRETCH, 0),
            "segment": Segmenting(mode),
            **({"episodic": keep_episodes} if episodic else {}),
            "facts": DrawFacts(mode, drops=not episodic),
            "cues": AddCues(mode),
            "consolidate": Consolidate(mode, merges=merges),
            "persist": persist,
        },
        state=ConsolidationState,
        skip_after={"observe": nothing_ready, "cues": _nothing_drawn},
        for_each={"facts": lambda state: [{"episode": episode} for episode in state["episodes"]]},
    )


def _nothing_drawn(state: ConsolidationState) -> bool:
    return not state["entries"]


def _by_similarity(least: float) -> ReadGraph:
    return read_graph(
        {"embed": EmbedQuery(least), "primary": by_index, "cue": by_cue, "rrf": fuse, "cut": cut},
        state=CueReadState,
        together=("primary", "cue"),
    )


def _by_policy(least: float, mode: Mode) -> ReadGraph:
    graph: ReadGraph = StateGraph(PolicyState, context_schema=MemoryContext)
    nodes: dict[str, Any] = {
        "seed": Seed(least),
        "policy": Policy(mode),
        "expand": expand,
        "requery": requery,
        "filter": keep,
        "cut": cut,
    }
    for name, node in nodes.items():
        graph.add_node(name, spanned(f"read/{name}", node))
    graph.add_edge(START, "seed")
    graph.add_edge("seed", "policy")
    ways: dict[Hashable, str] = {"it follows a cue": "expand", "it asks anew": "requery", "it stops": "filter"}
    graph.add_conditional_edges("policy", way_on, ways)
    graph.add_edge("expand", "policy")
    graph.add_edge("requery", "policy")
    graph.add_edge("filter", "cut")
    graph.add_edge("cut", END)
    return graph
