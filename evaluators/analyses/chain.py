"""Chains: the same memory must be used at one turn of a conversation, and kept back at another.

``chain``, per system, over scenarios in which at least two probes with labelled pools share a memory (StratMem-Bench
chains, `scenario build chain`):

- `role_flip`: memories with the role must at one turn and nice or irrelevant at another, handled rightly at every turn:
  used where they must, not used where they are irrelevant, free where they are nice
- `repeats`: uses at a turn where the memory is not needed, after an earlier turn had used it, of all uses
- `disclosed`: nice memories used for the first time, per turn that offers one; a dump discloses all of them at once
- `spread`: share of the turns that offer a nice memory on which a new one is disclosed
- `chain_smc`: chains whose every item passes `smc`

Turns are in the order of the conversation. A chain that one reply of which failed or was not judged is left out, and
counted. These figures are ours: StratMem-Bench (arXiv 2604.26243) judges single items.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mnemoscope.evaluators.analyses._rating import rated, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.scenarios.records import MemoryRole

__all__ = ["Chain"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("chains", "count", "Conversations with shared memories that were judged as a whole."),
    Column("left_out", "count", "Chains with a turn that failed or was not judged."),
    Column("flips", "count", "Memories that must be used at one turn and need not at another."),
    Column("role_flip", "share", "Of these, handled rightly at every turn."),
    Column("low", "share", "Lower end of its 95 % interval."),
    Column("high", "share", "Upper end."),
    Column("repeats", "share", "Needless uses of what was used before, of all uses."),
    Column("disclosed", "number", "New nice memories per turn that offers one."),
    Column("spread", "share", "Turns that offer a nice memory on which a new one is disclosed."),
    Column("chain_smc", "share", "Chains whose every item passes smc."),
)


class _Turn(NamedTuple):
    order: tuple[int, str]
    roles: dict[str, MemoryRole]
    used: frozenset[str]
    passed: bool
    cluster: str


class Chain:
    """`chain`: the same memory over the turns of a conversation."""

    name = "chain"

    def analyse(self, material: Material) -> Findings:
        """One row per system with chains."""
        title = "the same memories over the turns of a conversation"
        turns, broken = _turns(material)
        rows = []
        for name in material.systems:
            chains = [found for (system, *_), found in turns.items() if system == name and _shares_memories(found)]
            if chains:
                rows.append(_row(name, chains, broken[name], material))
        if not rows:
            return Findings(
                self.name, title, missing="no conversation has two pools that share a memory; see scenario build chain"
            )
        return Findings(self.name, title, _COLUMNS, tuple(rows))


_Conversation = tuple[str, str, int]


def _turns(material: Material) -> tuple[dict[_Conversation, list[_Turn]], Counter[str]]:
    used: defaultdict[tuple[str, str, str, int], set[str]] = defaultdict(set)
    passed: dict[tuple[str, str, str, int], bool] = {}
    failed: set[_Conversation] = set()
    for row in material.verdicts("use", "smc"):
        key = (row.system, row.scenario_id, row.probe_id, row.replicate)
        if row.metric == "smc" and row.subject == "plan":
            continue
        if row.status in ("error", "invalid"):
            failed.add((row.system, row.scenario_id, row.replicate))
        elif row.metric == "smc" and row.score is not None:
            passed[key] = bool(row.score)
        elif row.metric == "use" and row.score:
            used[key].add(row.subject)
    turns: defaultdict[_Conversation, list[_Turn]] = defaultdict(list)
    for key, ok in passed.items():
        system, scenario, probe_id, replicate = key
        asked = material.probe(scenario, probe_id)
        roles: dict[str, MemoryRole] = {str(item): role for item, role in asked.gold.roles.items()}
        order = (asked.probe.cut.seq, probe_id)
        turns[system, scenario, replicate].append(_Turn(order, roles, frozenset(used[key]), ok, asked.cluster))
    whole = {key: sorted(found, key=lambda turn: turn.order) for key, found in turns.items() if key not in failed}
    return whole, Counter(system for system, *_ in failed)


def _shares_memories(turns: Sequence[_Turn]) -> bool:
    seen = Counter(item for turn in turns for item in turn.roles)
    return len(turns) > 1 and max(seen.values(), default=0) > 1


def _row(name: str, chains: Sequence[Sequence[_Turn]], left_out: int, material: Material) -> tuple[Value, ...]:
    flips = [(right, chain[0].cluster) for chain in chains for right in _flips(chain)]
    flip = rated([float(right) for right, _ in flips], [cluster for _, cluster in flips], material)
    uses = sum(len(turn.used) for chain in chains for turn in chain)
    new = [count for chain in chains for count in _disclosed(chain)]
    return (
        name,
        len(chains),
        left_out,
        len(flips),
        flip.value,
        flip.low,
        flip.high,
        share(sum(_needless(chain) for chain in chains), uses),
        share(sum(new), len(new)),
        share(sum(count > 0 for count in new), len(new)),
        share(sum(all(turn.passed for turn in chain) for chain in chains), len(chains)),
    )


def _flips(chain: Sequence[_Turn]) -> Iterator[bool]:
    """For each memory that must be used at one turn and not at another: is every turn right?"""
    for item in sorted({item for turn in chain for item in turn.roles}):
        held = [(turn.roles[item], item in turn.used) for turn in chain if item in turn.roles]
        if {role for role, _ in held} > {"must"} and any(role == "must" for role, _ in held):
            yield all(used if role == "must" else not used or role == "nice" for role, used in held)


def _needless(chain: Sequence[_Turn]) -> int:
    before: set[str] = set()
    count = 0
    for turn in chain:
        count += sum(item in before and turn.roles.get(item) != "must" for item in turn.used)
        before |= turn.used
    return count


def _disclosed(chain: Sequence[_Turn]) -> Iterator[int]:
    """New nice memories at each turn that offers one."""
    before: set[str] = set()
    for turn in chain:
        offered = {item for item, role in turn.roles.items() if role == "nice"}
        if offered - before:
            yield len((turn.used & offered) - before)
        before |= turn.used
