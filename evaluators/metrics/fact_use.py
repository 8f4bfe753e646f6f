"""Fact use in dialog and implicit replies, graded and on two axes.

- ``fact-use``, for dialog and implicit probes with an answer: `full` 1, the reply holds the full substance, paraphrase
  and hedging allowed; `partial` 0.5, the central concept without the listed specifics; `none` 0, wrong, vague or left
  out (LoCoMo-Conv, arXiv 2609.03467, response metrics of the dialog and implicit styles). With several accepted
  answers, the best one counts.
- ``tied-use``, for implicit probes: 1 where the reply uses a gold fact *and* speaks to the situation that the
  utterance describes; the label says which of the two it does: `both`, `fact only`, `situation only`, `neither`
  (LoCoMo-Conv's two-axis analysis). Where the gold has several facts, using one is enough.

Deviations: questions of category 5 are left out by design and have metrics of their own (`hallucination`); a judge's
unreadable reply is `invalid`, where the release drops it. `tied-use` takes the fact axis from the same yes-or-no
answer as `integration`, so that the two cannot disagree.

The mean of oracle replies is well below 1 (.69 dialog, .77 implicit in the release's own tables, before its final
version): read a system's figure beside that of `oracle`.

Trivial policies: an empty reply or a refusal scores 0 on both; dumping the memory scores 1 on `fact-use` and 0 on
`tied-use`; a friendly reply without memory scores 0 on both (`situation only`).
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored, use_question
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import best_of, joint
from mnemoscope.evaluators.metrics.metric import excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["FactUse", "TiedUse"]


class FactUse:
    """`fact-use`: how much of the expected answer the reply holds."""

    name = "fact-use"
    family = "fact-use"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"fact-use"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Dialog and implicit probes that have an answer; those with facts alone belong to `integration`."""
        return probe.style in ("dialog", "implicit") and not gold.unanswerable and bool(gold.answers or not gold.facts)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes whose answer is not known."""
        return None if case.gold.answers else excluded(self.name, "no gold answer")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """How much of each accepted answer does the reply hold?"""
        probe, reply = case.probe, case.reply.visible_text
        return [Question("fact-use", reply, probe.text, probe.speaker, expected=answer) for answer in case.gold.answers]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        return [best_of(self.name, [answers.one(question) for question in self.questions(case)])]


class TiedUse:
    """`tied-use`: a fact used, and tied to the situation."""

    name = "tied-use"
    family = "fact-use"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"use", "tied"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Implicit probes that can be answered."""
        return probe.style == "implicit" and not gold.unanswerable

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without anything to bring in."""
        return None if case.gold.facts else excluded(self.name, "no gold fact")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is the reply tied to the situation, and is each fact used? Nothing to ask without a fact."""
        if not case.gold.facts:
            return []
        probe, reply = case.probe, case.reply.visible_text
        situation = Question("tied", reply, probe.text, probe.speaker)
        return [situation, *(use_question(reply, fact.text) for fact in case.gold.facts)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        tied, *uses = found = [answers.one(question) for question in self.questions(case)]
        if (missing := unscored(self.name, found)) is not None:
            return [missing]
        used, to_the_point = any(use.score for use in uses), bool(tied.score)
        label = "both" if used and to_the_point else "fact only" if used else _without_fact(to_the_point)
        figures = {"facts": len(uses), "used": sum(bool(use.score) for use in uses), "tied": to_the_point}
        return [joint(self.name, found, float(used and to_the_point), label, figures=figures)]


def _without_fact(to_the_point: bool) -> str:
    return "situation only" if to_the_point else "neither"
