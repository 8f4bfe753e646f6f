"""The wall clock, in the one place that may read it."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["SystemClock"]


class SystemClock:
    """The present, in UTC. The conversation's time is never taken from here."""

    def now(self) -> datetime:
        """The present, timezone-aware."""
        return datetime.now(UTC)
