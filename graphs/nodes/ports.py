"""What an assistant's nodes are: small protocols, each with the task that it is given and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from mnemoscope.core.ports import Draft, Embedder, LanguageModel, UseDetector, Writer
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.memory_backends.record import MemoryItem, Query
from mnemoscope.scenarios.records import Gold, Probe, Turn

__all__ = [
    "GenerationTask",
    "Generator",
    "Planner",
    "PlanningTask",
    "PrivilegedPlanner",
    "QueryPlanner",
    "Verification",
    "VerificationTask",
    "Verifier",
]


@dataclass(frozen=True, slots=True)
class PlanningTask:
    """What a planner may know. Gold is not part of it."""

    utterance: str
    asker: str
    memories: tuple[MemoryItem, ...]
    """What the assistant was given, in the order of the retrieval."""
    ranked: bool
    """Whether that order means relevance to the utterance."""
    recent_turns: tuple[Turn, ...] = ()
    persona: str | None = None
    speaks_as: str | None = None
    now: datetime | None = None
    embedder: Embedder | None = None
    model: LanguageModel | None = None
    replicate: int = 0


@runtime_checkable
class QueryPlanner(Protocol):
    """Decides what the memory is asked."""

    name: str

    async def query(self, probe: Probe, model: LanguageModel | None) -> Query:
        """The query for a probe."""


@runtime_checkable
class Planner(Protocol):
    """Decides which memories a reply uses, before a word is written."""

    name: str

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """The plan; its slots name memories of the task."""


@runtime_checkable
class PrivilegedPlanner(Protocol):
    """A planner that reads gold. Profiles that use one are marked in every table."""

    name: str
    privileged: Literal[True]

    async def plan_with_gold(self, task: PlanningTask, gold: Gold) -> ResponsePlan:
        """The plan; its slots name memories of the task."""


@dataclass(frozen=True, slots=True)
class GenerationTask:
    """What a generator may know."""

    probe: Probe
    plan: ResponsePlan
    memories: tuple[MemoryItem, ...]
    writer: Writer
    unmet: tuple[str, ...] = ()
    """Slot ids that the last draft failed to realise."""
    leaked: tuple[str, ...] = ()
    """Slot ids that the last draft brought in against the plan."""
    replicate: int = 0


@runtime_checkable
class Generator(Protocol):
    """Writes a reply from a plan."""

    name: str

    async def write(self, task: GenerationTask) -> Draft:
        """The draft; raises `EndpointError` where the writer's model failed."""


@dataclass(frozen=True, slots=True)
class VerificationTask:
    """What a verifier may know."""

    draft: str
    plan: ResponsePlan
    memories: tuple[MemoryItem, ...]
    detector: UseDetector


@dataclass(frozen=True, slots=True)
class Verification:
    """What a draft makes of its plan."""

    realised: Mapping[str, bool] = field(default_factory=dict)
    """Slot id to whether the draft brings it in."""
    unmet: tuple[str, ...] = ()
    """Must slots that are missing, in plan order."""
    leaked: tuple[str, ...] = ()
    """Suppressed slots that are there, in plan order."""


@runtime_checkable
class Verifier(Protocol):
    """Checks a draft against its plan, and mends what no draft brought in."""

    name: str

    def check(self, task: VerificationTask) -> Verification:
        """Slot by slot."""

    def mend(self, task: VerificationTask, unmet: tuple[str, ...]) -> str:
        """The draft with a plain sentence for each of these slots."""
