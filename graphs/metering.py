"""Counting what a node spends: wrapped models and embedders report to the node that is running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.ports import Completion, Embedder, LanguageModel, Message, Vectors
from mnemoscope.core.usage import Phase, Usage

__all__ = ["Meter", "MeteredEmbedder", "MeteredModel", "count", "metering"]


@dataclass(slots=True)
class Meter:
    """What has been spent so far."""

    usage: Usage = Usage()


_RUNNING: ContextVar[Meter | None] = ContextVar("mnemoscope_meter", default=None)
_NOTHING = Usage()


@contextmanager
def metering() -> Iterator[Meter]:
    """Collect what is spent inside the block, by this task and those it starts; an outer block does not see it."""
    meter = Meter()
    token = _RUNNING.set(meter)
    try:
        yield meter
    finally:
        _RUNNING.reset(token)


def count(usage: Usage) -> None:
    """Add to the innermost block; without one, nothing happens."""
    meter = _RUNNING.get()
    if meter is not None and usage != _NOTHING:
        meter.usage = meter.usage + usage


class MeteredModel:
    """A language model whose usage is counted.

    Args:
        inner: The model that answers.
    """

    def __init__(self, inner: LanguageModel) -> None:
        self._inner = inner

    @property
    def key(self) -> str:
        """The inner model's key."""
        return self._inner.key

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """The inner model's answer; its usage is counted, that of a failure too."""
        try:
            answer = await self._inner.complete(
                messages, phase=phase, schema=schema, max_tokens=max_tokens, replicate=replicate
            )
        except EndpointError as error:
            count(error.usage)
            raise
        count(answer.usage)
        return answer


class MeteredEmbedder:
    """An embedder whose texts are counted, cached ones included, so that figures do not depend on a warm cache.

    Args:
        inner: The embedder that does the work.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def id(self) -> str:
        """The inner embedder's id."""
        return self._inner.id

    @property
    def dim(self) -> int:
        """The inner embedder's dimension."""
        return self._inner.dim

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """The inner embedder's vectors; the texts are counted."""
        vectors = await self._inner.embed(texts, purpose)
        count(Usage(embedded_texts=len(texts)))
        return vectors

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """The inner embedder's share of unknown tokens."""
        return self._inner.unknown_share(texts)
