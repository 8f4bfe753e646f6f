"""Does a metric go with what users feel and do? Rank correlation, a mixed model, and the two groups side by side.

MemUse (arXiv 2608.24189) relates natural integration to within-user satisfaction: ρ = +.29 with a naive p of .046 (48
sessions of 16 users), a random-intercept β of .556 with p = .082. Sessions of one user are not independent, so the
permutation within users stands beside the naive p.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mnemoscope.evaluators.outcomes.records import SessionKey
from mnemoscope.evaluators.statistics.association import Association, spearman
from mnemoscope.evaluators.statistics.bootstrap import bootstrap_ratios
from mnemoscope.evaluators.statistics.mixed import MixedFit, random_intercept

__all__ = ["Band", "Relation", "relate"]

METRIC = "metric"
"""Name of the metric's term in the mixed model."""


@dataclass(frozen=True, slots=True)
class Band:
    """The outcome of the sessions in which a yes-no metric had one value."""

    score: float
    mean: float
    low: float | None
    high: float | None
    """95 % percentile interval by users; None below two users."""
    n: int
    users: int


@dataclass(frozen=True, slots=True)
class Relation:
    """One metric of one system against one outcome, over the sessions that have both."""

    system: str
    metric: str
    judge_key: str
    outcome: str
    """`rating`, `returned` or `turns`."""
    association: Association
    """ρ with the naive p and the one that permutes within users; its `reason` where there is none."""
    mixed: MixedFit | None
    """Outcome on metric with an intercept per user; None where the outcome is yes or no."""
    bands: tuple[Band, ...]
    """Sessions scored 0 and sessions scored 1; empty for a graded metric."""
    left_out: Mapping[str, int]
    """Reason to number of sessions: `no outcome`, `no score`."""

    @property
    def n(self) -> int:
        """Sessions that have both."""
        return self.association.n

    @property
    def users(self) -> int:
        """Users of those sessions."""
        return self.association.clusters


def relate(
    values: Mapping[SessionKey, float | None],
    outcome: Mapping[SessionKey, float],
    *,
    system: str = "",
    metric: str = "",
    judge_key: str = "",
    name: str = "rating",
    graded: bool = True,
    seed: int = 0,
    resamples: int = 10_000,
) -> Relation:
    """Relate a metric to an outcome.

    Args:
        values: Session to the metric's value; None where it could not be scored.
        outcome: Session to what came of it, such as `WithinUser.z`.
        system: Whose values these are.
        metric: The metric's name.
        judge_key: Of its judge.
        name: The outcome's name.
        graded: Whether the outcome is a quantity; a mixed model is fitted to those only.
        seed: Of permutations and draws.
        resamples: How many.
    """
    left_out: Counter[str] = Counter()
    keys: list[SessionKey] = []
    for key, value in sorted(values.items()):
        if value is None:
            left_out["no score"] += 1
        elif key not in outcome:
            left_out["no outcome"] += 1
        else:
            keys.append(key)
    x = [float(value) for key in keys if (value := values[key]) is not None]
    y = [outcome[key] for key in keys]
    users = [key.user for key in keys]
    association = spearman(x, y, users, seed=seed, resamples=resamples)
    fitted = graded and association.rho is not None
    return Relation(
        system=system,
        metric=metric,
        judge_key=judge_key,
        outcome=name,
        association=association,
        mixed=random_intercept(y, {METRIC: x}, users) if fitted else None,
        bands=_bands(x, y, users, seed, resamples),
        left_out=dict(sorted(left_out.items())),
    )


def _bands(x: Sequence[float], y: Sequence[float], users: Sequence[str], seed: int, resamples: int) -> tuple[Band, ...]:
    if not set(x) <= {0.0, 1.0}:
        return ()
    found = []
    for score in sorted(set(x)):
        picked = [(user, value) for one, value, user in zip(x, y, users, strict=True) if one == score]
        place = {user: number for number, user in enumerate(sorted({user for user, _ in picked}))}
        sums, sizes = np.zeros((len(place), 1)), np.zeros((len(place), 1))
        for user, value in picked:
            sums[place[user]] += value
            sizes[place[user]] += 1
        (estimate,) = bootstrap_ratios(sums, sizes, seed=seed, method="percentile", resamples=resamples)
        mean = float(sums.sum() / sizes.sum())
        found.append(Band(score, mean, estimate.low, estimate.high, len(picked), len(place)))
    return tuple(found)
