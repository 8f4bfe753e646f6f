"""Strict JSON: no repeated keys in silence, no NaN, no halves of characters, and every error with its place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.core.errors import DataError

__all__ = ["RepeatedKey", "StrictParser", "refuse_repeated"]

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A key that one object of the file gives more than once."""

    path: str
    """The object, such as `[0].qa[3]`."""
    key: str
    used: object
    """The last value, which is the one that loads."""
    dropped: tuple[object, ...]


def refuse_repeated(repeated: Sequence[RepeatedKey], *, file: object) -> None:
    """Refuse keys that one object gives more than once.

    Raises:
        DataError: There is one; the first is named.
    """
    for first in repeated[:1]:
        raise DataError(
            f'the key "{first.key}" is given {len(first.dropped) + 1} times',
            file=file,
            record=first.path,
            field=first.key,
            seen=[*first.dropped, first.used],
            fix="keep one of them; a lenient load uses the last",
        )


class _Repeating(dict[str, object]):
    """An object that gives a key more than once, with all that it gave."""

    pairs: list[tuple[str, object]]


class _NotFinite:
    """Stands where the file has NaN, Infinity or a number too large for a float, until its place is known."""

    def __init__(self, written: str) -> None:
        self.written = written


class StrictParser:
    """Strict JSON: the fast C scanner, and a walk for places only where something was wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repeated: list[RepeatedKey] = []
        """Keys that one object of the last value gives more than once."""
        self._suspicious = False
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._pairs, parse_constant=self._constant, parse_float=self._number
        )

    def scan(self, text: str, start: int, place: str) -> tuple[object, int]:
        """Read one value out of a longer text.

        Args:
            text: The text.
            start: Where the value begins.
            place: What to call it in errors, such as `[3]`.

        Returns:
            The value, and where it ends.

        Raises:
            DataError: The value is no strict JSON, or nested too deeply.
            JSONDecodeError: The text is not valid JSON there, or ends before the value does.
        """
        self.repeated = []
        self._suspicious = False
        try:
            value, end = self._decoder.raw_decode(text, start)
            if self._suspicious or _SURROGATE_ESCAPE.search(text, start, end):
                self._inspect(value, place)
        except json.JSONDecodeError:
            raise
        except RecursionError as error:
            raise DataError("not usable JSON: nested too deeply", file=self.path, record=place) from error
        except ValueError as error:
            raise DataError(f"not usable JSON: {error}", file=self.path, record=place) from error
        return value, end

    def parse(self, text: str) -> object:
        """Read a whole text.

        Raises:
            DataError: It is empty, cut short, or no strict JSON.
        """
        if not text.strip():
            raise DataError("the file is empty", file=self.path)
        try:
            value: object = self._decoder.decode(text)
            if self._suspicious or _SURROGATE_ESCAPE.search(text):
                self._inspect(value, "")
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())
            raise DataError(
                f"not valid JSON: {error.msg}",
                file=self.path,
                record=f"line {error.lineno} column {error.colno}",
                fix="the file seems to be cut short" if cut else None,
            ) from error
        except RecursionError as error:
            raise DataError("not usable JSON: nested too deeply", file=self.path) from error
        except ValueError as error:
            raise DataError(f"not usable JSON: {error}", file=self.path) from error
        return value

    def _pairs(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        self._suspicious = True
        repeating = _Repeating(value)
        repeating.pairs = pairs
        return repeating

    def _constant(self, written: str) -> _NotFinite:
        self._suspicious = True
        return _NotFinite(written)

    def _number(self, written: str) -> float | _NotFinite:
        value = float(written)
        return value if math.isfinite(value) else self._constant(written)

    def _inspect(self, root: object, top: str) -> None:
        for place, value in _walk(root, top):
            where = place or "top level"
            if isinstance(value, _NotFinite):
                raise DataError(f"{value.written} is no JSON number", file=self.path, record=where)
            if isinstance(value, str) and _SURROGATE.search(value):
                raise DataError("half of a surrogate pair in a text", file=self.path, record=where, seen=value)
            if isinstance(value, _Repeating):
                self.repeated.extend(_repeated_keys(value, where))


def _repeated_keys(value: _Repeating, where: str) -> Iterator[RepeatedKey]:
    for key, used in value.items():
        given = [found for name, found in value.pairs if name == key]
        if len(given) > 1:
            yield RepeatedKey(where, key, used, tuple(given[:-1]))


def _walk(value: object, place: str) -> Iterator[tuple[str, object]]:
    yield place, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield place, key
            yield from _walk(child, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _walk(child, f"{place}[{index}]")
