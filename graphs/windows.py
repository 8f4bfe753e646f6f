"""Windows over the turns of a session: the unit that bm25, dense and hybrid store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["OpenWindow", "windows_of"]


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """The turns of a session that may still become part of a window.

    A window has `size` turns and shares `overlap` of them with the one before. A session's last window may be
    shorter; it always has a turn that no earlier window has, so none lies wholly inside another.
    """

    size: int
    overlap: int
    turns: tuple[Turn, ...] = ()
    fresh: int = 0
    """How many of the last turns no window holds yet."""

    def take(self, turn: Turn) -> tuple[OpenWindow, tuple[tuple[Turn, ...], ...]]:
        """Add a turn; returns what stays open and the windows that are complete.

        A memory that a probe brings along is a fact of its own and interrupts nothing: it is never joined to others.
        """
        if turn.session_id == POOL_SESSION:
            return self, ((turn,),)
        closed: tuple[tuple[Turn, ...], ...] = ()
        still_open = self
        if self.turns and self.turns[-1].session_id != turn.session_id:
            still_open, closed = self.close()
        turns, fresh = (*still_open.turns, turn), still_open.fresh + 1
        if len(turns) < self.size:
            return OpenWindow(self.size, self.overlap, turns, fresh), closed
        rest = turns[len(turns) - self.overlap :]
        return OpenWindow(self.size, self.overlap, rest, 0), (*closed, turns)

    def close(self) -> tuple[OpenWindow, tuple[tuple[Turn, ...], ...]]:
        """The session is over; returns an empty window and the shorter last one, if it has anything new."""
        return OpenWindow(self.size, self.overlap), (self.turns,) if self.fresh else ()

    @property
    def waiting(self) -> tuple[Turn, ...]:
        """Turns that no window holds yet."""
        return self.turns[len(self.turns) - self.fresh :]


def windows_of(turns: Sequence[Turn], size: int, overlap: int) -> tuple[tuple[Turn, ...], ...]:
    """All windows of a history; empty turns are left out."""
    still_open = OpenWindow(size, overlap)
    windows: list[tuple[Turn, ...]] = []
    for turn in turns:
        if not turn.is_empty:
            still_open, complete = still_open.take(turn)
            windows.extend(complete)
    return (*windows, *still_open.close()[1])
