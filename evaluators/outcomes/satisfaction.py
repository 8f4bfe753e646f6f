"""Ratings as within-user z scores: people use a scale in their own way, so each is measured against themselves.

MemUse (arXiv 2608.24189, satisfaction analysis): z = (rating − the user's mean) / the user's SD, over all rated
sessions of the users that are kept. Users whose ratings hardly vary are dropped before, because a tiny SD makes any z
huge. The paper does not give the SD's degrees of freedom; `ddof` does here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mnemoscope.evaluators.outcomes.records import SessionKey, SessionOutcome

__all__ = ["Dropped", "WithinUser", "within_user"]


class Dropped(NamedTuple):
    """How much one reason took out."""

    users: int
    sessions: int
    """Rated ones; for `no rating` the others."""


@dataclass(frozen=True, slots=True)
class WithinUser:
    """Ratings of the kept users as z scores, and who was dropped."""

    z: Mapping[SessionKey, float]
    """In units of the user's own SD; they average 0 in every user."""
    users: int
    dropped: Mapping[str, Dropped]
    """Reason to counts: `listed`, `one rated session`, `ratings hardly vary`, `no rating`."""
    ddof: int
    min_sd: float

    @property
    def sessions(self) -> int:
        """Rated sessions of kept users."""
        return len(self.z)


def within_user(
    outcomes: Iterable[SessionOutcome], *, ddof: int = 1, min_sd: float = 0.5, drop_users: Collection[str] = ()
) -> WithinUser:
    """Z scores of ratings within each user.

    Args:
        outcomes: Sessions, rated or not.
        ddof: Delta degrees of freedom of the SD: 1 divides by n − 1.
        min_sd: Users whose ratings' SD is this or less are dropped, before any z is made.
        drop_users: Users to drop whatever their ratings, such as those whose sessions are pasted texts.

    Raises:
        ValueError: `ddof` is neither 0 nor 1, `min_sd` is negative, or a session occurs twice.

    Example:
        >>> from datetime import date
        >>> days = [SessionOutcome("ana", str(n), date(2026, 1, n), rating=r) for n, r in ((1, 4), (2, 6), (3, 5))]
        >>> list(within_user(days).z.values())
        [-1.0, 1.0, 0.0]
    """
    if ddof not in (0, 1) or min_sd < 0:
        raise ValueError(f"ddof is {ddof} and min_sd {min_sd}; ddof is 0 or 1, and min_sd is not negative")
    ratings: defaultdict[str, dict[SessionKey, float]] = defaultdict(dict)
    seen: set[SessionKey] = set()
    unrated: list[SessionOutcome] = []
    for outcome in outcomes:
        if outcome.key in seen:
            raise ValueError(f"session {outcome.session!r} of user {outcome.user!r} occurs twice")
        seen.add(outcome.key)
        if outcome.rating is None:
            unrated.append(outcome)
        else:
            ratings[outcome.user][outcome.key] = outcome.rating
    z: dict[SessionKey, float] = {}
    dropped: defaultdict[str, list[int]] = defaultdict(list)
    for user, rated in ratings.items():
        values = np.array(list(rated.values()), dtype=np.float64)
        spread = float(values.std(ddof=ddof)) if len(values) > 1 else None
        if (why := _why_dropped(user, spread, min_sd, drop_users)) is not None or spread is None:
            dropped[why or ""].append(len(rated))
            continue
        z.update(zip(rated, ((values - values.mean()) / spread).tolist(), strict=True))
    counts = {reason: Dropped(len(sizes), sum(sizes)) for reason, sizes in sorted(dropped.items())}
    if unrated:
        counts["no rating"] = Dropped(len({o.user for o in unrated} - ratings.keys()), len(unrated))
    return WithinUser(z, len({key.user for key in z}), counts, ddof, min_sd)


def _why_dropped(user: str, spread: float | None, min_sd: float, listed: Collection[str]) -> str | None:
    if user in listed:
        return "listed"
    if spread is None:
        return "one rated session"
    return "ratings hardly vary" if spread <= min_sd or spread == 0 else None
