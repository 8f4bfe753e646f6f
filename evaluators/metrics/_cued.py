"""What MemUse's gold gives its judges, and the question that verifies a fact: of several metrics, put once."""

from __future__ import annotations

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.question import Answer, Question
from mnemoscope.evaluators.judges.quotes import find_quote, is_evidence
from mnemoscope.scenarios.records import Gold

__all__ = ["SUMMARIES", "fact_questions", "has_cue", "is_negative", "is_verified", "reference_questions"]

SUMMARIES = "prior_summaries"
"""Where a negative instance has the summaries of all earlier sessions."""
_CUE, _QUESTION = "cue@", "question@"


def has_cue(gold: Gold) -> bool:
    """Whether the user's turn alludes to something that a natural reply should recall: MemUse's positive instances."""
    return any(name.startswith(_CUE) for name in gold.judge_inputs)


def is_negative(gold: Gold) -> bool:
    """Whether the user's turn needs no memory: MemUse's negative instances."""
    return SUMMARIES in gold.judge_inputs


def reference_questions(case: EvaluationCase) -> dict[str, Question]:
    """Fact id to the fact's own question, put to the natural reply; facts without a question are left out."""
    reply, inputs = case.reply.visible_text, case.gold.judge_inputs
    return {
        fact.fact_id: Question("answer", reply, asked, expected=fact.text)
        for fact in case.gold.facts
        if (asked := inputs.get(f"{_QUESTION}{fact.fact_id}"))
    }


def fact_questions(case: EvaluationCase) -> dict[str, Question]:
    """Fact id to the question that verifies it: its own where the gold has one, else whether the reply uses it.

    An own question says what a short answer is about ("Tuesday" is no sentence), so it goes first.
    """
    own = reference_questions(case)
    return {f.fact_id: own.get(f.fact_id) or use_question(case.reply.visible_text, f.text) for f in case.gold.facts}


def is_verified(answer: Answer, reply: str) -> bool:
    """Whether a fact was found, with words that stand in the reply."""
    if not answer.score or not answer.quote:
        return False
    passage = find_quote(reply, answer.quote)
    return passage is not None and is_evidence(passage)
