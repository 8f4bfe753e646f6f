"""Probes that leave a trace: an asked probe and its reply as the turns that are written to a system's own memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemoscope.core.identity import SessionId, TurnId
from mnemoscope.runfile.rows import Said
from mnemoscope.scenarios.records import Probe, Scenario, Turn, seen_id
from mnemoscope.scenarios.replay import POOL_SESSION, HistoryEnd, ReplayEvent, SessionEnd, SkipTurn, WriteTurn

__all__ = ["WRITTEN_BACK", "exchange", "later", "session_in_progress"]

WRITTEN_BACK = "written_back"
"""Key of `Turn.meta`: `utterance` or `reply`, of a probe that was asked in this run."""
_NO_SESSION = SessionId("probes")


def exchange(
    scenario: Scenario, probe: Probe, said: Said, *, earlier: int, session: SessionId | None, at_end: bool
) -> Iterator[ReplayEvent]:
    """What is written after a probe was answered: its utterance, then the visible reply, dated with the probe's `now`.

    The utterance is a user's and the reply the assistant's, whoever talks in the history. They belong to the session
    in progress, else to the probe's current session, else to that of the last known turn; where no session is in
    progress, theirs ends at once, so that the next probe finds them. A failed reply was never given: nothing of it is
    written, and the lane counts both turns as skipped.

    Args:
        scenario: Of the lane.
        probe: As recorded; its turns are named by the id that assistants see.
        said: The cell's outcome.
        earlier: Turns that earlier probes of the lane wrote; positions count on from them.
        session: The session in progress; None: none is.
        at_end: The history has ended.

    Yields:
        Events to ingest.
    """
    known = scenario.turns[: probe.cut.seq]
    recent = probe.recent_turns or known[-1:]
    place = session or (recent[-1].session_id if recent else _NO_SESSION)
    assistant = next((person.name for person in scenario.participants if person.role == "assistant"), "assistant")

    def turn(number: int, part: str, text: str) -> Turn:
        return Turn(
            turn_id=TurnId(f"{seen_id(probe.probe_id)}-{part}"),
            session_id=place,
            index=probe.cut.seq + earlier + number,
            speaker=probe.speaker if part == "utterance" else probe.speaks_as or assistant,
            role="user" if part == "utterance" else "assistant",
            text=text,
            at=probe.now,
            meta={WRITTEN_BACK: part},
        )

    for one in (turn(0, "utterance", probe.text), turn(1, "reply", said.text)):
        if said.status != "ok":
            yield SkipTurn(one, "failed reply" if said.status == "error" else "not asked")
        else:
            yield SkipTurn(one, "empty") if one.is_empty else WriteTurn(one)
    if said.status == "ok" and session is None:
        yield HistoryEnd(probe.now) if at_end else SessionEnd(place, probe.now)


def session_in_progress(events: Sequence[ReplayEvent], place: int) -> SessionId | None:
    """The session of the history that is not over at an event; a probe's pool is written without ending it."""
    for event in map(events.__getitem__, range(place - 1, -1, -1)):
        match event:
            case SessionEnd(session_id) if session_id != POOL_SESSION:
                return None
            case WriteTurn(turn) | SkipTurn(turn) if turn.session_id != POOL_SESSION:
                return turn.session_id
            case HistoryEnd():
                return None
    return None


def later(event: ReplayEvent, earlier: int) -> ReplayEvent:
    """An event of the history with its turn moved behind the turns that probes have written before it."""
    if earlier and isinstance(event, WriteTurn):
        return WriteTurn(event.turn.model_copy(update={"index": event.turn.index + earlier}))
    return event
