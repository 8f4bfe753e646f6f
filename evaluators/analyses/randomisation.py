"""Randomisation: were systems scored on clusters evenly, or does a difference of systems hide one of clusters?

``randomisation``: Pearson's χ² of cluster × system, once over all replies and once per figure over the scored ones, as
MemUse (arXiv 2608.24189) checks which users its conditions were dealt to (χ²(168) = 146.0, p = .89). A replay asks
every system every probe, so that χ² is 0; it is not where replies failed, where a judge could not score some, or where
an imported log dealt its conditions out. `stands_out` is the largest adjusted residual, where that is beyond 3.
"""

from __future__ import annotations

from collections.abc import Iterable

from mnemoscope.evaluators.analyses._scoped import FIGURE, scored_scopes
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.statistics.randomisation import Randomisation, randomisation

__all__ = ["RandomisationCheck"]

_FAR = 3.0
"""Adjusted residuals are about standard normal."""
_COLUMNS = (
    *FIGURE,
    Column("n", "count", "Replies, or scored ones."),
    Column("clusters", "count", "Clusters."),
    Column("systems", "count", "Systems."),
    Column("chi2", "number", "Pearson's χ² of cluster × system."),
    Column("df", "count", "Its degrees of freedom."),
    Column("p", "p", "Small: systems and clusters are associated."),
    Column("sparse", "share", "Share of cells with fewer than 5 expected, where p is rough."),
    Column("stands_out", "text", "The cluster and system that deviate most."),
)


class RandomisationCheck:
    """`randomisation`: were systems asked evenly?"""

    name = "randomisation"

    def analyse(self, material: Material) -> Findings:
        """One row for all replies, and one per figure."""
        title = "were systems asked, and scored, evenly over clusters?"
        replies = [(material.cluster(c.scenario_id), c.system) for c in material.cells() if c.status == "ok"]
        if not replies:
            return Findings(self.name, title, missing="there are no replies")
        scopes, notes = scored_scopes(material)
        rows = [("replies", "", *_row(replies))]
        for scored in scopes:
            cells = [cell for found in scored.cells.values() for cell in found]
            rows.append((*scored.name, *_row((scored.clusters[c.scenario_id, c.probe_id], c.system) for c in cells)))
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes)


def _row(dealt: Iterable[tuple[str, str]]) -> tuple[Value, ...]:
    pairs = list(dealt)
    found = randomisation([cluster for cluster, _ in pairs], [system for _, system in pairs])
    counts = (found.n, len(found.units), len(found.conditions))
    return (*counts, found.statistic, found.df, found.p, found.sparse, found.reason or _stands_out(found))


def _stands_out(found: Randomisation) -> str:
    size, cluster, system, residual = max(
        (abs(residual), str(unit), str(condition), residual)
        for unit, line in zip(found.units, found.residuals, strict=True)
        for condition, residual in zip(found.conditions, line, strict=True)
    )
    return f"{cluster}, {system}: {residual:+.1f}" if size > _FAR else ""
