"""The grid of a run: scenarios with their chosen probes × systems, cut into lanes and bundles of lanes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.errors import ConfigError
from mnemoscope.engine.planning import load_scenarios
from mnemoscope.runfile.records import PlannedScenario
from mnemoscope.runfile.rows import CellKey, LaneKey, SystemRow

__all__ = ["Bundle", "Lane", "bundles", "lanes_of", "load_scenarios", "refuse_unfit"]


@dataclass(frozen=True, slots=True)
class Lane:
    """What must run in order: one scenario through one memory, asked by all systems that share it."""

    scenario_id: str
    memory: str
    systems: tuple[tuple[str, str], ...]
    """System name and profile name."""
    cells: tuple[CellKey, ...]
    """Cells that are still to be done."""
    system: str = ""
    """The one system that the memory belongs to, where probes are written back; empty: it is shared."""
    replicate: int = 0
    """The one replicate that it belongs to; 0 where it is shared."""

    @property
    def key(self) -> LaneKey:
        """What names it."""
        return LaneKey(self.scenario_id, self.memory, self.system, self.replicate)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Lanes that one worker takes together, because they share a scenario and its embeddings."""

    lanes: tuple[Lane, ...]
    weight: int


def refuse_unfit(systems: Sequence[SystemRow], scenarios: Iterable[PlannedScenario]) -> None:
    """Refuse systems that cannot answer some scenario, before anything is spent.

    Raises:
        ConfigError: An architecture that hands over a probe's pool meets a probe without one.
    """
    needs_pool = [system.name for system in systems if system.capabilities.gives_pool]
    if not needs_pool:
        return
    for planned in scenarios:
        asked = set(planned.probe_ids)
        for probe in planned.scenario.probes:
            if probe.probe_id in asked and probe.pool is None:
                raise ConfigError(
                    f"{needs_pool[0]} hands over the memories that a probe brings along, and probe {probe.probe_id} of "
                    f"{planned.scenario.scenario_id} ({planned.source_spec}) brings none; leave that system out, or "
                    "choose scenarios with pools (stratmem:…)"
                )


def lanes_of(
    systems: Sequence[SystemRow],
    asked: Mapping[str, Sequence[str]],
    replicates: int,
    finished_cells: set[CellKey],
    finished_lanes: set[LaneKey],
    *,
    write_probes: bool = False,
) -> list[Lane]:
    """The lanes that are not finished, in order of scenarios and systems.

    Systems share the memory that they have in common. Where probes are written back it depends on the replies, and
    each system and replicate has one of its own.

    Args:
        systems: Those that are compared.
        asked: Scenario id to probes.
        replicates: How often each probe is asked.
        finished_cells: Cells that need not be done again.
        finished_lanes: Lanes whose end is stored.
        write_probes: Probes and replies become part of the memory.
    """
    sharing: dict[LaneKey, list[tuple[SystemRow, int]]] = defaultdict(list)
    for system in systems:
        for replicate in range(replicates):
            own = (system.name, replicate) if write_probes else ()
            sharing[LaneKey("", system.memory, *own)].append((system, replicate))
    lanes = []
    for scenario_id, probes in asked.items():
        for shared, users in sharing.items():
            keys = [CellKey(user.name, scenario_id, probe, replicate) for probe in probes for user, replicate in users]
            left = tuple(key for key in keys if key not in finished_cells)
            if left or shared._replace(scenario_id=scenario_id) not in finished_lanes:
                named = tuple(dict.fromkeys((user.name, user.profile) for user, _ in users))
                lanes.append(Lane(scenario_id, shared.memory, named, left, shared.system, shared.replicate))
    return lanes


def bundles(lanes: Sequence[Lane], turns: Mapping[str, int], workers: int) -> list[Bundle]:
    """Cut lanes into pieces of work, the heaviest first.

    Lanes of one scenario stay together, unless that would leave workers idle.

    Args:
        lanes: What is left to do.
        turns: Scenario id to length of its history.
        workers: How many processes will share the work.
    """
    by_scenario: dict[str, list[Lane]] = defaultdict(list)
    for lane in lanes:
        by_scenario[lane.scenario_id].append(lane)
    groups = list(by_scenario.values())
    if workers > 1 and len(groups) < 2 * workers:
        groups = [[lane] for lane in lanes]
    made = [Bundle(tuple(group), sum(turns[g.scenario_id] + 4 * len(g.cells) for g in group)) for group in groups]
    return sorted(made, key=lambda bundle: (-bundle.weight, bundle.lanes[0].key))
