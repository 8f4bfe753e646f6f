"""What work cost: model calls by phase, tokens, embedded texts, cache hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Phase", "Usage"]

Phase = Literal["extract", "decide", "summarise", "rewrite", "select", "judge", "policy", "plan", "respond", "embed"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts that add up; `calls_by_phase` holds only phases that were used."""

    calls_by_phase: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedded_texts: int = 0
    cache_hits: int = 0
    """How much of all this came from a cache and was not paid again; the counts above include it."""
    cached_tokens: int = 0
    """Prompt tokens, counted in `prompt_tokens` too, that the endpoint read from its own cache."""
    estimated_calls: int = 0
    """Calls whose tokens are an estimate, because the endpoint reported none."""

    def __add__(self, other: Usage) -> Usage:
        phases = dict(self.calls_by_phase)
        for phase, calls in other.calls_by_phase.items():
            phases[phase] = phases.get(phase, 0) + calls
        return Usage(
            dict(sorted(phases.items())),
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.embedded_texts + other.embedded_texts,
            self.cache_hits + other.cache_hits,
            self.cached_tokens + other.cached_tokens,
            self.estimated_calls + other.estimated_calls,
        )

    @property
    def calls(self) -> int:
        """Model calls of all phases."""
        return sum(self.calls_by_phase.values())
