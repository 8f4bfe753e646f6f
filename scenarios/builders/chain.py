"""StratMem-Bench items of one pair in time order become a multi-turn scenario in which a fact changes its role.

Items that hold one fact under different labels are put one after the other, so that the fact is needed at one turn and
only welcome, or out of place, at another. Items of the same time share a session: those that StratMem-Bench gives
without a transcript are asked at its start, then the transcript is spoken, then the others are asked. Nothing is said
in reply, because the benchmark has no reply.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.builders.built import Block, BuiltScenario, BuiltSet, native_time
from mnemoscope.scenarios.records import Gold, MemoryRole, Probe, Scenario, Turn

__all__ = ["build_chains"]

_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Item:
    """One StratMem-Bench item."""

    scenario: Scenario
    probe: Probe
    gold: Gold

    @property
    def pair(self) -> tuple[str, str]:
        return self.probe.speaker, self.probe.speaks_as or ""

    @property
    def at(self) -> datetime:
        return self.probe.now or _NO_TIME


@dataclass(frozen=True, slots=True)
class _Asked:
    """An item's place in its chain."""

    item: _Item
    turn_id: str
    moment: str
    """Id of the last turn that is known there."""


def build_chains(scenarios: Iterable[Scenario]) -> BuiltSet:
    """Chain the items of each pair of people around facts that hold two roles or more.

    One chain per largest set of items that share such a fact; a set that lies within another is left out. A fact that
    changes is among a probe's facts where it is needed and where it is out of place: its windows are open at the turns
    where it is must and closed where it is irrelevant; where it is nice there are none.

    Args:
        scenarios: StratMem-Bench scenarios, one item each.

    Returns:
        The chains, by pair and time; each is a cluster of its pair.

    Raises:
        DataError: A scenario is no StratMem-Bench item.
    """
    items = [_item(scenario) for scenario in scenarios]
    if not items:
        raise DataError("there are no items to chain", file="stratmem")
    built = BuiltSet("chain", {}, items[0].scenario.card)
    by_pair: dict[tuple[str, str], list[_Item]] = defaultdict(list)
    for item in items:
        by_pair[item.pair].append(item)
    for pair in sorted(by_pair):
        changing = _changing(by_pair[pair])
        built.counts["facts with two roles or more"] += len(changing)
        for chain in _largest(changing):
            members = sorted((by_pair[pair][i] for i in chain), key=lambda item: (item.at, item.probe.probe_id))
            if members[0].at == _NO_TIME:
                built.counts["left out: an item without a time"] += 1
                continue
            built.scenarios.append(_chain(pair, members, built))
    built.counts["items"] = len(items)
    built.counts["chains"] = len(built.scenarios)
    return built


def _item(scenario: Scenario) -> _Item:
    probe = scenario.probes[0] if len(scenario.probes) == 1 else None
    if probe is None or probe.pool is None or probe.speaks_as is None or scenario.sessions:
        raise DataError("not a StratMem-Bench item", file=scenario.card.file, record=scenario.scenario_id)
    return _Item(scenario, probe, scenario.gold_by_probe[probe.probe_id])


def _changing(items: Sequence[_Item]) -> dict[str, frozenset[int]]:
    """Facts with two roles or more to the positions of the items that hold them."""
    held: dict[str, dict[int, MemoryRole]] = defaultdict(dict)
    for position, item in enumerate(items):
        for fact, role in item.gold.roles.items():
            held[fact][position] = role
    return {fact: frozenset(roles) for fact, roles in held.items() if len(set(roles.values())) > 1}


def _largest(changing: Mapping[str, frozenset[int]]) -> list[tuple[int, ...]]:
    sets = set(changing.values())
    return sorted(tuple(sorted(one)) for one in sets if not any(one < other for other in sets))


def _chain(pair: tuple[str, str], members: Sequence[_Item], built: BuiltSet) -> BuiltScenario:
    name = f"chain-{sha256_of('|'.join(item.probe.probe_id for item in members))[:10]}"
    groups: dict[datetime, list[_Item]] = defaultdict(list)
    for item in members:
        groups[item.at].append(item)
    sessions: list[Block] = []
    asked: list[_Asked] = []
    latest = ""
    for number, (at, group) in enumerate(groups.items(), 1):
        turns: list[Block] = []
        for entry in _in_session(group):
            turn_id = f"s{number}t{len(turns) + 1}"
            if isinstance(entry, _Item):
                asked.append(_Asked(entry, turn_id, latest or turn_id))
                turns.append({"id": turn_id, "speaker": pair[0], "text": entry.probe.text})
            else:
                turns.append({"id": turn_id, "speaker": entry.speaker, "text": entry.text})
            latest = turn_id
        sessions.append({"id": f"s{number}", "at": native_time(at, group[0].scenario), "turns": turns})
    changing = _roles_over_time(asked)
    built.counts["probes"] += len(asked)
    built.counts["chains over several times"] += len(groups) > 1
    needed_once = any(role == "must" for roles in changing.values() for _, role in roles)
    built.counts["chains in which a changing fact is must at a turn"] += needed_once
    origins = {"sessions": "copied: transcripts and queries of the items, in the order of their times"}
    probes = [_probe(place, changing, origins) for place in asked]
    block: Block = {
        "id": name,
        "cluster": f"{pair[0]}/{pair[1]}",
        "participants": [{"name": pair[0], "role": "user"}, {"name": pair[1], "role": "assistant"}],
        "sessions": sessions,
        "probes": probes,
    }
    return BuiltScenario(block, origins)


def _in_session(group: Sequence[_Item]) -> list[_Item | Turn]:
    """Items without a transcript, the transcript, items with it."""
    transcript = max((item.probe.recent_turns for item in group), key=len)
    before = [item for item in group if not item.probe.recent_turns]
    after = [item for item in group if item.probe.recent_turns]
    return [*before, *transcript, *after]


def _roles_over_time(asked: Sequence[_Asked]) -> dict[str, list[tuple[str, MemoryRole]]]:
    """Facts that change, with the last known turn and the role at each place."""
    found: dict[str, list[tuple[str, MemoryRole]]] = defaultdict(list)
    for place in asked:
        for fact, role in place.item.gold.roles.items():
            found[fact].append((place.moment, role))
    return {fact: roles for fact, roles in found.items() if len({role for _, role in roles}) > 1}


def _seen_from(place: _Asked, roles: Sequence[tuple[str, MemoryRole]], own: MemoryRole) -> list[tuple[str, MemoryRole]]:
    """Moments at which a fact is due or out of place; of two that share a turn, the probe's own counts."""
    others = [
        (moment, role) for moment, role in roles if role != "nice" and moment not in (place.moment, place.turn_id)
    ]
    return [(place.moment, own), *others]


def _probe(
    place: _Asked,
    changing: Mapping[str, Sequence[tuple[str, MemoryRole]]],
    origins: dict[str, str],
) -> Block:
    probe, gold = place.item.probe, place.item.gold
    items = probe.pool.items if probe.pool else ()
    texts = {item.item_id: item.text for item in items}
    changed = [fact for fact in texts if fact in changing and gold.roles[fact] != "nice"]
    facts = [fact for fact in texts if gold.roles[fact] != "irr" or fact in changed]
    windows = [
        {"fact": fact, "kind": "open" if role == "must" else "closed", "from": moment, "to": moment}
        for fact in changed
        for moment, role in _seen_from(place, changing[fact], gold.roles[fact])
    ]
    where = f"probes.{probe.probe_id}"
    origins[f"{where}.gold.roles"] = f"copied: {place.item.scenario.scenario_id}"
    if windows:
        origins[f"{where}.gold.windows"] = "derived: open where the fact is must in this chain, closed where irrelevant"
    return {
        "id": probe.probe_id,
        "style": "situational",
        "in_place_of": place.turn_id,
        "now": native_time(probe.now, place.item.scenario),
        "speaks_as": probe.speaks_as,
        **({"persona": probe.persona} if probe.persona else {}),
        "pool": [
            {
                "id": item.item_id,
                "text": item.text,
                **({"at": native_time(item.at, place.item.scenario)} if item.at is not None else {}),
            }
            for item in items
        ],
        "gold": {
            "evidence": [fact for fact in texts if gold.roles[fact] != "irr"],
            "facts": [{"id": fact, "text": texts[fact], "sources": [fact]} for fact in facts],
            "roles": {fact: gold.roles[fact] for fact in texts},
            **({"windows": windows} if windows else {}),
            "strata": [*gold.strata, "with a changing fact" if windows else "without a changing fact"],
        },
    }
