"""MemUse's negatives: is an earlier conversation brought up where nothing calls for it, and is any of it true?

For turns that need no memory, by two yes-or-no or graded questions to a judge (MemUse, arXiv 2608.24189, negatives):

- ``unprompted-recall``: 1 where the reply asserts or brings up a particular earlier conversation
- ``fabricated-recall`` (the headline), ``partially-grounded-recall``, ``grounded-recall``: 1 where it does *and* what
  it recalls is not, in part or fully in the summaries of all earlier sessions

Each rate is over all negatives, as published; the last three add up to the first. Lower is better for all four: the
moment asked for nothing.

Deviations: grounding that cannot be read is `invalid`, where the release takes it for fabricated. Because questions are
put before answers are known, grounding is asked of every reply and read only where something was recalled; where
nothing was, no answer to it can change the 0. An instance without summaries is left out of the grounded rates whatever
the reply, because nothing can be checked.

The published rates are 0 of 72 for all three systems tested, of which the upper bound is 5 % (Wilson): a 0 here says
little. False premises (`correction`) and questions about what was never said (`hallucination`) are harder negatives.

Trivial policies: an empty reply, a refusal or the user's own words score 0, the best, on all four; a phrase such as "as
you told me" scores 1 on `unprompted-recall`; dumping the memory scores 1 there and on `grounded-recall`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._cued import SUMMARIES, is_negative
from mnemoscope.evaluators.metrics._joint import joint
from mnemoscope.evaluators.metrics.metric import concluded, excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["FabricatedRecall", "GroundedRecall", "PartiallyGroundedRecall", "UnpromptedRecall"]

_LABELS = ("ungrounded", "partly grounded", "grounded")
"""By the level of grounding."""


class UnpromptedRecall:
    """`unprompted-recall`: an earlier conversation is brought up unasked; lower is better."""

    name = "unprompted-recall"
    family = "negatives"
    lower_is_better = True
    tasks: frozenset[Task] = frozenset({"unprompted"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """MemUse's negative instances."""
        return is_negative(gold)

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply bring up an earlier conversation?"""
        return [_recall_question(case)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        return [concluded(self.name, answers.one(_recall_question(case)))]


class _Grounded:
    """One level of grounding among all negatives."""

    name: ClassVar[str]
    family = "negatives"
    lower_is_better = True
    tasks: frozenset[Task] = frozenset({"unprompted", "grounding"})
    _level: ClassVar[int]

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """MemUse's negative instances."""
        return is_negative(gold)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Instances without earlier summaries."""
        known = case.gold.judge_inputs.get(SUMMARIES, "").strip()
        return None if known else excluded(self.name, "no summaries to check against")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply bring something up, and how far is it in the summaries?"""
        if self.exclusion(case) is not None:
            return []
        summaries = case.gold.judge_inputs[SUMMARIES]
        return [_recall_question(case), Question("grounding", case.reply.visible_text, context=summaries)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        recall, grounding = both = [answers.one(question) for question in self.questions(case)]
        if not recall.score:  # quiet, or not readable: grounding decides nothing
            return [concluded(self.name, recall, label="nothing recalled")]
        if (missing := unscored(self.name, both)) is not None:
            return [missing]
        level = int(grounding.score or 0)
        return [joint(self.name, both, float(level == self._level), _LABELS[level], figures={"grounding": level})]


class FabricatedRecall(_Grounded):
    """`fabricated-recall`: nothing of what is brought up is so; lower is better."""

    name = "fabricated-recall"
    _level = 0


class PartiallyGroundedRecall(_Grounded):
    """`partially-grounded-recall`: a part of what is brought up is so; lower is better."""

    name = "partially-grounded-recall"
    _level = 1


class GroundedRecall(_Grounded):
    """`grounded-recall`: all of what is brought up is so; lower is better."""

    name = "grounded-recall"
    _level = 2


def _recall_question(case: EvaluationCase) -> Question:
    return Question("unprompted", case.reply.visible_text, case.gold.judge_inputs.get("cue", case.probe.text))
