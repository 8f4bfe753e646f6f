"""The cells of an import: all probes of the kinds that the files are about, whether or not a row is about each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.imports.matching import Found, Target
from mnemoscope.runfile.records import PlannedScenario
from mnemoscope.scenarios.records import Probe

__all__ = ["Grid", "Kind", "grid_of", "kind_of"]

Kind = tuple[str, ...]
"""Benchmark, style, and which of the set-apart strata a probe is in."""

_SET_APART = ("negative", "adversarial")
"""Strata whose probes a benchmark's own files leave out as a whole, besides styles."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of an import; iterating gives scenario, probe and replicate in the scenarios' order."""

    planned: tuple[PlannedScenario, ...]
    replicates: int
    recorded: Mapping[Kind, Mapping[str, str]]
    """Kind of probe to the metrics that the files hold for it, each with its judge's key."""
    left_out: Mapping[Kind, int]
    """Kind to the number of its probes that are not in the run."""

    def __iter__(self) -> Iterator[tuple[PlannedScenario, Probe, int]]:
        for one in self.planned:
            asked = set(one.probe_ids)
            for probe in one.scenario.probes:
                if probe.probe_id in asked:
                    yield from ((one, probe, replicate) for replicate in range(self.replicates))

    def targets(self) -> Iterator[Target]:
        """The cells by name."""
        for planned, probe, replicate in self:
            yield Target(str(planned.scenario.scenario_id), str(probe.probe_id), replicate)


def kind_of(planned: PlannedScenario, probe: Probe) -> Kind:
    """The kind of a probe."""
    strata = planned.scenario.gold_by_probe[probe.probe_id].strata
    return (planned.scenario.benchmark, probe.style or "", *(stratum for stratum in _SET_APART if stratum in strata))


def grid_of(planned: Sequence[PlannedScenario], found: Found, *, partial: bool = False) -> Grid:
    """The cells of an import.

    Args:
        planned: The scenarios with their asked probes.
        found: What the files say; at least one row is about a probe.
        partial: Leave out every probe that no row is about, not only whole kinds.
    """
    kinds = {
        (str(one.scenario.scenario_id), str(probe.probe_id)): kind_of(one, probe)
        for one in planned
        for probe in one.scenario.probes
        if probe.probe_id in one.probe_ids
    }
    targets = {(target.scenario_id, target.probe_id) for target in found.targets}
    held = {kinds[target] for target in targets}
    kept_ids = targets if partial else {name for name, kind in kinds.items() if kind in held}
    recorded: dict[Kind, dict[str, str]] = defaultdict(dict)
    for target, verdicts in found.verdicts.items():
        for verdict, key in verdicts:
            recorded[kinds[target.scenario_id, target.probe_id]].setdefault(verdict.metric, key)
    kept = []
    for one in planned:
        ids = tuple(p for p in one.probe_ids if (str(one.scenario.scenario_id), str(p)) in kept_ids)
        if ids:
            kept.append(PlannedScenario(one.scenario, one.source_spec, ids))
    return Grid(
        planned=tuple(kept),
        replicates=1 + max(target.replicate for target in found.targets),
        recorded=recorded,
        left_out=Counter(kind for name, kind in kinds.items() if name not in kept_ids),
    )
