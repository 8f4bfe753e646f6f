"""How much memory one read hands over, as an estimate in tokens: what a run will cost, before anything is read.

Every function here makes a `HandsOver`. What it is given are the estimated tokens of each turn said so far, as a memory
shows it; a token budget of the run is laid over what it answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

__all__ = ["BEST_TURNS", "HandsOver", "last_turns", "mean_turns", "memories", "nothing", "share_of_history", "text_of"]

HandsOver = Callable[[Sequence[int], int | None], int]
"""From the tokens of each turn and the run's `k` (None: no limit) to the tokens of the memory block."""


def nothing() -> HandsOver:
    """No memory."""
    return lambda sizes, k: 0


def memories(turns: int = 1, most: int | None = None) -> HandsOver:
    """The best `k` memories, each as long as so many turns.

    Args:
        turns: Turns that one memory stands for.
        most: The architecture's own limit of memories; None: the run's alone.
    """

    def tokens(sizes: Sequence[int], k: int | None) -> int:
        limits = [limit for limit in (k, most) if limit is not None]
        return _mean(sizes, min(limits) * turns if limits else len(sizes))

    return tokens


BEST_TURNS = memories()
"""The best `k` turns: what a memory hands over that says nothing else."""


def mean_turns(count: int) -> HandsOver:
    """So many turns, whatever `k` is."""
    return lambda sizes, k: _mean(sizes, count)


def last_turns(count: int) -> HandsOver:
    """The last turns, whatever `k` is."""
    return lambda sizes, k: sum(sizes[-count:])


def share_of_history(percent: int = 100) -> HandsOver:
    """A share of everything said so far, in per cent, whatever `k` is."""
    return lambda sizes, k: math.ceil(sum(sizes) * percent / 100)


def text_of(tokens: int) -> HandsOver:
    """One text of at most so many tokens."""
    return lambda sizes, k: min(tokens, sum(sizes))


def _mean(sizes: Sequence[int], count: int) -> int:
    return math.ceil(sum(sizes) * min(count, len(sizes)) / len(sizes)) if sizes else 0
