"""Three-axis totals of replies, and who wins: what the tournament and silent grounding are counted from."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

from mnemoscope.evaluators.analyses.material import Material

__all__ = ["AXES", "Reply", "axis_scores", "compare"]

AXES = ("three-axis", "faithfulness", "relevance", "engagement")
"""The total first."""
Reply = tuple[str, str, int]
"""Scenario, probe and replicate."""


def axis_scores(material: Material) -> dict[tuple[str, str], dict[Reply, float]]:
    """(System, axis) to reply to score, 0–1."""
    found: defaultdict[tuple[str, str], defaultdict[Reply, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in material.verdicts(*AXES):
        if row.status == "scored" and row.score is not None:
            found[row.system, row.metric][row.scenario_id, row.probe_id, row.replicate].append(row.score)
    return {key: {reply: fmean(values) for reply, values in replies.items()} for key, replies in found.items()}


def compare(first: float, second: float) -> float:
    """1 where the first wins, 0 where the second does, .5 for a tie; scores are multiples of a sixth at least."""
    return 0.5 if abs(first - second) < 1e-6 else float(first > second)
