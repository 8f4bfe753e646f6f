"""Supportive recall: how much of what other systems cited did retrieval bring back? Secondary, and circular.

``supportive-recall@k``: share of a probe's supportive turns that the first k memories were made from (LoCoMo-Conv,
arXiv 2609.03467, supportive memories of the implicit style). It is never evidence: the turns are those that A-mem,
AnchorMem, BM25 and Dense cited themselves, judged useful by a model of one family. A system that resembles one of the
four scores well for that reason alone, and gold turns are not among them by construction.

``supportive-recall(k,without=A-mem)`` is the leave-one-system-out form for scoring a contributor: only turns that
another system named count, and turns whose systems the file does not say are left out.

Deviations: the release publishes the turns and no such score. Strict provenance; exclusions as in `retrieval`.

Trivial policies: returning nothing scores 0; returning everything scores 1; an oracle of the gold turns scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, Value
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.metrics._gold import has_provenance, methods_of
from mnemoscope.evaluators.metrics._ranking import size_of
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.metrics.retrieval import label_of
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["CONTRIBUTORS", "SupportiveRecall"]

CONTRIBUTORS = ("A-mem", "AnchorMem", "BM25", "Dense")
"""The systems whose citations the supportive memories are made of."""
_RULE = "supportive-1"
_METHODS = methods_of("strict")


class SupportiveRecall:
    """`supportive-recall@k`: secondary and circular; see the module.

    Args:
        k: Leading memories that count.
        without: A contributor whose own citations are left out.
    """

    family = "supportive"
    lower_is_better = False

    def __init__(self, k: int = 10, without: str = "") -> None:
        self.k = size_of("supportive-recall", k)
        self.without = next((name for name in CONTRIBUTORS if name.lower() == str(without).lower()), "")
        if without and not self.without:
            raise ConfigError(f"without is {without!r}; the supportive memories come from {', '.join(CONTRIBUTORS)}")
        options: dict[str, Value] = {"without": self.without} if self.without else {}
        self.name = str(Spec("supportive-recall", (k,), options, at=True))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with supportive memories."""
        return bool(gold.supportive)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes of which no supportive turn is left."""
        if self._wanted(case):
            return None
        return self._excluded("no supportive memory of another system" if self.without else "it is in the session")

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `retrieval`."""
        return [self.exclusion(case) or self._verdict(case)]

    def _verdict(self, case: EvaluationCase) -> Verdict:
        retrieval = case.reply.retrieval
        if retrieval is None:
            return self._excluded("no retrieval")
        items = retrieval.items[: self.k]
        if not retrieval.ranked and len(items) < retrieval.given:
            return self._excluded("no ranking to cut")
        if not has_provenance(items):
            return self._excluded("n/a")
        gold = self._wanted(case)
        found = {source.turn_id for item in items for source in item.sources if source.method in _METHODS}
        score = len(gold & found) / len(gold)
        figures = {"k": self.k, "supportive": len(gold), "hits": len(gold & found), "role": "secondary, circular"}
        return scored(self.name, score, label_of(score), subject="retrieval", judge_key=_RULE, figures=figures)

    def _wanted(self, case: EvaluationCase) -> frozenset[str]:
        named: Mapping[str, tuple[str, ...]] = case.gold.supportive
        turns = (turn for turn, systems in named.items() if not self.without or set(systems) - {self.without})
        return frozenset(turns) - case.recent_ids

    def _excluded(self, reason: str) -> Verdict:
        return excluded(self.name, reason, subject="retrieval", judge_key=_RULE)
