"""Scores of the figures that tables show, system beside system: what analyses of figures are counted from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from mnemoscope.evaluators._tally import Cell, collect
from mnemoscope.evaluators.analyses._one_judge import OfOneJudge, of_one_judge
from mnemoscope.evaluators.analyses.analysis import Column
from mnemoscope.evaluators.analyses.material import Material, Scope

__all__ = ["FIGURE", "Asked", "Pair", "Scored", "pairs_of", "scored_scopes", "unlike"]

FIGURE = (Column("metric", "text", "The metric."), Column("stratum", "text", "The probes; empty: all of a benchmark."))
"""The columns that name a scope."""
Asked = tuple[str, str]
"""Scenario and probe."""


class Scored(NamedTuple):
    """The scored cells of one figure."""

    scope: Scope
    cells: Mapping[str, Sequence[Cell]]
    """By system, in the order asked for; systems without a score are left out."""
    clusters: Mapping[Asked, str]

    @property
    def name(self) -> tuple[str, str]:
        """Metric and stratum, as the first columns say them."""
        return self.scope.metric, self.scope.stratum

    def by_probe(self, system: str) -> dict[Asked, float]:
        """Means over replicates, sorted by probe."""
        found: defaultdict[Asked, list[float]] = defaultdict(list)
        for cell in self.cells[system]:
            if cell.score is not None:
                found[cell.scenario_id, cell.probe_id].append(cell.score)
        return {probe: fmean(values) for probe, values in sorted(found.items())}


class Pair(NamedTuple):
    """Two systems on the probes that both scored."""

    a: str
    b: str
    first: list[float]
    second: list[float]
    clusters: list[str]

    @property
    def differences(self) -> list[float]:
        """First minus second, by probe."""
        return [x - y for x, y in zip(self.first, self.second, strict=True)]


def scored_scopes(material: Material) -> tuple[list[Scored], tuple[str, ...]]:
    """Every figure that has scores, by one judge each, and the notes that must be read with them."""
    verdicts = {scope.metric: of_one_judge(material, scope.metric) for scope in material.scopes}
    found = [scored for scope in material.scopes if (scored := _scored(material, scope, verdicts[scope.metric])).cells]
    notes = dict.fromkeys(
        note for metric in dict.fromkeys(s.scope.metric for s in found) for note in verdicts[metric].notes
    )
    return found, tuple(notes)


def unlike(material: Material, scopes: Iterable[Scored]) -> tuple[str, ...]:
    """One sentence where systems stand side by side that no test may rank: of other evidence, or that read gold."""
    shown = [material.systems[name] for name in dict.fromkeys(name for scored in scopes for name in scored.cells)]
    classes = list(dict.fromkeys(facts.evidence for facts in shown if not facts.privileged))
    gold = [facts.name for facts in shown if facts.privileged]
    said = [f"evidence differs ({', '.join(classes)})"] if len(classes) > 1 else []
    said += [f"{', '.join(gold)} read{'s' if len(gold) == 1 else ''} gold"] if gold else []
    return (f"{'; '.join(said)}: across these, no result ranks memories",) if said else ()


def pairs_of(scored: Scored, baseline: str | None) -> Iterator[Pair]:
    """Every system with the baseline, or every pair where there is none; pairs without a common probe are left out."""
    names = list(scored.cells)
    chosen = [(n, baseline) for n in names if n != baseline] if baseline in names else list(combinations(names, 2))
    means = {name: scored.by_probe(name) for name in names}
    for a, b in chosen:
        first, second = means[a], means[b or ""]
        if both := [probe for probe in first if probe in second]:
            clusters = [scored.clusters[probe] for probe in both]
            yield Pair(a, b or "", [first[p] for p in both], [second[p] for p in both], clusters)


def _scored(material: Material, scope: Scope, verdicts: OfOneJudge) -> Scored:
    cells: dict[str, list[Cell]] = {name: [] for name in material.systems}
    for found in collect(verdicts.rows).values():
        for cell in found:
            if cell.score is not None and (cell.scenario_id, cell.probe_id) in scope.probes:
                cells[cell.system].append(cell)
    there = {name: found for name, found in cells.items() if found}
    asked = {(cell.scenario_id, cell.probe_id) for found in there.values() for cell in found}
    return Scored(scope, there, {probe: material.cluster(probe[0]) for probe in asked})
