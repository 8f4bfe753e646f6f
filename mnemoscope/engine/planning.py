"""The scenarios of a run with the probes that are asked: read once to choose, and a long set once more to replay."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, DataError, UnknownNameError
from mnemoscope.engine.selection import choose_probes
from mnemoscope.runfile.records import PlannedScenario
from mnemoscope.scenarios.opening import open_source, parse_source_spec
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import ReadProgress, ScenarioSource

__all__ = ["ScenarioPlan", "load_scenarios"]

KEPT_TURNS = 20_000
"""Turns of a set that are kept from choosing to replaying; a longer set is read twice, and never held as a whole."""


@dataclass(frozen=True, slots=True)
class _Set:
    spec: str
    name: str
    """The spec without folders."""
    chosen: Mapping[str, tuple[str, ...]]
    kept: tuple[Scenario, ...] | None
    """Its chosen scenarios; None: it was too long to keep."""


class ScenarioPlan(Iterable[PlannedScenario]):
    """The chosen scenarios of all sets, in the order of sets and files; they can be iterated again and again.

    Args:
        sets: With their chosen probes.
        opened: Opens a set by its spec.
    """

    def __init__(self, sets: Iterable[_Set], opened: Callable[[str], ScenarioSource]) -> None:
        self._sets, self._opened = tuple(sets), opened

    def __iter__(self) -> Iterator[PlannedScenario]:
        """One scenario at a time.

        Raises:
            DataError: A set that is read again is not what it was.
        """
        for one in self._sets:
            scenarios = one.kept if one.kept is not None else self._again(one)
            yield from (PlannedScenario(s, one.name, one.chosen[s.scenario_id]) for s in scenarios)

    def _again(self, one: _Set) -> Iterator[Scenario]:
        missing = set(one.chosen)
        for scenario in self._opened(one.spec):
            if scenario.scenario_id in missing:
                missing.discard(scenario.scenario_id)
                yield scenario
            if not missing:
                return
        raise DataError(
            "the scenario set was changed while it was read",
            file=one.name,
            record=min(missing),
            fix="run again when nobody writes to it",
        )


def load_scenarios(
    config: RunConfig, note: Callable[[str], None], read: Callable[[ReadProgress], None] | None = None
) -> ScenarioPlan:
    """Read every scenario set and choose the probes to ask.

    Args:
        config: Names the sets and how they are read.
        note: Is told which set is being read.
        read: Is told how far a large file has been read.

    Raises:
        ConfigError: No set is named, or nothing is left to ask.
        UnknownNameError: A cluster that no set holds.
        DataError: A file cannot be read, or two sets hold a scenario of one name.
    """
    if not config.scenarios:
        raise ConfigError("no scenario is named; add --scenario demo, or --scenario locomo:locomo10.json")

    def opened(spec: str) -> ScenarioSource:
        return open_source(
            spec,
            mode=config.mode,
            encoding=config.encoding,
            lenient=config.lenient,
            captions=config.captions,
            seed=config.seed,
            progress=read,
        )

    sets: list[_Set] = []
    there: set[str] = set()
    for spec in config.scenarios:
        note(f"reading {spec}")
        seen = _Seen(_short(spec), frozenset(config.clusters))
        chosen = choose_probes(seen.passing(opened(spec)), styles=config.probes, limit=config.limit, seed=config.seed)
        kept = None if seen.kept is None else tuple(s for s in seen.kept if s.scenario_id in chosen)
        sets.append(_Set(spec, seen.name, chosen, kept))
        there |= seen.names
    _refuse_unknown(config.clusters, there)
    _refuse_repeats(sets)
    if not any(one.chosen for one in sets):
        wanted = f" of style {', '.join(config.probes)}" if config.probes else ""
        wanted += f" in {', '.join(config.clusters)}" if config.clusters else ""
        raise ConfigError(f"there is no probe{wanted} in {', '.join(config.scenarios)}; see mnemoscope scenario info")
    return ScenarioPlan(sets, opened)


class _Seen:
    """What passed by while probes were chosen: kept as long as it is short.

    Args:
        name: Of the set.
        wanted: Clusters or scenarios that may pass; empty: all.
    """

    def __init__(self, name: str, wanted: frozenset[str]) -> None:
        self.name, self._wanted = name, wanted
        self.names: set[str] = set()
        """Clusters and scenarios of the set, those that may not pass too."""
        self.kept: list[Scenario] | None = []
        self._ids: set[str] = set()
        self._turns = 0

    def passing(self, scenarios: Iterable[Scenario]) -> Iterator[Scenario]:
        for scenario in scenarios:
            if scenario.scenario_id in self._ids:
                raise _repeated(scenario.scenario_id, self.name, self.name)
            self._ids.add(scenario.scenario_id)
            named = {scenario.cluster, str(scenario.scenario_id)}
            self.names |= named
            if self._wanted and self._wanted.isdisjoint(named):
                continue
            self._turns += sum(len(session.turns) for session in scenario.sessions)
            if self.kept is not None and self._turns <= KEPT_TURNS:
                self.kept.append(scenario)
            else:
                self.kept = None
            yield scenario


def _refuse_unknown(clusters: Sequence[str], there: set[str]) -> None:
    for name in clusters:
        if name not in there:
            names = sorted(there)
            nearest = difflib.get_close_matches(name, names, n=3, cutoff=0.3) or names[:3]
            raise UnknownNameError("cluster in these scenarios", name, nearest)


def _refuse_repeats(sets: Iterable[_Set]) -> None:
    holder: dict[str, _Set] = {}
    for one in sets:
        for scenario_id in one.chosen:
            other = holder.setdefault(scenario_id, one)
            if other is not one:
                raise _repeated(scenario_id, one.name, other.name)


def _repeated(scenario_id: str, name: str, other: str) -> DataError:
    return DataError(
        f"two scenario sets hold a scenario of one name ({other})",
        file=name,
        record=scenario_id,
        fix="name each set once",
    )


def _short(spec: str) -> str:
    kind, path, _ = parse_source_spec(spec)
    return f"{kind}:{path.name}" if path else kind
