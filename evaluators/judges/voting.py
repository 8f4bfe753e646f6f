"""One label out of several: majority where labels are names, the median where they are steps of a scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["NO_MAJORITY", "Won", "vote"]

NO_MAJORITY = "no majority"
"""The label of an answer on which the votes do not agree."""


class Won(NamedTuple):
    """What the votes decided; `label` is None where they did not."""

    label: str | None
    agreement: float
    """Share of the votes that gave this label, 0–1; of the commonest one where nothing is decided."""


def vote(labels: Sequence[str], scale: Sequence[str] = ()) -> Won:
    """The label that more than half of the votes gave, or on a scale the one in the middle.

    Args:
        labels: One per valid vote, at least one.
        scale: The labels in order, lowest first, where they are steps of a scale; empty: they are names.

    Returns:
        The label. Without a majority, or with two different labels in the middle of an even number, None: a tie is
        not broken.

    Example:
        >>> vote(["used", "not used", "used"]).label
        'used'
        >>> vote(["1", "5", "4"], scale=["1", "2", "3", "4", "5"]).label
        '4'
        >>> vote(["used", "not used"]).label is None
        True
    """
    counts = Counter(labels)
    commonest, most = counts.most_common(1)[0]
    if scale and counts.keys() <= set(scale):
        ordered = sorted(labels, key=scale.index)
        low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
        return Won(low, counts[low] / len(labels)) if low == high else Won(None, most / len(labels))
    return Won(commonest if most * 2 > len(labels) else None, most / len(labels))
