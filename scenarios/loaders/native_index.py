"""Ids, positions and times of a native scenario: what its references are looked up in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from mnemoscope.scenarios.loaders.native_format import ProbeEntry, ScenarioEntry, SessionEntry
from mnemoscope.scenarios.records import Role

__all__ = ["HistoryIndex", "Moment", "index_history", "locate", "read_time", "session_id", "turn_id"]

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)


def read_time(text: str) -> datetime:
    """An ISO date, or date and time, in UTC.

    A time without an offset is the conversation's own clock and is kept as written; a date alone is its midnight.

    Raises:
        ValueError: Another shape, or no such day or time.

    Example:
        >>> read_time("2024-05-08 13:56").isoformat()
        '2024-05-08T13:56:00+00:00'
    """
    if not _TIME.fullmatch(text.strip()):
        raise ValueError("not an ISO date")
    found = datetime.fromisoformat(text.strip())
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from error


def session_id(session: SessionEntry, position: int) -> str:
    """The session's own id, or `s2` for the second; `position` counts from 0."""
    return session.id or f"s{position + 1}"


def turn_id(session: SessionEntry, position: int, number: int) -> str:
    """The turn's own id, or `s2t5` for the fifth turn of the second session; both count from 0 here."""
    return session.turns[number].id or f"s{position + 1}t{number + 1}"


@dataclass(frozen=True, slots=True)
class HistoryIndex:
    """Where things stand in the history. Of an id that occurs twice, the first place counts."""

    roles: Mapping[str, Role]
    """Participant to role."""
    turns: Mapping[str, int]
    """Turn id to its index in the whole history, from 0."""
    sessions: Mapping[str, int]
    """Session id to its position, from 0."""
    bounds: tuple[tuple[int, int], ...]
    """First turn of each session, and the one after its last."""
    places: tuple[tuple[int, int], ...]
    """Session and number within it, of each turn."""

    @property
    def asker(self) -> str | None:
        """The only participant with the role `user`, if there is exactly one."""
        users = [name for name, role in self.roles.items() if role == "user"]
        return users[0] if len(users) == 1 else None


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a probe stands: `seq` leading turns are known; `session` is the one that is going on, if any."""

    seq: int
    session: int | None


def index_history(entry: ScenarioEntry) -> HistoryIndex:
    """Look-up tables of a scenario."""
    roles: dict[str, Role] = {}
    for person in entry.participants:
        roles.setdefault(person.name, person.role)
    turns: dict[str, int] = {}
    sessions: dict[str, int] = {}
    bounds: list[tuple[int, int]] = []
    places: list[tuple[int, int]] = []
    for position, session in enumerate(entry.sessions):
        sessions.setdefault(session_id(session, position), position)
        bounds.append((len(places), len(places) + len(session.turns)))
        for number in range(len(session.turns)):
            turns.setdefault(turn_id(session, position, number), len(places))
            places.append((position, number))
    return HistoryIndex(roles, turns, sessions, tuple(bounds), tuple(places))


def locate(probe: ProbeEntry, index: HistoryIndex) -> Moment | None:
    """Where a probe stands; None where its reference names nothing."""
    if probe.in_place_of is not None:
        turn = index.turns.get(probe.in_place_of)
        return None if turn is None else Moment(turn, index.places[turn][0])
    if probe.after is None:
        return None
    if (turn := index.turns.get(probe.after)) is not None:
        return Moment(turn + 1, index.places[turn][0])
    position = index.sessions.get(probe.after)
    return None if position is None else Moment(index.bounds[position][1], None)
