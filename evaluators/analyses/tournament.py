"""Tournament: which of two systems gives the better reply, by the judge's three axes?

``tournament``, per pair of systems and axis: wins, losses and ties of the scores of `three-axis`, `faithfulness`,
`relevance` and `engagement` on the same probes, and `margin = (wins - losses) / n` (LoCoMo-Conv, arXiv 2609.03467,
pairwise comparison on implicit queries). Ties dominate on scales of three steps, so that all three counts are printed;
the interval resamples clusters.

Each reply is scored alone, against its own memory block, so that no order of two replies can sway the judge. The other
side of that: faithfulness is judged against unequal blocks, and a system without a memory has nothing to be faithful
to. The axes with `(blind=true)` were judged without the block. Differences of length are not corrected for: `length`
shows whether scores follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from mnemoscope.evaluators.analyses._axes import AXES, Reply, axis_scores, compare
from mnemoscope.evaluators.analyses._rating import few_clusters, rated
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["Tournament"]

_COLUMNS = (
    Column("a", "text", "The first system."),
    Column("b", "text", "The second system."),
    Column("axis", "text", "The total, or one axis; blind ones were judged without the memory block."),
    Column("replies", "count", "Probes that both replied to and that were judged."),
    Column("wins", "count", "Of the first."),
    Column("losses", "count", "Of the first."),
    Column("ties", "count", "Equal scores."),
    Column("margin", "points", "Wins minus losses, of all."),
    Column("low", "points", "Lower end of its 95 % interval."),
    Column("high", "points", "Upper end."),
)
_ALONE = "each reply was scored alone, so that the order of two replies cannot sway the judge"


class Tournament:
    """`tournament`: wins, losses and ties on three axes."""

    name = "tournament"

    def analyse(self, material: Material) -> Findings:
        """One row per pair of systems and axis."""
        title = "which of two systems replies better, axis by axis"
        scores = axis_scores(material)
        rows = [
            _row(a, b, axis, scores.of(a, axis), scores.of(b, axis), material)
            for a, b in combinations(material.systems, 2)
            for axis in AXES
            if scores.of(a, axis).keys() & scores.of(b, axis).keys()
        ]
        if not rows:
            return Findings(
                self.name, title, missing="no two systems have three-axis verdicts; score with --judge llm first"
            )
        judged = {material.probe(*reply[:2]).cluster for replies in scores.by_system.values() for reply in replies}
        return Findings(self.name, title, _COLUMNS, tuple(rows), (_ALONE, *few_clusters(judged), *scores.notes))


def _row(
    a: str, b: str, axis: str, first: Mapping[Reply, float], second: Mapping[Reply, float], material: Material
) -> tuple[Value, ...]:
    both = [reply for reply in first if reply in second]
    outcomes = [compare(first[reply], second[reply]) for reply in both]
    clusters = [material.probe(scenario, probe).cluster for scenario, probe, _ in both]
    margin = rated([2 * outcome - 1 for outcome in outcomes], clusters, material)
    return (
        a,
        b,
        axis,
        len(both),
        outcomes.count(1.0),
        outcomes.count(0.0),
        outcomes.count(0.5),
        margin.value,
        margin.low,
        margin.high,
    )
