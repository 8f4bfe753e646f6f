"""Power: what a comparison could have shown, and how much more of the same it would take.

``power``, per figure and pair of systems:

- `mde`: the difference that a two-sided test by cluster finds with 80 % power, as in the tables of differences; a dash
  where so few clusters reach no small p whatever the difference
- `p_floor`: the smallest p that sign flips of this many clusters can give
- `design`: the variance of the difference by cluster over that of independent probes; 3 means that three probes tell as
  much as one
- `needed`: how many clusters like these would show the observed difference with 80 % power

A difference that is not shown and smaller than `mde` is no evidence of absence: see ``equivalence``. MemUse (arXiv
2608.24189) deals its conditions out to sessions; the two-sample power of that is printed by `mnemoscope outcomes`.
"""

from __future__ import annotations

import math
from statistics import fmean, variance

import numpy as np

from mnemoscope.evaluators.analyses._rating import few_clusters
from mnemoscope.evaluators.analyses._scoped import FIGURE, Pair, pairs_of, scored_scopes
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.statistics._input import ROUNDING, cluster_sums, codes
from mnemoscope.evaluators.statistics.bootstrap import bootstrap_columns
from mnemoscope.evaluators.statistics.paired import clusters_needed, detectable, smallest_p

__all__ = ["Power"]

_COLUMNS = (
    *FIGURE,
    Column("a", "text", "The first system."),
    Column("b", "text", "The second system."),
    Column("probes", "count", "Probes that both scored."),
    Column("clusters", "count", "Clusters of these."),
    Column("delta", "points", "First minus second."),
    Column("mde", "points", "Difference that is found with 80 % power."),
    Column("p_floor", "p", "Smallest p by cluster that so many clusters allow."),
    Column("design", "number", "Variance by cluster over that of independent probes."),
    Column("needed", "count", "Clusters like these that would show this delta with 80 % power."),
)


class Power:
    """`power`: what could have been shown."""

    name = "power"

    def analyse(self, material: Material) -> Findings:
        """One row per figure and pair of systems."""
        title = "what these comparisons could have shown"
        scopes, notes = scored_scopes(material)
        found = [(scored.name, pair) for scored in scopes for pair in pairs_of(scored, material.baseline)]
        if not found:
            return Findings(self.name, title, missing="no two systems were scored on the same probes")
        rows = tuple((*name, *_row(pair, material)) for name, pair in found)
        few = few_clusters(cluster for scored in scopes for cluster in scored.clusters.values())
        return Findings(self.name, title, _COLUMNS, rows, (*few, *notes))


def _row(pair: Pair, material: Material) -> tuple[Value, ...]:
    differences, alpha = pair.differences, material.statistics.alpha
    names, index = codes(pair.clusters)
    count, n, delta = len(names), len(differences), fmean(differences)
    sums = cluster_sums(np.array(differences), index, count)
    sizes = cluster_sums(np.ones(n), index, count)
    _, _, (error,) = bootstrap_columns(sums, sizes, seed=material.seed, resamples=material.resamples)
    alone = math.sqrt(variance(differences) / n) if n > 1 else 0.0
    told = count > 1 and float(error) > ROUNDING
    return (
        pair.a,
        pair.b,
        n,
        count,
        delta,
        detectable(float(error), count, alpha) if told else None,
        smallest_p(count) if count > 1 else None,
        (float(error) / alone) ** 2 if told and alone > ROUNDING else None,
        clusters_needed(delta, float(error), count, alpha) if told else None,
    )
