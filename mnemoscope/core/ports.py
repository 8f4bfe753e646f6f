"""The ports through which the inside reaches models, detectors, time and chance.

Nothing inside reads the wall clock, calls a vendor's SDK or rolls unseeded dice: it is given these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from mnemoscope.core.usage import Phase, Usage

__all__ = [
    "Clock",
    "Completion",
    "Draft",
    "Embedder",
    "Ids",
    "LanguageModel",
    "Message",
    "Point",
    "Rng",
    "Span",
    "Trace",
    "Use",
    "UseDetector",
    "Vectors",
    "Writer",
    "WritingTask",
]

Vectors = npt.NDArray[np.float32]
Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered: `text` as received, hidden reasoning apart where the endpoint separates it."""

    text: str
    usage: Usage
    model: str
    finish_reason: str | None = None
    hidden: str = ""
    cached: bool = False
    first_token_ms: float | None = None
    """From sending the request to the first visible token; None without streaming, and for a cached reply."""


@runtime_checkable
class LanguageModel(Protocol):
    """A chat model behind the one gateway (`mnemoscope.agents.gateway`)."""

    @property
    def key(self) -> str:
        """Model id and parameters: what a cached reply or a verdict is bound to."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """Answer the messages; raises `EndpointError` once retries are spent."""


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors. One embedder has one id and one dimension for life."""

    @property
    def id(self) -> str:
        """Model, quantisation and truncation: vectors of two ids must never meet."""

    @property
    def dim(self) -> int:
        """Length of every vector."""

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """Rows of unit length, shape `(len(texts), dim)`; a blank text gives a zero row."""

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Share of tokens that the model does not know, 0–1; None where it cannot be told."""


@dataclass(frozen=True, slots=True)
class Use:
    """Whether a reply uses a fact, how sure (0–1), and the words of the reply that show it."""

    used: bool
    score: float
    quote: str = ""


@runtime_checkable
class UseDetector(Protocol):
    """Decides from two texts alone, so that it can never be swayed by a plan or a label."""

    @property
    def key(self) -> str:
        """Name and version of the rule or prompt."""

    def detect(self, reply: str, fact: str) -> Use:
        """Whether the visible reply uses the fact."""


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that a reply should bring in, taken from one slot of the plan."""

    slot_id: str
    text: str
    required: bool
    """True: must be said. False: offered; the writer decides."""
    speaker: str | None = None
    at: datetime | None = None
    truth_for: str | None = None
    """The false assertion that this point corrects, if it does."""
    silent: bool = False
    """True: let it shape the reply without mentioning it."""


@dataclass(frozen=True, slots=True)
class WritingTask:
    """All that a writer sees. It holds nothing that is hidden from the assistant."""

    utterance: str
    asker: str
    points: tuple[Point, ...]
    recent: tuple[str, ...] = ()
    """The current session, one `Speaker: text` line per turn, oldest first."""
    memory_block: str = ""
    """The retrieved memories as rendered for the assistant (one format for all systems)."""
    persona: str | None = None
    speaks_as: str | None = None
    """Whose voice the reply has; None: the assistant's own."""
    hold: bool = False
    """True: the plan decided not to bring memory up."""
    unmet: tuple[str, ...] = ()
    """Slot ids that an earlier draft failed to realise."""
    avoid: tuple[str, ...] = ()
    """Facts that an earlier draft brought in although the plan keeps them out."""
    replicate: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A written reply; `text` is visible to the user, `hidden` is not and is never judged."""

    text: str
    usage: Usage = Usage()
    hidden: str = ""
    first_token_ms: float | None = None
    """As in `Completion`."""


@runtime_checkable
class Writer(Protocol):
    """Turns a task into a reply."""

    @property
    def key(self) -> str:
        """Name, version and model: what replies are bound to."""

    async def write(self, task: WritingTask) -> Draft:
        """Write the reply."""


class Clock(Protocol):
    """The only source of wall-clock time; scenario time is always a parameter."""

    def now(self) -> datetime:
        """The present, timezone-aware."""


class Ids(Protocol):
    """Ids from content and a counter; the same history gives the same ids."""

    def next(self, kind: str, content: str) -> str:
        """A new id that no earlier call of this object returned."""


@dataclass(frozen=True, slots=True)
class Span:
    """One node's run: how long, how much went in, what came out."""

    name: str
    ms: float
    input_size: int
    output: str
    usage: Usage = Usage()
    error: str | None = None


class Trace(Protocol):
    """Where spans go."""

    def span(self, name: str) -> AbstractContextManager[None]:
        """Times the block by the monotonic clock and records a span."""

    def record(self, span: Span) -> None:
        """Add a finished span."""
