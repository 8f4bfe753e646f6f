"""LongMemEval's histories: three parallel arrays become dated sessions, whose ids and marks stay behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import SessionId, TurnId
from mnemoscope.core.language.dates import DateFormatError, parse_longmemeval_date
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import Role, Session, Turn
from mnemoscope.scenarios.source import DataReport

__all__ = ["ASSISTANT", "USER", "History", "read_date", "read_history"]

USER, ASSISTANT = "User", "Assistant"
_SPEAKERS = {"user": USER, "assistant": ASSISTANT}
_ARRAYS = ("haystack_dates", "haystack_session_ids", "haystack_sessions")
_TURN_SECONDS = timedelta(seconds=1)
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class _Place:
    """One session as it stands in the file."""

    number: int
    """From 1, in file order."""
    written_id: str
    at: datetime | None
    rows: tuple[Fields, ...]


@dataclass(frozen=True, slots=True)
class History:
    """A question's sessions in time order, and what only evaluators may know of them."""

    sessions: tuple[Session, ...]
    written_ids: tuple[str, ...]
    """The file's id of each session, in the same order; ids of evidence sessions say so."""
    marked: tuple[tuple[TurnId, str], ...]
    """Turns marked as holding the answer, with their session's written id."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns in order."""
        return tuple(turn for session in self.sessions for turn in session.turns)

    def occurrences(self, written_id: str) -> tuple[SessionId, ...]:
        """Every session that the file gives this id to."""
        pairs = zip(self.sessions, self.written_ids, strict=True)
        return tuple(session.session_id for session, written in pairs if written == written_id)


def read_history(row: Fields, report: DataReport, *, lenient: bool) -> History:
    """Read one question's history.

    Dates, ids and sessions are put together by place first, then sorted by date; sessions of one date keep the file's
    order. Sessions are named by their place in time, so that no id tells which of them hold the answer. An id that
    occurs twice stays two sessions.

    Args:
        row: The question; its id is the record that errors name.
        report: Where notices and counts go.
        lenient: An unreadable date leaves the time unknown and the file's order in place.

    Returns:
        The history.

    Raises:
        DataError: The arrays differ in length, or a field is missing or of the wrong type.
    """
    places = _places(row, report, lenient=lenient)
    ordered = places
    if all(place.at is not None for place in places):
        ordered = sorted(places, key=lambda place: cast("datetime", place.at))
    if ordered != places:
        _note_order(row, ordered, report)
    _note_repeats(row, places, report)
    return _history(row, [place for place in ordered if place.rows], report)


def read_date(row: Fields, name: str, written: object, report: DataReport, *, lenient: bool) -> datetime | None:
    """Read one date; where its weekday contradicts it, the date wins.

    Returns:
        The moment, or None where a lenient load cannot tell.

    Raises:
        DataError: Another form.
    """
    try:
        if not isinstance(written, str):
            raise DateFormatError(str(written), "a date such as '2023/04/10 (Mon) 17:50'")
        parsed = parse_longmemeval_date(written)
    except DateFormatError as error:
        if lenient:
            report.note("unreadable-date", f"{row.record} {name}", f"{error}; the time is unknown")
            return None
        raise DataError(
            "a date cannot be read",
            file=row.file,
            record=row.record,
            field=name,
            seen=written,
            fix=f"expected {error.expected}; a lenient load leaves the time unknown",
        ) from error
    for warning in parsed.warnings:
        report.note("weekday-mismatch", f"{row.record} {name}", f"{written!r}: {warning}; the date is used")
    return parsed.value


def _places(row: Fields, report: DataReport, *, lenient: bool) -> list[_Place]:
    dates, ids, sessions = (row.sequence(name) for name in _ARRAYS)
    if not len(dates) == len(ids) == len(sessions):
        sizes = [f"{name} ({len(values)})" for name, values in zip(_ARRAYS, (dates, ids, sessions), strict=True)]
        raise DataError(
            f"{sizes[0]}, {sizes[1]} and {sizes[2]} differ in length",
            file=row.file,
            record=row.record,
            field=_ARRAYS[0],
            fix="the three arrays belong together place by place",
        )
    if not sessions:
        raise row.wrong("haystack_sessions", "at least one session")
    written_ids = row.texts("haystack_session_ids")
    return [
        _Place(
            number,
            written_id,
            read_date(row, f"haystack_dates[{number - 1}]", written, report, lenient=lenient),
            _rows(row, number, session, report),
        )
        for number, (written, written_id, session) in enumerate(zip(dates, written_ids, sessions, strict=True), 1)
    ]


def _rows(row: Fields, number: int, session: object, report: DataReport) -> tuple[Fields, ...]:
    where = f"{row.record} session {number}"
    if not isinstance(session, list):
        raise DataError(
            "expected a list of turns", file=row.file, record=where, field="haystack_sessions", seen=session
        )
    if not session:
        report.note("session-without-turns", where, "no turns; left out")
    return tuple(Fields.of(turn, file=row.file, record=f"{where} turn {i}") for i, turn in enumerate(session, 1))


def _history(row: Fields, places: Sequence[_Place], report: DataReport) -> History:
    sessions: list[Session] = []
    marked: list[tuple[TurnId, str]] = []
    index = 0
    for number, place in enumerate(places, 1):
        session_id = SessionId(f"s{number}")
        turns = []
        for offset, fields in enumerate(place.rows):
            turn = _turn(fields, session_id, index, offset, place.at)
            if _is_marked(fields):
                marked.append((turn.turn_id, place.written_id))
            turns.append(turn)
            index += 1
        sessions.append(Session(session_id=session_id, at=place.at, turns=tuple(turns)))
    report.counts["sessions"] += len(sessions)
    report.counts["turns"] += index
    report.counts["empty turns"] += sum(turn.is_empty for session in sessions for turn in session.turns)
    return History(tuple(sessions), tuple(place.written_id for place in places), tuple(marked))


def _turn(fields: Fields, session_id: SessionId, index: int, offset: int, start: datetime | None) -> Turn:
    role = fields.text("role")
    if role not in _SPEAKERS:
        raise fields.wrong("role", "user or assistant")
    return Turn(
        turn_id=TurnId(f"{session_id}:{offset + 1}"),
        session_id=session_id,
        index=index,
        speaker=_SPEAKERS[role],
        role=cast("Role", role),
        text=fields.text("content"),
        at=None if start is None else start + offset * _TURN_SECONDS,
    )


def _is_marked(fields: Fields) -> bool:
    value = fields.values.get("has_answer")
    if value is not None and not isinstance(value, bool):
        raise fields.wrong("has_answer", "true or false")
    return value is True


def _note_order(row: Fields, ordered: Sequence[_Place], report: DataReport) -> None:
    moved = sum(place.number != number for number, place in enumerate(ordered, 1))
    names = [place.written_id for place in ordered[:_SHOWN]]
    shown = ", ".join(names) + (", …" if len(ordered) > _SHOWN else "")
    report.note("sessions-reordered", row.record, f"{moved} sessions moved into time order: {shown}")


def _note_repeats(row: Fields, places: Sequence[_Place], report: DataReport) -> None:
    counts = Counter(place.written_id for place in places)
    for written_id, count in counts.items():
        if count > 1:
            detail = f"duplicate session id {written_id} ({count} occurrences); all are kept under keys of their own"
            report.note("duplicate-session-id", row.record, detail)
