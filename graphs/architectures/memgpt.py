"""`memgpt-style`: an agent with three tiers of memory, which it fills and searches by tools."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

from langgraph.graph import END, START, StateGraph

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.spec import Value
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import (
    Architecture,
    Mode,
    ReadGraph,
    WriteGraph,
    asks_nothing,
    read_graph,
)
from mnemoscope.graphs.architectures._windowed import vector_store
from mnemoscope.graphs.architectures.hybrid import Fuse
from mnemoscope.graphs.contracts.asking import planned_call
from mnemoscope.graphs.contracts.look_up import LOOK_UP, STEPS
from mnemoscope.graphs.contracts.recursive_summary import RECURSIVE_SUMMARY
from mnemoscope.graphs.contracts.remember import REMEMBER, told_by
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.message_queue import LEAVE, Enqueue, QueueState, Summarise, warn, way_in
from mnemoscope.graphs.nodes.read import SearchVector, cut
from mnemoscope.graphs.nodes.tiers_searched import (
    ENTRIES,
    LookUp,
    LookUpState,
    OpenDesk,
    assemble,
    run_searches,
    search_messages,
)
from mnemoscope.graphs.nodes.tool_loop import Agent, Send, goes_on, run_tools
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.spans import spanned
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["memgpt_style"]

WINDOW = 8_192
CORE = 2_000
MOST_STEPS = 10
DEPTH = 50
"""Ranks of each tier that a direct search fuses."""

_A_DESK = "Core memory, a summary and the first page of what was found, as the agent sees them.\n" * 40
"""As much as one step of a search is usually shown; for estimates."""
_DEFAULTS: dict[str, Value] = {
    "read": "store-probe",
    "window": WINDOW,
    "core": CORE,
    "steps": MOST_STEPS,
    "dedup": True,
    "mode": "heuristic",
}


def memgpt_style(
    read: str = "store-probe",
    window: int = WINDOW,
    core: int = CORE,
    steps: int = MOST_STEPS,
    dedup: bool = True,
    mode: str = "heuristic",
) -> Architecture:
    """MemGPT (arXiv 2310.08560) and its package before it became Letta, written anew.

    The agent sees core memory (two blocks of 2,000 characters), a queue of messages, and a summary of those that had to
    leave it. Every message stays in recall memory, found by its words or its day; archival memory is found by
    embeddings, a page of five at a time. For each message of a user the agent is asked which tools it calls, until it
    asks for no heartbeat. At three quarters of the window it is warned; when the window overflows, the oldest messages
    worth three quarters of the queue are summarised.

    What the source tests is that the model decides to search. A read that searches for it takes that out, so there are
    two: `store-probe` searches archival, core and recall memory directly; with `agentic` the agent searches and
    answers, so that it pairs with the profile `own` alone. Report them as two rows.

    Differences from the source: tools are called in a structured answer, one heartbeat a step; replies are those of the
    conversation, so that writing has no `send_message`, and nothing waits for a clock (`pause_heartbeats`); a block is
    kept line by line, each with its turns; an edit of words that do not stand in the block once is refused (the
    original did nothing, or changed them everywhere); what is too long for a block is refused; results of tools stay in
    their own loop, not in the queue; a message is shown up to a quarter of the window; passages are not cut into
    chunks; the same passage is stored once; a read changes nothing. In `heuristic` mode what a message says about the
    slots of its speaker's life goes to the block `human`, whose oldest lines make room by moving to archival memory;
    its other clauses become passages; reading searches messages by three words and then passages, and answers with the
    sentence that has most words of the question. That replaces the decisions, which are the system.

    Args:
        read: `store-probe` or `agentic`.
        window: Tokens of the agent's context, 1,024 to 1,000,000.
        core: Characters of each block of core memory, 100 to 100,000.
        steps: The most steps of one loop, 1 to 20.
        dedup: False: the same passage is stored as often as it is inserted, as in the original.
        mode: `heuristic` or `llm`.
    """
    way = one_of("read", read, ("store-probe", "agentic"))
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    tokens, limit = whole("window", window, 1_024, 1_000_000), whole("core", core, 100, 100_000)
    most = whole("steps", steps, 1, 20)
    if not isinstance(dedup, bool):
        raise ConfigError(f"dedup is {shown(dedup)}; it must be true or false")
    searching = way == "agentic"
    return Architecture(
        name=named(
            "memgpt-style",
            {"read": way, "window": tokens, "core": limit, "steps": most, "dedup": dedup, "mode": how},
            _DEFAULTS,
        ),
        summary="core memory, passages and all messages, kept and searched by tools; "
        + ("its agent answers (profile own)" if searching else "with read=agentic its agent answers (profile own)"),
        capabilities=Capabilities(needs_embedder=True, answers=searching),
        write=_writing(how, tokens, limit, most, dedup=dedup),
        read=_by_agent(how, tokens, limit, most) if searching else _directly(),
        new_store=vector_store,
        embeds=_embedded,
        asks=_asks(tokens) if how == "llm" else asks_nothing,
        asks_to_read=planned_call(LOOK_UP, _A_DESK, STEPS) if searching and how == "llm" else Usage(),
        hands_over=memories(),
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
        family="tiers",
        loses="what the agent did not write down and nobody searches for in the words of the message",
    )


def _writing(mode: Mode, window: int, limit: int, most: int, *, dedup: bool) -> WriteGraph:
    graph: WriteGraph = StateGraph(QueueState, context_schema=MemoryContext)
    nodes: dict[str, Any] = {
        "enqueue": Enqueue(window, limit),
        "warn": warn,
        "summarise": Summarise(mode),
        "agent": Agent(mode),
        "tools": run_tools,
        "send": Send(dedup=dedup),
    }
    for name, node in nodes.items():
        graph.add_node(name, spanned(f"write/{name}", node))
    graph.add_edge(START, "enqueue")
    spoken: dict[Hashable, str] = {"somebody spoke": "agent", "there is nothing to decide": "send"}
    pressed: dict[Hashable, str] = {"the mark is passed": "warn", "the window overflows": "summarise"}
    graph.add_conditional_edges("enqueue", way_in, spoken | pressed | {"nothing came in": END})
    graph.add_edge("warn", "agent")
    graph.add_conditional_edges("summarise", way_in, spoken)
    graph.add_conditional_edges("agent", _calls_tools, {"it calls tools": "tools", "it is done": "send"})
    graph.add_conditional_edges("tools", _another_step(most), {"it goes on": "agent", "it is done": "send"})
    graph.add_edge("send", END)
    return graph


def _by_agent(mode: Mode, window: int, limit: int, most: int) -> ReadGraph:
    graph: ReadGraph = StateGraph(LookUpState, context_schema=MemoryContext)
    nodes: dict[str, Any] = {
        "context": OpenDesk(window, limit),
        "agent": LookUp(mode),
        "tools": run_searches,
        "assemble": assemble,
    }
    for name, node in nodes.items():
        graph.add_node(name, spanned(f"read/{name}", node))
    graph.add_edge(START, "context")
    graph.add_edge("context", "agent")
    graph.add_conditional_edges("agent", _calls_tools, {"it calls tools": "tools", "it is done": "assemble"})
    graph.add_conditional_edges("tools", _another_step(most), {"it goes on": "agent", "it is done": "assemble"})
    graph.add_edge("assemble", END)
    return graph


def _directly() -> ReadGraph:
    return read_graph(
        {
            "search_archival": SearchVector("by_vector", ENTRIES),
            "search_recall": search_messages,
            "fuse": Fuse(DEPTH),
            "cut": cut,
        },
        together=("search_archival", "search_recall"),
    )


# coroutines, so that LangGraph runs them here instead of handing them to its thread pool
async def _calls_tools(state: QueueState | LookUpState) -> str:
    return "it calls tools" if state["step"].calls else "it is done"


def _another_step(most: int) -> Callable[[Any], Any]:
    async def route(state: QueueState | LookUpState) -> str:
        further = "outage" not in state and goes_on(state["step"], state["failed"], state["steps"], most)
        return "it goes on" if further else "it is done"

    return route


def _embedded(turns: Sequence[Turn]) -> Sequence[str]:
    """What rules write down of whole sessions; a line that moves to archival memory is embedded again."""
    spoken = [turn for turn in turns if not turn.is_empty]
    return [
        text
        for place, turn in enumerate(spoken)
        if turn.role != "assistant"
        for text, _ in told_by(turn, spoken[:place])
    ]


def _asks(window: int) -> Callable[[Sequence[Turn]], Usage]:
    """One step per message of a user, two for every second one; a summary whenever the queue is full.

    A step is shown the queue, which once it is full has between a quarter of the window and all of it.
    """

    def asks(turns: Sequence[Turn]) -> Usage:
        total, queue, size = Usage(), 0, 0
        for place, turn in enumerate(turn for turn in turns if not turn.is_empty):
            queue = min(queue + estimate_tokens(unit_text(turn)), window * 5 // 8)
            size += estimate_tokens(unit_text(turn))
            if turn.role != "assistant":
                steps = 1 + place % 2
                total = total + planned_call(REMEMBER, "", steps) + Usage(prompt_tokens=steps * queue)
        folds = int(size // (window * LEAVE))
        return total + planned_call(RECURSIVE_SUMMARY, "", folds) + Usage(prompt_tokens=int(folds * window * LEAVE))

    return asks
