"""Assistants as LangGraph Studio, or whatever else reads `langgraph.json`, opens them: one graph per architecture.

`do` says which way a run takes: `observe` writes what was said to the memory, `end_session` lets it settle (both are
its WRITE graph), `look_up` asks the memory alone (its READ graph), and `respond` runs the whole assistant. Where no
context is given, a bundled scenario has been taken in, the offline writer replies, and nothing leaves the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, TypedDict

import numpy as np
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from mnemoscope.agents.ids import ContentIds
from mnemoscope.agents.profiles import open_profile
from mnemoscope.agents.realisation import RealisationDetector
from mnemoscope.agents.writers import open_writer
from mnemoscope.core.identity import ProbeId, SessionId, TurnId
from mnemoscope.core.ports import Embedder
from mnemoscope.engine.ingest import LaneProgress, ingest
from mnemoscope.graphs.architecture import Architecture, create_architecture
from mnemoscope.graphs.assistant import Assistant
from mnemoscope.graphs.backend import MemoryBackend, Ports
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.graphs.state import AssistantContext
from mnemoscope.graphs.traces import NullTrace
from mnemoscope.memory_backends.embedders import EMBEDDERS
from mnemoscope.memory_backends.record import Budget, Query, Scope
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Cut, Probe, Role, Turn
from mnemoscope.scenarios.replay import HistoryEnd, replay

__all__ = ["READS_GOLD", "StudioState", "entry_name", "studio_graph"]

_PROFILE = "slots"
_SCENARIO = "moments-en"
READS_GOLD = ("oracle",)
"""Nobody has gold for what is said in Studio."""
_SESSION = SessionId("studio")
_A_MINUTE = timedelta(minutes=1)

StudioGraph = CompiledStateGraph["StudioState", "AssistantContext | None", "StudioState", "StudioState"]


class StudioState(TypedDict, total=False):
    """What goes in (`do`, `speaker`, `text`) and what comes out."""

    do: Literal["observe", "end_session", "look_up", "respond"]
    """Default: `respond`."""
    speaker: str
    text: str
    receipt: dict[str, int]
    """How many items the memory added, updated and ended, and how many turns it holds back or dropped."""
    memories: list[str]
    """What was found, best first where the memory ranks."""
    plan: list[dict[str, str]]
    """The slots: memory, role and how it is spoken of."""
    reply: str
    error: str


@dataclass
class _Demo:
    """A memory that has taken in a bundled scenario, and what goes on in it since; opened on first use."""

    architecture: Architecture
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    context: AssistantContext | None = None
    turns: list[Turn] = field(default_factory=list)
    """All that was said so far, the scenario's history first."""

    async def opened(self) -> AssistantContext:
        async with self.lock:
            if self.context is None:
                self.context = await self._open()
            return self.context

    async def _open(self) -> AssistantContext:
        scenario = next(one for one in open_source("demo") if one.scenario_id == _SCENARIO)
        embedder, memory = _embedder(), self.architecture.backend()
        await memory.open(
            Scope(scenario.scenario_id), Ports(ContentIds(), np.random.default_rng(0), NullTrace(), embedder)
        )
        progress = LaneProgress()
        for event in replay(scenario, pool_as_turns=False):
            if not isinstance(event, HistoryEnd):  # the conversation goes on here
                await ingest(memory, event, progress)
        self.turns = [turn for session in scenario.sessions for turn in session.turns]
        return AssistantContext(memory, Budget(), open_writer(None), RealisationDetector(), embedder=embedder)

    @property
    def now(self) -> datetime | None:
        """A minute after what was said last: conversation time, never the wall clock."""
        last = self.turns[-1].at if self.turns else None
        return None if last is None else last + _A_MINUTE

    def said(self, state: StudioState) -> Turn:
        """What somebody says now, as the next turn."""
        place = len(self.turns)
        speaker = state.get("speaker", "user")
        role: Role = next((turn.role for turn in self.turns if turn.speaker == speaker), "user")
        turn = Turn(
            turn_id=TurnId(f"studio-{place}"),
            session_id=_SESSION,
            index=place,
            speaker=speaker,
            role=role,
            text=state["text"],
            at=self.now,
        )
        self.turns.append(turn)
        return turn

    def probe(self, state: StudioState) -> Probe:
        """What somebody says now, to be answered and not to be remembered."""
        here = tuple(turn for turn in self.turns if turn.session_id == _SESSION)
        cut = Cut(seq=len(self.turns), turn_id=self.turns[-1].turn_id if self.turns else None)
        return Probe(
            probe_id=ProbeId(f"studio-{len(self.turns)}"),
            style=None,
            speaker=state.get("speaker", "user"),
            text=state["text"],
            cut=cut,
            now=self.now,
            recent_turns=here,
        )


@lru_cache
def _embedder() -> Embedder:
    return EMBEDDERS.create("minilm")


def studio_graph(architecture: str, profile: str = _PROFILE) -> StudioGraph:
    """An assistant with its memory as one graph.

    Args:
        architecture: Its name, with parameters if any.
        profile: How it answers.

    Returns:
        A graph that takes a `StudioState`. A run may bring an `AssistantContext`; the demo memory serves where it
        brings none, and lives as long as the graph.

    Raises:
        UnknownNameError: No such architecture or profile.
        ConfigError: A parameter out of its range, or an architecture that has no graphs or reads gold.
    """
    made = create_architecture(architecture)
    write, read, assistant = made.write_graph, made.read_graph, Assistant(open_profile(profile).nodes)
    demo = _Demo(made)

    async def memory_of(runtime: Runtime[AssistantContext | None]) -> tuple[AssistantContext, MemoryBackend]:
        context = await demo.opened() if runtime.context is None else runtime.context
        return context, context.backend

    async def observe(state: StudioState, runtime: Runtime[AssistantContext | None]) -> StudioState:
        _ = write  # named here so that Studio draws it inside this node
        _, memory = await memory_of(runtime)
        if state.get("do") == "end_session":
            done = await memory.flush("session_end", _SESSION, demo.now)
        else:
            done = await memory.write(demo.said(state))
        counts = {"added": done.added, "updated": done.updated, "ended": done.invalidated, "deferred": done.deferred}
        return {"receipt": {name: len(ids) for name, ids in counts.items()} | {"dropped": len(done.dropped)}}

    async def look_up(state: StudioState, runtime: Runtime[AssistantContext | None]) -> StudioState:
        _ = read
        context, memory = await memory_of(runtime)
        found = await memory.retrieve(Query(state["text"], state.get("speaker", "user")), context.budget, demo.now)
        return {"memories": [item.text for item in found.given_items]}

    async def respond(state: StudioState, runtime: Runtime[AssistantContext | None]) -> StudioState:
        _ = assistant.graph
        context, _ = await memory_of(runtime)
        reply = await assistant.respond(demo.probe(state), context)
        slots = () if reply.plan is None else reply.plan.slots
        return {
            "memories": [] if reply.retrieval is None else [item.text for item in reply.retrieval.given_items],
            "plan": [{"memory": slot.memory_id, "role": slot.role, "speak": slot.speak} for slot in slots],
            "reply": reply.visible_text,
            "error": reply.error or "",
        }

    async def way_in(state: StudioState) -> str:
        return "observe" if state.get("do") == "end_session" else state.get("do", "respond")

    graph: StateGraph[StudioState, AssistantContext | None, StudioState, StudioState]
    graph = StateGraph(StudioState, context_schema=AssistantContext)
    for name, node in {"observe": observe, "look_up": look_up, "respond": respond}.items():
        graph.add_node(name, node)
        graph.add_edge(name, END)
    graph.add_conditional_edges(START, way_in, ["observe", "look_up", "respond"])
    return graph.compile(name=made.name)


def entry_name(architecture: str) -> str:
    """What the factory of a bundled architecture is called here."""
    return architecture.replace("-", "_")


def _factory(architecture: str) -> Callable[[RunnableConfig], StudioGraph]:
    def opened(config: RunnableConfig) -> StudioGraph:
        chosen: dict[str, Any] = config.get("configurable", {})
        return studio_graph(architecture, str(chosen.get("profile", _PROFILE)))

    return opened


globals().update({entry_name(name): _factory(name) for name in ARCHITECTURES.names() if name not in READS_GOLD})
