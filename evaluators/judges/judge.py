"""What a judge is, and what is made of questions that it could not answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from mnemoscope.evaluators.judges.question import Answer, Fact, Question, Task
from mnemoscope.evaluators.verdict import Verdict

__all__ = ["Answers", "Composite", "Judge", "unscored", "use_question"]


@runtime_checkable
class Judge(Protocol):
    """Answers questions about visible replies.

    A judge never raises for what a reply or a model says: that is an answer with status `invalid` or `error`. It raises
    `BudgetStop` where a limit is reached, and nothing else by design.
    """

    @property
    def name(self) -> str:
        """A name that `open_judge` reads back as this judge."""

    def key(self, task: Task) -> str:
        """What answers to this task are bound to: prompt or rule, model, parameters and parser. Empty: cannot judge it.

        Answers of two keys are never averaged and never compared.
        """

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        """One answer for the reply, or one per fact or axis, in the order of the question; each carries `key(task)`."""


@runtime_checkable
class Composite(Protocol):
    """A judge that asks others; what these answer is checked, and cut, where they are asked."""

    @property
    def members(self) -> tuple[Judge, ...]:
        """Whom it asks."""


class Answers:
    """The answers to all questions that the metrics of one evaluation have.

    Args:
        found: Question to answers.
    """

    def __init__(self, found: Mapping[Question, Sequence[Answer]] | None = None) -> None:
        self._found = dict(found or {})

    def of(self, question: Question) -> tuple[Answer, ...]:
        """All answers to a question; `KeyError` where it was not asked."""
        return tuple(self._found[question])

    def one(self, question: Question, subject: str = "reply") -> Answer:
        """The answer about one subject of a question.

        Where the judge failed on the whole question, that failure stands for every subject; where it left the subject
        out, its answer is `missing`, bound to the key of the others.
        """
        found = self._found[question]
        named = next((answer for answer in found if answer.subject == subject), None)
        whole = next((answer for answer in found if answer.subject == "reply" and answer.status != "scored"), None)
        key = found[0].judge_key if found else ""
        return named or whole or Answer("missing", None, subject, "invalid", judge_key=key)

    def use(self, reply: str, fact: str) -> Answer:
        """Whether a reply uses a fact; see `use_question`."""
        return self.one(use_question(reply, fact))


def use_question(reply: str, fact: str) -> Question:
    """Does the reply use the fact? Judged from these two texts alone."""
    return Question("use", reply, facts=(Fact("reply", fact),))


def unscored(metric: str, answers: Iterable[Answer], subject: str = "reply") -> Verdict | None:
    """The verdict of a metric whose answers are not all scored: the gravest of them decides; None where all are.

    Args:
        metric: The metric's name.
        answers: What it rests on.
        subject: Of the verdict.
    """
    failed = [a for a in answers if a.status != "scored"]
    if not failed:
        return None
    worst = max(failed, key=lambda a: ("not_applicable", "invalid", "error").index(a.status))
    return Verdict(
        metric, subject, worst.label, None, worst.status, prompt_sha=worst.prompt_sha, raw=worst.raw, quote=worst.quote,
        flags=worst.flags,
    )  # fmt: skip
