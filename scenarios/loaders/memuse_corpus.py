"""MemUse's session summaries and importance scores: looked up by user and session, only ever for earlier sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.jsonl import open_jsonl
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["IMPORTANCE", "SUMMARY", "SessionExtras", "read_extras", "with_extras"]

IMPORTANCE = "importance"
"""Key of `Turn.meta`: the given score of a user turn, as written in the file."""
SUMMARY = "session_summary"
"""Key of `Turn.meta` of a session's last turn: the summary written once the session was over."""


@dataclass(frozen=True, slots=True)
class _Said:
    role: str
    importance: float | None


@dataclass(slots=True)
class _Extra:
    summary: str | None = None
    said: tuple[_Said, ...] = ()


@dataclass(slots=True)
class SessionExtras:
    """What the corpus and summary files say about sessions."""

    by_session: dict[tuple[str, int], _Extra] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.files)


def read_extras(paths: Sequence[Path], request: LoadRequest, report: DataReport) -> SessionExtras:
    """Read corpus and summary files; each holds sessions or instances with `prior_session_summaries`, one per line.

    A later file fills in what an earlier one left open; the first summary of a session stays.

    Args:
        paths: The files.
        request: Encoding and leniency.
        report: Where counts and notices go.

    Raises:
        DataError: A row is not as the format says.
    """
    extras = SessionExtras()
    for path in paths:
        extras.files.append(path.name)
        for line in open_jsonl(path, encoding=request.encoding, lenient=request.lenient).read(report):
            row = Fields.of(line.value, file=str(path), record=f"line {line.number}")
            try:
                _take(row, extras, report)
            except DataError as error:
                if not request.lenient:
                    raise
                report.note("skipped-record", f"{path.name} line {line.number}", str(error))
    return extras


def with_extras(
    turns: Sequence[Turn], user: str, session: int, extras: SessionExtras, report: DataReport, where: str
) -> tuple[Turn, ...]:
    """The turns of one session with importance on user turns and the summary on the last turn.

    Args:
        turns: All turns of the session, in order.
        user: The user's id.
        session: The session's number, which must be before the trigger session.
        extras: What is known.
        report: Where counts and notices go.
        where: Record and session, for notices.
    """
    extra = extras.by_session.get((user, session))
    if extra is None:
        report.counts["sessions without corpus row"] += bool(extras)
        return tuple(turns)
    meta: list[dict[str, str]] = [{} for _ in turns]
    if extra.said and [s.role for s in extra.said] != [turn.role for turn in turns]:
        report.note("corpus-mismatch", where, "the corpus has other turns for this session; its importance is not used")
    elif extra.said:
        for said, own in zip(extra.said, meta, strict=True):
            if said.importance is not None:
                own[IMPORTANCE] = repr(said.importance)
                report.counts["turns with importance"] += 1
    if extra.summary and turns:
        meta[-1][SUMMARY] = extra.summary
        report.counts["sessions with summary"] += 1
    return tuple(
        turn.model_copy(update={"meta": {**turn.meta, **own}}) if own else turn
        for turn, own in zip(turns, meta, strict=True)
    )


def _take(row: Fields, extras: SessionExtras, report: DataReport) -> None:
    user = row.text("user_id")
    for session in _sessions(row):
        number = session.integer("session_idx")
        extra = extras.by_session.setdefault((user, number), _Extra())
        summary = session.optional_text("summary")
        if summary and summary.strip() and extra.summary not in (None, summary.strip()):
            report.note("second-summary", f"{row.record} session {number}", "another summary is known; the first stays")
        elif summary and summary.strip():
            extra.summary = summary.strip()
        if session.values.get("turns") is not None:
            extra.said = extra.said or tuple(_said(session))


def _sessions(row: Fields) -> Iterator[Fields]:
    if row.values.get("target") is None:
        yield row
        return
    for position, value in enumerate(row.fields("target").sequence("prior_session_summaries")):
        yield Fields.of(value, file=row.file, record=f"{row.record} prior_session_summaries[{position}]")


def _said(session: Fields) -> Iterator[_Said]:
    for position, value in enumerate(session.sequence("turns")):
        turn = Fields.of(value, file=session.file, record=f"{session.record} turns[{position}]")
        importance = turn.values.get("importance")
        if importance is not None and (isinstance(importance, bool) or not isinstance(importance, int | float)):
            raise turn.wrong("importance", "a number")
        yield _Said(turn.text("role"), None if importance is None else _finite(turn, importance))


def _finite(turn: Fields, importance: float) -> float:
    try:
        return float(importance)
    except OverflowError as error:
        raise turn.wrong("importance", "a number that is not this large") from error
