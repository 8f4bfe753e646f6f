"""Where a native file departs from its JSON Schema, said so that its author can mend it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from mnemoscope.scenarios.loaders.native_checks import ABSENT, Finding, nearest
from mnemoscope.scenarios.loaders.native_format import native_schema
from mnemoscope.scenarios.loaders.native_yaml import Path

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError as SchemaError

__all__ = ["model_findings", "schema_findings"]

_TYPES = {
    "string": "text",
    "array": "a list",
    "object": "a block of keys",
    "boolean": "true or false",
    "number": "a number",
    "null": "nothing",
}


def schema_findings(value: object) -> list[Finding]:
    """Everything in a file that its JSON Schema refuses, in the order of the file.

    Args:
        value: What the file holds, as plain lists, mappings and texts.
    """
    found = [finding for error in _validator().iter_errors(value) for finding in _findings(error)]
    order = {path: place for place, path in enumerate(_paths(value, ()))}

    def place(finding: Finding) -> int:
        path = finding.path
        return order[path] if path in order else order[path[:-1]]  # a missing key counts where its block begins

    return sorted(found, key=lambda finding: (place(finding), finding.path[-1:] and str(finding.path[-1])))


@cache
def _validator() -> Draft202012Validator:
    # imported here because only a file with something wrong needs it
    from jsonschema import Draft202012Validator

    return Draft202012Validator(native_schema())


def model_findings(error: ValidationError) -> list[Finding]:
    """What the models refuse, for the few things that no schema can say, such as half a surrogate pair."""
    return [
        Finding(tuple(detail["loc"]), detail["msg"].lower(), "see docs/scenario-format.md", detail["input"])
        for detail in error.errors(include_url=False)
    ]


def _paths(value: object, path: Path) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _paths(child, (*path, key))
    elif isinstance(value, list):
        for place, child in enumerate(value):
            yield from _paths(child, (*path, place))


def _findings(error: SchemaError) -> Iterator[Finding]:
    path: Path = tuple(error.absolute_path)
    rule = str(error.validator)
    if rule == "anyOf":
        for part in error.context or ():
            if part.validator_value != "null":
                yield from _findings(part)
    elif rule == "required":
        yield from _missing(error, path)
    elif rule == "additionalProperties":
        yield from _unknown(error, path)
    else:
        yield _plain(rule, error, path)


def _missing(error: SchemaError, path: Path) -> Iterator[Finding]:
    # jsonschema reports one error per missing key and names it only in the message
    for key in _strings(error.validator_value):
        if error.message.startswith(f"{key!r} "):
            yield Finding((*path, key), "this key is missing", _described(error, key))


def _described(error: SchemaError, key: str) -> str:
    properties = _mapping(_mapping(error.schema).get("properties"))
    text = _mapping(properties.get(key)).get("description")
    return str(text).splitlines()[0] if text else "add it"


def _unknown(error: SchemaError, path: Path) -> Iterator[Finding]:
    known = list(_mapping(_mapping(error.schema).get("properties")))
    for key, value in _mapping(error.instance).items():
        if key not in known:
            yield Finding((*path, str(key)), "the format has no such key", nearest(str(key), known), value)


def _plain(rule: str, error: SchemaError, path: Path) -> Finding:
    value = error.instance
    if rule == "type":
        wanted = _TYPES.get(str(error.validator_value), str(error.validator_value))
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        quotes = wanted == "text" and (numeric or isinstance(value, bool))
        return Finding(path, f"expected {wanted}", "put it in quotes" if quotes else f"write {wanted} here", value)
    if rule == "enum":
        return Finding(path, "not a known word", f"use one of: {', '.join(_strings(error.validator_value))}", value)
    if rule == "pattern":
        if value:
            fix = "write one id without spaces" if str(error.validator_value).startswith("^") else "write something"
            return Finding(path, "an id holds no spaces" if "id" in fix else "blank", fix, value)
        return Finding(path, "empty", "write something, or leave the key out", value)
    if rule == "minItems":
        return Finding(path, "the list is empty", "give at least one entry", value)
    if rule in ("maxLength", "propertyNames"):
        return Finding(path, "longer than 200 characters", "shorten it", value)
    return Finding(path, error.message, "see docs/scenario-format.md", ABSENT)


def _mapping(value: Any) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _strings(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []
