"""Three-axis totals of replies, and who wins: what the tournament and silent grounding are counted from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple

from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["AXES", "UNEQUAL_BLOCKS", "AxisScores", "Reply", "axis_scores", "compare"]

_SEEING = ("three-axis", "faithfulness", "relevance", "engagement")
_BLIND = ("three-axis(blind=true)", "relevance(blind=true)", "engagement(blind=true)")
AXES = (*_SEEING, *_BLIND)
"""Metrics, the total first; the blind ones were judged without the memory block."""
UNEQUAL_BLOCKS = (
    "faithfulness is judged against each system's own memory block, which puts systems without memory at a "
    "disadvantage, in the total too; relevance and engagement, best of all blind, are free of it"
)
Reply = tuple[str, str, int]
"""Scenario, probe and replicate."""


class AxisScores(NamedTuple):
    """Scores of replies, and what limits them."""

    by_system: Mapping[tuple[str, str], Mapping[Reply, float]]
    """(System, axis) to reply to score, 0–1."""
    notes: tuple[str, ...]

    def of(self, system: str, axis: str) -> Mapping[Reply, float]:
        """Scores of a system on an axis; empty where it has none."""
        return self.by_system.get((system, axis), {})


def axis_scores(material: Material) -> AxisScores:
    """Three-axis scores of all replies."""
    found: defaultdict[tuple[str, str], defaultdict[Reply, list[float]]] = defaultdict(lambda: defaultdict(list))
    verdicts = of_one_judge(material, *AXES)
    for row, score in verdicts.scored():
        found[row.system, row.metric][row.scenario_id, row.probe_id, row.replicate].append(score)
    means = {key: {reply: fmean(values) for reply, values in replies.items()} for key, replies in found.items()}
    unequal = (UNEQUAL_BLOCKS,) if any(axis in _SEEING for _, axis in means) else ()
    return AxisScores(means, (*unequal, *verdicts.limits()))


def compare(first: float, second: float) -> float:
    """1 where the first wins, 0 where the second does, .5 for a tie; scores are multiples of a sixth at least."""
    return 0.5 if abs(first - second) < 1e-6 else float(first > second)
