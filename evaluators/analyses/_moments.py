"""Moments of facts with windows, decision by decision: what timing and net benefit are counted from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses._rating import few_clusters
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.metrics.timing import moment_of, place_of

__all__ = ["POLICIES", "Decision", "Moments", "findings_of", "moments"]

POLICIES = {"never": False, "refuse": False, "always": True, "dump": True}
"""Policy to whether it mentions: a refusal brings nothing up, and a dump everything."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One fact at one moment: was bringing it up wanted, and was it done?"""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    fact_id: str
    cluster: str
    place: str
    """As in the metric `timing`: `open`, `closed`, `early`, `late`, `between`, `outside`."""
    moment: int
    """Index of the last known turn."""
    opened: int | None
    """First index of the fact's first open window; None where none is open at any time."""
    mentioned: bool

    @property
    def due(self) -> bool:
        """An open window holds the moment, and no closed one does."""
        return self.place == "open"


class Moments(NamedTuple):
    """All decisions of a run."""

    by_system: Mapping[str, tuple[Decision, ...]]
    """Systems in their order; those without a scored decision are left out."""
    unscored: int
    """Verdicts without a score: failed cells, and replies that the judge could not read."""
    judges: tuple[str, ...] = ()
    """Whose verdicts are left out."""

    def of_policies(self) -> dict[str, tuple[Decision, ...]]:
        """What each policy would have done at every moment that some system has a decision on, each moment once."""
        every = {
            (d.scenario_id, d.probe_id, d.fact_id): replace(d, replicate=0)
            for found in self.by_system.values()
            for d in found
        }
        return {
            name: tuple(replace(d, system=name, mentioned=mentions) for d in every.values())
            for name, mentions in POLICIES.items()
        }

    def notes(self) -> tuple[str, ...]:
        """What must be read with any table of these decisions."""
        policies = f"{', '.join(POLICIES)}: what these policies do by definition, at the same moments; no systems"
        left_out = (f"{self.unscored} decisions without a score are left out",) if self.unscored else ()
        clusters = {d.cluster for found in self.by_system.values() for d in found}
        return (policies, *few_clusters(clusters), *left_out, *self.judges)


def findings_of(
    name: str,
    title: str,
    material: Material,
    columns: Sequence[Column],
    row: Callable[[str, Sequence[Decision], Material], tuple[Value, ...]],
    caveats: Sequence[str] = (),
) -> Findings:
    """A table with one row per system, and one per policy on the same moments.

    Args:
        name: Of the analysis.
        title: Of the table.
        material: The run.
        columns: What `row` gives.
        row: From a system's name and its decisions to the values.
        caveats: Said before those of all tables of decisions.
    """
    found = moments(material)
    if not found.by_system:
        return Findings(name, title, missing="no probe has timing windows; run demo, or build some with scenario build")
    groups = {**found.by_system, **found.of_policies()}
    rows = tuple(row(system, group, material) for system, group in groups.items())
    return Findings(name, title, tuple(columns), rows, (*caveats, *found.notes()))


def moments(material: Material) -> Moments:
    """Every scored verdict of the metric `timing`, with its place among the windows."""
    found: defaultdict[str, list[Decision]] = defaultdict(list)
    unscored = 0
    verdicts = of_one_judge(material, "timing")
    for row in verdicts.rows:
        if row.status != "scored":
            unscored += row.status != "not_applicable"
            continue
        asked = material.probe(row.scenario_id, row.probe_id)
        windows = [window for window in asked.gold.windows if window.fact_id == row.subject]
        moment = moment_of(asked.probe)
        found[row.system].append(
            Decision(
                row.system,
                row.scenario_id,
                row.probe_id,
                row.replicate,
                row.subject,
                asked.cluster,
                place_of(moment, windows),
                moment,
                min((window.from_index for window in windows if window.kind == "open"), default=None),
                row.label in ("on-time", "mistimed"),
            )
        )
    return Moments(_ordered(found, material.systems), unscored, (*verdicts.notes, *verdicts.judges))


def _ordered(found: Mapping[str, list[Decision]], systems: Iterable[str]) -> dict[str, tuple[Decision, ...]]:
    return {name: tuple(found[name]) for name in systems if name in found}
