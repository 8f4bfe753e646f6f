"""Equivalence: is a difference shown to be too small to matter? A large p never shows that.

``equivalence``, per figure and pair of systems: two one-sided tests (TOST) against the margin that `[statistics]` in
the run's configuration sets before anything is scored. Systems are equivalent where the whole interval of confidence
1 - 2 alpha lies inside plus and minus the margin. MemUse (arXiv 2608.24189) tests with .25 within-user SD and does not
say of which unit; both are printed: `probe` weighs all probes alike, `cluster` the mean of every cluster.
"""

from __future__ import annotations

from typing import Literal

from mnemoscope.evaluators.analyses._rating import few_clusters
from mnemoscope.evaluators.analyses._scoped import FIGURE, Pair, pairs_of, scored_scopes, unlike
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.statistics.equivalence import EquivalenceUnit, equivalence_by_cluster

__all__ = ["EquivalentSystems"]

_UNITS: tuple[tuple[Literal["probe", "cluster"], EquivalenceUnit], ...] = (
    ("probe", "row"),
    ("cluster", "cluster-mean"),
)
_COLUMNS = (
    *FIGURE,
    Column("a", "text", "The first system."),
    Column("b", "text", "The second system."),
    Column("unit", "text", "What weighs alike: every probe, or the mean of every cluster."),
    Column("verdict", "text", "`equivalent`, or `not shown`, which is not that they differ; or `untested`."),
    Column("delta", "points", "First minus second."),
    Column("low", "points", "Lower end of the interval of confidence 1 - 2 alpha."),
    Column("high", "points", "Upper end."),
    Column("p", "p", "The larger of the two one-sided p-values."),
)


class EquivalentSystems:
    """`equivalence`: too small to matter, or not shown."""

    name = "equivalence"

    def analyse(self, material: Material) -> Findings:
        """Two rows per figure and pair of systems."""
        title, margin = "are differences shown to be too small to matter?", material.statistics.equivalence_margin
        if margin is None:
            missing = (
                "no margin is set; write equivalence_margin = 0.05 (for 5 points) under [statistics] in the run's "
            )
            return Findings(self.name, title, missing=missing + "configuration before it is scored")
        scopes, notes = scored_scopes(material)
        rows = tuple(
            (*scored.name, *_row(pair, unit, of, margin, material))
            for scored in scopes
            for pair in pairs_of(scored, material.baseline)
            for unit, of in _UNITS
        )
        if not rows:
            return Findings(self.name, title, missing="no two systems were scored on the same probes")
        few = few_clusters(cluster for scored in scopes for cluster in scored.clusters.values())
        said = f"the margin is {margin * 100:g} points, alpha is {material.statistics.alpha:g}"
        untested = any("untested" in row for row in rows)
        why = ("untested: one cluster, or no spread was seen",) if untested else ()
        return Findings(self.name, title, _COLUMNS, rows, (said, *why, *unlike(material, scopes), *few, *notes))


def _row(pair: Pair, unit: str, of: EquivalenceUnit, margin: float, material: Material) -> tuple[Value, ...]:
    found = equivalence_by_cluster(
        pair.first,
        pair.second,
        pair.clusters,
        margin,
        seed=material.seed,
        unit=of,
        alpha=material.statistics.alpha,
        resamples=material.resamples,
    )
    verdict = found.verdict if found.reason is None else "untested"
    return (pair.a, pair.b, unit, verdict, found.difference, found.low, found.high, found.p)
