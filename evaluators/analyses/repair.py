"""Repair: if one stage lost nothing, where would its facts be lost then?

``repair`` compares a system's losses, fact by fact, with those of the system in which an oracle does one stage: the
same profile on memory `oracle` repairs storing and retrieving, the same memory with profile `oracle` repairs planning.
Of the facts that the repaired stage lost, it counts those that are now kept, and those that a later stage loses
instead: what fixing the stage is worth at most. An oracle at one stage must leave every other fact where it was. Facts
that moved all the same are *interference*: replies are written as a whole, and one more memory changes what is said of
another. Of these, `earlier_moved` are facts that a stage before the repaired one had lost. No later stage can reach
them: they move only where the two profiles ask the memory for different things, or where retrieval does not repeat.

Facts that both systems have an outcome for count; those that either lost at a stage that is `unknown` are left out. A
stage that still loses facts under its oracle (`still`) shows that what the oracle knows and what attribution asks
differ, such as two sources of which one is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Lost, Material, SystemFacts

__all__ = ["Repair"]

_Fact = tuple[str, str, int, str]
_COLUMNS = (
    Column("system", "text", "The system."),
    Column("repaired", "text", "The stage that an oracle does."),
    Column("facts", "count", "Gold facts that both have an outcome for."),
    Column("lost", "count", "Of these, lost at that stage."),
    Column("now_kept", "count", "Of the lost, said and right under the oracle."),
    Column("now_not_planned", "count", "Of the lost, now not planned."),
    Column("now_not_said", "count", "Of the lost, now planned and not said."),
    Column("now_wrong", "count", "Of the lost, now said wrongly."),
    Column("still", "count", "Of the lost, still lost at that stage or before it."),
    Column("unchanged", "count", "Facts lost elsewhere or kept, with the same outcome."),
    Column("interference", "count", "Facts lost elsewhere or kept, with another outcome."),
    Column("earlier_moved", "count", "Of these, facts that an earlier stage had lost; 0 where both retrieve the same."),
)
_RETRIEVAL = frozenset({"not-stored", "not-retrieved"})
_PLANNING = frozenset({"not-planned"})


class _Oracle(NamedTuple):
    name: str
    stage: str
    repairs: frozenset[str]
    earlier: frozenset[str]
    """Stages before it."""


class Repair:
    """`repair`: what an oracle at one stage is worth."""

    name = "repair"

    def analyse(self, material: Material) -> Findings:
        """One row per system and stage that an oracle of this run does."""
        title = "what an oracle at one stage is worth, and what it disturbs"
        stages: dict[str, dict[_Fact, str]] = {}
        unknown = 0
        for lost in material.losses():
            if lost.stage == "unknown":
                unknown += 1
                continue
            fact = (lost.scenario_id, lost.probe_id, lost.replicate, _name(lost, material))
            stages.setdefault(lost.system, {})[fact] = lost.stage
        rows = [
            _row(system.name, oracle, stages[system.name], stages[oracle.name])
            for system in material.systems.values()
            if not system.privileged and system.name in stages
            for oracle in _oracles(system, material.systems)
            if oracle.name in stages
        ]
        if not rows:
            needed = "needs a system twice, once with --architecture oracle or --profile oracle"
            nowhere = "; where gold names no turns, an oracle is not asked" if unknown else ""
            return Findings(self.name, title, missing=needed + nowhere)
        notes = (
            (f"{unknown:,} facts of all systems are left out: nothing tells where they were lost",) if unknown else ()
        )
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes)


def _name(lost: Lost, material: Material) -> str:
    """What a fact is matched by. All nice facts of a probe count as the one that came furthest, whichever it is."""
    gold = material.probe(lost.scenario_id, lost.probe_id).gold
    fact = next((fact for fact in gold.facts if fact.fact_id == lost.fact_id), None)
    is_nice = fact is not None and any(gold.roles.get(ItemId(source)) == "nice" for source in fact.sources)
    return "nice" if is_nice else lost.fact_id


def _oracles(system: SystemFacts, systems: Mapping[str, SystemFacts]) -> Iterator[_Oracle]:
    for other in systems.values():
        if other.memory == "oracle" and other.profile == system.profile:
            yield _Oracle(other.name, "retrieval", _RETRIEVAL, frozenset())
        if other.memory == system.memory and other.profile == "oracle":
            yield _Oracle(other.name, "planning", _PLANNING, _RETRIEVAL)


def _row(name: str, oracle: _Oracle, before: Mapping[_Fact, str], after: Mapping[_Fact, str]) -> tuple[Value, ...]:
    both = [fact for fact in before if fact in after]
    lost = [fact for fact in both if before[fact] in oracle.repairs]
    others = [fact for fact in both if before[fact] not in oracle.repairs]
    now = Counter(after[fact] for fact in lost)
    moved = {"kept": now.pop("kept", 0)} | {
        stage: now.pop(stage, 0) for stage in ("not-planned", "not-said", "wrong") if stage not in oracle.repairs
    }
    same = sum(before[fact] == after[fact] for fact in others)
    return (
        name,
        oracle.stage,
        len(both),
        len(lost),
        moved["kept"],
        moved.get("not-planned", 0),
        moved["not-said"],
        moved["wrong"],
        now.total(),
        same,
        len(others) - same,
        sum(before[fact] in oracle.earlier and before[fact] != after[fact] for fact in others),
    )
