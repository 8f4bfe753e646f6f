"""When things happen to a built user: days of evidence, and PRAGMA's rule that spreads fillers between them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise

from mnemoscope.scenarios.builders.trajectory_draws import Draws

__all__ = ["FIRST_DAY", "QUERY_DAY", "evidence_days", "filler_days"]

FIRST_DAY = date(2025, 5, 1)
QUERY_DAY = date(2026, 5, 1)
_MARGIN = 3


def evidence_days(rng: Draws, count: int) -> list[date]:
    """Distinct days of the window's inside, in order."""
    days = (QUERY_DAY - FIRST_DAY).days
    return [FIRST_DAY + timedelta(days=n) for n in sorted(rng.sample(range(_MARGIN, days - _MARGIN), count))]


def filler_days(evidence: Sequence[date], count: int) -> list[date]:
    """PRAGMA's rule: fillers are dealt round-robin over the gaps between evidence and spread evenly within each.

    The gaps reach from the first day of the window to the first evidence, between evidence of different days, and from
    the last evidence to the day of the queries. In a gap of s days with c fillers, filler j gets
    start + max(1, floor(s·j / (c + 1))) days, or the start itself where s is 1 or less.

    Args:
        evidence: Days of evidence, in any order.
        count: How many fillers.

    Returns:
        Days by gap; within a gap in order.

    Example:
        >>> [d.isoformat() for d in filler_days([date(2025, 5, 11), date(2025, 5, 12)], 4)]
        ['2025-05-04', '2025-05-07', '2025-05-11', '2025-11-05']
    """
    days = sorted(evidence)
    gaps = [(FIRST_DAY, days[0]), *((a, b) for a, b in pairwise(days) if a < b), (days[-1], QUERY_DAY)]
    dealt = [count // len(gaps) + (place < count % len(gaps)) for place in range(len(gaps))]
    return [
        start + timedelta(days=_offset((end - start).days, place, fillers))
        for (start, end), fillers in zip(gaps, dealt, strict=True)
        for place in range(1, fillers + 1)
    ]


def _offset(span: int, place: int, fillers: int) -> int:
    return 0 if span <= 1 else max(1, span * place // (fillers + 1))
