"""One call on the wire, through the vendor's client; the only module that builds one."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI

from mnemoscope.agents.gateway.settings import EndpointSettings
from mnemoscope.core.ports import Message

__all__ = ["WireClient", "WireReply"]

_REASONING_FIELDS = ("reasoning_content", "reasoning")
_ADVICE = r"(?s)This model does not support OpenAI's structured output|Invalid schema for OpenAI's structured output"
"""Warnings that advise another call of the library; the gateway acts on the error that comes with them."""
_KINDS: Mapping[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


@dataclass(frozen=True, slots=True)
class WireReply:
    """What came back, unread."""

    text: str
    finish_reason: str | None
    model: str
    reasoning: str = ""
    refusal: str = ""
    usage: Mapping[str, object] | None = field(default=None)


class _ReasoningChat(ChatOpenAI):
    """The vendor's chat model, keeping the reasoning that compatible servers send beside the content."""

    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        raw = response if isinstance(response, dict) else response.model_dump(warnings=False)
        for generation, choice in zip(result.generations, raw.get("choices") or (), strict=False):
            message = choice.get("message") or {}
            for name in _REASONING_FIELDS:
                if isinstance(message.get(name), str) and message[name]:
                    generation.message.additional_kwargs["reasoning"] = message[name]
                    break
        return result


class WireClient:
    """Connections to one endpoint. It belongs to one event loop and never retries by itself.

    Args:
        settings: The endpoint; a loopback address is reached without any proxy.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        warnings.filterwarnings("ignore", message=_ADVICE)
        self._http = openai.DefaultAsyncHttpxClient(
            timeout=settings.timeout,
            trust_env=not settings.is_loopback,
            follow_redirects=False,
            verify=settings.base_url.startswith("https"),  # plain http needs no certificates, and loading them is slow
        )

        async def api_key() -> str:
            return settings.api_key or "not-needed"

        headers: dict[str, str] = {}
        if settings.user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(settings.user).encode()).decode()
        self._chat = _ReasoningChat(
            model=settings.model,
            base_url=settings.base_url,
            api_key=api_key,
            http_async_client=self._http,
            max_retries=0,
            timeout=settings.timeout,
            default_headers=headers or None,
            default_query=dict(settings.query) or None,
            use_responses_api=False,
            stream_usage=False,
            cache=False,
        )

    async def call(self, messages: Sequence[Message], body: Mapping[str, object]) -> WireReply:
        """Send one request.

        Args:
            messages: In the order sent.
            body: Further fields of the request, as the endpoint names them.
        """
        result = await self._chat.agenerate([[_KINDS[m.role](m.content) for m in messages]], extra_body=dict(body))
        generation = result.generations[0][0]
        assert isinstance(generation, ChatGeneration), "a chat model gives chat generations"
        message = generation.message
        extra = message.additional_kwargs
        info = {**message.response_metadata, **(generation.generation_info or {})}
        usage = info.get("token_usage")
        return WireReply(
            text=message.content if isinstance(message.content, str) else message.text,
            finish_reason=info.get("finish_reason"),
            model=str(info.get("model_name") or ""),
            reasoning=str(extra.get("reasoning") or ""),
            refusal=str(extra.get("refusal") or ""),
            usage=usage if isinstance(usage, Mapping) and usage else None,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
