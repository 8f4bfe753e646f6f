"""One logged session with what came of it, and the moments in it at which memory mattered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

__all__ = ["Moment", "SessionKey", "SessionOutcome"]


class SessionKey(NamedTuple):
    """What names a session: session names need not differ between users."""

    user: str
    session: str


@dataclass(frozen=True, slots=True)
class Moment:
    """One reply at which memory mattered, and what the user said next. Texts are those of the log."""

    used: bool | None = None
    """Whether the reply brought the memory in; False is a miss, None was not judged."""
    recalled: str = ""
    """What the reply brought up of earlier sessions, in words; empty where nothing."""
    trigger: str = ""
    """The user's turn before the reply."""
    next_turn: str | None = None
    """The user's turn after it; None where the session ended."""


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """One session of a log. What was not recorded is None."""

    user: str
    session: str
    date: date
    """The day on which it began; in UTC where the log gives a time with an offset."""
    rating: float | None = None
    """The user's own, on any one scale (MemUse: 1–7)."""
    condition: str | None = None
    """What the session was assigned to, where conditions were drawn."""
    turns: int | None = None
    """Turns of the user."""
    minutes: float | None = None
    moments: tuple[Moment, ...] = ()

    @property
    def key(self) -> SessionKey:
        """What joins it to metric values."""
        return SessionKey(self.user, self.session)
