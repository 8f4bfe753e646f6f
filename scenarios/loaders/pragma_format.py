"""PRAGMA's files, row by row: what each holds, read by type; a wrong type is an error that names its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from mnemoscope.core.errors import DataError
from mnemoscope.core.language.dates import DateFormatError, parse_iso_date
from mnemoscope.scenarios.reading import Fields

__all__ = [
    "EVID_SESSIONS",
    "FILLER_SESSIONS",
    "FULL_SESSIONS",
    "METADATA",
    "QUERY_DATA",
    "QUERY_TYPES",
    "RESPONSE_METRICS",
    "PragmaHistory",
    "PragmaOrigin",
    "PragmaQuery",
    "PragmaRubric",
    "PragmaSession",
    "PragmaTurn",
    "read_history_row",
    "read_origin_row",
    "read_query_row",
    "read_rubric_row",
    "read_turns",
    "user_id_of",
]

FULL_SESSIONS, METADATA = "full_sessions.json", "metadata.json"
RESPONSE_METRICS, QUERY_DATA = "response_metrics.json", "query_data.json"
EVID_SESSIONS, FILLER_SESSIONS = "evid_sessions.json", "filler_sessions.json"

QueryType = Literal["type1", "type2", "type3", "type4"]
QUERY_TYPES: tuple[QueryType, ...] = ("type1", "type2", "type3", "type4")
KINDS = ("event", "trajectory", "filler")


@dataclass(frozen=True, slots=True)
class PragmaTurn:
    """One turn of a session."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class PragmaSession:
    """One session of `full_sessions.json`; kind and topic are hidden from systems."""

    date: datetime
    written_date: str
    turns: tuple[PragmaTurn, ...]
    kind: str | None
    topic: str | None


@dataclass(frozen=True, slots=True)
class PragmaHistory:
    """One row of `full_sessions.json`, sessions as the file orders them."""

    user_id: str
    persona: str
    sessions: tuple[PragmaSession, ...]


@dataclass(frozen=True, slots=True)
class PragmaQuery:
    """One row of `metadata.json`."""

    record: str
    user_id: str
    query_type: QueryType
    query: str
    now: datetime
    indexes: tuple[int, ...]
    """Into the date-sorted sessions, repeats kept."""
    dates: tuple[str, ...]
    summaries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PragmaRubric:
    """One row of `response_metrics.json`."""

    record: str
    user_id: str
    query: str
    alignment: str
    grounding: str


@dataclass(frozen=True, slots=True)
class PragmaOrigin:
    """One row of `query_data.json`: what the user's queries were made from."""

    user_id: str
    topic: str
    axes: tuple[str, ...]
    axis_labels: tuple[str, ...]
    events: tuple[str, ...]
    event_dates: tuple[str, ...]
    trajectory: tuple[str, ...]
    trajectory_dates: tuple[str, ...]
    queries: tuple[str, ...]
    """By type, in the order of `QUERY_TYPES`."""
    type2_evidence: tuple[int, ...]
    type4_evidence: tuple[int, ...]

    def dated(self) -> tuple[tuple[str, str], ...]:
        """Every event and state with its date."""
        return (
            *zip(self.events, self.event_dates, strict=True),
            *zip(self.trajectory, self.trajectory_dates, strict=True),
        )


def user_id_of(value: object, *, file: str, record: str) -> str:
    """The user that a row belongs to; ids are texts or whole numbers.

    Raises:
        DataError: The row is no object or has no such id.
    """
    row = Fields.of(value, file=file, record=record)
    seen = row.values.get("user_id")
    if isinstance(seen, int) and not isinstance(seen, bool):
        return str(seen)
    user_id = row.text("user_id").strip()
    if not user_id:
        raise row.wrong("user_id", "an id")
    return user_id


def read_history_row(value: object, *, file: str, record: str) -> PragmaHistory:
    """Read one user's sessions.

    Raises:
        DataError: A field is missing or of the wrong type, or the parallel arrays differ in length.
    """
    user_id = user_id_of(value, file=file, record=record)
    row = Fields.of(value, file=file, record=user_id)
    dates, sessions = row.texts("timestamps"), row.sequence("sessions")
    kinds, topics = _optional_texts(row, "session_types"), _optional_texts(row, "topics")
    sizes = {"timestamps": len(dates), "sessions": len(sessions)}
    sizes |= {name: len(values) for name, values in (("session_types", kinds), ("topics", topics)) if values}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} ({size})" for name, size in sizes.items())
        raise DataError(f"{shown} differ in length", file=file, record=user_id, field="sessions")
    if not sessions:
        raise row.wrong("sessions", "at least one session")
    for kind in kinds or ():
        if kind not in KINDS:
            raise row.wrong("session_types", "a list of event, trajectory and filler")
    return PragmaHistory(
        user_id,
        row.text("persona"),
        tuple(
            PragmaSession(
                read_day(row, "timestamps", written),
                written,
                read_turns(session, row, f"session {number}"),
                kinds[number] if kinds else None,
                topics[number] if topics else None,
            )
            for number, (written, session) in enumerate(zip(dates, sessions, strict=True))
        ),
    )


def read_turns(session: object, row: Fields, name: str) -> tuple[PragmaTurn, ...]:
    """Read one session's turns.

    Raises:
        DataError: It is no list of `{role, content}` with roles user and assistant.
    """
    where = f"{row.record} {name}"
    if not isinstance(session, list):
        raise DataError("expected a list of turns", file=row.file, record=where, seen=session)
    turns = []
    for index, value in enumerate(session):
        fields = Fields.of(value, file=row.file, record=f"{where} turn {index}")
        role = fields.text("role")
        if role not in ("user", "assistant"):
            raise fields.wrong("role", "user or assistant")
        turns.append(PragmaTurn(cast("Literal['user', 'assistant']", role), fields.text("content")))
    return tuple(turns)


def read_query_row(value: object, *, file: str, record: str) -> PragmaQuery:
    """Read one query.

    Raises:
        DataError: A field is missing or of the wrong type, or evidence indexes and dates differ in number.
    """
    user_id = user_id_of(value, file=file, record=record)
    row = Fields.of(value, file=file, record=f"{record} ({user_id})")
    kind = row.text("query_type")
    if kind not in QUERY_TYPES:
        raise row.wrong("query_type", f"one of {', '.join(QUERY_TYPES)}")
    query = row.text("query").strip()
    if not query:
        raise row.wrong("query", "a query")
    indexes, dates = _integers(row, "evidence_session_index"), row.texts("evidence_session_timestamps")
    if len(indexes) != len(dates):
        raise DataError(
            f"evidence_session_index ({len(indexes)}) and evidence_session_timestamps ({len(dates)}) differ in length",
            file=file,
            record=row.record,
            field="evidence_session_index",
        )
    row.optional_text("persona")
    now = read_day(row, "query_timestamp", row.text("query_timestamp"))
    summaries = row.texts("summarized_evidence")
    return PragmaQuery(row.record, user_id, kind, query, now, indexes, dates, summaries)


def read_rubric_row(value: object, *, file: str, record: str) -> PragmaRubric:
    """Read one query's rubrics.

    Raises:
        DataError: A field is missing or of the wrong type.
    """
    user_id = user_id_of(value, file=file, record=record)
    row = Fields.of(value, file=file, record=f"{record} ({user_id})")
    row.optional_text("query_type")
    return PragmaRubric(
        row.record, user_id, row.text("query").strip(), row.text("alignment_metric"), row.text("grounding_metric")
    )


def read_origin_row(value: object, *, file: str, record: str) -> PragmaOrigin:
    """Read what one user's queries were made from.

    Raises:
        DataError: A field is missing or of the wrong type, texts and dates differ in number, or an index lies outside
            its list.
    """
    user_id = user_id_of(value, file=file, record=record)
    row = Fields.of(value, file=file, record=user_id)
    row.optional_text("persona")
    events, states = _dated(row, "events", "event_timestamps"), _dated(row, "trajectory", "trajectory_timestamps")
    return PragmaOrigin(
        user_id=user_id,
        topic=row.text("topic"),
        axes=row.texts("axes"),
        axis_labels=row.texts("rewritten axes"),
        events=events[0],
        event_dates=events[1],
        trajectory=states[0],
        trajectory_dates=states[1],
        queries=tuple(row.text(name).strip() for name in QUERY_TYPES),
        type2_evidence=_places_in(row, "type2_evid", "events", len(events[0])),
        type4_evidence=_places_in(row, "type4_evid", "trajectory", len(states[0])),
    )


def read_day(row: Fields, name: str, written: str) -> datetime:
    """Read a day without a time: its first moment in UTC.

    Raises:
        DataError: Another form.
    """
    try:
        parsed = parse_iso_date(written)
    except DateFormatError as error:
        raise DataError(
            "a date cannot be read", file=row.file, record=row.record, field=name, seen=written, fix=error.reason
        ) from error
    return parsed.value


def _dated(row: Fields, texts_name: str, dates_name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    texts, dates = row.texts(texts_name), row.texts(dates_name)
    if len(texts) != len(dates):
        raise DataError(
            f"{texts_name} ({len(texts)}) and {dates_name} ({len(dates)}) differ in length",
            file=row.file,
            record=row.record,
            field=dates_name,
        )
    for written in dates:
        read_day(row, dates_name, written)
    return texts, dates


def _places_in(row: Fields, name: str, list_name: str, size: int) -> tuple[int, ...]:
    places = _integers(row, name)
    for place in places:
        if not 0 <= place < size:
            raise DataError(
                f"an index lies outside `{list_name}`, which has {size} entries",
                file=row.file,
                record=row.record,
                field=name,
                seen=place,
            )
    return places


def _integers(row: Fields, name: str) -> tuple[int, ...]:
    values = row.sequence(name)
    numbers = tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool))
    if len(numbers) != len(values):
        raise row.wrong(name, "a list of whole numbers")
    return numbers


def _optional_texts(row: Fields, name: str) -> Sequence[str | None] | None:
    """A list of texts and nulls, or None where the field is absent."""
    if name not in row.values:
        return None
    values = row.sequence(name)
    texts = [value for value in values if value is None or isinstance(value, str)]
    if len(texts) != len(values):
        raise row.wrong(name, "a list of texts")
    return texts
