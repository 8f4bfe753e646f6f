"""Integration: does the visible reply bring in what the history knows?

``integration``, per gold fact: 1 where the judge finds the fact used in the visible reply, else 0; a cell's score is
the mean over its facts (LoCoMo-Conv, composed style: coverage = covered / total). For dialog and implicit probes with
one fact it is the share of replies that say it.

Deviations: the published score is a model's graded judgement (0, 0.5, 1) that accepts paraphrase; with the offline
judge this is the deterministic floor under it. Where a judge finds no use, a rule tells why: a fact given to another
person is labelled `misattributed`, one with another number, date or polarity `wrong`, all else `not said`; all score 0.
Silent use (the fact shapes the reply unsaid) is not seen.

Trivial policies: an empty reply or a refusal scores 0; dumping the memory scores 1: read it beside `cir` or `timing`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.offline import examine
from mnemoscope.evaluators.judges.judge import Answers, use_question
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.metrics.metric import concluded, excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Integration"]

_STYLES = frozenset({"question", "dialog", "implicit", "counterfactual", "composed", "recollection", "plan"})


class Integration:
    """`integration`: one verdict per gold fact."""

    name = "integration"
    family = "use"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"use"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with something to bring in; pools and moments have metrics of their own."""
        return probe.style in _STYLES and not gold.unanswerable

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without anything to bring in."""
        return None if case.gold.facts else excluded(self.name, "no gold fact")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is each fact used?"""
        return [use_question(case.reply.visible_text, fact.text) for fact in case.gold.facts]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict per fact, subject its id."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        reply = case.reply.visible_text
        found = ((fact, answers.use(reply, fact.text)) for fact in case.gold.facts)
        return [
            concluded(self.name, answer, subject=fact.fact_id, label=_label(answer, reply, fact.text))
            for fact, answer in found
        ]


def _label(answer: Answer, reply: str, fact: str) -> str:
    if answer.score:
        return "used"
    clash = examine(reply, fact).clash
    return "misattributed" if clash == "person" else "wrong" if clash else "not said"
