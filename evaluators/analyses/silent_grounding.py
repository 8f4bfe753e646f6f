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

from mnemoscope.evaluators.analyses._axes import AXES, Reply, axis_scores, compare
from mnemoscope.evaluators.analyses._rating import rated
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material, SystemFacts

__all__ = ["SilentGrounding"]

_COLUMNS = (
    Column("profile", "text", "How the systems answer."),
    Column("against", "text", "The memory that the oracle's replies are compared with."),
    Column("axis", "text", "The total, or one axis."),
    Column("replies", "count", "Implicit probes on which the oracle's reply does not state the fact."),
    Column("rate", "share", "Wins and half of the ties of the replies with the gold."),
    Column("low", "share", "Lower end of its 95 % interval."),
    Column("high", "share", "Upper end."),
)


class SilentGrounding:
    """`silent-grounding`: the use of memory that is never said."""

    name = "silent-grounding"

    def analyse(self, material: Material) -> Findings:
        """One row per profile, opponent and axis."""
        title = "replies with the gold that do not state it, against replies without"
        scores, (metric, unsaid) = axis_scores(material), _unsaid(material)
        if not scores:
            return Findings(self.name, title, missing="no three-axis verdicts; score with --judge llm first")
        rows = [
            row
            for oracle in material.systems.values()
            if oracle.memory.startswith("oracle")
            for other in material.systems.values()
            if other.profile == oracle.profile and other.memory.partition("(")[0] in ("none", "random")
            for axis in AXES
            if (row := _row(oracle, other, axis, scores, unsaid[oracle.name], material)) is not None
        ]
        if not rows:
            return Findings(
                self.name,
                title,
                missing="needs implicit probes and the memories oracle and none or random, one profile",
            )
        return Findings(self.name, title, _COLUMNS, tuple(rows), (f"not stated: {metric} of 0",))


def _unsaid(material: Material) -> tuple[str, dict[str, set[Reply]]]:
    """The metric that decides, and system to implicit replies that do not state the fact."""
    held = material.metrics()
    metric = "fact-use" if "fact-use" in held else "integration"
    best: defaultdict[tuple[str, Reply], float] = defaultdict(float)
    for row in material.verdicts(metric):
        implicit = material.probe(row.scenario_id, row.probe_id).probe.style == "implicit"
        if row.status == "scored" and row.score is not None and implicit:
            key = row.system, (row.scenario_id, row.probe_id, row.replicate)
            best[key] = max(best[key], row.score)
    found: defaultdict[str, set[Reply]] = defaultdict(set)
    for (system, reply), score in best.items():
        if score == 0:
            found[system].add(reply)
    return metric, found


def _row(
    oracle: SystemFacts,
    other: SystemFacts,
    axis: str,
    scores: dict[tuple[str, str], dict[Reply, float]],
    unsaid: set[Reply],
    material: Material,
) -> tuple[Value, ...] | None:
    with_gold, without = scores.get((oracle.name, axis), {}), scores.get((other.name, axis), {})
    both = [reply for reply in with_gold if reply in without and reply in unsaid]
    if not both:
        return None
    clusters = [material.probe(scenario, probe).cluster for scenario, probe, _ in both]
    rate = rated([compare(with_gold[reply], without[reply]) for reply in both], clusters, material)
    return (oracle.profile, other.memory, axis, rate.n, rate.value, rate.low, rate.high)
