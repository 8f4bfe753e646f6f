"""Segments of a mid-term memory: pages about one theme, how hot they are, and which goes when there is no room.

Pure functions over values; times are the conversation's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from mnemoscope.core.identity import ItemId
from mnemoscope.memory_backends.record import MemoryItem

__all__ = ["SAME_THEME", "WEIGHTS", "HeatWeights", "Segment", "best_segment", "least_used", "moved_on"]

SAME_THEME = 0.6
"""Cosine plus Jaccard of keywords from which a theme joins a segment."""


@dataclass(frozen=True, slots=True)
class HeatWeights:
    """How visits, new pages and recency add up to heat."""

    visits: float
    length: float
    recency: float
    hours: float
    """After so many hours recency is 1/e."""


WEIGHTS: Mapping[str, HeatWeights] = {
    "package": HeatWeights(1.0, 1.0, 1.0, 24.0),
    "paper": HeatWeights(0.8, 0.8, 1e-4, 24.0),
}
"""As the published package counts, and as the evaluation of the paper did."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Pages about one theme, with what decides about their future."""

    id: ItemId
    keywords: frozenset[str]
    pages: tuple[ItemId, ...]
    visits: int = 0
    """Reads that found a page of it since it was last analysed."""
    length: int = 0
    """Pages that joined it since then."""
    used: int = 0
    """Reads that ever found a page of it."""
    last_visit: datetime | None = None

    @classmethod
    def of(cls, item: MemoryItem) -> Segment:
        """The segment that is kept as an item."""
        attrs, last = item.attrs, item.attrs["last_visit"]
        return cls(
            item.id,
            _words(attrs["keywords"]),
            item.links,
            int(attrs["visits"]),
            int(attrs["length"]),
            int(attrs["used"]),
            datetime.fromisoformat(last) if last else None,
        )

    @property
    def attrs(self) -> Mapping[str, str]:
        """What is kept of it beside text and pages."""
        return {
            "keywords": "\n".join(sorted(self.keywords)),
            "visits": str(self.visits),
            "length": str(self.length),
            "used": str(self.used),
            "last_visit": "" if self.last_visit is None else self.last_visit.isoformat(),
        }

    def heat(self, now: datetime | None, weights: HeatWeights) -> float:
        """Visits, new pages and recency, weighed; a segment or a moment without a time counts as recent.

        Args:
            now: In conversation time; before the last visit, nothing has cooled.
            weights: Of the three.
        """
        gone = (now - self.last_visit).total_seconds() / 3600 if now and self.last_visit else 0.0
        recency = math.exp(-max(0.0, gone) / weights.hours)
        return weights.visits * self.visits + weights.length * self.length + weights.recency * recency

    def joined_by(self, pages: Sequence[ItemId], now: datetime | None) -> Segment:
        """The segment with further pages, each once."""
        new = [page for page in dict.fromkeys(pages) if page not in self.pages]
        return replace(
            self, pages=(*self.pages, *new), length=self.length + len(new), last_visit=now or self.last_visit
        )

    def visited(self, now: datetime | None) -> Segment:
        """The segment after a read that found a page of it."""
        return replace(self, visits=self.visits + 1, used=self.used + 1, last_visit=now or self.last_visit)

    def analysed(self) -> Segment:
        """The segment after its pages went into profile and knowledge: it starts cold."""
        return replace(self, visits=0, length=0)


def best_segment(
    segments: Sequence[Segment], cosines: Sequence[float], keywords: Iterable[str]
) -> tuple[Segment, float] | None:
    """The segment that fits a theme best, with cosine plus Jaccard of the keywords; of equals the older one.

    Args:
        segments: In order of age.
        cosines: Of the theme with each, in this order.
        keywords: The theme's.
    """
    wanted = frozenset(keywords)
    scores = [
        round(float(cosine) + _jaccard(wanted, one.keywords), 6) for one, cosine in zip(segments, cosines, strict=True)
    ]
    if not scores:
        return None
    place = max(range(len(scores)), key=lambda at: (scores[at], -at))
    return segments[place], scores[place]


def least_used(segments: Sequence[Segment], capacity: int, spared: Iterable[ItemId]) -> list[Segment]:
    """The segments that go where there are more than there is room for: least used first, then longest unvisited.

    Args:
        segments: In order of age, which decides between equals.
        capacity: How many may stay.
        spared: Never go; where nothing else is left, the capacity is exceeded for the time being.
    """
    safe = set(spared)
    order = sorted(
        (one for one in segments if one.id not in safe),
        key=lambda one: (one.used, one.last_visit.timestamp() if one.last_visit else -math.inf),
    )
    return order[: max(0, len(segments) - capacity)]


def moved_on(pages: int, capacity: int, batch: int) -> int:
    """How many of the first pages have left a short-term memory that so many have entered.

    Args:
        pages: That have ever entered it.
        capacity: Pages that it holds.
        batch: Pages that leave together once it is full; at most the capacity.

    Example:
        >>> [moved_on(pages, capacity=3, batch=2) for pages in range(3, 8)]
        [0, 2, 2, 4, 4]
    """
    return -(-max(0, pages - capacity) // batch) * batch


@lru_cache(maxsize=8192)
def _words(joined: str) -> frozenset[str]:
    return frozenset(joined.splitlines())


def _jaccard(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some | others) if some and others else 0.0
