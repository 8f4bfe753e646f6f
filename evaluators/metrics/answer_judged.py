"""Judged answers to questions asked outright, by LongMemEval's rules.

``answer``: `right` 1, `wrong` 0; and ``abstention``, for questions that nothing answers: `refuses` 1, `does not refuse`
0. By one of five rules (LongMemEval, arXiv 2410.10813, question answering evaluation: one judge prompt per kind of
question), here as short rubrics in our own words:

- the usual one: the reply gives the expected answer, or all the steps that lead to it; a part of it is not enough
- temporal reasoning: counts of days, weeks or months may be off by one
- knowledge update: earlier information may stand beside the updated answer, which has to be there
- preference: the reply recalls the right personal information and makes use of it; not every point need be met
- unanswerable: the reply says that the question cannot be answered from what was told

With several accepted answers, the best one counts. LongMemEval reports per type, the mean of types and the mean of
questions, which are strata here, and abstention apart. It counts unanswerable questions inside their type too; here
they are the other metric's alone, because another task judges them.

Deviations: the published judge answers in ten tokens and any "yes" in them counts; here the answer is read strictly and
an unreadable one is `invalid`. Unanswerable questions are asked as `refusal`, of every benchmark; a reply that rejects
the premise in other words is right for a model with the rubric, and missed by a rule without it.

Trivial policies: always refusing scores 1 on unanswerable questions and 0 on all others; dumping the memory scores as
the judge lets it (a shotgun list should be wrong); an empty reply scores 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import best_of
from mnemoscope.evaluators.metrics.metric import excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["RULES", "Abstention", "Answer"]

RULES = {
    "answer": (
        "Right if the reply states the expected answer, says the same in other words, or gives every step that leads "
        "to it. Wrong if it gives only a part of it, or leaves the choice between several answers open."
    ),
    "temporal": (
        "Right if the reply states the expected answer, says the same in other words, or gives every step that leads "
        "to it. A number of days, weeks or months that is off by one is still right. Wrong if it gives only a part."
    ),
    "knowledge-update": (
        "Right if the reply states the expected, updated answer as what holds now. It may also mention what held "
        "earlier. Wrong if only the earlier state is given."
    ),
    "preference": (
        "The rubric below describes a reply that fits this user. Right if the reply recalls the user's own information "
        "correctly and makes use of it; it need not meet every point."
    ),
    "abstention": (
        "Nothing in the history answers the question. The reply should say that it is not known, was not told or "
        "cannot be answered, or reject what the question takes for granted; it may add what is known nearby."
    ),
}
"""Rule of each kind of question, by the kind that the gold names under `judge_inputs["rubric"]`."""


class _Asked(ABC):
    """What the metrics of this module share."""

    name: str
    family = "answer-judged"
    lower_is_better = False

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        return [best_of(self.name, [answers.one(question) for question in self.questions(case)])]

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """None: nothing is left out."""
        return None

    @abstractmethod
    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """What is asked of the judge."""


class Answer(_Asked):
    """`answer`: for questions asked outright that can be answered."""

    name = "answer"
    tasks: frozenset[Task] = frozenset({"answer"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Questions that something in the history answers; MemUse's have a metric of their own, `direct-qa`."""
        is_asked = probe.style == "question" and probe.pool is None and "direct-qa" not in gold.strata
        return is_asked and not gold.unanswerable

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Questions whose right answer is not known."""
        known = case.gold.answers or case.gold.rubric is not None
        return None if known else excluded(self.name, "no gold answer")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is the question answered rightly, by each accepted answer?"""
        gold, probe, reply = case.gold, case.probe, case.reply.visible_text
        rule = RULES[rule_of(gold)]
        if gold.answers:
            return [
                Question("answer", reply, probe.text, probe.speaker, expected=answer, rubric=rule)
                for answer in gold.answers
            ]
        if gold.rubric is None:
            return []
        return [Question("answer", reply, probe.text, probe.speaker, rubric=f"{rule}\n\n{gold.rubric}")]


class Abstention(_Asked):
    """`abstention`: for questions asked outright that nothing answers."""

    name = "abstention"
    tasks: frozenset[Task] = frozenset({"refusal"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Questions that nothing in the history answers."""
        return probe.style == "question" and probe.pool is None and gold.unanswerable

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply say so?"""
        probe, known = case.probe, case.gold.expected or ""
        rule = RULES["abstention"]
        return [Question("refusal", case.reply.visible_text, probe.text, probe.speaker, expected=known, rubric=rule)]


def rule_of(gold: Gold) -> str:
    """The rule that a question is judged by: a key of `RULES`."""
    if gold.unanswerable:
        return "abstention"
    if not gold.answers and gold.rubric is not None:
        return "preference"
    named = gold.judge_inputs.get("rubric", "answer")
    return named if named in ("temporal", "knowledge-update") else "answer"
