"""Reading structured replies of models: tolerant of wrapping, strict about meaning."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["StructuredReply", "read_structured"]

_FENCE = re.compile(r"```[A-Za-z0-9_-]*\s*\n?(.*?)```", re.DOTALL)
_LITERALS = {"true": True, "false": False, "yes": True, "no": False}
_NUMBER = re.compile(r"\s*-?[0-9]+(\.[0-9]+)?\s*")
_LONGEST = 200_000

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|,(?=\s*[}\]])|\b(?:True|False|None)\b', re.DOTALL)
"""What is mended outside and inside of strings: strings of both quotes, commas before a bracket, Python's constants."""
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class StructuredReply:
    """A reply read by a schema: a value, or the reason why there is none. Never a default."""

    value: Mapping[str, object] | None
    repairs: tuple[str, ...] = ()
    """What had to be mended, each kind once: `fence`, `prose-around`, `trailing-comma`, `bad-escape`,
    `control-character`, `python-literal`, `key-case`, `string-boolean`, `string-number`. The list is closed."""
    problem: str | None = None


class _Object(NamedTuple):
    value: dict[str, object] | None
    repairs: tuple[str, ...] = ()
    problem: str | None = None


class _TwiceError(ValueError):
    """One key of an object stands twice with different values; a plain reader would keep the last one in silence."""


def read_structured(text: str, schema: Mapping[str, object]) -> StructuredReply:
    """Read the one JSON object that a reply holds.

    Code fences and prose around the object are put up with, and so are trailing commas, backslashes that escape
    nothing, line breaks inside strings, Python's `True` and single quotes, and keys in another case. The text "false"
    is false where the schema wants a boolean. Two different objects in one reply, or two values under one key, are a
    problem, not a choice; `NaN` and infinite numbers are no JSON.

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
        parsed, mended, failure = _parse(candidate)
        if parsed is None:
            problem = failure or problem
            continue
        coerced: list[str] = []
        value = _object_by(parsed, schema, coerced)
        misfit = _misfit(value, schema)
        if misfit is None:
            fitting.append(StructuredReply(value, tuple(dict.fromkeys((*wrapping, *mended, *coerced)))))
        else:
            problem = misfit
    if not fitting:
        return StructuredReply(None, problem=problem)
    if any(other.value != fitting[0].value for other in fitting):
        return StructuredReply(None, problem="several different JSON objects in the reply")
    return fitting[0]


def _candidates(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    stripped = text.strip()
    if stripped.startswith("{") and stripped.endswith("}") and _parse(stripped).value is not None:
        yield stripped, ()
        return
    fenced = [match.group(1).strip() for match in _FENCE.finditer(text)]
    if any(_parse(part).value is not None for part in fenced):
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


def _parse(text: str) -> _Object:
    try:
        return _plain(_DECODER.decode(text), ())
    except _TwiceError as error:
        return _Object(None, problem=str(error))
    except (ValueError, RecursionError):
        pass
    mended, repairs = _mended(text)
    try:
        return _plain(_DECODER.decode(mended), repairs)
    except _TwiceError as error:
        return _Object(None, problem=str(error))
    except (ValueError, RecursionError):
        return _Object(None)


def _plain(value: object, repairs: tuple[str, ...]) -> _Object:
    return _Object(value, repairs) if isinstance(value, dict) else _Object(None)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _TwiceError(f"the key {key!r} stands twice with different values")
        found[key] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no JSON number")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite)


def _mended(text: str) -> tuple[str, tuple[str, ...]]:
    """The text as JSON, by the closed list of repairs, and which of them it took."""
    repairs: list[str] = []

    def mend(match: re.Match[str]) -> str:
        piece = match.group()
        if piece == ",":
            repairs.append("trailing-comma")
            return ""
        if piece in _CONSTANTS:
            repairs.append("python-literal")
            return _CONSTANTS[piece]
        return _json_string(piece, repairs)

    return _PIECE.sub(mend, text), tuple(dict.fromkeys(repairs))


def _json_string(piece: str, repairs: list[str]) -> str:
    inner = piece[1:-1]
    if piece[0] == "'":
        repairs.append("python-literal")
        inner = re.sub(r'(\\.)|"', lambda m: m.group(1) or '\\"', inner, flags=re.DOTALL).replace("\\'", "'")

    def escaped(match: re.Match[str]) -> str:
        if match.group(1)[0] in '"\\/bfnrt' or len(match.group(1)) == 5:
            return match.group()
        repairs.append("bad-escape")
        return "\\" + match.group()

    inner = _ESCAPE.sub(escaped, inner)
    if _CONTROL.search(inner):
        repairs.append("control-character")
        inner = _CONTROL.sub(lambda m: f"\\u{ord(m.group()):04x}", inner)
    return f'"{inner}"'


def _by_schema(value: object, schema: object, repairs: list[str]) -> object:
    """The value with texts read as the booleans and numbers that the schema wants, at any depth."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, dict):
        return _object_by(value, schema, repairs)
    if isinstance(value, list):
        return [_by_schema(entry, schema.get("items"), repairs) for entry in value]
    if not isinstance(value, str):
        return value
    kind = schema.get("type")
    if kind == "boolean" and value.strip().lower() in _LITERALS:
        repairs.append("string-boolean")
        return _LITERALS[value.strip().lower()]
    if kind in ("integer", "number") and _NUMBER.fullmatch(value) and math.isfinite(number := float(value)):
        repairs.append("string-number")
        return int(number) if number.is_integer() else number
    return value


def _object_by(value: dict[str, object], schema: Mapping[str, object], repairs: list[str]) -> dict[str, object]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    out = dict(value)
    for name in properties:
        others = [key for key in out if key not in properties and key.casefold() == str(name).casefold()]
        if name not in out and len(others) == 1:
            out[name] = out.pop(others[0])
            repairs.append("key-case")
        if name in out:
            out[name] = _by_schema(out[name], properties[name], repairs)
    return out


def _misfit(value: Mapping[str, object], schema: Mapping[str, object]) -> str | None:
    import jsonschema

    error = next(iter(jsonschema.Draft202012Validator(dict(schema)).iter_errors(value)), None)
    if error is None:
        return None
    place = "/".join(str(part) for part in error.absolute_path) or "the object"
    return f"{place}: {error.message[:200]}"
