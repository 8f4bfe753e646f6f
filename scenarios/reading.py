"""Strict reading of JSON data files: what is not as the format says is an error with a place, never a guess."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.source import DataReport
from mnemoscope.scenarios.strict_json import RepeatedKey, StrictParser, refuse_repeated

__all__ = [
    "Fields",
    "JsonFile",
    "RepeatedKey",
    "decode_text",
    "note_file",
    "official_file",
    "parse_json_text",
    "read_json",
    "reading_error",
    "refuse_foreign",
    "sniff_encoding",
    "undecodable",
]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16-LE, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DEFAULT_ENCODINGS = ("utf-8", "utf-8-sig")
_SHAPES: tuple[tuple[str, str | None, frozenset[str]], ...] = (
    ("StratMem-Bench", "stratmem", frozenset({"memory", "virtual_person_persona"})),
    ("LongMemEval", "longmemeval", frozenset({"haystack_sessions", "question_id"})),
    ("PRAGMA", "pragma", frozenset({"user_id", "persona", "sessions", "timestamps"})),
    ("MemUse", "memuse", frozenset({"instance_id", "trigger_session_idx"})),
    ("LoCoMo", "locomo", frozenset({"conversation", "qa"})),
    ("LoCoMo", "locomo", frozenset({"speaker_a", "speaker_b"})),
    ("native scenario", "native", frozenset({"participants", "sessions", "probes"})),
)


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
    value, repeated = parse_json_text(text, file=path, lenient=lenient)
    return JsonFile(path, value, sha256_of(raw), used, repeated)


def parse_json_text(text: str, *, file: Path, lenient: bool = False) -> tuple[object, tuple[RepeatedKey, ...]]:
    """Parse one strict JSON text.

    Args:
        text: The text; lines and columns in errors count from its start.
        file: The file it comes from, for messages.
        lenient: Let repeated keys pass and give them back; the last value is used.

    Returns:
        The value, and the keys that were given more than once.

    Raises:
        DataError: Not strict JSON, or a repeated key.
    """
    parser = StrictParser(file)
    value = parser.parse(text)
    if not lenient:
        refuse_repeated(parser.repeated, file=file)
    return value, tuple(parser.repeated)


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
    used = sniff_encoding(raw[:4], file=file, encoding=encoding)
    try:
        return raw.decode(used).removeprefix("\ufeff"), used
    except UnicodeDecodeError as error:
        raise undecodable(error.start, raw, file=file, encoding=encoding, used=used) from error


def sniff_encoding(head: bytes, *, file: object, encoding: str = "utf-8") -> str:
    """The encoding to decode a file with: what the user declared, or what a byte-order mark says.

    Args:
        head: The first four bytes, or all where there are fewer.
        file: The file's name, for messages.
        encoding: What the user declared; a mark counts where that is UTF-8.

    Returns:
        The encoding's name.

    Raises:
        DataError: The bytes are those of UTF-16 without a mark.
        ConfigError: No such encoding.
    """
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ConfigError(f"unknown encoding {encoding!r}; name one such as utf-8, utf-16, gb18030, cp1252") from error
    declared = encoding.lower()
    if declared not in _DEFAULT_ENCODINGS:
        return declared
    used = next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")
    if used == "utf-8" and b"\0" in head:
        wide = "utf-16-le" if head[:1] != b"\0" else "utf-16-be"
        raise DataError("not UTF-8", file=file, fix=f"it seems to be UTF-16 without a mark; use --encoding {wide}")
    return used


def undecodable(position: int, raw: bytes, *, file: object, encoding: str, used: str) -> DataError:
    """The error for bytes that are not in the encoding they were decoded with.

    Args:
        position: The first byte that does not fit.
        raw: Bytes around it, for a suggestion.
        file: The file's name.
        encoding: What the user declared.
        used: What was tried.
    """
    record = f"byte {position}"
    if encoding.lower() not in _DEFAULT_ENCODINGS:
        return DataError(f"not {encoding}", file=file, record=record, fix="name the encoding it was saved in")
    return DataError(
        "not UTF-8" if used.startswith("utf-8") else f"it begins like {used} and is not",
        file=file,
        record=record,
        fix=f"use --encoding {_likely_encoding(raw)} or the name of the encoding it was saved in",
    )


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


def reading_error(path: Path, error: OSError | ValueError) -> DataError:
    """What the operating system said about a file, in one plain sentence."""
    known = ((FileNotFoundError, "no such file"), (IsADirectoryError, "a folder, not a file"))
    if isinstance(error, PermissionError):
        return DataError("the file may not be read: permission denied", file=path)
    what = next((text for kind, text in known if isinstance(error, kind)), f"the file cannot be read: {error}")
    return DataError(what, file=path)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise reading_error(path, error) from error


def _likely_encoding(raw: bytes) -> str:
    """A suggestion, never used to load anything."""
    try:
        codecs.getincrementaldecoder("gb18030")().decode(raw)
    except UnicodeDecodeError:
        return "cp1252"
    return "gb18030"
