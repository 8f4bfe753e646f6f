"""What a judge's own changes of mind are worth: how often its votes differ, and which differences that could make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

from mnemoscope.comparison.strata import ALL
from mnemoscope.comparison.summary import Figure, PairFigure
from mnemoscope.runfile.rows import Vote

__all__ = ["Flips", "flips_of"]

_Z = 1.959964
"""Two-sided 95 % of a normal."""


class _Key(NamedTuple):
    metric: str
    stratum: str
    system: str
    judge_key: str


@dataclass(slots=True)
class _Tally:
    against: float = 0.0
    """Sum of the shares of votes that lost."""
    votes: int = 0
    variance: float = 0.0
    """Sum over cells of the variance of their score."""
    cells: int = 0


class Flips:
    """How steady the voted verdicts of one benchmark are.

    A verdict that a share `a` of the votes gave would come out otherwise, if judged again, with a variance of at most
    a (1 − a): that of a single vote, which a majority of several only lowers. Two systems with equal replies then
    differ by less than 1.96 standard deviations in 95 of 100 judgings. That is the flip band.

    Args:
        tallies: What was counted, by metric, stratum, system and judge.
    """

    def __init__(self, tallies: Mapping[_Key, _Tally]) -> None:
        self._tallies = tallies

    def on_figure(self, figure: Figure) -> Figure:
        """The figure with its flip rate, where its judge voted."""
        found = self._tallies.get(_Key(figure.metric, figure.stratum, figure.system, figure.judge_key))
        return figure if found is None else replace(figure, flip_rate=found.against / found.votes)

    def on_pair(self, pair: PairFigure) -> PairFigure:
        """The pair with its flip band, where its judge voted on both."""
        a, b = (
            self._tallies.get(_Key(pair.metric, pair.stratum, system, pair.judge_key)) for system in (pair.a, pair.b)
        )
        if a is None or b is None:
            return pair
        return replace(pair, flip_band=_Z * sqrt(a.variance / a.cells**2 + b.variance / b.cells**2))


def flips_of(votes: Iterable[Vote], strata: Mapping[tuple[str, str], Sequence[str]]) -> Flips:
    """Count votes over cells.

    Args:
        votes: Verdicts that several votes of one judge decided; those of one cell stand together and are one score,
            their mean.
        strata: Scenario and probe to strata, for the probes of one benchmark; votes on others are left out.
    """
    cells: dict[tuple[_Key, tuple[str, str, int]], list[float]] = defaultdict(list)
    for vote in votes:
        groups = strata.get((vote.scenario_id, vote.probe_id))
        for stratum in () if groups is None else dict.fromkeys((ALL, *groups)):
            key = _Key(vote.metric, stratum, vote.system, vote.judge_key)
            cells[key, (vote.scenario_id, vote.probe_id, vote.replicate)].append(vote.agreement)
    tallies: dict[_Key, _Tally] = defaultdict(_Tally)
    for (key, _), agreements in cells.items():
        tally = tallies[key]
        tally.against += sum(1 - a for a in agreements)
        tally.votes += len(agreements)
        tally.variance += sum(a * (1 - a) for a in agreements) / len(agreements) ** 2
        tally.cells += 1
    return Flips(dict(tallies))
