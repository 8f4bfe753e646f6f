"""A contract: one question that a memory asks while it writes or reads, answered by a model or by a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.core.usage import Phase

__all__ = ["Contract", "Reading"]

Given = TypeVar("Given")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Reading(Generic[Value]):
    """What a reply comes to once it is held against what was offered."""

    value: Value
    rejected: int = 0
    """Parts that name what was not offered, or say nothing: left out and counted, never mended."""


@dataclass(frozen=True, slots=True)
class Contract(Generic[Given, Value]):
    """A question with numbered inputs and a structured answer.

    A model and the rule in its place answer in the same shape and are read by the same `read`, so that both modes of
    an architecture share everything but the answer itself.
    """

    name: str
    """Kebab-case; also the title of the schema, by which a recorded reply is told apart."""
    version: int
    phase: Phase
    instruction: str
    """The system message. Written for this project; the inputs follow as data in a message of their own."""
    schema: Mapping[str, object]
    """JSON Schema of the answer, an object."""
    show: Callable[[Given], str]
    """The inputs as text: things are numbered from 1, ids never appear."""
    rule: Callable[[Given], Mapping[str, object]]
    """The deterministic answer of `heuristic` mode, in the shape of the schema."""
    read: Callable[[Mapping[str, object], Given], Reading[Value]]
    """Holds an answer of the right shape against what was offered."""
    max_tokens: int = 1_024
    """Longest reply that is asked for."""

    @property
    def key(self) -> str:
        """Name, version and hash of prompt and schema: changing a word changes it."""
        return f"{self.name}@{self.version}-{sha256_of(canonical_json([self.instruction, self.titled]))[:8]}"

    @property
    def titled(self) -> Mapping[str, object]:
        """The schema with the contract's name as its title."""
        return {"title": self.name, **self.schema}
