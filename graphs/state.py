"""State and runtime context of the WRITE, READ and assistant graphs.

Channels hold small values of one step. Stores, models, embedders and traces come through the runtime context: they
are never part of a state. No channel of the assistant's state has a type that could hold gold.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, TypedDict

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.identity import ItemId, SessionId, TurnId
from mnemoscope.core.ports import Embedder, LanguageModel, Trace, UseDetector, Writer
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.admission import Admission
from mnemoscope.graphs.backend import GoldView, MemoryBackend, Ports, ReadMode
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.graphs.traces import NullTrace
from mnemoscope.memory_backends.record import Budget, FlushReason, MemoryItem, Query, Retrieval, Scope
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Probe, Turn

__all__ = ["AssistantContext", "AssistantState", "MemoryContext", "ReadState", "WriteEvent", "WriteState"]


def merge(old: Mapping[TurnId, str], new: Mapping[TurnId, str]) -> dict[TurnId, str]:
    """Reducer of dropped turns: both maps together, the newer reason winning."""
    return {**old, **new}


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """What a WRITE graph is run for: one turn, or the end of something."""

    kind: Literal["turn", "flush"]
    turn: Turn | None = None
    reason: FlushReason | None = None
    session_id: SessionId | None = None
    now: datetime | None = None


class WriteState(TypedDict, total=False):
    """One run of a WRITE graph."""

    event: WriteEvent
    buffer: tuple[Turn, ...]
    """Turns that the graph holds back between runs; kept in snapshots."""
    waiting: tuple[TurnId, ...]
    """Turns of the buffer that no item covers yet."""
    admission: Admission
    """What a gate in front of the memory knows; kept in snapshots, and there only where a gate stands."""
    ready: tuple[tuple[Turn, ...], ...]
    """Groups of turns that become items in this run."""
    ended: tuple[Turn, ...]
    """Turns of a session that is over in this run."""
    drafts: tuple[MemoryItem, ...]
    """Items made and not yet stored."""
    added: Annotated[tuple[ItemId, ...], operator.add]
    updated: Annotated[tuple[ItemId, ...], operator.add]
    invalidated: Annotated[tuple[ItemId, ...], operator.add]
    dropped: Annotated[dict[TurnId, str], merge]
    parse_failures: Annotated[int, operator.add]
    usage: Annotated[Usage, operator.add]


class ReadState(TypedDict, total=False):
    """One run of a READ graph."""

    query: Query
    budget: Budget
    now: datetime | None
    by_vector: tuple[MemoryItem, ...]
    """Ranking of a vector search."""
    by_words: tuple[MemoryItem, ...]
    """Ranking of a lexical search."""
    found: tuple[MemoryItem, ...]
    """What is handed on to be cut to the budget, best first or in conversation order."""
    retrieval: Retrieval
    outage: EndpointError
    """Why a loop ended before it was over; what it had found by then is the retrieval."""
    parse_failures: Annotated[int, operator.add]
    usage: Annotated[Usage, operator.add]


class AssistantState(TypedDict, total=False):
    """One reply on its way through the assistant graph."""

    probe: Probe
    query: Query
    retrieval: Retrieval
    plan: ResponsePlan
    draft: str
    """The visible text as it stands."""
    drafts: Annotated[tuple[str, ...], operator.add]
    reasoning: str
    realised: dict[str, bool]
    """Slot id to whether the visible text brings it in; a leak is a `suppress` slot that is True."""
    unmet: tuple[str, ...]
    """Slot ids that the last draft failed to realise."""
    leaked: tuple[str, ...]
    """Slot ids that the last draft brought in against the plan."""
    again: bool
    """Another draft is needed and may still be written."""
    loops: int
    """How often `verify` has sent the reply back."""
    fallback: bool
    error: str
    """Set by the node that failed; the nodes after it do nothing."""
    usage: Annotated[Usage, operator.add]


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """What the nodes of WRITE and READ graphs are given besides the state."""

    scope: Scope
    store: MemoryStore
    ports: Ports

    @property
    def trace(self) -> Trace:
        """Where spans go."""
        return self.ports.trace


@dataclass(frozen=True, slots=True)
class AssistantContext:
    """What the nodes of the assistant graph are given besides the state."""

    backend: MemoryBackend
    budget: Budget
    writer: Writer
    verifier: UseDetector | None = None
    model: LanguageModel | None = None
    gold: GoldView | None = None
    """Only for profiles whose planner is privileged."""
    trace: Trace = field(default_factory=NullTrace)
    embedder: Embedder | None = None
    replicate: int = 0
    read_mode: ReadMode = "pure"
