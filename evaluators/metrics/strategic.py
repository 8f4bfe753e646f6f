"""StratMem-Bench: did the reply use what it must, something that is nice, and nothing irrelevant?

With M, N, I the must, nice and irrelevant memories of a probe's pool and U those that are used (arXiv 2604.26243,
section 4):

- ``smc`` (strict memory compliance), per item: ``M ⊆ U``, ``U ∩ I = ∅``, and ``U ∩ N ≠ ∅`` where N is not empty. The
  rate is passes over all items of a stratum; "all" is the micro rate over every item.
- ``cir`` (contextual intrusion rate, lower is better): ``#{N ≠ ∅ and U ∩ I ≠ ∅} / #{N ≠ ∅}``. The denominator is
  every item with nice memories, whether or not its must memories are used; items without an irrelevant memory stay in.
- ``pes`` (proactive enrichment score): ``#{N ≠ ∅, M ⊆ U, U ∩ N ≠ ∅} / #{N ≠ ∅, M ⊆ U}``. The condition depends on the
  system, so its denominator does too; for items without must memories it always holds.
- ``smc-must``: ``#{M ≠ ∅, M ⊆ U} / #{M ≠ ∅}``; ``smc-no-irr``: ``#{U ∩ I = ∅}`` over all items of `smc`; and
  ``nice-rate``: ``#{N ≠ ∅, U ∩ N ≠ ∅} / #{N ≠ ∅}``. The three conditions of `smc` apart: an item passes where all that
  apply to it hold, so they tell which one a system fails on, and whether it pays for a nice memory that the moment did
  not ask for. `nice-rate` is `pes` without its condition, and has one denominator for all systems.
- ``use``: one verdict per memory, 1 where it is used; what all the others are made of.

``of=reply`` (default) has the judge decide use from the reply's visible text and the memory's text, and nothing else.
``of=plan`` takes the memories of the plan's must and nice slots, silent ones left out, as used: a figure of selection,
not of generation, and never to be put beside published ones.

Votes are the judge's: ``--judge "llm(votes=3)"`` is the published setting, which `llm` takes for use anyway, and the
judge key beside every figure says how many there were. ``smc(votes=3)`` is refused and says so.

Deviations: the published judge is a model with three votes that must quote. The exact published formula of PES is
unverified; this one follows the paper's words.

Trivial policies: using nothing gives SMC 0, CIR 0 and `smc-no-irr` 1; using everything gives PES 1, CIR 1 (where I is
not empty), `smc-must` and `nice-rate` 1, and SMC only where I is empty; an oracle gives SMC 1, PES 1, CIR 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored, use_question
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import joint
from mnemoscope.evaluators.metrics.metric import concluded, excluded, scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, MemoryRole, Probe

__all__ = [
    "Cir",
    "NiceRate",
    "Pes",
    "Smc",
    "SmcMust",
    "SmcNoIrr",
    "Use",
    "cir_of",
    "labelled_pool",
    "of_role",
    "pes_of",
    "planned_sources",
    "smc_of",
]

_PLAN_KEY = "plan-1"


def smc_of(must: set[str], nice: set[str], irr: set[str], used: set[str]) -> bool | None:
    """Strict compliance of one item; None where there is neither a must nor a nice memory."""
    if not must and not nice:
        return None
    return must <= used and not used & irr and (not nice or bool(used & nice))


def pes_of(must: set[str], nice: set[str], used: set[str]) -> bool | None:
    """Enrichment of one item; None where its condition does not hold."""
    return bool(used & nice) if nice and must <= used else None


def cir_of(nice: set[str], irr: set[str], used: set[str]) -> bool | None:
    """Intrusion of one item; None where there is no nice memory."""
    return bool(used & irr) if nice else None


class _OfPool:
    """Which pools the metrics of this module read, and what is asked about them.

    Args:
        of: `reply` or `plan`.
    """

    family = "strategic"
    lower_is_better = False
    _base: ClassVar[str]
    _needs: ClassVar[tuple[MemoryRole, ...]] = ("nice",)
    """A pool without any memory of these is left out."""

    def __init__(self, of: str = "reply") -> None:
        if of not in ("reply", "plan"):
            raise ConfigError(f"{self._base} is of the reply or of the plan, not of {of!r}")
        self.of = of
        self.name = str(Spec(self._base, (), {} if of == "reply" else {"of": of}))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with a labelled pool."""
        return bool(gold.roles) and probe.pool is not None

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Pools without the memories that the metric is about."""
        if any(of_role(case.gold, role) for role in self._needs):
            return None
        return excluded(self.name, f"no {' or '.join(self._needs)} memory in the pool", subject=self.of)

    @property
    def tasks(self) -> frozenset[Task]:
        """A plan is read, not judged."""
        return frozenset({"use"}) if self.of == "reply" else frozenset()

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is each memory of the pool used?"""
        if self.of == "plan" or self.exclusion(case) is not None:
            return []
        return [use_question(case.reply.visible_text, text) for text in labelled_pool(case).values()]


class _Strategic(_OfPool, ABC):
    """One verdict per reply or plan, from the set of memories that it uses."""

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply` or `plan`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        return [self._of_plan(case) if self.of == "plan" else self._of_reply(case, answers)]

    def _of_plan(self, case: EvaluationCase) -> Verdict:
        if case.reply.plan is None:
            return excluded(self.name, "no plan", subject="plan", judge_key=_PLAN_KEY)
        gold, used = case.gold, used_in_plan(case)
        passed, label = self._outcome(gold, used)
        if passed is None:
            return excluded(self.name, label, subject="plan", judge_key=_PLAN_KEY, figures={"used": len(used)})
        return scored(self.name, float(passed), label, subject="plan", judge_key=_PLAN_KEY, figures=_counts(gold, used))

    def _of_reply(self, case: EvaluationCase, answers: Answers) -> Verdict:
        found = {i: answers.use(case.reply.visible_text, text) for i, text in labelled_pool(case).items()}
        if (out := unscored(self.name, found.values())) is not None:
            return out
        gold, used = case.gold, {i for i, answer in found.items() if answer.score}
        passed, label = self._outcome(gold, used)
        if passed is None:
            return excluded(self.name, label, figures={"used": len(used)})
        return joint(self.name, tuple(found.values()), float(passed), label, figures=_counts(gold, used))

    @abstractmethod
    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]: ...


def _counts(gold: Gold, used: set[str]) -> dict[str, object]:
    """Of each role, how many memories are used, of how many."""
    roles: tuple[MemoryRole, ...] = ("must", "nice", "irr")
    return {role: f"{len(of_role(gold, role) & used)}/{len(of_role(gold, role))}" for role in roles}


class Smc(_Strategic):
    """`smc`: strict memory compliance."""

    _base = "smc"
    _needs = ("must", "nice")

    def __init__(self, of: str = "reply", votes: int | None = None) -> None:
        if votes is not None:
            raise ConfigError(f"votes are the judge's: ask for --metric smc and --judge 'llm(votes={votes})'")
        super().__init__(of)

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        must, nice, irr = (of_role(gold, role) for role in ("must", "nice", "irr"))
        passed = smc_of(must, nice, irr, used)
        if not must <= used:
            label = "must missing"
        elif used & irr:
            label = "irrelevant used"
        else:
            label = "pass" if passed else "nice missing"
        return passed, label


class SmcMust(_Strategic):
    """`smc-must`: every must memory is used, where there is one; the first condition of `smc`."""

    _base = "smc-must"
    _needs = ("must",)

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        passed = of_role(gold, "must") <= used
        return passed, "all must used" if passed else "must missing"


class SmcNoIrr(_Strategic):
    """`smc-no-irr`: no irrelevant memory is used; the condition of `smc` that every item has."""

    _base = "smc-no-irr"
    _needs = ("must", "nice")

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        passed = not of_role(gold, "irr") & used
        return passed, "clean" if passed else "irrelevant used"


class NiceRate(_Strategic):
    """`nice-rate`: some nice memory is used, where there is one; the last condition of `smc`."""

    _base = "nice-rate"

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        passed = bool(of_role(gold, "nice") & used)
        return passed, "nice used" if passed else "nice missing"


class Pes(_Strategic):
    """`pes`: proactive enrichment, where must is satisfied and nice memories exist."""

    _base = "pes"

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        passed = pes_of(of_role(gold, "must"), of_role(gold, "nice"), used)
        return passed, "must not satisfied" if passed is None else "enriched" if passed else "plain"


class Cir(_Strategic):
    """`cir`: intrusion of an irrelevant memory, where nice memories exist; lower is better."""

    _base = "cir"
    lower_is_better = True

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        passed = cir_of(of_role(gold, "nice"), of_role(gold, "irr"), used)
        return passed, "intrusion" if passed else "clean"


class Use(_OfPool):
    """`use`: one verdict per memory of the pool, subject its id, with the words that show it."""

    _base = "use"
    _needs = ("must", "nice", "irr")

    def __init__(self) -> None:
        super().__init__("reply")

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict per pool item, in the pool's order."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        reply = case.reply.visible_text
        return [
            concluded(self.name, answers.use(reply, text), subject=item_id)
            for item_id, text in labelled_pool(case).items()
        ]


def used_in_plan(case: EvaluationCase) -> set[str]:
    """Pool items behind the plan's must and nice slots."""
    items = case.reply.retrieval.items if case.reply.retrieval else ()
    return set(planned_sources(case.reply.plan, items)) & set(case.pool_texts)


def planned_sources(plan: ResponsePlan | None, items: tuple[MemoryItem, ...]) -> frozenset[str]:
    """Ids of the memories in a plan's must and nice slots, and of the turns or pool items these were made from."""
    if plan is None or plan.speak == "silent":
        return frozenset()
    planned = {slot.memory_id for slot in plan.slots if slot.role != "suppress" and slot.speak != "silent"}
    sources = {s.turn_id for item in items if item.id in planned for s in item.sources if s.method != "unknown"}
    return frozenset(planned) | sources


def labelled_pool(case: EvaluationCase) -> dict[str, str]:
    """Texts of the pool items that have a role, by id, in the pool's order."""
    return {item_id: text for item_id, text in case.pool_texts.items() if ItemId(item_id) in case.gold.roles}


def of_role(gold: Gold, role: MemoryRole) -> set[str]:
    """Ids of the pool items that have this role."""
    return {item_id for item_id, its_role in gold.roles.items() if its_role == role}
