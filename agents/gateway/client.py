"""One call on the wire, through the vendor's client; the only module that builds one."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI

from mnemoscope.agents.gateway.settings import EndpointSettings
from mnemoscope.core.errors import EndpointError
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
    first_token_ms: float | None = None
    """From sending to the first visible text; None where the reply came in one piece."""


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

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        part = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if part is not None and chunk.get("usage"):
            part.generation_info = {**(part.generation_info or {}), "token_usage": chunk["usage"]}
        delta = ((chunk.get("choices") or [{}])[0] or {}).get("delta") or {}
        for name, kept in (*((name, "reasoning") for name in _REASONING_FIELDS), ("refusal", "refusal")):
            if part is not None and isinstance(delta.get(name), str) and delta[name]:
                part.message.additional_kwargs.setdefault(kept, delta[name])
        return part


class WireClient:
    """Connections to one endpoint. It belongs to one event loop and never retries by itself.

    Args:
        settings: The endpoint; a loopback address is reached without any proxy.
        monotonic: Seconds, for the time to the first token.
    """

    def __init__(self, settings: EndpointSettings, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
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

    async def stream(
        self, messages: Sequence[Message], body: Mapping[str, object], *, with_usage: bool = True
    ) -> WireReply:
        """Send one request and put the reply together from its pieces.

        Args:
            messages: In the order sent.
            body: Further fields of the request, as the endpoint names them.
            with_usage: Ask for the usage at the stream's end; some endpoints do not know how to.

        Raises:
            EndpointError: The stream ended before the reply did.
        """
        texts: list[str] = []
        reasoning: list[str] = []
        refusal: list[str] = []
        info: dict[str, object] = {}
        first: float | None = None
        sent = self._monotonic()
        asked: list[BaseMessage] = [_KINDS[m.role](m.content) for m in messages]
        async for part in self._chat.astream(asked, extra_body=dict(body), stream_usage=with_usage):
            text = part.content if isinstance(part.content, str) else part.text
            if text and first is None:
                first = (self._monotonic() - sent) * 1e3
            texts.append(text)
            reasoning.append(str(part.additional_kwargs.get("reasoning") or ""))
            refusal.append(str(part.additional_kwargs.get("refusal") or ""))
            info |= {name: value for name, value in part.response_metadata.items() if value}
        if not info.get("finish_reason"):
            raise EndpointError("the stream ended before the reply did", cause="malformed", retryable=True)
        usage = info.get("token_usage")
        return WireReply(
            text="".join(texts),
            finish_reason=str(info["finish_reason"]),
            model=str(info.get("model_name") or ""),
            reasoning="".join(reasoning),
            refusal="".join(refusal),
            usage=usage if isinstance(usage, Mapping) and usage else None,
            first_token_ms=first,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
