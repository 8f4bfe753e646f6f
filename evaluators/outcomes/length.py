"""Scores with reply length taken out: longer replies say more, and are rated for it.

An analysis of covariance: score = system + β · words, one β for all systems, so that β is what length buys within a
system. A system's adjusted mean is what it would score at the common mean length. MemUse (arXiv 2608.24189) finds
length to be the strongest covariate of satisfaction (β = .179).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from statsmodels.regression.linear_model import OLS

__all__ = ["AdjustedMean", "LengthAdjusted", "LengthRow", "length_adjusted"]

_FEWEST = 3
_LINE = 1e-12
"""Share of a variance that counts as none."""


class LengthRow(NamedTuple):
    """One scored reply."""

    system: str
    cluster: str
    """The user, or whatever keeps replies of one history together."""
    score: float
    words: int


@dataclass(frozen=True, slots=True)
class AdjustedMean:
    """One system's mean, as scored and at the common length."""

    system: str
    raw: float
    adjusted: float
    """May leave 0–1: the line is straight."""
    words: float
    """Mean words of its replies."""
    n: int


@dataclass(frozen=True, slots=True)
class LengthAdjusted:
    """What length buys, and means without it. Where β cannot be told it is None, with the reason."""

    beta: float | None
    """Change of the score per word."""
    beta_sd: float | None
    """Change of the score per SD of words within systems."""
    low: float | None
    high: float | None
    """95 % interval of `beta`, from errors that are robust to clusters."""
    p: float | None
    means: tuple[AdjustedMean, ...]
    n: int
    clusters: int
    reason: str | None = None


def length_adjusted(rows: Sequence[LengthRow]) -> LengthAdjusted:
    """Regress length out of scores.

    Args:
        rows: Scored replies of one metric; failed ones have no place here.

    Returns:
        Means at the common mean length, systems by name; as scored where β cannot be told.

    Raises:
        ValueError: A score that is not finite, or a negative number of words.
    """
    if any(not np.isfinite(row.score) or row.words < 0 for row in rows):
        raise ValueError("a score is not finite, or a number of words is negative")
    by_system: defaultdict[str, list[LengthRow]] = defaultdict(list)
    for row in rows:
        by_system[row.system].append(row)
    names = sorted(by_system)
    clusters = len({row.cluster for row in rows})
    score = np.array([row.score for row in rows], dtype=np.float64)
    words = np.array([row.words for row in rows], dtype=np.float64)
    place = np.array([names.index(row.system) for row in rows], dtype=np.int64)
    within = _centred(words, place, len(names))
    if (why := _untold(within, len(names), clusters)) is not None:
        return LengthAdjusted(None, None, None, None, None, _means(by_system, names, 0.0), len(rows), clusters, why)
    design = np.column_stack([np.eye(len(names))[place], words])
    codes = np.unique([row.cluster for row in rows], return_inverse=True)[1]
    fit = OLS(score, design).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    beta, (low, high) = float(fit.params[-1]), fit.conf_int()[-1]
    spread = float(np.sqrt((within**2).sum() / (len(rows) - len(names))))
    # A perfect fit has no residual, so that its p is 0/0.
    told = bool(np.isfinite(fit.pvalues[-1]))
    return LengthAdjusted(
        beta=beta,
        beta_sd=beta * spread,
        low=float(low) if told else None,
        high=float(high) if told else None,
        p=float(fit.pvalues[-1]) if told else None,
        means=_means(by_system, names, beta),
        n=len(rows),
        clusters=clusters,
        reason=None if told else "the line fits without error",
    )


def _centred(words: np.ndarray, place: np.ndarray, systems: int) -> np.ndarray:
    """Words less the mean of their system."""
    sizes = np.bincount(place, minlength=systems)
    return np.asarray(words - (np.bincount(place, weights=words, minlength=systems) / np.maximum(sizes, 1))[place])


def _untold(within: np.ndarray, systems: int, clusters: int) -> str | None:
    if len(within) < systems + _FEWEST - 1 or not systems:
        return "too few replies"
    if clusters < _FEWEST:
        return "fewer than three clusters"
    return "replies of a system are all of one length" if float((within**2).mean()) <= _LINE else None


def _means(by_system: dict[str, list[LengthRow]], names: Sequence[str], beta: float) -> tuple[AdjustedMean, ...]:
    every = [row.words for name in names for row in by_system[name]]
    common = float(np.mean(every)) if every else 0.0
    found = []
    for name in names:
        rows = by_system[name]
        raw, words = float(np.mean([row.score for row in rows])), float(np.mean([row.words for row in rows]))
        found.append(AdjustedMean(name, raw, raw - beta * (words - common), words, len(rows)))
    return tuple(found)
