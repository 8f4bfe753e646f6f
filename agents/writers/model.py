"""Replies by a language model behind the gateway."""

from __future__ import annotations

from mnemoscope.agents.writers.prompts import PROMPT_SHA, reply_messages
from mnemoscope.core.ports import Draft, LanguageModel, WritingTask

__all__ = ["ModelWriter"]


class ModelWriter:
    """Writes with a model; every system gets the same template.

    Args:
        model: A model opened by the gateway.
        max_tokens: Limit of a reply; None: the model's own setting.
    """

    def __init__(self, model: LanguageModel, *, max_tokens: int | None = None) -> None:
        self._model, self._max_tokens = model, max_tokens

    @property
    def key(self) -> str:
        """Version of the template, its hash, and the model."""
        limit = f":{self._max_tokens}" if self._max_tokens is not None else ""
        return f"model-1:{PROMPT_SHA[:12]}{limit}:{self._model.key}"

    async def write(self, task: WritingTask) -> Draft:
        """Write the reply.

        Raises:
            EndpointError: The model's endpoint failed for good.
        """
        completion = await self._model.complete(
            reply_messages(task), phase="respond", max_tokens=self._max_tokens, replicate=task.replicate
        )
        text = _without_name(completion.text, task.speaks_as)
        return Draft(text, completion.usage, completion.hidden, completion.first_token_ms)


def _without_name(text: str, speaks_as: str | None) -> str:
    """The reply without the speaker's own name in front, which chat models like to add."""
    reply = text.strip()
    if speaks_as:
        for colon in (":", "："):
            reply = reply.removeprefix(f"{speaks_as}{colon}").lstrip()
    return reply
