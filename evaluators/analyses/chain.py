"""Chains: the same memory must be used at one turn of a conversation, and kept back at another.

``chain``, per system, over scenarios in which at least two probes with labelled pools share a memory (StratMem-Bench
chains, `scenario build chain`):

- `role_flip`: memories with the role must at one turn and nice or irrelevant at another, handled rightly at every turn:
  used where they must, not used where they are irrelevant, free where they are nice
- `repeats`: uses at a turn where the memory is not needed, after an earlier turn had used it, of all uses
- `disclosed`: nice memories used for the first time, per turn that offers one; a dump discloses all of them at once
- `spread`: share of the turns that offer a nice memory on which a new one is disclosed
- `chain_smc`: chains whose every item passes `smc`

Turns are in the order of the conversation. A chain with a reply that failed or was not judged is left out, and
counted. These figures are ours: StratMem-Bench (arXiv 2604.26243) judges single items.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses._rating import ends, few_clusters, rated_share, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import AskedProbe, Material
from mnemoscope.evaluators.rows import ScoreRow
from mnemoscope.scenarios.records import MemoryRole

__all__ = ["Chain"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("chains", "count", "Conversations with shared memories that were judged as a whole."),
    Column("left_out", "count", "Chains with a turn that failed or was not judged."),
    Column("flips", "count", "Memories that must be used at one turn and need not at another."),
    Column("role_flip", "share", "Of these, handled rightly at every turn."),
    *ends("role_flip"),
    Column("repeats", "share", "Needless uses of what was used before, of all uses."),
    *ends("repeats", "repeats_"),
    Column("disclosed", "number", "New nice memories per turn that offers one."),
    Column("spread", "share", "Turns that offer a nice memory on which a new one is disclosed."),
    Column("chain_smc", "share", "Chains whose every item passes smc."),
    *ends("chain_smc", "chain_smc_"),
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
        verdicts = of_one_judge(material, "use", "smc")
        chains = _chains(verdicts.rows, material)
        rows = [_row(name, chains[name], material) for name in material.systems if name in chains]
        if not rows:
            return Findings(
                self.name, title, missing="no conversation has two pools that share a memory; see scenario build chain"
            )
        clusters = {turn.cluster for found in chains.values() for chain in found.whole for turn in chain}
        return Findings(
            self.name, title, _COLUMNS, tuple(rows), (*few_clusters(clusters), *verdicts.notes, *verdicts.judges)
        )


class _Chains(NamedTuple):
    whole: list[list[_Turn]]
    left_out: int


def _chains(rows: Iterable[ScoreRow], material: Material) -> dict[str, _Chains]:
    """System to its chains, those that were judged as a whole with their turns in order."""
    used: defaultdict[tuple[str, str, str, int], set[str]] = defaultdict(set)
    passed: defaultdict[tuple[str, str, int], dict[str, bool]] = defaultdict(dict)
    failed: set[tuple[str, str, int]] = set()
    asked: defaultdict[tuple[str, str, int], set[str]] = defaultdict(set)
    told: defaultdict[tuple[str, str, int], set[str]] = defaultdict(set)
    for row in rows:
        if row.metric == "smc" and row.subject == "plan":
            continue
        key = (row.system, row.scenario_id, row.replicate)
        asked[key].add(row.probe_id)
        if row.metric == "smc":
            told[key].add(row.probe_id)
        if row.status in ("error", "invalid"):
            failed.add(key)
        elif row.metric == "smc" and row.score is not None:
            passed[key][row.probe_id] = bool(row.score)
        elif row.metric == "use" and row.score:
            used[row.system, row.scenario_id, row.probe_id, row.replicate].add(row.subject)
    found: dict[str, _Chains] = {}
    for key, probe_ids in asked.items():
        system, scenario, replicate = key
        probes = {probe_id: material.probe(scenario, probe_id) for probe_id in probe_ids}
        if not _shares_memories(probes.values()):
            continue
        whole, left_out = found.get(system, _Chains([], 0))
        turns = [
            _Turn(
                (probes[probe_id].probe.cut.seq, probe_id),
                {str(item): role for item, role in probes[probe_id].gold.roles.items()},
                frozenset(used[system, scenario, probe_id, replicate]),
                ok,
                probes[probe_id].cluster,
            )
            for probe_id, ok in passed[key].items()
        ]
        broken = key in failed or told[key] != probe_ids or len(turns) < 2
        whole += [] if broken else [sorted(turns, key=lambda turn: turn.order)]
        found[system] = _Chains(whole, left_out + broken)
    return found


def _shares_memories(probes: Iterable[AskedProbe]) -> bool:
    return max(Counter(item for asked in probes for item in asked.gold.roles).values(), default=0) > 1


def _row(name: str, found: _Chains, material: Material) -> tuple[Value, ...]:
    chains = found.whole
    flips = [(float(right), chain[0].cluster) for chain in chains for right in _flips(chain)]
    uses = [(float(needless), chain[0].cluster) for chain in chains for needless in _uses(chain)]
    smc = [(float(all(turn.passed for turn in chain)), chain[0].cluster) for chain in chains]
    flip, repeats, whole = (
        rated_share([value for value, _ in pairs], [cluster for _, cluster in pairs], material)
        for pairs in (flips, uses, smc)
    )
    new = [count for chain in chains for count in _disclosed(chain)]
    return (
        name,
        len(chains),
        found.left_out,
        len(flips),
        *flip[:3],
        *repeats[:3],
        share(sum(new), len(new)),
        share(sum(count > 0 for count in new), len(new)),
        *whole[:3],
    )


def _flips(chain: Sequence[_Turn]) -> Iterator[bool]:
    """For each memory that must be used at one turn and not at another: is every turn right?"""
    for item in sorted({item for turn in chain for item in turn.roles}):
        held = [(turn.roles[item], item in turn.used) for turn in chain if item in turn.roles]
        if {role for role, _ in held} > {"must"} and any(role == "must" for role, _ in held):
            yield all(used if role == "must" else not used or role == "nice" for role, used in held)


def _uses(chain: Sequence[_Turn]) -> Iterator[bool]:
    """For each use: is it needless, and was the memory used before?"""
    before: set[str] = set()
    for turn in chain:
        yield from (item in before and turn.roles.get(item) != "must" for item in sorted(turn.used))
        before |= turn.used


def _disclosed(chain: Sequence[_Turn]) -> Iterator[int]:
    """New nice memories at each turn that offers one."""
    before: set[str] = set()
    for turn in chain:
        offered = {item for item, role in turn.roles.items() if role == "nice"}
        if offered - before:
            yield len((turn.used & offered) - before)
        before |= turn.used
