"""StratMem-Bench: did the reply use what it must, something that is nice, and nothing irrelevant?

With M, N, I the must, nice and irrelevant memories of a probe's pool and U those that are used (arXiv 2604.26243,
section 4):

- ``smc`` (strict memory compliance), per item: ``M ⊆ U``, ``U ∩ I = ∅``, and ``U ∩ N ≠ ∅`` where N is not empty. The
  rate is passes over all items of a stratum; "all" is the micro rate over every item.
- ``cir`` (contextual intrusion rate, lower is better): ``#{N ≠ ∅ and U ∩ I ≠ ∅} / #{N ≠ ∅}``. The denominator is
  every item with nice memories, whether or not its must memories are used; items without an irrelevant memory stay in.
- ``pes`` (proactive enrichment score): ``#{N ≠ ∅, M ⊆ U, U ∩ N ≠ ∅} / #{N ≠ ∅, M ⊆ U}``. The condition depends on the
  system, so its denominator does too; for items without must memories it always holds.
- ``use``: one verdict per memory, 1 where it is used; what the three above are made of.

``of=reply`` (default) decides use with the detector from the reply's visible text and the memory's text, and nothing
else. ``of=plan`` takes the memories of the plan's must and nice slots, silent ones left out, as used: a figure of
selection, not of generation, and never to be put beside published ones.

Deviations: the published judge is a model with three votes that must quote. The exact published formula of PES is
unverified; this one follows the paper's words.

Trivial policies: using nothing gives SMC 0, CIR 0; using everything gives PES 1, CIR 1 (where I is not empty) and
SMC only where I is empty; an oracle gives 1, 1, 0.
"""

from __future__ import annotations

from typing import ClassVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import UseDetector
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, MemoryRole, Probe

__all__ = ["Cir", "Pes", "Smc", "Use", "cir_of", "pes_of", "planned_sources", "smc_of"]


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


class _Strategic:
    """What the metrics of this module share.

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
        if any(_of_role(case.gold, role) for role in self._needs):
            return None
        return excluded(self.name, f"no {' or '.join(self._needs)} memory in the pool", subject=self.of)

    def evaluate(self, case: EvaluationCase, detector: UseDetector) -> list[Verdict]:
        """One verdict on subject `reply` or `plan`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        if self.of == "plan" and case.reply.plan is None:
            return [excluded(self.name, "no plan", subject="plan", judge_key="plan-1")]
        key = detector.key if self.of == "reply" else "plan-1"
        used = used_in_reply(case, detector) if self.of == "reply" else used_in_plan(case)
        passed, label = self._outcome(case.gold, used)
        if passed is None:
            return [excluded(self.name, label, subject=self.of, judge_key=key, figures={"used": len(used)})]
        counts: dict[str, object] = {
            role: f"{len(_of_role(case.gold, role) & used)}/{len(_of_role(case.gold, role))}"
            for role in ("must", "nice", "irr")
        }
        return [scored(self.name, float(passed), label, subject=self.of, judge_key=key, figures=counts)]

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        raise NotImplementedError


class Smc(_Strategic):
    """`smc`: strict memory compliance."""

    _base = "smc"
    _needs = ("must", "nice")

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        must, nice, irr = (_of_role(gold, role) for role in ("must", "nice", "irr"))
        passed = smc_of(must, nice, irr, used)
        if not must <= used:
            label = "must missing"
        elif used & irr:
            label = "irrelevant used"
        else:
            label = "pass" if passed else "nice missing"
        return passed, label


class Pes(_Strategic):
    """`pes`: proactive enrichment, where must is satisfied and nice memories exist."""

    _base = "pes"

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        passed = pes_of(_of_role(gold, "must"), _of_role(gold, "nice"), used)
        return passed, "must not satisfied" if passed is None else "enriched" if passed else "plain"


class Cir(_Strategic):
    """`cir`: intrusion of an irrelevant memory, where nice memories exist; lower is better."""

    _base = "cir"
    lower_is_better = True

    def _outcome(self, gold: Gold, used: set[str]) -> tuple[bool | None, str]:
        passed = cir_of(_of_role(gold, "nice"), _of_role(gold, "irr"), used)
        return passed, "intrusion" if passed else "clean"


class Use(_Strategic):
    """`use`: one verdict per memory of the pool, subject its id, with the words that show it."""

    _base = "use"
    _needs = ("must", "nice", "irr")

    def __init__(self) -> None:
        super().__init__("reply")

    def evaluate(self, case: EvaluationCase, detector: UseDetector) -> list[Verdict]:
        """One verdict per pool item, in the pool's order."""
        verdicts = []
        for item_id, text in case.pool_texts.items():
            if (role := case.gold.roles.get(ItemId(item_id))) is None:
                continue
            use = detector.detect(case.reply.visible_text, text)
            verdicts.append(
                scored(
                    self.name,
                    float(use.used),
                    "used" if use.used else "unused",
                    subject=item_id,
                    judge_key=detector.key,
                    quote=use.quote,
                    figures={"role": role, "coverage": use.score},
                )
            )
        return verdicts


def used_in_reply(case: EvaluationCase, detector: UseDetector) -> set[str]:
    """Pool items that the visible reply uses."""
    text = case.reply.visible_text
    return {item_id for item_id, fact in case.pool_texts.items() if detector.detect(text, fact).used}


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


def _of_role(gold: Gold, role: MemoryRole) -> set[str]:
    return {item_id for item_id, its_role in gold.roles.items() if its_role == role}
