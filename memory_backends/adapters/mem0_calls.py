"""The embedder and the model that `mem0ai` is given: its blocking calls from a thread, answered on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np

from mnemoscope.core.ports import Embedder, Message, Vectors

__all__ = ["Ask", "Mem0Calls", "PastMem0Error"]

T = TypeVar("T")
Ask = Callable[[Sequence[Message]], Awaitable[str]]
"""Answers the extraction prompt with the JSON that the package expects."""


class PastMem0Error(BaseException):
    """Carries a failure of ours past the package, which takes every `Exception` for an empty answer and goes on.

    Args:
        error: What happened.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Mem0Calls:
    """What one call into the package may ask for, with the package's own method names.

    Args:
        known: Vectors of texts that are embedded already.
        embedder: For all others; None: there are none.
        ask: The model; None: it is not asked.
        loop: Where the two run; it must not be blocked by the call.
    """

    def __init__(
        self,
        known: Mapping[str, Vectors] | None = None,
        *,
        embedder: Embedder | None = None,
        ask: Ask | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.rows: dict[str, Vectors] = dict(known or {})
        """Text to vector, shape `(dim,)`, of every document that was embedded."""
        self._embedder, self._ask, self._loop = embedder, ask, loop

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector; the action `search` means a query."""
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = "add") -> list[list[float]]:
        """One vector per text."""
        if memory_action == "search":
            rows = self._embedded(texts, "query")
        else:
            new = [text for text in dict.fromkeys(texts) if text not in self.rows]
            self.rows.update(zip(new, self._embedded(new, "document") if new else (), strict=True))
            rows = np.stack([self.rows[text] for text in texts])
        return cast("list[list[float]]", rows.tolist())

    def generate_response(self, messages: Sequence[Mapping[str, str]], **options: Any) -> str:
        """The model's answer to an extraction prompt; further options of the package are its own affair."""
        if self._ask is None:
            raise PastMem0Error(RuntimeError("the package asked a model where none was to be asked"))
        ask = self._ask
        prompt = [Message(cast("Literal['system', 'user']", m["role"]), m["content"]) for m in messages]

        async def answer() -> str:
            return await ask(prompt)

        return self._wait(answer())

    def _embedded(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        if self._embedder is None:
            raise PastMem0Error(RuntimeError(f"the package embedded {len(texts)} texts that nobody knew of"))
        return self._wait(self._embedder.embed(list(texts), purpose))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise PastMem0Error(RuntimeError("there is no event loop to wait for"))
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except Exception as error:
            raise PastMem0Error(error) from error
