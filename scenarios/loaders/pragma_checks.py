"""Is a folder PRAGMA data, all of it? Every file by its schema, and every file against the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.loaders.pragma_format import (
    EVID_SESSIONS,
    FILLER_SESSIONS,
    FULL_SESSIONS,
    METADATA,
    QUERY_DATA,
    QUERY_TYPES,
    RESPONSE_METRICS,
    PragmaHistory,
    PragmaOrigin,
    PragmaQuery,
    PragmaTurn,
    read_history_row,
    read_origin_row,
    read_query_row,
    read_rubric_row,
    read_turns,
    user_id_of,
)
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.streaming import stream_items

__all__ = ["validate_pragma"]

_EVENTS, _STATES, _FILLERS, _PAIRS = (2, 5), (4, 8), 30, 6
_QUERY_DAY = "2026-05-01"
_FIRST_DAY = "2025-05-01"
_RANKS = {"event": 0, "trajectory": 1, "filler": 2}

_Row = TypeVar("_Row")
Turns = tuple[PragmaTurn, ...]


def validate_pragma(folder: Path) -> tuple[str, ...]:
    """Check a folder against PRAGMA's schema, more strictly than loading does.

    Args:
        folder: It should hold the six files of the release.

    Returns:
        Every problem as a sentence; empty where there is none. A file that breaks its schema ends the check of it.
    """
    problems: list[str] = []
    origins = {row.user_id: row for row in _rows(folder / QUERY_DATA, read_origin_row, problems)}
    queries = list(_rows(folder / METADATA, read_query_row, problems))
    rubrics = {(row.user_id, row.query) for row in _rows(folder / RESPONSE_METRICS, read_rubric_row, problems)}
    evidence = dict(_rows(folder / EVID_SESSIONS, _evidence_row, problems))
    fillers = dict(_rows(folder / FILLER_SESSIONS, _filler_row, problems))
    by_user: dict[str, list[PragmaQuery]] = {}
    for query in queries:
        by_user.setdefault(query.user_id, []).append(query)
    users: set[str] = set()
    for history in _rows(folder / FULL_SESSIONS, read_history_row, problems):
        if history.user_id in users:
            problems.append(f"{history.user_id}: the user occurs twice")
        users.add(history.user_id)
        origin = origins.get(history.user_id)
        found = list(_history_problems(history))
        if origin is None:
            found.append(f"{QUERY_DATA} has no such user")
        else:
            found.extend(_origin_problems(origin))
            found.extend(_query_problems(history, origin, by_user.get(history.user_id, []), rubrics))
        found.extend(_parts_problems(history, evidence, fillers))
        problems.extend(f"{history.user_id}: {problem}" for problem in found)
    for name, known in ((QUERY_DATA, set(origins)), (METADATA, set(by_user)), (EVID_SESSIONS, set(evidence))):
        problems.extend(f"{name}: user {user} has no sessions" for user in sorted(known - users))
    return tuple(problems)


def _rows(path: Path, read: Callable[..., _Row], problems: list[str]) -> Iterator[_Row]:
    try:
        for item in stream_items(path):
            yield read(item.value, file=str(path), record=f"[{item.index}]")
    except DataError as error:
        problems.append(str(error))


def _evidence_row(value: object, *, file: str, record: str) -> tuple[str, dict[str, list[Turns]]]:
    user_id = user_id_of(value, file=file, record=record)
    row = Fields.of(value, file=file, record=user_id)
    row.texts("event_timestamps"), row.texts("trajectory_timestamps"), row.text("persona")
    return user_id, {
        kind: [read_turns(session, row, f"{name} {n}") for n, session in enumerate(row.sequence(name))]
        for kind, name in (("event", "event_turns"), ("trajectory", "trajectory_turns"))
    }


def _filler_row(value: object, *, file: str, record: str) -> tuple[str, list[tuple[str, Turns]]]:
    user_id = user_id_of(value, file=file, record=record)
    row = Fields.of(value, file=file, record=user_id)
    topics, sessions = row.texts("filler_topics"), row.sequence("filler_turns")
    if len(topics) != len(sessions):
        raise row.wrong("filler_topics", f"{len(sessions)} topics")
    return user_id, [
        (topic, read_turns(session, row, f"filler_turns {n}"))
        for n, (topic, session) in enumerate(zip(topics, sessions, strict=True))
    ]


def _history_problems(history: PragmaHistory) -> Iterator[str]:
    kinds = [session.kind for session in history.sessions]
    for kind, (least, most) in (("event", _EVENTS), ("trajectory", _STATES), ("filler", (_FILLERS, _FILLERS))):
        if not least <= kinds.count(kind) <= most:
            yield f"{kinds.count(kind)} {kind} sessions; expected {least} to {most}"
    for number, session in enumerate(history.sessions):
        roles = [turn.role for turn in session.turns]
        if roles != ["user", "assistant"] * (len(roles) // 2):
            yield f"session {number}: user and assistant do not take turns"
        if len(roles) < 2 * _PAIRS:
            yield f"session {number}: {len(roles) // 2} pairs of turns; expected at least {_PAIRS}"
        if not all(turn.content.strip() for turn in session.turns):
            yield f"session {number}: an empty turn"
        if not _FIRST_DAY <= session.written_date < _QUERY_DAY:
            yield f"session {number}: {session.written_date} lies outside the window"
        if (session.topic is None) == (session.kind == "filler"):
            yield f"session {number}: fillers have a topic, evidence has none"
    for number, (before, after) in enumerate(pairwise(history.sessions)):
        if before.date > after.date:
            yield f"sessions {number} and {number + 1} are not in order of date"
        if before.date == after.date and _RANKS.get(before.kind or "", 0) > _RANKS.get(after.kind or "", 0):
            yield f"sessions {number} and {number + 1}: on one day events precede states, and states fillers"


def _origin_problems(origin: PragmaOrigin) -> Iterator[str]:
    for name, texts, (least, most) in (
        ("events", origin.events, _EVENTS),
        ("trajectory", origin.trajectory, _STATES),
        ("axes", origin.axes, (2, 2)),
        ("rewritten axes", origin.axis_labels, (2, 2)),
    ):
        if not least <= len(texts) <= most:
            yield f"{len(texts)} entries in {name}; expected {least} to {most}"
        if len(set(texts)) < len(texts):
            yield f"an entry of {name} is repeated"
    if not all(" <-> " in axis for axis in origin.axes):
        yield "an axis is not written as `X <-> Y`"
    for name, places in (("type2_evid", origin.type2_evidence), ("type4_evid", origin.type4_evidence)):
        if len(set(places)) < 2 or len(set(places)) < len(places):
            yield f"{name} should name two entries or more, each once"


def _query_problems(
    history: PragmaHistory, origin: PragmaOrigin, queries: list[PragmaQuery], rubrics: set[tuple[str, str]]
) -> Iterator[str]:
    if [query.query_type for query in queries] != list(QUERY_TYPES):
        yield f"expected one query of each of {', '.join(QUERY_TYPES)}, in this order"
        return
    days = [session.written_date for session in history.sessions]
    expected = (
        _by_day(origin.events, origin.event_dates),
        [(origin.events[n], origin.event_dates[n]) for n in origin.type2_evidence],
        _by_day(origin.trajectory, origin.trajectory_dates),
        [(origin.trajectory[n], origin.trajectory_dates[n]) for n in origin.type4_evidence],
    )
    for query, text, wanted in zip(queries, origin.queries, expected, strict=True):
        kind = "event" if query.query_type in ("type1", "type2") else "trajectory"
        if query.query != text:
            yield f"{query.query_type}: the query differs from that of {QUERY_DATA}"
        if query.now.date().isoformat() != _QUERY_DAY:
            yield f"{query.query_type}: asked on {query.now.date()}, not on {_QUERY_DAY}"
        if not all(0 <= n < len(days) for n in query.indexes):
            yield f"{query.query_type}: an evidence index lies outside the sessions"
            continue
        if [days[n] for n in query.indexes] != list(query.dates) or list(query.dates) != [day for _, day in wanted]:
            yield f"{query.query_type}: evidence indexes and dates disagree"
        if any(history.sessions[n].kind != kind for n in query.indexes):
            yield f"{query.query_type}: an evidence session is not of kind {kind}"
        if sorted(query.summaries) != sorted(summary for summary, _ in wanted):
            yield f"{query.query_type}: the summaries are not those of the evidence"
        if (query.user_id, query.query) not in rubrics:
            yield f"{query.query_type}: {RESPONSE_METRICS} has no rubric"


def _parts_problems(
    history: PragmaHistory,
    evidence: dict[str, dict[str, list[Turns]]],
    fillers: dict[str, list[tuple[str, Turns]]],
) -> Iterator[str]:
    """The full history is made of exactly the sessions of the other two files."""
    parts = evidence.get(history.user_id, {})
    for kind in ("event", "trajectory"):
        whole = [session.turns for session in history.sessions if session.kind == kind]
        if sorted(whole, key=repr) != sorted(parts.get(kind, []), key=repr):
            yield f"the {kind} sessions are not those of {EVID_SESSIONS}"
    mine = [(session.topic or "", session.turns) for session in history.sessions if session.kind == "filler"]
    if sorted(mine, key=repr) != sorted(fillers.get(history.user_id, []), key=repr):
        yield f"the filler sessions are not those of {FILLER_SESSIONS}"


def _by_day(texts: tuple[str, ...], days: tuple[str, ...]) -> list[tuple[str, str]]:
    return sorted(zip(texts, days, strict=True), key=lambda pair: pair[1])
