"""Token counts as endpoints report them, brought to one meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import Message
from mnemoscope.core.usage import Phase, Usage

__all__ = ["TokenCounts", "call_usage", "read_counts"]

_PER_MESSAGE = 4
"""Tokens that a chat template spends around a message; only used in estimates."""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of one call. The four parts never overlap."""

    uncached: int
    cache_read: int
    cache_write: int
    output: int

    @property
    def prompt(self) -> int:
        """All tokens that were sent."""
        return self.uncached + self.cache_read + self.cache_write


def read_counts(reported: Mapping[str, object] | None) -> TokenCounts | None:
    """Counts from a usage record of any of the known shapes.

    Some providers count cached tokens inside the prompt's total (`prompt_tokens`, `promptTokenCount`), others beside
    it (`input_tokens` with `cache_read_input_tokens`).

    Args:
        reported: The endpoint's usage record.

    Returns:
        The counts, or None where the endpoint reported none: unknown is not 0.
    """
    if not isinstance(reported, Mapping):
        return None
    if "prompt_tokens" in reported:
        details = reported.get("prompt_tokens_details")
        return _inside(
            _whole(reported.get("prompt_tokens")),
            _whole(details.get("cached_tokens")) if isinstance(details, Mapping) else None,
            _whole(reported.get("completion_tokens")),
        )
    if "promptTokenCount" in reported:
        return _inside(
            _whole(reported.get("promptTokenCount")),
            _whole(reported.get("cachedContentTokenCount")),
            _whole(reported.get("candidatesTokenCount")),
        )
    details = reported.get("input_tokens_details")
    if isinstance(details, Mapping):
        return _inside(
            _whole(reported.get("input_tokens")),
            _whole(details.get("cached_tokens")),
            _whole(reported.get("output_tokens")),
        )
    uncached, output = _whole(reported.get("input_tokens")), _whole(reported.get("output_tokens"))
    if uncached is None and output is None:
        return None
    read = _whole(reported.get("cache_read_input_tokens")) or 0
    written = _whole(reported.get("cache_creation_input_tokens")) or 0
    return TokenCounts(uncached or 0, read, written, output or 0)


def call_usage(phase: Phase, reported: Mapping[str, object] | None, messages: Sequence[Message], written: str) -> Usage:
    """What one call cost; an estimate, counted in `estimated_calls`, where the endpoint reported nothing.

    Args:
        phase: What the call was for.
        reported: The endpoint's usage record.
        messages: What was sent.
        written: Everything that came back, hidden reasoning included and uncut.
    """
    counts = read_counts(reported)
    if counts is None:
        sent = sum(estimate_tokens(message.content) + _PER_MESSAGE for message in messages)
        return Usage({phase: 1}, sent, estimate_tokens(written), estimated_calls=1)
    return Usage({phase: 1}, counts.prompt, counts.output, cached_tokens=counts.cache_read)


def _inside(total: int | None, cached: int | None, output: int | None) -> TokenCounts | None:
    if total is None and output is None:
        return None
    read = min(cached or 0, total or 0)
    return TokenCounts((total or 0) - read, read, 0, output or 0)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
