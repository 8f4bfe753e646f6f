"""Reading JSON Lines strictly: one value per line; any other line is an error with its number, or skipped and noted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.reading import decode_text, parse_json_text, reading_error
from mnemoscope.scenarios.source import DataReport

__all__ = ["JsonLine", "JsonLines", "open_jsonl"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One value of the file."""

    number: int
    """Of its line, from 1, blank lines counted."""
    value: object


@dataclass(frozen=True, slots=True)
class JsonLines:
    """An opened JSON Lines file. Only one line is held at a time, unless the encoding is UTF-16 or UTF-32."""

    path: Path
    sha256: str
    """Of the bytes on disk."""
    encoding: str
    """What the first line was decoded with."""
    declared: str
    lenient: bool

    def read(self, report: DataReport) -> Iterator[JsonLine]:
        """The values, in order. Blank lines are passed over; line ends may be of any kind.

        A lenient reading leaves out lines that are not strict JSON, such as one that was cut short, and lets repeated
        keys pass; each is a notice (`skipped-line`, `repeated-key`), and skipped lines are counted.

        Args:
            report: Where counts and notices go.

        Raises:
            DataError: A line is not strict JSON or in another encoding, or there is no line with anything on it.
        """
        found = False
        for number, line in enumerate(self._lines(), start=1):
            try:
                text = self._decoded(line) if isinstance(line, bytes) else line
                if not text.strip():
                    continue
                found = True
                value, repeated = parse_json_text(text, file=self.path, lenient=self.lenient)
            except DataError as error:
                placed = self._placed(error, number)
                if not self.lenient:
                    raise placed from error
                found = True
                report.counts["skipped lines"] += 1
                report.note("skipped-line", f"{self.path.name} line {number}", placed.what)
                continue
            for key in repeated:
                where = f"{self.path.name} line {number} {key.path}"
                report.note("repeated-key", where, f"{key.key}: the last value is used")
            yield JsonLine(number, value)
        if not found:
            raise DataError("the file is empty", file=self.path)

    def _lines(self) -> Iterator[bytes | str]:
        try:
            if _is_wide(self.encoding):
                text, _ = decode_text(self.path.read_bytes(), file=self.path, encoding=self.declared)
                yield from text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
                return
            with self.path.open("rb") as file:
                for line in file:
                    yield from line.rstrip(b"\r\n").split(b"\r")
        except OSError as error:
            raise reading_error(self.path, error) from error

    def _decoded(self, line: bytes) -> str:
        return decode_text(line, file=self.path, encoding=self.declared)[0]

    def _placed(self, error: DataError, number: int) -> DataError:
        """The error of one line with the place in the file."""
        place = "" if error.record is None else str(error.record)
        place = place.removeprefix("line 1 ") if place.startswith("line 1 ") else place
        record = f"line {number} {place}".rstrip()
        fix = "the line seems to be cut short" if error.fix == "the file seems to be cut short" else error.fix
        return DataError(error.what, file=self.path, record=record, field=error.field, fix=fix)


def open_jsonl(path: Path, *, encoding: str = "utf-8", lenient: bool = False) -> JsonLines:
    """Open a JSON Lines file: hash it, find its encoding and refuse one JSON list spread over lines.

    Args:
        path: The file.
        encoding: What it was saved in; byte-order marks are honoured.
        lenient: Skip bad lines and count them, instead of stopping at the first.

    Raises:
        DataError: The file is missing or unreadable, in another encoding from its start, or not JSON Lines.
        ConfigError: No such encoding.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            head = file.read(_CHUNK)
            digest.update(head)
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except (OSError, ValueError) as error:
        raise reading_error(path, error) from error
    wide = _is_wide(encoding.lower()) or head[:4] == b"\0\0\xfe\xff" or head[:2] in (b"\xff\xfe", b"\xfe\xff")
    start = path.read_bytes() if wide else head.split(b"\n", 1)[0]
    text, used = decode_text(start, file=path, encoding=encoding)
    if text.lstrip().startswith("[") and (text.strip() == "[" or not text.strip().endswith("]")):
        raise DataError("a JSON list, not JSON Lines", file=path, fix="write one object per line, without commas")
    return JsonLines(path, digest.hexdigest(), used, encoding, lenient)


def _is_wide(encoding: str) -> bool:
    return encoding.replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32"))
