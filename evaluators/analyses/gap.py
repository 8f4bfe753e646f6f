"""Gap: what is known when asked, against what is said unasked.

``gap``, per system:

- `direct` and `reference` are the mean scores of the metrics `direct-qa` (asked outright) and `reference` (the same
  facts in the natural reply) over instances that have both, and `gap` their difference (MemUse, arXiv 2608.24189:
  78.8 % against 7.9 %); `rho` is Spearman's correlation of the two over instances, -.07 to .17 in MemUse's released
  verdicts
- `retrieved_unused`: gold facts that were retrieved, and are not said; `planned_unused`: planned, and not said, of
  those planned (MemUse: 37 of 48, 77 %, with the right detail extracted and handed over)

The last two come from loss attribution, so that they exist for every benchmark; facts of which nothing tells whether
they were retrieved are left out. An instance is one scenario, and the
correlation is over the same instances on both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from mnemoscope.evaluators.analyses._one_judge import OfOneJudge, of_one_judge
from mnemoscope.evaluators.analyses._rating import Rated, ends, few_clusters, rated, rated_share
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
    *ends("gap", kind="points"),
    Column("rho", "number", "Rank correlation of the two over instances."),
    Column("retrieved", "count", "Gold facts that were retrieved."),
    Column("retrieved_unused", "share", "Of these, not said."),
    *ends("retrieved_unused", "retrieved_unused_"),
    Column("planned", "count", "Gold facts that were planned, or handed over without a plan."),
    Column("planned_unused", "share", "Of these, not said."),
    *ends("planned_unused", "planned_unused_"),
)
_UNUSED_OF = {"retrieved": ("not-planned", "not-said"), "planned": ("not-said",)}
_SAID = ("wrong", "kept")


class Gap:
    """`gap`: known against said."""

    name = "gap"

    def analyse(self, material: Material) -> Findings:
        """One row per system."""
        title = "what is known when asked, and what is said unasked"
        stages: defaultdict[str, list[_Fact]] = defaultdict(list)
        for lost in material.losses():
            if lost.is_told:
                stages[lost.system].append(_Fact(lost.stage, material.cluster(lost.scenario_id)))
        asked, unasked = of_one_judge(material, "direct-qa"), of_one_judge(material, "reference")
        direct, natural = _by_instance(asked), _by_instance(unasked)
        rows = [
            _row(name, direct[name], natural[name], stages[name], material)
            for name in material.systems
            if stages[name] or (direct[name].keys() & natural[name].keys())
        ]
        if not rows:
            return Findings(self.name, title, missing="no gold fact was followed, and no instance was asked both ways")
        clusters = {fact.cluster for found in stages.values() for fact in found}
        clusters |= {material.cluster(instance) for found in direct.values() for instance in found}
        notes = (*few_clusters(clusters), *asked.limits(), *unasked.limits())
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes)


class _Fact(NamedTuple):
    stage: str
    cluster: str


def _by_instance(verdicts: OfOneJudge) -> defaultdict[str, dict[str, list[float]]]:
    """System to instance to scores; an instance is one scenario."""
    found: defaultdict[str, dict[str, list[float]]] = defaultdict(dict)
    for row, score in verdicts.scored():
        found[row.system].setdefault(row.scenario_id, []).append(score)
    return found


def _row(
    name: str,
    direct: dict[str, list[float]],
    natural: dict[str, list[float]],
    facts: Sequence[_Fact],
    material: Material,
) -> tuple[Value, ...]:
    both = sorted(direct.keys() & natural.keys())
    known, said = [fmean(direct[i]) for i in both], [fmean(natural[i]) for i in both]
    clusters = [material.cluster(instance) for instance in both]
    gap = rated([k - s for k, s in zip(known, said, strict=True)], clusters, material)
    rho = spearman(known, said, clusters, seed=material.seed, resamples=200).rho if len(both) > 2 else None
    retrieved, planned = (_unused(facts, unused, material) for unused in _UNUSED_OF.values())
    return (
        name,
        len(both),
        fmean(known) if both else None,
        fmean(said) if both else None,
        gap.value,
        gap.low,
        gap.high,
        rho,
        retrieved.n,
        *retrieved[:3],
        planned.n,
        *planned[:3],
    )


def _unused(facts: Sequence[_Fact], unused: tuple[str, ...], material: Material) -> Rated:
    """Of the facts that came as far as these stages, the share that went no further."""
    reached = [fact for fact in facts if fact.stage in (*unused, *_SAID)]
    return rated_share([float(fact.stage in unused) for fact in reached], [fact.cluster for fact in reached], material)
