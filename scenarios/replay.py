"""The replayer: a scenario as one ordered stream of turns, ends of sessions and forks. It never holds a memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mnemoscope.core.identity import ItemId, SessionId, TurnId
from mnemoscope.scenarios.records import Cut, Probe, Scenario, Session, Turn
from mnemoscope.scenarios.speakers import SpeakerMapping, as_mapped, peers_of

__all__ = [
    "POOL_SESSION",
    "POOL_SPEAKER",
    "ForkAt",
    "HistoryEnd",
    "ReplayEvent",
    "SessionEnd",
    "SkipTurn",
    "WriteTurn",
    "replay",
]

POOL_SESSION = SessionId("pool")
"""Session of pool items that are written as turns."""
POOL_SPEAKER = "memory"
"""Speaker of pool items that are written as turns."""


@dataclass(frozen=True, slots=True)
class WriteTurn:
    """Write this turn to the memory."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class SkipTurn:
    """This turn is never written; it keeps its id and its place."""

    turn: Turn
    reason: Literal["empty", "failed reply", "not asked"]
    """`failed reply`, `not asked`: of a probe that is written back, which nobody answered."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """A session is over; `now` is the conversation's time, None where it is unknown."""

    session_id: SessionId
    now: datetime | None


@dataclass(frozen=True, slots=True)
class HistoryEnd:
    """The history is over; it comes once, after the last session."""

    now: datetime | None


@dataclass(frozen=True, slots=True)
class ForkAt:
    """Fork the memory here and ask these probes of the fork; the lane itself goes on unchanged."""

    cut: Cut
    probes: tuple[Probe, ...]


ReplayEvent = WriteTurn | SkipTurn | SessionEnd | HistoryEnd | ForkAt


@dataclass(frozen=True, slots=True)
class _Moment:
    """Where in the stream a probe stands."""

    seq: int
    inside: bool
    """Before the end of the session that the last known turn belongs to."""


def replay(scenario: Scenario, *, pool_as_turns: bool, speakers: SpeakerMapping = "as-is") -> Iterator[ReplayEvent]:
    """The events of a scenario, in order; they depend on the scenario and the settings alone.

    Every turn of the history is written or, if it says nothing, skipped, exactly once. A fork stands right after the
    last turn that its probes may know. Where their `recent_turns` belong to the session in progress, it stands inside
    that session; otherwise after the session's end, and at the end of the history after `HistoryEnd`.

    With `pool_as_turns`, the items of a probe's pool are written just before its fork, in the pool's order, as a
    session of their own; at the end of the history that session ends before `HistoryEnd`. An item that an earlier
    pool brought is not written again, and forks after it know it, whether or not the earlier probe is asked.

    Args:
        scenario: What to replay.
        pool_as_turns: False for architectures that are given the pool itself.
        speakers: Roles in which people among themselves are shown to the memory; probes stay as they are.

    Yields:
        Events for one lane.
    """
    moments = _moments(scenario)
    writer = _PoolWriter(pool_as_turns)
    turns, peers = scenario.turns, peers_of(scenario)
    yield from _forks(moments.get(_Moment(0, inside=False), ()), writer) if turns else ()
    for session in scenario.sessions:
        for turn in session.turns:
            yield SkipTurn(turn, "empty") if turn.is_empty else WriteTurn(as_mapped(turn, peers, speakers))
            is_last = turn is session.turns[-1]
            yield from _forks(moments.get(_Moment(turn.index + 1, inside=True), ()), writer)
            after = moments.get(_Moment(turn.index + 1, inside=False), ())
            if is_last:
                yield SessionEnd(session.session_id, _end_of(session))
            if turn.index + 1 < len(turns):
                yield from _forks(after, writer)
    at_end = moments.get(_Moment(len(turns), inside=False), ())
    for probe in at_end:
        yield from writer.write(probe)
    yield HistoryEnd(_end_of_history(turns, at_end))
    yield from _forks(at_end, writer)


class _PoolWriter:
    """Writes each pool item once."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._written: set[ItemId] = set()

    def write(self, probe: Probe) -> Iterator[WriteTurn | SessionEnd]:
        items = probe.pool.items if probe.pool and self._enabled else ()
        fresh = [item for item in items if item.item_id not in self._written]
        self._written.update(item.item_id for item in fresh)
        for offset, item in enumerate(fresh):
            turn = Turn(
                turn_id=TurnId(item.item_id),
                session_id=POOL_SESSION,
                index=probe.cut.seq + offset,
                speaker=POOL_SPEAKER,
                role="peer",
                text=item.text,
                at=item.at or probe.now,
            )
            yield WriteTurn(turn)
        if fresh:
            yield SessionEnd(POOL_SESSION, probe.now)


def _moments(scenario: Scenario) -> Mapping[_Moment, tuple[Probe, ...]]:
    turns = scenario.turns
    moments: dict[_Moment, list[Probe]] = defaultdict(list)
    for probe in scenario.probes:
        seq = probe.cut.seq
        session_id = turns[seq - 1].session_id if seq else None
        inside = any(turn.session_id == session_id for turn in probe.recent_turns)
        moments[_Moment(seq, inside)].append(probe)
    return {moment: tuple(probes) for moment, probes in moments.items()}


def _forks(probes: Sequence[Probe], writer: _PoolWriter) -> Iterator[ReplayEvent]:
    for probe in probes:
        yield from writer.write(probe)
    if probes:
        yield ForkAt(probes[0].cut, tuple(probes))


def _end_of(session: Session) -> datetime | None:
    last = session.turns[-1].at
    return session.at if last is None else last


def _end_of_history(turns: Sequence[Turn], at_end: Sequence[Probe]) -> datetime | None:
    if turns:
        return turns[-1].at
    return at_end[0].now if at_end else None
