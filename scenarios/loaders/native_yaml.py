"""Strict YAML: plain text stays text, repeated keys, tags and aliases are refused, and every value knows its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import yaml

from mnemoscope.core.errors import DataError

__all__ = ["Document", "Path", "read_yaml"]

Path = tuple[str | int, ...]
"""Keys and positions from the top of a file to a value."""

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_PLAIN_TAGS = {
    yaml.ScalarEvent: "tag:yaml.org,2002:str",
    yaml.SequenceStartEvent: "tag:yaml.org,2002:seq",
    yaml.MappingStartEvent: "tag:yaml.org,2002:map",
}


class _Mark(Protocol):
    """A place in the text, counted from 0; the two parsers have each a class of their own."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds, and on which line (from 1) each value stands; `lines` is empty where that is not known."""

    value: object
    lines: Mapping[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int | None:
        """The line of a value, or of the nearest value around it."""
        for length in range(len(path), -1, -1):
            if (found := self.lines.get(path[:length])) is not None:
                return found
        return None


def read_yaml(text: str, file: object) -> Document:
    """Read one YAML document.

    Only `true`, `false`, `null`, `~` and an empty value are anything but text: `2022`, `no`, `18:30` and `2024-05-08`
    stay as they are written, so that YAML's guesses about dates, numbers and yes/no never change what people said.

    Args:
        text: The file's content.
        file: The file's name, for messages.

    Raises:
        DataError: Not YAML, not one document, a repeated key, an alias, a tag, or nesting without end; with line
            and column.
    """
    reader = _Reader(file)
    try:
        return reader.document(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        raise reader.refusal(_reason(error), error.problem_mark or error.context_mark, _advice(text, error)) from error
    except yaml.reader.ReaderError as error:
        place = _place_of(text, error.position)
        raise DataError(
            "not YAML: a character that YAML does not allow",
            file=file,
            record=place,
            seen=chr(error.character) if isinstance(error.character, int) else error.character,
            fix="remove it, or write it as an escape in double quotes",
        ) from error
    except RecursionError as error:
        raise DataError("not a scenario file: its brackets are nested too deeply", file=file) from error


def _reason(error: yaml.MarkedYAMLError) -> str:
    return f"not YAML: {error.problem or error.context or 'it cannot be read'}"


def _advice(text: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "indent with spaces, not with tabs"
    if "nesting depth" in (error.problem or ""):
        return "its brackets are nested too deeply for a scenario file"
    if "mapping values" in (error.problem or ""):
        return "put text that holds a colon and a space in quotes"
    return "text that starts with a special character, or holds ': ' or ' #', goes in quotes"


def _place_of(text: str, position: int) -> str:
    before = text[:position]
    return f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"


class _Reader:
    """Builds plain values from parser events."""

    def __init__(self, file: object) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}

    def refusal(self, what: str, mark: _Mark | None, fix: str) -> DataError:
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else None
        return DataError(what, file=self.file, record=place, fix=fix)

    def document(self, events: Iterator[yaml.Event]) -> Document:
        next(events)
        if isinstance(next(events), yaml.StreamEndEvent):
            raise DataError("the file is empty", file=self.file, fix="see docs/scenario-format.md for an example")
        value = self._value(next(events), events, ())
        next(events)
        if not isinstance(after := next(events), yaml.StreamEndEvent):
            raise self.refusal("a second document starts here", after.start_mark, "put scenarios under `scenarios:`")
        return Document(value, self.lines)

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], path: Path) -> object:
        mark: _Mark | None = event.start_mark
        if mark is not None:
            self.lines[path] = mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise self.refusal(f"the alias *{event.anchor} is not supported", mark, "write the value out")
        tag = getattr(event, "tag", None)
        if tag not in (None, "!", _PLAIN_TAGS[type(event)]):
            raise self.refusal(f"the tag {tag} is not supported", mark, "write plain text")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] and event.style in (None, "")
            return _WORDS.get(event.value, event.value) if plain else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(events, path)
        return self._mapping(events, path)

    def _list(self, events: Iterator[yaml.Event], path: Path) -> list[object]:
        found: list[object] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            found.append(self._value(event, events, (*path, len(found))))
        return found

    def _mapping(self, events: Iterator[yaml.Event], path: Path) -> dict[str, object]:
        found: dict[str, object] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self.refusal("a key is not text", event.start_mark, "write each key as a word")
            key = event.value
            if key in found:
                raise self.refusal(f"the key {key!r} is given twice", event.start_mark, "keep one of them")
            found[key] = None
            found[key] = self._value(next(events), events, (*path, key))
        return found
