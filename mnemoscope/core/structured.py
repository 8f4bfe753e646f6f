"""Reading structured replies of models: tolerant of wrapping, strict about meaning."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["StructuredReply", "read_structured"]

_FENCE = re.compile(r"```[A-Za-z0-9_-]*\s*\n?(.*?)```", re.DOTALL)
_LITERALS = {"true": True, "false": False, "yes": True, "no": False}
_LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class StructuredReply:
    """A reply read by a schema: a value, or the reason why there is none. Never a default."""

    value: Mapping[str, object] | None
    repairs: tuple[str, ...] = ()
    """What had to be mended: `fence`, `prose-around`, `python-literal`, `string-boolean`, `string-number`."""
    problem: str | None = None


def read_structured(text: str, schema: Mapping[str, object]) -> StructuredReply:
    """Read the one JSON object that a reply holds.

    Code fences and prose around the object are put up with, and so are Python's `True` and single quotes. The text
    "false" is false where the schema wants a boolean. Two different objects in one reply are a problem, not a choice.

    Args:
        text: The visible reply.
        schema: A JSON Schema of an object.

    Returns:
        The value where it fits the schema, with the repairs made; otherwise a problem in words.

    Example:
        >>> wanted = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
        >>> read_structured('Sure: ```json {"ok": "false"}```', wanted).value
        {'ok': False}
        >>> read_structured("yes, I think so", wanted).problem
        'no JSON object in the reply'
    """
    problem = "no JSON object in the reply" if text.strip() else "the reply is empty"
    fitting: list[StructuredReply] = []
    for candidate, wrapping in _candidates(text[:_LONGEST]):
        parsed, repairs = _parse(candidate)
        if parsed is None:
            continue
        value, coerced = _coerced(parsed, schema)
        misfit = _misfit(value, schema)
        if misfit is None:
            fitting.append(StructuredReply(value, (*wrapping, *repairs, *coerced)))
        else:
            problem = misfit
    if not fitting:
        return StructuredReply(None, problem=problem)
    if any(other.value != fitting[0].value for other in fitting):
        return StructuredReply(None, problem="several different JSON objects in the reply")
    return fitting[0]


def _candidates(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    stripped = text.strip()
    if stripped.startswith("{") and stripped.endswith("}") and _parse(stripped)[0] is not None:
        yield stripped, ()
        return
    fenced = [match.group(1).strip() for match in _FENCE.finditer(text)]
    if any(_parse(part)[0] is not None for part in fenced):
        yield from ((part, ("fence",)) for part in fenced)
        return
    yield from ((part, ("prose-around",)) for part in _objects(text))


def _objects(text: str) -> Iterator[str]:
    """Outermost brace pairs, with strings respected."""
    depth, start, quote, escaped = 0, 0, "", False
    for place, character in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif depth and character == '"':
            quote = character
        elif character == "{":
            start = place if depth == 0 else start
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : place + 1]


def _parse(text: str) -> tuple[dict[str, object] | None, tuple[str, ...]]:
    try:
        value = json.loads(text)
        return (value, ()) if isinstance(value, dict) else (None, ())
    except (ValueError, RecursionError):
        pass
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None, ()
    plain = isinstance(value, dict) and all(isinstance(key, str) for key in value)
    return (value, ("python-literal",)) if plain else (None, ())


def _coerced(value: dict[str, object], schema: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value, ()
    out, repairs = dict(value), []
    for name, wanted in properties.items():
        seen = out.get(name)
        kind = wanted.get("type") if isinstance(wanted, Mapping) else None
        if not isinstance(seen, str):
            continue
        if kind == "boolean" and seen.strip().lower() in _LITERALS:
            out[name] = _LITERALS[seen.strip().lower()]
            repairs.append("string-boolean")
        elif kind in ("integer", "number") and re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", seen):
            number = float(seen)
            out[name] = int(number) if number.is_integer() else number
            repairs.append("string-number")
    return out, tuple(repairs)


def _misfit(value: Mapping[str, object], schema: Mapping[str, object]) -> str | None:
    import jsonschema

    error = next(iter(jsonschema.Draft202012Validator(dict(schema)).iter_errors(value)), None)
    if error is None:
        return None
    place = "/".join(str(part) for part in error.absolute_path) or "the object"
    return f"{place}: {error.message[:200]}"
