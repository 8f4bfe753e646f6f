"""Gap: what is known when asked, against what is said unasked.

``gap``, per system:

- `direct` and `reference` are the mean scores of the metrics `direct-qa` (asked outright) and `reference` (the same
  facts in the natural reply) over instances that have both, and `gap` their difference (MemUse, arXiv 2608.24189:
  78.8 % against 7.9 %); `rho` is Spearman's correlation of the two over instances, -.07 to .17 in MemUse's released
  verdicts
- `retrieved_unused`: gold facts that were retrieved, and are not said; `planned_unused`: planned, and not said, of
  those planned (MemUse: 37 of 48, 77 %, with the right detail extracted and handed over)

The last two come from loss attribution, so that they exist for every benchmark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean

from mnemoscope.evaluators.analyses._rating import rated, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.statistics.association import spearman

__all__ = ["Gap"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("instances", "count", "Instances with both a direct and a natural verdict."),
    Column("direct", "share", "Right when asked."),
    Column("reference", "share", "Said in the natural reply."),
    Column("gap", "points", "The first minus the second."),
    Column("low", "points", "Lower end of its 95 % interval."),
    Column("high", "points", "Upper end."),
    Column("rho", "number", "Rank correlation of the two over instances."),
    Column("retrieved", "count", "Gold facts that were retrieved."),
    Column("retrieved_unused", "share", "Of these, not said."),
    Column("planned", "count", "Gold facts that were planned, or handed over without a plan."),
    Column("planned_unused", "share", "Of these, not said."),
)
_RETRIEVED = ("not-planned", "not-said", "wrong", "kept")
_PLANNED = ("not-said", "wrong", "kept")


class Gap:
    """`gap`: known against said."""

    name = "gap"

    def analyse(self, material: Material) -> Findings:
        """One row per system."""
        title = "what is known when asked, and what is said unasked"
        stages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for lost in material.losses():
            stages[lost.system][lost.stage] += 1
        direct, natural = _by_instance(material, "direct-qa"), _by_instance(material, "reference")
        rows = [
            _row(name, direct[name], natural[name], stages[name], material)
            for name in material.systems
            if stages[name] or (direct[name].keys() & natural[name].keys())
        ]
        if not rows:
            return Findings(self.name, title, missing="no gold fact was followed, and no instance was asked both ways")
        return Findings(self.name, title, _COLUMNS, tuple(rows))


def _by_instance(material: Material, metric: str) -> defaultdict[str, dict[str, list[float]]]:
    """System to instance to scores; an instance is one scenario."""
    found: defaultdict[str, dict[str, list[float]]] = defaultdict(dict)
    for row in material.verdicts(metric):
        if row.status == "scored" and row.score is not None:
            found[row.system].setdefault(row.scenario_id, []).append(row.score)
    return found


def _row(
    name: str,
    direct: dict[str, list[float]],
    natural: dict[str, list[float]],
    stages: Counter[str],
    material: Material,
) -> tuple[Value, ...]:
    both = sorted(direct.keys() & natural.keys())
    known, said = [fmean(direct[i]) for i in both], [fmean(natural[i]) for i in both]
    clusters = [material.cluster(instance) for instance in both]
    gap = rated([k - s for k, s in zip(known, said, strict=True)], clusters, material)
    rho = spearman(known, said, clusters, seed=material.seed, resamples=200).rho if len(both) > 2 else None
    retrieved, planned = (sum(stages[stage] for stage in group) for group in (_RETRIEVED, _PLANNED))
    unsaid = stages["not-said"]
    return (
        name,
        len(both),
        fmean(known) if both else None,
        fmean(said) if both else None,
        gap.value,
        gap.low,
        gap.high,
        rho,
        retrieved,
        share(unsaid + stages["not-planned"], retrieved),
        planned,
        share(unsaid, planned),
    )
