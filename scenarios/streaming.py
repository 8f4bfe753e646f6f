"""Streaming of one large JSON array: items one at a time, under the same strict rules as a file that is read whole.

The text is decoded in pieces into a window that holds little more than one item, so that memory follows the largest
item and not the file.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.reading import reading_error, sniff_encoding, undecodable
from mnemoscope.scenarios.source import ReadProgress
from mnemoscope.scenarios.strict_json import RepeatedKey, StrictParser, refuse_repeated

__all__ = ["StreamItem", "hash_file", "stream_encoding", "stream_items"]

CHUNK = 1 << 18
"""Bytes read at a time where the window holds less than that."""
_SPACE = re.compile(r"[ \t\n\r]*")
_HEAD = 4
_TAIL = 16
"""An error this close to the window's end may come from a token that the window cuts: `tru`, `-`, `1.`, `\\u12`."""


@dataclass(frozen=True, slots=True)
class StreamItem:
    """One item of the array."""

    index: int
    value: object
    place: str
    """Where it begins: `line 7 column 2`."""
    repeated: tuple[RepeatedKey, ...] = ()
    """Only a lenient reading lets these pass."""


def hash_file(path: Path) -> str:
    """The hexadecimal sha256 of a file, read in pieces.

    Raises:
        DataError: The file is missing or cannot be read.
    """
    with _opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stream_encoding(path: Path, *, encoding: str = "utf-8") -> str:
    """What a file will be decoded with.

    Raises:
        DataError: The file is missing or cannot be read, or is UTF-16 without a mark.
        ConfigError: No such encoding.
    """
    with _opened(path) as stream:
        return sniff_encoding(stream.read(4), file=path, encoding=encoding)


def stream_items(
    path: Path,
    *,
    encoding: str = "utf-8",
    lenient: bool = False,
    progress: Callable[[ReadProgress], None] | None = None,
) -> Iterator[StreamItem]:
    """The items of the one array that a JSON file holds, in order.

    What follows an item is read when the next is asked for; whoever stops early pays for no more than that.
    Byte-order marks, repeated keys, NaN and halves of surrogate pairs are treated as by `read_json`.

    Args:
        path: The file.
        encoding: What it was saved in.
        lenient: Let repeated keys pass; the last value is used.
        progress: Told after each item how many were read and how far into the file.

    Yields:
        Items with their index and place.

    Raises:
        DataError: The file is missing, in another encoding, cut short, no array or not strict JSON; the message names
            the item's index, and the line and column.
        ConfigError: No such encoding.
    """
    total = path.stat().st_size if path.is_file() else 0
    with _opened(path) as stream:
        window = _Window(path, stream, encoding)
        parser = StrictParser(path)
        for index, place in enumerate(_places(window)):
            value = _value(window, parser, index)
            if not lenient:
                refuse_repeated(parser.repeated, file=path)
            if progress is not None:
                progress(ReadProgress(path.name, index + 1, window.bytes_used, total))
            yield StreamItem(index, value, place, tuple(parser.repeated))


class _Window:
    """The part of the text that is at hand, and where it lies in the file."""

    def __init__(self, path: Path, stream: BufferedReader, encoding: str) -> None:
        self.path, self._stream, self._declared = path, stream, encoding
        head = stream.read(max(CHUNK, _HEAD))
        self.encoding = sniff_encoding(head[:4], file=path, encoding=encoding)
        self._decoder = codecs.getincrementaldecoder(self.encoding)()
        self.text, self.pos, self.ended = "", 0, False
        self._bytes_read = 0
        self._last_length = 0
        self._line, self._column = 1, 1
        self._take(head)
        self.text = self.text.removeprefix("\ufeff")

    @property
    def bytes_used(self) -> int:
        """Bytes of the file up to the window's position; what lies ahead in the window counts one byte a character."""
        return max(0, self._bytes_read - (len(self.text) - self.pos))

    def grow(self) -> bool:
        """Drop what is done with and read on, at least as much as is at hand.

        Returns:
            False where the file had ended already.
        """
        if self.ended:
            return False
        self._drop()
        self._take(self._stream.read(max(CHUNK, len(self.text))))
        return True

    def expect_item(self) -> None:
        """Read on until as much is at hand as the last item took, which spares parsing a half of most items."""
        while len(self.text) - self.pos < self._last_length and self.grow():
            pass

    def end_item(self, end: int) -> None:
        """Move behind the item that begins at the window's position."""
        self._last_length, self.pos = end - self.pos, end

    def next_character(self) -> str:
        """The next character that is no white space, which is not consumed; empty at the end of the file."""
        while True:
            match = _SPACE.match(self.text, self.pos)
            self.pos = self.pos if match is None else match.end()
            if self.pos < len(self.text):
                return self.text[self.pos]
            if not self.grow():
                return ""

    def place(self, position: int) -> str:
        """Line and column of a position in the window, both from 1."""
        if lines := self.text.count("\n", 0, position):
            column = position - self.text.rindex("\n", 0, position)
            return f"line {self._line + lines} column {column}"
        return f"line {self._line} column {self._column + position}"

    def _drop(self) -> None:
        done = self.text[: self.pos]
        if lines := done.count("\n"):
            self._line += lines
            self._column = len(done) - done.rindex("\n")
        else:
            self._column += len(done)
        self.text, self.pos = self.text[self.pos :], 0

    def _take(self, raw: bytes) -> None:
        kept = len(self._decoder.getstate()[0])
        try:
            self.text += self._decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            position = self._bytes_read - kept + error.start
            raise undecodable(position, raw, file=self.path, encoding=self._declared, used=self.encoding) from error
        self._bytes_read += len(raw)
        self.ended = not raw


def _places(window: _Window) -> Iterator[str]:
    """Step through the array: the window stands at the beginning of an item at each yield, and after it on return."""
    first = window.next_character()
    if not first:
        raise DataError("the file is empty", file=window.path)
    if first != "[":
        raise DataError("expected one list", file=window.path, record=window.place(window.pos), seen=first)
    window.pos += 1
    if window.next_character() != "]":
        while True:
            window.next_character()
            yield window.place(window.pos)
            separator = window.next_character()
            if separator == "]":
                break
            if separator != ",":
                raise _broken(window, "expected a comma or the end of the list", window.pos)
            window.pos += 1
    window.pos += 1
    if extra := window.next_character():
        raise DataError("text after the list", file=window.path, record=window.place(window.pos), seen=extra)


def _value(window: _Window, parser: StrictParser, index: int) -> object:
    """Read the item at the window's position, letting the window grow until it holds all of it."""
    window.expect_item()
    while True:
        try:
            value, end = parser.scan(window.text, window.pos, f"[{index}]")
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos >= len(window.text) - _TAIL
            if cut and window.grow():
                continue
            raise _broken(window, f"not valid JSON: {error.msg}", error.pos, index) from error
        if end >= len(window.text) - _TAIL and not isinstance(value, dict | list | str) and window.grow():
            continue  # a number near the window's end may go on: `1`, `1.`, `1e-`
        window.end_item(end)
        return value


def _broken(window: _Window, what: str, position: int, index: int | None = None) -> DataError:
    place = window.place(position)
    at_end = window.ended and position >= len(window.text.rstrip())
    cut = at_end or "Unterminated string" in what
    return DataError(
        what,
        file=window.path,
        record=place if index is None else f"[{index}], {place}",
        fix="the file seems to be cut short" if cut else None,
    )


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise reading_error(path, error) from error
