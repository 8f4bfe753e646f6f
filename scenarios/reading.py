"""Strict reading of JSON data files: what is not as the format says is an error with a place, never a guess."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.source import DataReport

__all__ = [
    "Fields",
    "JsonFile",
    "RepeatedKey",
    "decode_text",
    "note_file",
    "official_file",
    "read_json",
    "refuse_foreign",
]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16-LE, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DEFAULT_ENCODINGS = ("utf-8", "utf-8-sig")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SHAPES: tuple[tuple[str, str | None, frozenset[str]], ...] = (
    ("StratMem-Bench", "stratmem", frozenset({"memory", "virtual_person_persona"})),
    ("LongMemEval", None, frozenset({"haystack_sessions", "question_id"})),
    ("LoCoMo", "locomo", frozenset({"conversation", "qa"})),
    ("LoCoMo", "locomo", frozenset({"speaker_a", "speaker_b"})),
    ("native scenario", "native", frozenset({"participants", "sessions", "probes"})),
)


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A key that one object of the file gives more than once."""

    path: str
    """The object, such as `[0].qa[3]`."""
    key: str
    used: object
    """The last value, which is the one that loads."""
    dropped: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file as read."""

    path: Path
    value: object
    sha256: str
    """Of the bytes on disk."""
    encoding: str
    """What the bytes were decoded with."""
    repeated: tuple[RepeatedKey, ...] = ()
    """Only a lenient reading lets these pass."""


@dataclass(frozen=True, slots=True)
class Fields:
    """One object of a data file, whose fields are read by type; a wrong type is an error that names its place."""

    file: str
    record: str
    values: Mapping[str, object]

    @classmethod
    def of(cls, value: object, *, file: str, record: str) -> Fields:
        """The fields of an object.

        Raises:
            DataError: The value is no object.
        """
        if not isinstance(value, dict):
            raise DataError("expected an object", file=file, record=record, seen=value)
        return cls(file, record, value)

    def text(self, name: str) -> str:
        """A text that must be there."""
        value = self._required(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def optional_text(self, name: str) -> str | None:
        """A text, or None where the field is absent or null."""
        return None if self.values.get(name) is None else self.text(name)

    def sequence(self, name: str) -> Sequence[object]:
        """A list that must be there."""
        value = self._required(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts that must be there."""
        values = self.sequence(name)
        texts = tuple(value for value in values if isinstance(value, str))
        if len(texts) != len(values):
            raise self.wrong(name, "a list of texts")
        return texts

    def integer(self, name: str) -> int:
        """A whole number that must be there; digits in a text are not one."""
        value = self._required(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(name, "a whole number")
        return value

    def fields(self, name: str) -> Fields:
        """An object that must be there."""
        value = self._required(name)
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(self.file, self.record, value)

    def wrong(self, name: str, expected: str) -> DataError:
        """The error that says what a field should have been, with the value seen."""
        return DataError(
            f"expected {expected}", file=self.file, record=self.record, field=name, seen=self.values.get(name)
        )

    def _required(self, name: str) -> object:
        if name not in self.values:
            keys = ", ".join(sorted(self.values)[:8]) or "none"
            raise DataError(
                "a field is missing", file=self.file, record=self.record, field=name, fix=f"its fields are {keys}"
            )
        return self.values[name]


def read_json(path: Path, *, encoding: str = "utf-8", lenient: bool = False) -> JsonFile:
    """Read one JSON file.

    Byte-order marks of UTF-8, UTF-16 and UTF-32 are honoured; anything else must be in `encoding`.

    Args:
        path: The file.
        encoding: What the file was saved in.
        lenient: Let repeated keys pass and report them; the last value is used.

    Returns:
        The value with its hash.

    Raises:
        DataError: The file is missing, unreadable, in another encoding, cut short or not strict JSON.
        ConfigError: No such encoding.
    """
    raw = _bytes_of(path)
    text, used = decode_text(raw, file=path, encoding=encoding)
    parser = _Parser(path)
    value = parser.parse(text)
    if parser.repeated and not lenient:
        first = parser.repeated[0]
        raise DataError(
            f'the key "{first.key}" is given {len(first.dropped) + 1} times',
            file=path,
            record=first.path,
            field=first.key,
            seen=[*first.dropped, first.used],
            fix="keep one of them; a lenient load uses the last",
        )
    return JsonFile(path, value, sha256_of(raw), used, tuple(parser.repeated))


def decode_text(raw: bytes, *, file: object, encoding: str = "utf-8") -> tuple[str, str]:
    """Decode a file's bytes without ever guessing or dropping one.

    Args:
        raw: The bytes.
        file: The file's name, for messages.
        encoding: What the user declared.

    Returns:
        The text, and the encoding it was decoded with.

    Raises:
        DataError: The bytes are not in that encoding; the message suggests one.
        ConfigError: No such encoding.
    """
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ConfigError(f"unknown encoding {encoding!r}; name one such as utf-8, utf-16, gb18030, cp1252") from error
    declared = encoding.lower()
    used = declared
    if declared in _DEFAULT_ENCODINGS:
        used = next((name for mark, name in _BOMS if raw.startswith(mark)), "utf-8")
        if used == "utf-8" and b"\0" in raw[:4]:
            wide = "utf-16-le" if raw[:1] != b"\0" else "utf-16-be"
            raise DataError("not UTF-8", file=file, fix=f"it seems to be UTF-16 without a mark; use --encoding {wide}")
    try:
        return raw.decode(used).removeprefix("\ufeff"), used
    except UnicodeDecodeError as error:
        if declared in _DEFAULT_ENCODINGS:
            raise DataError(
                "not UTF-8" if used.startswith("utf-8") else f"it begins like {used} and is not",
                file=file,
                record=f"byte {error.start}",
                fix=f"use --encoding {_likely_encoding(raw)} or the name of the encoding it was saved in",
            ) from error
        raise DataError(
            f"not {encoding}", file=file, record=f"byte {error.start}", fix="name the encoding it was saved in"
        ) from error


def official_file(path: Path | None, names: Sequence[str], *, kind: str) -> Path:
    """The file that a path names: itself, or in a folder the first official name, also under `data/`.

    Raises:
        ConfigError: No path was given.
        DataError: A folder without any of the names.
    """
    if path is None:
        raise ConfigError(f"{kind} needs a path; write {kind}:PATH, for example {kind}:{names[0]}")
    if not path.is_dir():
        return path
    for folder in (path, path / "data"):
        for name in names:
            if (folder / name).is_file():
                return folder / name
    raise DataError("the folder holds no file of that benchmark", file=path, fix=f"expected {' or '.join(names)}")


def refuse_foreign(value: object, *, kind: str, path: Path) -> None:
    """Say so plainly where a file is of another benchmark than the one asked for.

    Raises:
        DataError: The file looks like another benchmark's.
    """
    sample = value[0] if isinstance(value, list) and value else value
    if not isinstance(sample, dict):
        return
    for title, other, keys in _SHAPES:
        if keys <= sample.keys() and other != kind:
            fix = f"use {other}:{path}" if other else f"{kind} cannot read it"
            raise DataError(f"this looks like a {title} file", file=path, fix=fix)


def note_file(report: DataReport, file: JsonFile, *, published: set[str]) -> None:
    """Note what is odd about a file as a whole: an unpublished hash, and keys given more than once.

    Args:
        report: Where notices go.
        file: The file as read.
        published: Hashes of the files that the benchmark's authors offer.
    """
    if file.sha256 not in published:
        report.note("unpublished-file", file.path.name, f"sha256 {file.sha256} is not that of a published file")
    for key in file.repeated:
        dropped = ", ".join(repr(value) for value in key.dropped)
        detail = f'key "{key.key}" is given {len(key.dropped) + 1} times: {key.used!r} is used, {dropped} dropped'
        report.note("repeated-key", f"{file.path.name} {key.path}", detail)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataError("no such file", file=path) from error
    except IsADirectoryError as error:
        raise DataError("a folder, not a file", file=path) from error
    except PermissionError as error:
        raise DataError("the file may not be read: permission denied", file=path) from error
    except (OSError, ValueError) as error:
        raise DataError(f"the file cannot be read: {error}", file=path) from error


def _likely_encoding(raw: bytes) -> str:
    """A suggestion, never used to load anything."""
    try:
        raw.decode("gb18030")
    except UnicodeDecodeError:
        return "cp1252"
    return "gb18030"


class _Repeating(dict[str, object]):
    """An object that gives a key more than once, with all that it gave."""

    pairs: list[tuple[str, object]]


class _NotFinite:
    """Stands where the file has NaN, Infinity or a number too large for a float, until its place is known."""

    def __init__(self, written: str) -> None:
        self.written = written


class _Parser:
    """One parse: the fast C scanner, and a walk for places only where something was wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repeated: list[RepeatedKey] = []
        self._suspicious = False

    def parse(self, text: str) -> object:
        if not text.strip():
            raise DataError("the file is empty", file=self.path)
        try:
            value: object = json.loads(
                text, object_pairs_hook=self._pairs, parse_constant=self._constant, parse_float=self._number
            )
            if self._suspicious or _SURROGATE_ESCAPE.search(text):
                self._inspect(value)
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

    def _inspect(self, root: object) -> None:
        for place, value in _walk(root, ""):
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
