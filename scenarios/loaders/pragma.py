"""PRAGMA: long histories of chats with an assistant, and four independent requests for guidance per user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import ScenarioId, SessionId, TurnId
from mnemoscope.scenarios.loaders.pragma_format import (
    FULL_SESSIONS,
    METADATA,
    QUERY_DATA,
    QUERY_TYPES,
    RESPONSE_METRICS,
    PragmaHistory,
    PragmaOrigin,
    PragmaQuery,
    PragmaRubric,
    PragmaSession,
    read_history_row,
    read_origin_row,
    read_query_row,
    read_rubric_row,
    user_id_of,
)
from mnemoscope.scenarios.loaders.pragma_query import ASSISTANT, USER, Placed, QueryReader
from mnemoscope.scenarios.reading import JsonFile, official_file, read_json, refuse_foreign
from mnemoscope.scenarios.records import Card, Participant, Scenario, Session, Turn
from mnemoscope.scenarios.source import DataReport, LoadRequest
from mnemoscope.scenarios.streaming import hash_file, stream_encoding, stream_items

__all__ = ["PragmaSource", "open_pragma"]

_FILE_ROLES = {"metadata": METADATA, "metrics": RESPONSE_METRICS, "queries": QUERY_DATA}
_PERSONA = {"shown": True, "hidden": False}
_TURN_SECONDS = timedelta(seconds=1)
_CENSUS = (
    *("users", "sessions", "turns", "empty turns", "same-day sessions", "queries", "queries with rubric"),
    *("evidence sessions", "queries without evidence"),
)

_Row = TypeVar("_Row")


def open_pragma(request: LoadRequest) -> PragmaSource:
    """Open a PRAGMA folder: `full_sessions.json` and `metadata.json`, with rubrics and query data where present.

    `metadata=PATH`, `metrics=PATH` and `queries=PATH` name files that lie elsewhere; `persona=shown` lets assistants
    see the persona sentence, which the release leaves open (default `hidden`).

    The benchmark has one protocol and nothing to repair, so all modes read alike.

    Args:
        request: What to load; sessions are streamed, the other files are small.

    Returns:
        The opened folder; scenarios are built while it is iterated.

    Raises:
        DataError: A file is missing, cannot be read or is of another benchmark.
        ConfigError: No path, or an unknown role.
    """
    known = {*_FILE_ROLES, "persona"}
    if unknown := sorted(request.roles.keys() - known):
        raise ConfigError(f"pragma has no role {unknown[0]!r}; it takes {', '.join(sorted(known))}")
    persona = str(request.roles.get("persona", "hidden"))
    if persona not in _PERSONA:
        raise ConfigError(f"persona={persona}: it is shown or hidden")
    sessions = official_file(request.path, (FULL_SESSIONS,), kind="pragma")
    return PragmaSource(sessions, request, show_persona=_PERSONA[persona])


class PragmaSource:
    """An opened PRAGMA folder; each user is one scenario and one cluster."""

    def __init__(self, sessions: Path, request: LoadRequest, *, show_persona: bool) -> None:
        self._path, self._request, self._show_persona = sessions, request, show_persona
        first = next(stream_items(sessions, encoding=request.encoding, lenient=request.lenient), None)
        if first is None:
            raise DataError("the file holds no user", file=sessions)
        refuse_foreign([first.value], kind="pragma", path=sessions)
        self._metadata = self._file("metadata", required=True)
        self._metrics, self._origins = self._file("metrics"), self._file("queries")
        self.card = self._card()
        self.report = DataReport()
        self._tables()

    def __iter__(self) -> Iterator[Scenario]:
        self.report.counts.clear()
        self.report.notices.clear()
        self.report.counts.update(dict.fromkeys(_CENSUS, 0))
        queries, rubrics, origins = self._tables()
        request, report = self._request, self.report
        reader = QueryReader(report, rubrics, origins)
        seen: set[str] = set()
        for item in stream_items(
            self._path, encoding=request.encoding, lenient=request.lenient, progress=request.progress
        ):
            for key in item.repeated:
                report.note("repeated-key", f"{self._path.name} {key.path}", f'key "{key.key}": the last is used')
            user_id = user_id_of(item.value, file=str(self._path), record=f"[{item.index}]")
            if user_id in seen:
                raise DataError("a user id occurs twice", file=self._path, record=f"[{item.index}]", seen=user_id)
            seen.add(user_id)
            if user_id not in queries:
                report.note("user-without-queries", user_id, f"{METADATA} has no query of this user; left out")
                continue
            try:
                history = read_history_row(item.value, file=str(self._path), record=f"[{item.index}]")
                scenario = self._scenario(history, queries[user_id], reader)
            except DataError as error:
                if not request.lenient:
                    raise
                report.note("skipped-record", user_id, str(error))
                continue
            yield scenario
        for user_id in queries.keys() - seen:
            report.note("queries-without-history", user_id, f"{FULL_SESSIONS} has no such user; left out")
        for rubric in reader.unused_rubrics(seen):
            report.note("rubric-without-query", rubric.record, f"no query of {rubric.user_id} reads {rubric.query!r}")

    def _scenario(self, history: PragmaHistory, queries: list[PragmaQuery], reader: QueryReader) -> Scenario:
        placed = self._placed(history)
        persona = history.persona if self._show_persona else None
        probes = [reader.read(query, placed, persona) for query in queries]
        report = self.report
        asked = {query.query_type for query in queries}
        if absent := [name for name in QUERY_TYPES if name not in asked]:
            report.note("missing-query-type", history.user_id, f"no query of {', '.join(absent)}")
        report.counts["users"] += 1
        report.counts["sessions"] += len(placed.sessions)
        report.counts["turns"] += len(placed.turns)
        report.counts["empty turns"] += sum(turn.is_empty for turn in placed.turns)
        return Scenario(
            scenario_id=ScenarioId(history.user_id),
            benchmark="pragma",
            cluster=history.user_id,
            participants=(Participant(name=USER, role="user"), Participant(name=ASSISTANT, role="assistant")),
            sessions=placed.sessions,
            probes=tuple(probe for probe, _ in probes),
            gold_by_probe={probe.probe_id: gold for probe, gold in probes},
            card=self.card,
        )

    def _placed(self, history: PragmaHistory) -> Placed:
        """Sessions by date, ties in the file's order; those without turns keep their index and are left out."""
        ordered = sorted(history.sessions, key=lambda session: session.date)
        if ordered != list(history.sessions):
            self.report.note("sessions-reordered", history.user_id, "sessions moved into date order")
        self._note_ties(history.user_id, ordered)
        sessions: dict[int, Session] = {}
        turns_of_day = 0
        day: datetime | None = None
        index = 0
        for number, session in enumerate(ordered):
            turns_of_day = turns_of_day if session.date == day else 0
            day = session.date
            if not session.turns:
                self.report.note("session-without-turns", f"{history.user_id} session {number}", "no turns; left out")
                continue
            self._note_turns(history.user_id, number, session)
            sessions[number] = _session(session, number, index, session.date + turns_of_day * _TURN_SECONDS)
            turns_of_day += len(session.turns)
            index += len(session.turns)
        kinds = tuple(session.kind for session in ordered)
        dates = tuple(session.written_date for session in ordered)
        return Placed(history.user_id, str(self._metadata_path), sessions, kinds, dates)

    @property
    def _metadata_path(self) -> Path:
        return self._path_of("metadata")

    def _note_ties(self, user_id: str, ordered: list[PragmaSession]) -> None:
        for before, after in pairwise(ordered):
            if before.date == after.date:
                self.report.counts["same-day sessions"] += 1
                if before.kind == "filler" and after.kind in ("event", "trajectory"):
                    detail = f"on {after.written_date} a filler precedes evidence; the file's order is kept"
                    self.report.note("filler-before-evidence", user_id, detail)

    def _note_turns(self, user_id: str, number: int, session: PragmaSession) -> None:
        roles = [turn.role for turn in session.turns]
        if roles != ["user", "assistant"] * (len(roles) // 2):
            where = f"{user_id} session {number}"
            self.report.note("turns-do-not-alternate", where, "user and assistant do not take turns; kept as written")

    def _path_of(self, role: str) -> Path:
        return self._request.roles.get(role) or self._path.with_name(_FILE_ROLES[role])

    def _file(self, role: str, *, required: bool = False) -> JsonFile | None:
        path = self._path_of(role)
        if not required and role not in self._request.roles and not path.is_file():
            return None
        return read_json(path, encoding=self._request.encoding, lenient=self._request.lenient)

    def _tables(self) -> tuple[dict[str, list[PragmaQuery]], list[PragmaRubric], dict[str, PragmaOrigin]]:
        for role, file in (("metrics", self._metrics), ("queries", self._origins)):
            if file is None:
                self.report.note("missing-file", _FILE_ROLES[role], "not there; what it holds stays unknown")
            else:
                for key in file.repeated:
                    self.report.note(
                        "repeated-key", f"{file.path.name} {key.path}", f'key "{key.key}": the last is used'
                    )
        queries: dict[str, list[PragmaQuery]] = {}
        for query in self._rows(self._metadata, read_query_row):
            mine = queries.setdefault(query.user_id, [])
            if any(query.query_type == other.query_type for other in mine):
                raise DataError(
                    f"the user has two queries of {query.query_type}",
                    file=self._metadata_path,
                    record=query.record,
                    field="query_type",
                )
            if any(query.query == other.query for other in mine):
                raise DataError(
                    "the user has two queries of one text, which rubrics are joined by",
                    file=self._metadata_path,
                    record=query.record,
                    field="query",
                    seen=query.query,
                )
            mine.append(query)
        origins: dict[str, PragmaOrigin] = {}
        for origin in self._rows(self._origins, read_origin_row):
            if origin.user_id in origins:
                raise DataError("a user id occurs twice", file=self._path_of("queries"), record=origin.user_id)
            origins[origin.user_id] = origin
            for name, places in (("type2_evid", origin.type2_evidence), ("type4_evid", origin.type4_evidence)):
                if len(set(places)) < len(places):
                    detail = f"{list(places)} names an entry twice; counted once"
                    self.report.note("duplicate-evidence", f"{origin.user_id} {name}", detail)
        return queries, self._rubrics(), origins

    def _rubrics(self) -> list[PragmaRubric]:
        rubrics: dict[tuple[str, str], PragmaRubric] = {}
        for rubric in self._rows(self._metrics, read_rubric_row):
            if rubrics.setdefault((rubric.user_id, rubric.query), rubric) is not rubric:
                raise DataError(
                    "a query has two rubrics",
                    file=self._path_of("metrics"),
                    record=rubric.record,
                    field="query",
                    seen=rubric.query,
                )
        return list(rubrics.values())

    def _rows(self, file: JsonFile | None, read: Callable[..., _Row]) -> Iterator[_Row]:
        if file is None:
            return
        if not isinstance(file.value, list):
            raise DataError("expected a list of rows", file=file.path, record="top level", seen=file.value)
        for index, value in enumerate(file.value):
            try:
                row = read(value, file=str(file.path), record=f"[{index}]")
            except DataError as error:
                if not self._request.lenient:
                    raise
                self.report.note("skipped-record", f"{file.path.name} [{index}]", str(error))
                continue
            yield row

    def _card(self) -> Card:
        others = [file for file in (self._metadata, self._metrics, self._origins) if file is not None]
        return Card(
            benchmark="pragma",
            source="https://github.com/yuhyojeong/PRAGMA (data: stellahj/PRAGMA on Hugging Face)",
            licence="not stated in the release",
            annotation="Users, events, states, queries, sessions and rubrics written by models from Privasis profiles.",
            known_errors=(
                "Dates have no time; sessions of one day keep the file's order, evidence before filler.",
                "summarized_evidence of types 1 and 3 keeps the order of generation; facts are joined by date.",
                "Indexes may repeat; a session is counted once.",
                "Grounding is 0 or 1 for types 1 and 3 and a share for types 2 and 4: never average over types.",
            ),
            strata_source="query_type of metadata.json",
            file=self._path.name,
            sha256=hash_file(self._path),
            mode=self._request.mode,
            settings={
                "encoding": stream_encoding(self._path, encoding=self._request.encoding),
                "times": "the session's day from its first moment, one second per turn, read as UTC",
                "roles": "user and assistant, as recorded: the assistant takes part",
                "persona": "shown" if self._show_persona else "hidden",
                **{file.path.name: file.sha256 for file in others},
            },
        )


def _session(session: PragmaSession, number: int, index: int, start: datetime) -> Session:
    session_id = SessionId(f"s{number}")
    turns = tuple(
        Turn(
            turn_id=TurnId(f"{session_id}:{offset + 1}"),
            session_id=session_id,
            index=index + offset,
            speaker=USER if turn.role == "user" else ASSISTANT,
            role=turn.role,
            text=turn.content,
            at=start + offset * _TURN_SECONDS,
        )
        for offset, turn in enumerate(session.turns)
    )
    return Session(session_id=session_id, at=start, turns=turns)
