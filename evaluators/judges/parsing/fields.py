"""A label that stands in a field of the one JSON object of a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import regex

from mnemoscope.core.structured import read_structured
from mnemoscope.evaluators.judges.parsing.reading import Parsed, failed, read, shown

__all__ = ["VERDICT_FIELDS", "named_field", "parsed", "read_object"]

T = TypeVar("T")

VERDICT_FIELDS = (
    "verdict", "label", "answer", "score", "choice", "result", "rating", "grade", "category", "decision", "value",
    "level", "covered", "stated", "used", "referred", "present",
)  # fmt: skip
"""Names under which judges write their verdict where no field is asked for."""

_OBJECT = {"type": "object"}
_LOOKS_LIKE_JSON = regex.compile(r"\{\s*[\"'}]")


def parsed(
    text: str | None,
    finish_reason: str | None,
    field: str | None,
    of_value: Callable[[object], Parsed[T]],
    of_prose: Callable[[str], Parsed[T]],
) -> Parsed[T]:
    """Read a reply as JSON where it holds some, else as prose; JSON that is damaged is not read as prose.

    Args:
        text: The reply as received.
        finish_reason: Why it ended.
        field: The field of the verdict; None: any of `VERDICT_FIELDS`, or the only one.
        of_value: Reads the field's value.
        of_prose: Reads a text without JSON.
    """

    def parse(visible: str) -> Parsed[T]:
        found = read_object(visible)
        if found is None:
            return of_prose(visible)
        if found.value is None:
            return Parsed(problem=found.problem)
        verdict = named_field(found.value, field, of_value)
        return replace(verdict, repairs=(*found.repairs, *verdict.repairs)) if verdict.problem is None else verdict

    return read(text, finish_reason, parse)


def read_object(visible: str) -> Parsed[Mapping[str, object]] | None:
    """The one JSON object of a text; a list alone is the object `{"items": [...]}`. None: there is no JSON in it."""
    is_list = visible.startswith("[") and visible.endswith("]")
    if is_list:
        listed = read_structured(f'{{"items": {visible}}}', _OBJECT)
        if listed.value is not None and set(listed.value) == {"items"}:
            return Parsed(listed.value, repairs=listed.repairs)
    found = read_structured(visible, _OBJECT)
    if found.value is not None:
        return Parsed(found.value, repairs=found.repairs)
    if _LOOKS_LIKE_JSON.search(visible):
        return failed("unparseable", f"{found.problem}: {shown(visible)}")
    return None


def named_field(
    entry: Mapping[str, object],
    field: str | None,
    of_value: Callable[[object], Parsed[T]],
    *,
    besides: Sequence[str] = (),
) -> Parsed[T]:
    """The verdict in an object.

    Without a field's name all known ones are read: those that hold a verdict must agree.

    Args:
        entry: The object.
        field: The field's name, in any case; None: see above.
        of_value: Reads its value.
        besides: Names that hold something else (an id).
    """
    wanted = VERDICT_FIELDS if field is None else (field.casefold(),)
    keys = [key for key in entry if key not in besides]
    known = [key for key in keys if key.casefold() in wanted] or (keys if field is None and len(keys) == 1 else [])
    if not known:
        return failed("missing", f"no field {field or 'of a verdict'} among {shown(sorted(entry))}")
    readings = [_of_key(entry, key, field, of_value) for key in known]
    verdicts = [reading for reading in readings if reading.problem is None]
    if not verdicts:
        return readings[0]
    if any(other.value != verdicts[0].value for other in verdicts):
        return failed("unparseable", f"fields that contradict each other: {shown(dict(entry))}")
    return verdicts[0]


def _of_key(
    entry: Mapping[str, object], key: str, field: str | None, of_value: Callable[[object], Parsed[T]]
) -> Parsed[T]:
    reading = of_value(entry[key])
    if reading.problem is not None or key == field or (field is None and key == key.casefold()):
        return reading
    return replace(reading, repairs=("key-case", *reading.repairs))
