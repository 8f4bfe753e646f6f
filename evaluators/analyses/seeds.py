"""Seeds: how far would the same run land if it were made once more?

``seeds``, per figure and system: mean and standard deviation, over seeds, of the figure of a whole run, as LoCoMo-Conv
(arXiv 2609.03467) reports 5 answer and 3 index seeds. The two sources are never pooled:

- `answer`: replicates of one run (`--replicates`): the same memory, asked again
- `index`: runs that differ in the seed of the memory's model alone (`--memory-model "openai(model=M,seed=44)"`), or in
  `--seed` alone where no model builds: the memory built again, compared at the same replicate

Only probes that every seed scored are counted. This spread says how far another run would land, and nothing about other
probes: for those, see the intervals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean

from mnemoscope.evaluators.analyses._scoped import FIGURE, Asked, Scored, scored_scopes
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material, SystemFacts
from mnemoscope.evaluators.statistics.variance import SeedRun, seed_spreads

__all__ = ["Seeds"]

_COLUMNS = (
    *FIGURE,
    Column("system", "text", "The system."),
    Column("source", "text", "`answer`: asked again; `index`: the memory built again."),
    Column("held", "count", "What stays the same: the seed of the memory, or the replicate."),
    Column("seeds", "count", "Runs."),
    Column("probes", "count", "Probes that all of them scored."),
    Column("mean", "share", "Mean of the runs' figures."),
    Column("sd", "share", "Standard deviation of the runs' figures, in points, with n - 1."),
    Column("lowest", "share", "Lowest figure of a run."),
    Column("highest", "share", "Highest figure of a run."),
)


class Seeds:
    """`seeds`: what another run would change."""

    name = "seeds"

    def analyse(self, material: Material) -> Findings:
        """One row per figure, system, source and held seed."""
        title = "how far the same run lands when it is made again"
        scopes, notes = scored_scopes(material)
        rows = tuple(
            (*scored.name, *row)
            for scored in scopes
            for systems in _same(material, scored)
            for row in _rows(scored, systems)
        )
        if not rows:
            missing = (
                "every system was asked once; run with --replicates 5, or compare runs that differ in a seed alone"
            )
            return Findings(self.name, title, missing=missing)
        return Findings(self.name, title, _COLUMNS, rows, notes)


def _same(material: Material, scored: Scored) -> Iterator[list[SystemFacts]]:
    """Systems that differ in the seed alone, in the order asked for."""
    found: defaultdict[tuple[str, str, str], list[SystemFacts]] = defaultdict(list)
    for name in scored.cells:
        facts = material.systems[name]
        if facts.evidence != "imported":
            found[facts.memory, facts.profile, facts.settings].append(facts)
    for systems in found.values():
        # Two files of one seed hold one run twice, or two that something else tells apart.
        first: dict[int, SystemFacts] = {}
        for facts in systems:
            first.setdefault(facts.seed, facts)
        yield list(first.values())


def _rows(scored: Scored, systems: list[SystemFacts]) -> Iterator[tuple[Value, ...]]:
    runs: defaultdict[tuple[int, int], dict[Asked, float]] = defaultdict(dict)
    for facts in systems:
        for cell in scored.cells[facts.name]:
            if cell.score is not None:
                runs[cell.replicate, facts.seed][cell.scenario_id, cell.probe_id] = cell.score
    both = set.intersection(*(set(found) for found in runs.values()))
    if not both:
        return
    means = [SeedRun(*seeds, fmean(found[probe] for probe in sorted(both))) for seeds, found in runs.items()]
    for spread in seed_spreads(means):
        if spread.sd is not None:
            figures = (spread.mean, spread.sd, spread.low, spread.high)
            yield (systems[0].name, spread.source, spread.held, len(spread.seeds), len(both), *figures)
