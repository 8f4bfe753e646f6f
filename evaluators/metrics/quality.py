"""StratMem-Bench: how naturally, relevantly and rightly attributed are memories worked into the reply (MIQ)?

``miq`` is `(level - 1) / 4` with a judge's level 1 to 5 as its label (StratMem-Bench, arXiv 2604.26243, section 4,
memory integration quality; faults that lower it: topic drift, forced association, fabrication, over-expansion,
misattribution). The judge sees the query, all memories of the pool without their roles, and the reply. It is the mean:

- ``miq``: over all replies
- ``miq(on=pass)``: over replies that pass `smc`, the paper's headline; every system has its own such items
- ``miq(used=must)``, ``miq(used=nice)``, ``miq(used=irr)``: over replies that use at least one memory of the class; a
  reply may be in all three
- ``miq(used=any)``: over replies that use any memory

Which memories are used is decided by the questions of `smc`, so the two agree. Replies outside a subset are
`not_applicable`, counted by reason. A mean level is `1 + 4 × value`: the published 4.45 is .8625 here.

Deviations: the published judge is shown the memories that were used; here it is shown the pool, because questions are
put before it is known which are. The mean over all replies is ours: it cannot be raised by passing fewer items.

Trivial policies: a reply that uses no memory has none to spoil, so plain `miq` says of it whatever the judge thinks of
plain replies, and only the subsets leave it out; dumping the memory is in every class and should score near 0. A subset
differs between systems: read it beside the number of replies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, Value
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored, use_question
from mnemoscope.evaluators.judges.question import Fact, Question, Task
from mnemoscope.evaluators.metrics._joint import joint
from mnemoscope.evaluators.metrics.metric import excluded
from mnemoscope.evaluators.metrics.strategic import labelled_pool, of_role, smc_of
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, MemoryRole, Probe

__all__ = ["Miq"]

_LOWEST, _STEPS = 1.0, 4.0
_ROLES: tuple[MemoryRole, ...] = ("must", "nice", "irr")
_USED = (*_ROLES, "any")


class Miq:
    """`miq`: memory integration quality, level 1 to 5 as a share.

    Args:
        on: `all` replies, or only those that `pass` strict compliance.
        used: Only replies that use a memory of this class: `must`, `nice`, `irr` or `any`; empty: all.

    Raises:
        ConfigError: Another value, or both at once.
    """

    family = "quality"
    lower_is_better = False
    _base: ClassVar[str] = "miq"

    def __init__(self, on: str = "all", used: str = "") -> None:
        if on not in ("all", "pass"):
            raise ConfigError(f"miq: on is {on!r}; it is all or pass")
        if used and used not in _USED:
            raise ConfigError(f"miq: used is {used!r}; it is {', '.join(_USED)}")
        if on == "pass" and used:
            raise ConfigError("miq is over replies that pass or over replies that use a class: give on= or used=")
        self.on, self.used = on, used
        given: dict[str, Value] = {"on": on} if on == "pass" else {"used": used} if used else {}
        self.name = str(Spec(self._base, (), given))

    @property
    def tasks(self) -> frozenset[Task]:
        """Subsets need to know what is used."""
        return frozenset({"quality", "use"}) if self._is_subset else frozenset({"quality"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with a labelled pool."""
        return bool(gold.roles) and probe.pool is not None

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Pools without a memory that the subset is about."""
        wanted = ("must", "nice") if self.on == "pass" else _ROLES if self.used in ("", "any") else (self.used,)
        if any(role in wanted for role in case.gold.roles.values()):
            return None
        return excluded(self.name, f"no {' or '.join(wanted)} memory in the pool")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """How well are the memories worked in, and for a subset: is each of them used?"""
        if self.exclusion(case) is not None:
            return []
        pool, reply = labelled_pool(case), case.reply.visible_text
        facts = tuple(Fact(item_id, text) for item_id, text in pool.items())
        quality = Question("quality", reply, case.probe.text, case.probe.speaker, facts)
        return [quality, *(use_question(reply, text) for text in pool.values() if self._is_subset)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        quality, *uses = found = [answers.one(question) for question in self.questions(case)]
        if (missing := unscored(self.name, uses)) is not None:
            return [missing]
        used = {i for i, answer in zip(labelled_pool(case), uses, strict=False) if answer.score}
        if reason := self._outside(case.gold, used):
            return [excluded(self.name, reason)]
        if (missing := unscored(self.name, [quality])) is not None:
            return [missing]
        level = quality.score or _LOWEST
        figures = {"level": level, **({"used": len(used)} if self._is_subset else {})}
        return [joint(self.name, found, (level - _LOWEST) / _STEPS, f"{level:g}", figures=figures)]

    @property
    def _is_subset(self) -> bool:
        return self.on == "pass" or bool(self.used)

    def _outside(self, gold: Gold, used: set[str]) -> str:
        """Why a reply is not in the subset; empty where it is."""
        if self.on == "pass":
            passed = smc_of(of_role(gold, "must"), of_role(gold, "nice"), of_role(gold, "irr"), used)
            return "" if passed else "smc not passed"
        if self.used == "any":
            return "" if used else "no memory used"
        return "" if not self.used or any(gold.roles[i] == self.used for i in used) else f"no {self.used} memory used"
