"""Reading a chat log's messages from JSON Lines, OpenAI-style message lists or CSV, whatever its columns are called."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.jsonl import open_jsonl
from mnemoscope.scenarios.reading import Fields, decode_text, note_file, read_json, reading_error, refuse_foreign
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["LogFile", "Message", "read_messages"]

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "role": ("role", "角色"),
    "speaker": ("speaker", "name", "author", "from", "sender", "说话人", "发送人", "昵称"),
    "text": ("text", "content", "message", "body", "内容", "消息"),
    "time": ("time", "timestamp", "datetime", "created_at", "create_time", "sent_at", "at", "date", "时间", "日期"),
    "session": ("session", "session_id", "conversation_id", "conversation", "thread_id", "thread", "chat_id", "会话"),
}
_CONVERSATION_ID = ("id", "conversation_id", "session_id", "title")
_DELIMITERS = ",;\t"
_NOT_SPOKEN = frozenset({"system", "developer", "tool", "function"})


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the file has it."""

    where: str
    """Line, row or path, for errors and notices."""
    speaker: str | None
    role: str | None
    text: str
    time: object
    """As written: a text, seconds since 1970, or None."""
    session: str | None
    """The file's own name for the conversation."""


@dataclass(slots=True)
class LogFile:
    """A chat log as read."""

    path: Path
    shape: str
    """`messages`, `conversations`, `lines` or `csv`."""
    sha256: str = ""
    encoding: str = ""
    messages: list[Message] = field(default_factory=list)


def read_messages(path: Path, request: LoadRequest, report: DataReport) -> LogFile:
    """Read all messages of a log, in file order. Messages of systems and tools are left out and counted.

    Args:
        path: A `.jsonl`, `.json`, `.csv` or `.tsv` file.
        request: Encoding and leniency.
        report: Where counts and notices go.

    Raises:
        DataError: The file or a message cannot be read.
        ConfigError: Another kind of file.
    """
    suffix = path.suffix.lower()
    readers = {".jsonl": _lines, ".ndjson": _lines, ".json": _json, ".csv": _csv, ".tsv": _csv}
    if suffix not in readers:
        raise ConfigError(f"a chat log is a .jsonl, .json, .csv or .tsv file, not {path.name}")
    log = LogFile(path, "lines")
    left_out: Counter[str] = Counter()
    for row, conversation in readers[suffix](log, request, report):
        try:
            message = _message(row, conversation, report)
        except DataError as error:
            if not request.lenient:
                raise
            report.note("skipped-record", row.record, str(error))
            continue
        if message.role in _NOT_SPOKEN:
            left_out[str(message.role)] += 1
        else:
            log.messages.append(message)
    for role, count in sorted(left_out.items()):
        report.counts[f"{role} messages left out"] = count
        report.note("not-spoken", path.name, f"{count} messages with the role {role} are left out")
    if not log.messages:
        raise DataError("the log holds no message", file=path)
    return log


_Rows = Iterator[tuple[Fields, Mapping[str, object]]]
"""A message, and what its conversation says about itself (`session`, `time`)."""


def _lines(log: LogFile, request: LoadRequest, report: DataReport) -> _Rows:
    lines = open_jsonl(log.path, encoding=request.encoding, lenient=request.lenient)
    log.sha256, log.encoding = lines.sha256, lines.encoding
    for line in lines.read(report):
        refuse_foreign(line.value, kind="chatlog", path=log.path)
        record = f"line {line.number}"
        if isinstance(line.value, dict) and "messages" in line.value:
            log.shape = "conversations"
            yield from _conversation(line.value, log, record, line.number)
        else:
            yield _fields(line.value, log, record), {}


def _json(log: LogFile, request: LoadRequest, report: DataReport) -> _Rows:
    file = read_json(log.path, encoding=request.encoding, lenient=request.lenient)
    note_file(report, file, published={file.sha256})
    log.sha256, log.encoding = file.sha256, file.encoding
    refuse_foreign(file.value, kind="chatlog", path=log.path)
    value = file.value
    if isinstance(value, dict):
        if "messages" not in value and isinstance(value.get("conversations"), list):
            value = value["conversations"]
        else:
            value = [value]
    if not isinstance(value, list):
        raise DataError("not a chat log", file=log.path, seen=value, fix="expected a list of messages or conversations")
    log.shape = "messages"
    for position, given in enumerate(value):
        record = f"[{position}]"
        entry = {"messages": given} if isinstance(given, list) else given
        if isinstance(entry, dict) and ("messages" in entry or "mapping" in entry):
            log.shape = "conversations"
            yield from _conversation(entry, log, record, position + 1 if len(value) > 1 else None)
        else:
            yield _fields(entry, log, record), {}


def _conversation(entry: Mapping[str, object], log: LogFile, record: str, number: int | None) -> _Rows:
    """The messages of one conversation; it is a session of its own unless it is the only one and has no id."""
    fields = Fields(str(log.path), record, entry)
    if "messages" not in entry:
        raise DataError(
            "a conversation without `messages`", file=log.path, record=record, fix="write its messages as a plain list"
        )
    given = next((entry[key] for key in _CONVERSATION_ID if entry.get(key) is not None), None)
    if isinstance(given, bool) or not isinstance(given, str | int | None):
        raise DataError("a conversation's id is a text", file=log.path, record=record, field="id", seen=given)
    unnamed = None if number is None else f"c{number}"
    own = {"session": unnamed if given is None else str(given), "time": _first(entry, "time")}
    for position, value in enumerate(fields.sequence("messages")):
        yield _fields(value, log, f"{record}.messages[{position}]"), own


def _csv(log: LogFile, request: LoadRequest, report: DataReport) -> _Rows:
    try:
        raw = log.path.read_bytes()
    except OSError as error:
        raise reading_error(log.path, error) from error
    text, log.encoding = decode_text(raw, file=log.path, encoding=request.encoding)
    log.sha256, log.shape = sha256_of(raw), "csv"
    if not text.strip():
        raise DataError("the file is empty", file=log.path)
    if not text.endswith(("\n", "\r")):
        report.note("no-final-line-end", log.path.name, "the last row may have been cut short")
    delimiter = max(_DELIMITERS, key=lambda mark: len(_known(text.splitlines()[0].split(mark))))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next(reader)]
        _check_header(header, log)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            record = f"row {reader.line_num}"
            if len(cells) != len(header):
                problem = DataError(
                    f"{len(cells)} cells under {len(header)} columns", file=log.path, record=record, seen=cells
                )
                if not request.lenient:
                    raise problem
                report.note("skipped-record", record, str(problem))
                continue
            yield Fields(str(log.path), record, {**dict(zip(header, cells, strict=True))}), {}
    except csv.Error as error:
        raise DataError(f"not valid CSV: {error}", file=log.path, record=f"row {reader.line_num}") from error


def _check_header(header: Sequence[str], log: LogFile) -> None:
    known = _known(header)
    if len(set(header)) < len(header):
        raise DataError("a column name occurs twice", file=log.path, record="row 1", seen=list(header))
    if "text" not in known or not {"speaker", "role"} & known:
        raise DataError(
            "the first row names no columns of a chat log",
            file=log.path,
            record="row 1",
            field="text" if "text" not in known else "speaker",
            seen=list(header),
            fix="begin with a row such as speaker,text,time,session",
        )


def _known(header: Sequence[str]) -> set[str]:
    names = {name.strip().strip('"').lower() for name in header}
    return {column for column, aliases in _COLUMNS.items() if names & set(aliases)}


def _fields(value: object, log: LogFile, record: str) -> Fields:
    return Fields.of(value, file=str(log.path), record=record)


def _message(row: Fields, conversation: Mapping[str, object], report: DataReport) -> Message:
    session = _first(row.values, "session")
    if isinstance(session, bool) or not isinstance(session, str | int | None):
        raise DataError("a session's id is a text", file=row.file, record=row.record, field="session", seen=session)
    role, speaker = _name(row, "role"), _name(row, "speaker")
    if role is None and speaker is None:
        raise DataError(
            "nothing says who speaks",
            file=row.file,
            record=row.record,
            field="speaker",
            fix=f"its fields are {', '.join(sorted(row.values)) or 'none'}; name one speaker or role",
        )
    own = "" if session is None else str(session).strip()
    return Message(
        where=row.record,
        speaker=speaker,
        role=None if role is None else role.lower(),
        text=_text(row, spoken=(role or "").lower() not in _NOT_SPOKEN, report=report),
        time=_time(row, conversation),
        session=own or (str(conversation["session"]) if conversation.get("session") is not None else None),
    )


def _time(row: Fields, conversation: Mapping[str, object]) -> object:
    """The written time; a day and a clock time in two columns are put together."""
    lowered = {key.strip().lower(): value for key, value in row.values.items()}
    day, clock = lowered.get("date"), lowered.get("time")
    if isinstance(day, str) and isinstance(clock, str) and day.strip() and ":" in clock and len(clock.strip()) <= 8:
        return f"{day.strip()} {clock.strip()}"
    written = _first(row.values, "time")
    return conversation.get("time") if written is None else written


def _first(values: Mapping[str, object], column: str) -> object:
    """The first value, in the order of the column's names, that is there and not blank."""
    lowered = {str(key).strip().lower(): value for key, value in values.items()}
    for alias in _COLUMNS[column]:
        value = lowered.get(alias)
        if value is not None and not (isinstance(value, str) and not value.strip()):
            return value
    return None


def _name(row: Fields, column: str) -> str | None:
    value = _first(row.values, column)
    if value is not None and not isinstance(value, str):
        raise DataError(f"expected a {column} as text", file=row.file, record=row.record, field=column, seen=value)
    return value.strip() if isinstance(value, str) else None


def _text(row: Fields, *, spoken: bool, report: DataReport) -> str:
    """What was said; a list of content parts gives its text parts, joined."""
    keys = {str(key).strip().lower(): key for key in row.values}
    name = next((keys[alias] for alias in _COLUMNS["text"] if alias in keys), None)
    if name is None:
        raise DataError(
            "nothing was said",
            file=row.file,
            record=row.record,
            field="text",
            fix=f"its fields are {', '.join(sorted(row.values)) or 'none'}; one of them is text or content",
        )
    value = row.values[name]
    if value is None and ("tool_calls" in row.values or "function_call" in row.values or not spoken):
        return ""
    if isinstance(value, list):
        parts = [_part(part, row, name) for part in value]
        if None in parts:
            report.note("part-left-out", row.record, f"{parts.count(None)} parts that are no text are left out")
        return "\n".join(part for part in parts if part)
    if not isinstance(value, str):
        raise row.wrong(name, "a text, or a list of content parts")
    return value


def _part(part: object, row: Fields, name: str) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("type"), str):
        text = part.get("text")
        if part["type"] not in ("text", "input_text", "output_text"):
            return None
        if isinstance(text, str):
            return text
    raise row.wrong(name, "a text, or a list of content parts")
