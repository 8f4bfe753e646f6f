"""Chat logs: a user's own export, as JSON Lines, OpenAI-style message lists or CSV, becomes one replayable history."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ProbeId, ScenarioId, SessionId, TurnId
from mnemoscope.scenarios.loaders.chatlog_probes import read_probes
from mnemoscope.scenarios.loaders.chatlog_reading import LogFile, read_messages
from mnemoscope.scenarios.loaders.chatlog_roles import Cast, cast_of
from mnemoscope.scenarios.loaders.chatlog_times import split_sessions, timed
from mnemoscope.scenarios.records import Card, Cut, Gold, Probe, Scenario, Session, Turn
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["DEFAULT_GAP_HOURS", "MAX_DEFAULT_PROBES", "ChatlogSource", "open_chatlog"]

DEFAULT_GAP_HOURS = 8.0
"""A longer pause begins a new session, where the log names no sessions."""
MAX_DEFAULT_PROBES = 50
"""Without a file of probes, at most the last so many user turns of the last session are asked."""

_SETTINGS = ("probes", "gap", "zone", "user", "assistant")
_CENSUS = (
    *("messages", "sessions", "turns", "empty turns", "probes", "naive times", "times inherited", "skipped lines"),
    "messages put in order of time",
)


def open_chatlog(request: LoadRequest) -> ChatlogSource:
    """Open a chat log: `chatlog:FILE[,probes=FILE][,gap=HOURS][,zone=NAME][,user=NAME][,assistant=NAME]`.

    `probes` names a list of probes in the native format, with gold. Without it, the user turns of the last session
    are probes of style `moment` without gold: retrieval, tokens and replies can be compared and read, and nothing is
    scored.
    `zone` (default UTC) is that of times that name none.

    Args:
        request: What to load.

    Returns:
        The opened log; it is one scenario, built while it is iterated.

    Raises:
        ConfigError: No path, an unknown setting, or one that is no number or zone.
    """
    if unknown := sorted(request.roles.keys() - set(_SETTINGS)):
        raise ConfigError(f"chatlog has no setting {unknown[0]!r}; it takes {', '.join(f'{s}=' for s in _SETTINGS)}")
    if request.path is None:
        raise ConfigError("chatlog needs a path; write chatlog:FILE, for example chatlog:export.jsonl")
    return ChatlogSource(request.path, request)


class ChatlogSource:
    """An opened chat log. The card's hash and roles are complete once it has been read."""

    def __init__(self, path: Path, request: LoadRequest) -> None:
        self._path, self._request = path, request
        written = {name: str(value) for name, value in request.roles.items()}
        self._gap = _hours(written.get("gap"))
        self._zone_name = written.get("zone", "UTC")
        self._zone = _zone(self._zone_name)
        self._user, self._assistant = written.get("user"), written.get("assistant")
        self._probes = request.roles.get("probes")
        self.card = self._card(LogFile(path, "unread"), None)
        self.report = DataReport()

    def __iter__(self) -> Iterator[Scenario]:
        report = self.report
        report.counts.clear()
        report.notices.clear()
        report.counts.update(dict.fromkeys(_CENSUS, 0))
        log = read_messages(self._path, self._request, report)
        cast = cast_of(log, report, user=self._user, assistant=self._assistant)
        self.card = self._card(log, cast)
        sessions = self._sessions(log, cast)
        probes = self._asked(sessions, cast)
        scenario = Scenario(
            scenario_id=ScenarioId(self._path.stem),
            benchmark="chatlog",
            cluster=self._path.stem,
            participants=cast.participants,
            sessions=tuple(sessions),
            probes=tuple(probe for probe, _ in probes),
            gold_by_probe={probe.probe_id: gold for probe, gold in probes},
            card=self.card,
        )
        report.counts["messages"] = len(log.messages)
        report.counts["sessions"] = len(sessions)
        report.counts["turns"] = len(scenario.turns)
        report.counts["probes"] = len(probes)
        yield scenario

    def _sessions(self, log: LogFile, cast: Cast) -> list[Session]:
        lenient, name = self._request.lenient, self._path.name
        speakers = {id(message): who for message, who in zip(log.messages, cast.speakers, strict=True)}
        roles = {person.name: person.role for person in cast.participants}
        messages = timed(log, self._zone, self._zone_name, self.report, lenient=lenient)
        sessions: list[Session] = []
        index = 0
        for number, sitting in enumerate(split_sessions(messages, self._gap, self.report, name), 1):
            turns = []
            for place, entry in enumerate(sitting.messages, 1):
                who = speakers[id(entry.message)]
                turn = Turn(
                    turn_id=TurnId(f"s{number}t{place}"),
                    session_id=SessionId(sitting.session_id),
                    index=index,
                    speaker=who,
                    role=roles[who],
                    text=entry.message.text,
                    at=entry.at,
                )
                if turn.is_empty:
                    self.report.counts["empty turns"] += 1
                    self.report.note("empty-turn", entry.message.where, "kept, never remembered")
                turns.append(turn)
                index += 1
            sessions.append(Session(session_id=SessionId(sitting.session_id), at=turns[0].at, turns=tuple(turns)))
        return sessions

    def _asked(self, sessions: Sequence[Session], cast: Cast) -> list[tuple[Probe, Gold]]:
        if self._probes is not None:
            return read_probes(self._probes, self._path.stem, cast.participants, sessions, self._request, self.report)
        probes = _default_probes(self._path.stem, sessions)
        left_out = len(probes) - MAX_DEFAULT_PROBES
        if left_out > 0:
            detail = f"the last {MAX_DEFAULT_PROBES} user turns of the last session are probes; {left_out} are not"
            self.report.note("probes-left-out", self._path.name, detail)
        if not probes:
            self.report.note("no-probes", self._path.name, "no user turn has a history before it; give probes=FILE")
        return [(probe, Gold()) for probe in probes[-MAX_DEFAULT_PROBES:]]

    def _card(self, log: LogFile, cast: Cast | None) -> Card:
        roles = "not read yet"
        if cast is not None:
            roles = f"{', '.join(f'{p.name} = {p.role}' for p in cast.participants)} ({cast.how})"
        return Card(
            benchmark="chatlog",
            source="the user's own export",
            licence="not stated",
            annotation="none" if self._probes is None else f"probes by the author of {self._probes.name}",
            strata_source="the file of probes",
            file=self._path.name,
            sha256=log.sha256,
            settings={
                "encoding": log.encoding or self._request.encoding,
                "shape": log.shape,
                "times": f"{self._zone_name} where a time names no zone",
                "sessions": f"the log's own, else by pauses of more than {self._gap / timedelta(hours=1):g} hours",
                "roles": roles,
                "probes": "user turns of the last session, without gold" if self._probes is None else self._probes.name,
            },
        )


def _default_probes(name: str, sessions: Sequence[Session]) -> list[Probe]:
    """One probe in place of each user turn of the last session that has any; peers' turns where there is no user."""
    roles = {turn.role for session in sessions for turn in session.turns}
    asking = "user" if "user" in roles else "peer"
    turns = [turn for session in sessions for turn in session.turns]
    for session in reversed(sessions):
        asked = [turn for turn in session.turns if turn.role == asking and not turn.is_empty and turn.index > 0]
        if asked:
            return [
                Probe(
                    probe_id=ProbeId(f"{name}/{turn.turn_id}"),
                    style="moment",
                    speaker=turn.speaker,
                    text=turn.text.strip(),
                    cut=Cut(seq=turn.index, turn_id=turns[turn.index - 1].turn_id),
                    now=turn.at,
                    recent_turns=tuple(other for other in session.turns if other.index < turn.index),
                )
                for turn in asked
            ]
    return []


def _hours(written: str | None) -> timedelta:
    try:
        hours = DEFAULT_GAP_HOURS if written is None else float(written)
    except ValueError:
        hours = math.nan
    if not (math.isfinite(hours) and 0 < hours < 1e6):
        raise ConfigError(f"gap={written} is no number of hours; write for example gap=8")
    return timedelta(hours=hours)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(f"zone={name} is no time zone that this machine knows; write for example UTC") from error
