"""Composed replies: how many of the facts that a cluster needs does the reply state?

With one fact per member question of the cluster, never split further (LoCoMo-Conv, arXiv 2609.03467, response metric
of the composed style; two facts per published cluster, so its values are 0, 0.5 and 1):

- ``atomic-coverage = stated / judged`` facts; the macro mean over clusters is the published coverage
- ``atomic-all``: 1 where every fact is stated, the published strict share
- ``atomic-none``: 1 where no fact is stated; lower is better

Deviations: the judge's answers are joined by fact id, where the release aligns them by position and pads with "not
covered". A fact that the judge failed on is never "not stated": the coverage is of the judged facts, and its figures
say how many of how many they were; with none judged there is no score. `atomic-all` and `atomic-none` are scored where
the judged facts decide them, whatever the others are.

Trivial policies: an empty reply or a refusal scores 0, 0 and 1; dumping the memory scores 1, 1 and 0: read them beside
`cir` or the reply's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import Tally, facts_of, joint, tally_of
from mnemoscope.evaluators.metrics.metric import excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["AtomicAll", "AtomicCoverage", "AtomicNone"]


class AtomicCoverage:
    """`atomic-coverage`: the share of facts stated."""

    name: ClassVar[str] = "atomic-coverage"
    family = "atomic"
    lower_is_better: ClassVar[bool] = False
    tasks: frozenset[Task] = frozenset({"coverage"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Composed probes."""
        return probe.style == "composed" and not gold.unanswerable

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Clusters without facts."""
        return None if case.gold.facts else excluded(self.name, "no gold fact")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Which of the facts does the reply state?"""
        facts = facts_of(case)
        if not facts:
            return []
        return [Question("coverage", case.reply.visible_text, case.probe.text, case.probe.speaker, facts)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        (question,) = self.questions(case)
        tally = tally_of(answers, question)
        missing = tally.missing(self.name)
        if missing is not None and not self._is_decided(tally):
            return [missing]
        return [joint(self.name, tally.answers, self._score(tally), tally.label, figures=tally.figures())]

    def _is_decided(self, tally: Tally) -> bool:
        """Whether the judged facts give a score although there are others."""
        return tally.judged > 0

    def _score(self, tally: Tally) -> float:
        return tally.found / tally.judged


class AtomicAll(AtomicCoverage):
    """`atomic-all`: every fact stated."""

    name = "atomic-all"

    def _is_decided(self, tally: Tally) -> bool:
        return tally.found < tally.judged

    def _score(self, tally: Tally) -> float:
        return float(tally.found == len(tally.answers))


class AtomicNone(AtomicCoverage):
    """`atomic-none`: no fact stated; lower is better."""

    name = "atomic-none"
    lower_is_better = True

    def _is_decided(self, tally: Tally) -> bool:
        return tally.found > 0

    def _score(self, tally: Tally) -> float:
        return float(not tally.found)
