"""Silent grounding: does memory help where the fact is never stated?

``silent-grounding``, on implicit probes on which the oracle's own reply does not state the fact (LoCoMo-Conv, arXiv
2609.03467: 332 of 1,536 in the paper's run): the replies with the gold against those without memory and with random
turns, on the three axes. `rate = (wins + ties / 2) / n`; above one half, memory helps although the fact stays unsaid.

Not stated means a `fact-use` of 0 where a judge gives it, else an `integration` of 0, which the note says. Faithfulness
is judged against each reply's own memory block, which puts replies without memory at a disadvantage, so `relevance` and
`engagement` are the axes to look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from typing import NamedTuple

from mnemoscope.evaluators.analyses._axes import AXES, AxisScores, Reply, axis_scores, compare
from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses._rating import ends, few_clusters, rated_share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material, SystemFacts

__all__ = ["SilentGrounding"]

_COLUMNS = (
    Column("profile", "text", "How the systems answer."),
    Column("against", "text", "The memory that the oracle's replies are compared with."),
    Column("axis", "text", "The total, or one axis."),
    Column("replies", "count", "Implicit probes on which the oracle's reply does not state the fact."),
    Column("rate", "share", "Wins and half of the ties of the replies with the gold."),
    *ends("rate"),
)


class SilentGrounding:
    """`silent-grounding`: the use of memory that is never said."""

    name = "silent-grounding"

    def analyse(self, material: Material) -> Findings:
        """One row per profile, opponent and axis."""
        title = "replies with the gold that do not state it, against replies without"
        scores, pool = axis_scores(material), _unsaid(material)
        if not scores.by_system:
            return Findings(self.name, title, missing="no three-axis verdicts; score with --judge llm first")
        rows = [
            row
            for oracle in material.systems.values()
            if oracle.memory.partition("(")[0] == "oracle"
            for other in material.systems.values()
            if other.profile == oracle.profile and other.memory.partition("(")[0] in ("none", "random")
            for axis in AXES
            if (row := _row(oracle, other, axis, scores, pool.replies.get(oracle.name, frozenset()), material))
            is not None
        ]
        if not rows:
            return Findings(
                self.name,
                title,
                missing="needs implicit probes and the memories oracle and none or random, one profile",
            )
        clusters = {material.probe(*reply[:2]).cluster for replies in pool.replies.values() for reply in replies}
        notes = (f"not stated: {pool.metric} of 0", *few_clusters(clusters), *scores.notes, *pool.notes)
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes)


class _Unsaid(NamedTuple):
    metric: str
    """What decides."""
    replies: Mapping[str, Set[Reply]]
    """System to implicit replies that do not state the fact."""
    notes: tuple[str, ...]


def _unsaid(material: Material) -> _Unsaid:
    held = material.metrics()
    metric = "fact-use" if "fact-use" in held else "integration"
    best: defaultdict[tuple[str, Reply], float] = defaultdict(float)
    verdicts = of_one_judge(material, metric)
    for row, score in verdicts.scored():
        if material.probe(row.scenario_id, row.probe_id).probe.style == "implicit":
            key = row.system, (row.scenario_id, row.probe_id, row.replicate)
            best[key] = max(best[key], score)
    found: defaultdict[str, set[Reply]] = defaultdict(set)
    for (system, reply), score in best.items():
        if score == 0:
            found[system].add(reply)
    return _Unsaid(metric, found, (*verdicts.notes, *verdicts.judges))


def _row(
    oracle: SystemFacts,
    other: SystemFacts,
    axis: str,
    scores: AxisScores,
    unsaid: Set[Reply],
    material: Material,
) -> tuple[Value, ...] | None:
    with_gold, without = scores.of(oracle.name, axis), scores.of(other.name, axis)
    both = [reply for reply in with_gold if reply in without and reply in unsaid]
    if not both:
        return None
    clusters = [material.probe(scenario, probe).cluster for scenario, probe, _ in both]
    rate = rated_share([compare(with_gold[reply], without[reply]) for reply in both], clusters, material)
    return (oracle.profile, other.memory, axis, rate.n, rate.value, rate.low, rate.high)
