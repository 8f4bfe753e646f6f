"""The grid of a run: scenarios with their chosen probes, systems, and the lanes and bundles that work is cut into."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.engine.selection import choose_probes
from mnemoscope.runfile.records import PlannedScenario
from mnemoscope.runfile.rows import CellKey, LaneKey, SystemRow
from mnemoscope.scenarios.opening import open_source, parse_source_spec

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

    @property
    def key(self) -> LaneKey:
        """What names it."""
        return LaneKey(self.scenario_id, self.memory)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Lanes that one worker takes together, because they share a scenario and its embeddings."""

    lanes: tuple[Lane, ...]
    weight: int


def load_scenarios(config: RunConfig, note: Callable[[str], None]) -> list[PlannedScenario]:
    """Read every scenario set and choose the probes to ask.

    Args:
        config: Names the sets and how they are read.
        note: Is told which set is being read.

    Raises:
        ConfigError: No set is named, or nothing is left to ask.
        DataError: A file cannot be read, or two sets hold a scenario of one name.
    """
    if not config.scenarios:
        raise ConfigError("no scenario is named; add --scenario demo, or --scenario locomo:locomo10.json")
    planned: list[PlannedScenario] = []
    for spec in config.scenarios:
        note(f"reading {spec}")
        source = open_source(
            spec,
            mode=config.mode,
            encoding=config.encoding,
            lenient=config.lenient,
            captions=config.captions,
            seed=config.seed,
        )
        scenarios = list(source)
        chosen = choose_probes(scenarios, styles=config.probes, limit=config.limit, seed=config.seed)
        name = _short(spec)
        planned += [PlannedScenario(s, name, chosen[s.scenario_id]) for s in scenarios if s.scenario_id in chosen]
    _refuse_repeats(planned)
    if not planned:
        wanted = f" of style {', '.join(config.probes)}" if config.probes else ""
        raise ConfigError(f"there is no probe{wanted} in {', '.join(config.scenarios)}; see mnemoscope scenario info")
    return planned


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
) -> list[Lane]:
    """The lanes that are not finished, in order of scenarios and systems.

    Args:
        systems: Those that are compared.
        asked: Scenario id to probes.
        replicates: How often each probe is asked.
        finished_cells: Cells that need not be done again.
        finished_lanes: Lanes whose end is stored.
    """
    sharing: dict[str, list[SystemRow]] = defaultdict(list)
    for system in systems:
        sharing[system.memory].append(system)
    lanes = []
    for scenario_id, probes in asked.items():
        for memory, users in sharing.items():
            keys = [
                CellKey(user.name, scenario_id, probe, replicate)
                for probe in probes
                for user in users
                for replicate in range(replicates)
            ]
            left = tuple(key for key in keys if key not in finished_cells)
            if left or LaneKey(scenario_id, memory) not in finished_lanes:
                lanes.append(Lane(scenario_id, memory, tuple((u.name, u.profile) for u in users), left))
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


def _refuse_repeats(planned: Sequence[PlannedScenario]) -> None:
    seen: dict[str, PlannedScenario] = {}
    for one in planned:
        other = seen.setdefault(one.scenario.scenario_id, one)
        if other is not one:
            raise DataError(
                f"two scenario sets hold a scenario of one name ({other.source_spec})",
                file=one.source_spec,
                record=one.scenario.scenario_id,
                fix="name each set once",
            )


def _short(spec: str) -> str:
    kind, path, _ = parse_source_spec(spec)
    return f"{kind}:{path.name}" if path else kind
