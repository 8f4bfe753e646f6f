"""Which set of memories is most likely to pass: exactly, from per-memory probabilities."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mnemoscope.graphs.strategic.features import Matrix

__all__ = ["best_set", "pass_probability"]

_WIDEST = 9
"""Memories among which all sets are tried: those least likely to be irrelevant."""
_MOST = 6
"""Memories in one set."""
_TINY = 1e-9
Sets = npt.NDArray[np.bool_]


def pass_probability(chances: Matrix, sets: Sets) -> Matrix:
    """Probability that a set holds every needed memory, a welcome one where there is any, and none off the matter.

    That is strict memory compliance (StratMem-Bench, arXiv 2604.26243, section 4), with labels taken as independent
    given their probabilities. With m, n, r = P(must), P(nice), P(irrelevant), set S and the others R:
    ``(prod_S (m + n) - prod_S m) * prod_R (n + r)`` where a nice memory is in S, plus ``prod_S m * prod_R r`` where
    there is none anywhere.

    Args:
        chances: One row `must, nice, irrelevant` per memory, each row adding up to 1.
        sets: One row per set, one column per memory.
    """
    must, off = (np.log(np.maximum(chances[:, kind], _TINY)) for kind in (0, 2))
    useful, welcome = (np.log(np.maximum(part.sum(axis=1), _TINY)) for part in (chances[:, :2], chances[:, 1:]))
    in_set, others = sets.astype(float), (~sets).astype(float)
    only_must = np.exp(in_set @ must)
    value: Matrix = (np.exp(in_set @ useful) - only_must) * np.exp(others @ welcome) + only_must * np.exp(others @ off)
    return value


def best_set(chances: Matrix, risk: float = 0.5) -> tuple[int, ...]:
    """Places of the memories to use; never empty.

    Args:
        chances: As in `pass_probability`; at least one row.
        risk: Above 0, below 1. At .5 probabilities are taken as they are; otherwise the odds of being irrelevant are
            multiplied by (1 - risk) / risk first, so that less risk leaves out more.
    """
    weighed = chances * np.array([1.0, 1.0, (1 - risk) / risk])
    weighed = weighed / weighed.sum(axis=1, keepdims=True)
    order = np.argsort(np.round(weighed[:, 2], 6), kind="stable")[:_WIDEST]
    sets = np.zeros((len(_subsets(len(order))), len(chances)), dtype=bool)
    sets[:, order] = _subsets(len(order))
    best = int(np.argmax(np.round(pass_probability(weighed, sets), 9)))
    return tuple(int(place) for place in np.flatnonzero(sets[best]))


@lru_cache(maxsize=_WIDEST)
def _subsets(size: int) -> Sets:
    """Every set of 1 to 6 of so many memories, small ones first: of two that are as likely the smaller is taken."""
    numbers = sorted((n for n in range(1, 1 << size) if n.bit_count() <= _MOST), key=lambda n: (n.bit_count(), n))
    return np.array([[bool(n >> place & 1) for place in range(size)] for n in numbers])
