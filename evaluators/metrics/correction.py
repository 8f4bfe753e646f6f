"""Correction: is something wrong that the user takes for granted put right, and is nothing put right that was right?

- ``correction``, for probes with a false premise: `corrected` 1, the truth is stated, whether or not the error is
  pointed out and whether or not the premise is quoted first; `vague` 0.5, doubt, refusal or denial without the truth;
  `unaware` 0, the premise is taken over or passed by; `wrong correction` 0, something third is put in its place
  (LoCoMo-Conv, counterfactual style: C, B, A; the last label is ours and counts as A).
- ``false-correction``, for probes without one: 1 where the reply corrects the user or contradicts what the history
  knows, else 0; lower is better.

The offline judge tells truth from premise by the words, numbers, dates and weekdays that only one of them holds. A
reply that states both counts as corrected, because premises are quoted in order to correct them.

Deviations: the published judge is a model; the offline one does not see an indirect correction without the
distinguishing words.

Trivial policies: always refusing scores 0.5 on `correction` and 0 on `false-correction`; correcting always scores 0 on
`correction` (as a wrong correction) and 1 on `false-correction`; dumping the memory scores 1 and 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.judges.question import Fact, Question, Task
from mnemoscope.evaluators.metrics.metric import concluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Correction", "FalseCorrection"]


class Correction:
    """`correction`: for probes with a false premise."""

    name = "correction"
    family = "correction"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"correction"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes in which the user asserts something that the history contradicts."""
        return gold.false_premise is not None

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """What does the reply make of the premise?"""
        premise = case.gold.false_premise
        if premise is None:
            return []
        probe, reply = case.probe, case.reply.visible_text
        return [
            Question("correction", reply, probe.text, probe.speaker, expected=premise.truth, premise=premise.asserted)
        ]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        return [concluded(self.name, answers.one(question)) for question in self.questions(case)]


class FalseCorrection:
    """`false-correction`: for probes in which nothing is wrong; lower is better."""

    name = "false-correction"
    family = "correction"
    lower_is_better = True
    tasks: frozenset[Task] = frozenset({"objection"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes without a false premise whose user says something that could be contradicted."""
        return (
            gold.false_premise is None and not gold.unanswerable and probe.style in ("dialog", "implicit", "composed")
        )

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply object to something?"""
        facts = tuple(Fact(fact.fact_id, fact.text) for fact in case.gold.facts)
        return [Question("objection", case.reply.visible_text, case.probe.text, case.probe.speaker, facts)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        return [concluded(self.name, answers.one(question)) for question in self.questions(case)]
