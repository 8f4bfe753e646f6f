"""One request in canonical form: roles that every server accepts, and the key that its reply is cached under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.agents.gateway.settings import EndpointSettings
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.core.ports import Message

__all__ = ["ChatRequest", "alternating"]

_FORMAT = 2
"""Of the stored reply; one of another format counts as absent."""
_OPENING = "(The conversation begins.)"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked of an endpoint, however it is put on the wire."""

    host: str
    model: str
    messages: tuple[Message, ...]
    parameters: Mapping[str, float | int | None]
    schema: Mapping[str, object] | None
    replicate: int

    @classmethod
    def of(
        cls,
        settings: EndpointSettings,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None,
        max_tokens: int | None,
        replicate: int,
    ) -> ChatRequest:
        """The request for these messages; `max_tokens` overrides the endpoint's setting, up to the most it allows."""
        parameters = dict(settings.request_parameters)
        if max_tokens is not None:
            parameters["max_tokens"] = min(max_tokens, settings.most_tokens or max_tokens)
        if settings.seed is not None:
            parameters["seed"] = settings.seed + replicate
        return cls(settings.host, settings.model, alternating(messages), parameters, schema, replicate)

    @property
    def key(self) -> str:
        """sha256 of everything that can change the reply; it holds no credential."""
        return sha256_of(
            canonical_json(
                {
                    "format": _FORMAT,
                    "endpoint": self.host,
                    "model": self.model,
                    "messages": [[message.role, message.content] for message in self.messages],
                    "parameters": dict(self.parameters),
                    "schema": self.schema,
                    "replicate": self.replicate,
                }
            )
        )

    @property
    def max_tokens(self) -> int:
        """The limit of the reply."""
        return int(self.parameters["max_tokens"] or 0)


def alternating(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as strict chat templates want them.

    One system message at most, first; then user and assistant in turn, the user first. Neighbours of one role are
    joined by an empty line; not a word is lost. Lone surrogates, which no endpoint can take, become `?`.

    Args:
        messages: At least one message.

    Raises:
        ValueError: There is no message.
    """
    if not messages:
        raise ValueError("a request has at least one message")
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    merged: list[Message] = []
    for message in messages:
        if message.role == "system":
            continue
        if merged and merged[-1].role == message.role:
            merged[-1] = Message(message.role, f"{merged[-1].content}\n\n{message.content}")
        else:
            merged.append(message)
    if not merged:
        return (_encodable(Message("user", system)),)
    if merged[0].role == "assistant":
        merged.insert(0, Message("user", _OPENING))
    if system:
        merged.insert(0, Message("system", system))
    return tuple(_encodable(message) for message in merged)


def _encodable(message: Message) -> Message:
    text = message.content.encode(errors="replace").decode()
    return message if text == message.content else Message(message.role, text)
