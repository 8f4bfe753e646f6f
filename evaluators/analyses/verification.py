"""Verification: what the assistant's own check says of its slots, beside what the judge says of the same memories.

``verification``, per system: the share of planned slots that `verify` found said, the share that the scoring judge
found used (metric `use`), and the share on which the two differ. Two detectors with different rules see different
things; where they agree, a slot was said. A system whose `verify` shares the judge's key would grade itself.

Slots without a verdict of `use` (memories that are no items of a labelled pool) are counted apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["Verification"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("slots", "count", "Planned slots that were verified and judged."),
    Column("verified", "share", "Of these, found said by the assistant's own check."),
    Column("judged", "share", "Of these, found used by the scoring judge."),
    Column("differ", "share", "Of these, seen differently by the two."),
    Column("only_verified", "count", "Said for the check, not used for the judge."),
    Column("only_judged", "count", "Used for the judge, not said for the check."),
    Column("unjudged", "count", "Verified slots on which the judge gave no score."),
)


class Verification:
    """`verification`: the check inside the assistant against the judge outside."""

    name = "verification"

    def analyse(self, material: Material) -> Findings:
        """One row per system that verifies its replies."""
        title = "what verify says of planned slots, and what the judge says"
        verdicts = of_one_judge(material, "use")
        used = {
            (row.system, row.scenario_id, row.probe_id, row.replicate, row.subject): bool(score)
            for row, score in verdicts.scored()
        }
        counts: dict[str, Counter[tuple[bool, bool | None]]] = defaultdict(Counter)
        for cell in material.cells():
            for slot, said in cell.realised.items():
                key = (cell.system, cell.scenario_id, cell.probe_id, cell.replicate, cell.slot_memories.get(slot, ""))
                counts[cell.system][said, used.get(key)] += 1
        rows = [_row(name, counts[name]) for name in material.systems if name in counts]
        if not rows:
            return Findings(self.name, title, missing="no system verifies its replies; run one with the profile slots")
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes=verdicts.limits())


def _row(system: str, seen: Counter[tuple[bool, bool | None]]) -> tuple[Value, ...]:
    judged = {pair: n for pair, n in seen.items() if pair[1] is not None}
    total = sum(judged.values())

    def share(count: int) -> float | None:
        return count / total if total else None

    only_verified, only_judged = seen[True, False], seen[False, True]
    return (
        system,
        total,
        share(only_verified + seen[True, True]),
        share(only_judged + seen[True, True]),
        share(only_verified + only_judged),
        only_verified,
        only_judged,
        sum(n for (_, use), n in seen.items() if use is None),
    )
