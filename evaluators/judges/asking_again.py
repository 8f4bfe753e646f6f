"""A model asked again: the same requests under other replicate numbers, so that no cache answers for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.ports import Completion, LanguageModel, Message
from mnemoscope.core.usage import Phase

__all__ = ["AskedAgain"]

_APART = 1_000
"""More than a judge's votes and second rounds take, so that no two askings share a number."""


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """The model behind it, in its `asking`-th asking; the key stays the same, because the judge does.

    Args:
        model: The model.
        asking: 0 is the first, and the model itself.
    """

    model: LanguageModel
    asking: int

    @property
    def key(self) -> str:
        """As of the model behind it."""
        return self.model.key

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """As the model behind it, under another replicate number."""
        return await self.model.complete(
            messages,
            phase=phase,
            schema=schema,
            max_tokens=max_tokens,
            replicate=replicate + _APART * self.asking,
        )
