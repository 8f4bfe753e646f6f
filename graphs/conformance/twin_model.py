"""A model that answers contracts by their own rules: what `llm` modes are checked with where no model is at hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import Completion, LanguageModel, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.graphs.contracts.asking import in_hand

__all__ = ["FailingModel", "TwinModel"]


class TwinModel:
    """Writes the rule's answer to the contract in hand as JSON: prompt, decoding and reading are all gone through.

    It shows that a memory keeps its contracts when a model answers as asked. It says nothing about answers of a real
    one.
    """

    key = "contract-rules-1"

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """The rule's answer.

        Raises:
            EndpointError: Nothing that has a rule is being asked.
        """
        asked = in_hand()
        if asked is None:
            raise EndpointError("this model answers contracts only", cause="refused", retryable=False)
        contract, given = asked
        text = json.dumps(contract.rule(given), ensure_ascii=False)
        prompt = estimate_tokens([message.content for message in messages])
        usage = Usage({phase: 1}, prompt_tokens=prompt, completion_tokens=estimate_tokens(text))
        return Completion(text, usage, self.key)


class FailingModel:
    """A model whose endpoint fails once.

    Args:
        inner: Answers all other calls.
        fail_on: Number of the call that fails, from 1.
    """

    def __init__(self, inner: LanguageModel, fail_on: int) -> None:
        self._inner, self._fail_on, self.calls = inner, fail_on, 0

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
        """The inner model's reply, or `EndpointError`."""
        self.calls += 1
        if self.calls == self._fail_on:
            raise EndpointError("the model's endpoint is down", cause="server", retryable=True)
        return await self._inner.complete(
            messages, phase=phase, schema=schema, max_tokens=max_tokens, replicate=replicate
        )
