"""Judges of their own for tests, named on the command line as `PATH:Class`. They judge like `offline`, with slips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge
from mnemoscope.evaluators.judges.voting import vote

SAYS = '{"verdict": "<b onclick=go()>yes</b>", "because": "the kiln is named"}'
"""What the doubtful judge says, with mark-up that no page may run."""


def drawn(*parts: str) -> float:
    """A number in [0, 1) that depends on the texts alone."""
    return int(sha256("\x00".join(parts).encode()).hexdigest()[:8], 16) / 0x1_0000_0000


class _Like:
    """The offline judge under a key of its own, each answer changed."""

    def __init__(self, slip: Callable[[Question, Answer], Answer], name: str) -> None:
        self._slip, self.name = slip, name
        self._judge: Judge = open_judge("offline", JudgePorts())

    def key(self, task: Task) -> str:
        return f"stub-{self._judge.key(task)}" if self._judge.key(task) else ""

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        answers = await self._judge.judge(question)
        key = self.key(question.task)
        return tuple(replace(self._slip(question, answer), judge_key=key) for answer in answers)


class Failing(_Like):
    """Cannot be read on about a third of the questions, and times out on some."""

    def __init__(self) -> None:
        super().__init__(self._fail, "Failing")

    @staticmethod
    def _fail(question: Question, answer: Answer) -> Answer:
        at = drawn(question.task, question.reply, answer.subject)
        if at < 0.1:
            return Answer("judge-error:timeout", None, answer.subject, "error")
        return Answer("truncated", None, answer.subject, "invalid", raw="yes, be") if at < 0.35 else answer


class Flipping(_Like):
    """Gives the other label in 15 % of its votes; the majority of three stands."""

    OTHER = {"used": "not used", "not used": "used"}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(self._flip, "Flipping")

    @classmethod
    def _flip(cls, question: Question, answer: Answer) -> Answer:
        if answer.label not in cls.OTHER:
            return answer
        said = [
            cls.OTHER[answer.label] if drawn(question.reply, *(f.text for f in question.facts), str(n)) < 0.15
            else answer.label
            for n in range(3)
        ]  # fmt: skip
        won = vote(said)
        return replace(answer, label=won.label or "", score=float(won.label == "used"), agreement=won.agreement)


class Doubtful(_Like):
    """Says what it thinks, and suspects the reply of talking to it."""

    def __init__(self) -> None:
        super().__init__(self._doubt, "Doubtful")

    @staticmethod
    def _doubt(question: Question, answer: Answer) -> Answer:
        return replace(answer, raw=SAYS, prompt_sha="ab" * 32, flags=("injection",), agreement=2 / 3)
