"""How a request is put on the wire for an endpoint with given traits."""

from __future__ import annotations

from collections.abc import Mapping

from mnemoscope.agents.gateway.request import ChatRequest
from mnemoscope.agents.gateway.traits import EndpointTraits, SchemaMethod
from mnemoscope.core.identity import canonical_json
from mnemoscope.core.ports import Message

__all__ = ["wire_body", "wire_messages"]

_ASK_FOR_JSON = "Answer with one JSON object that fits this JSON Schema, and with nothing else:"


def wire_messages(request: ChatRequest, method: SchemaMethod) -> tuple[Message, ...]:
    """The messages to send; the schema stands in the text where the endpoint does not take it as a parameter."""
    if request.schema is None or method == "json_schema":
        return request.messages
    last = request.messages[-1]
    asked = f"{last.content}\n\n{_ASK_FOR_JSON}\n{canonical_json(dict(request.schema))}"
    if last.role == "user":
        return (*request.messages[:-1], Message("user", asked))
    return (*request.messages, Message("user", f"{_ASK_FOR_JSON}\n{canonical_json(dict(request.schema))}"))


def wire_body(request: ChatRequest, traits: EndpointTraits, method: SchemaMethod, limit: int) -> dict[str, object]:
    """The request's further fields, under the names that this endpoint knows."""
    body: dict[str, object] = {
        name: value
        for name, value in request.parameters.items()
        if value is not None and name != "max_tokens" and name not in traits.left_out
    }
    body[traits.limit_field] = limit
    if request.schema is not None and method == "json_schema":
        schema = dict(request.schema)
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema, "strict": _is_closed(schema)},
        }
    elif request.schema is not None and method == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def _is_closed(schema: object) -> bool:
    """Whether the schema is one that strict decoding takes: every object lists all its fields and allows no others."""
    if isinstance(schema, list):
        return all(_is_closed(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        names = set(schema.get("properties") or {})
        if schema.get("additionalProperties") is not False or names != set(schema.get("required") or ()):
            return False
    return all(_is_closed(part) for part in schema.values())
