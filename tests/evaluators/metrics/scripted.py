"""A judge that answers from a script, for tests of judged metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.verdict import Verdict
from tests.evaluators.judging import verdicts_of

Script = Mapping[str, Callable[[Question], Sequence[Answer]]]


class Scripted:
    """Answers each task by a function of the question; a task that has none must not be asked."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        self.script, self.asked = script, list[Question]()

    def key(self, task: Task) -> str:
        return f"{task}-key"

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        self.asked.append(question)
        return tuple(self.script[question.task](question))


def says(task: str, label: str, score: float | None, *, subject: str = "reply", **more: object) -> Answer:
    """An answer under the key of the scripted judge; no score is an unreadable reply unless told otherwise."""
    status = more.pop("status", "scored" if score is not None else "invalid")
    return Answer(label, score, subject, status, f"{task}-key", "sha", **more)  # type: ignore[arg-type]


def always(task: str, label: str, score: float | None, **more: object) -> Script:
    """One answer to every question of a task."""
    return {task: lambda question: [says(task, label, score, **more)]}


def by_text(task: str, found: Mapping[str, float | None], yes: str = "yes", no: str = "no") -> Script:
    """Per fact: the score that its text has in a table; None is an unreadable answer, absent a left-out fact."""
    return {
        task: lambda question: [
            says(task, yes if found[f.text] else no, found[f.text], subject=f.fact_id)
            for f in question.facts
            if f.text in found
        ]
    }


def only(metric: str, case: EvaluationCase, script: Script | None = None) -> Verdict:
    """The one verdict of a metric on a case."""
    (verdict,) = verdicts_of(metric, case, Scripted(script or {}))
    assert verdict.metric == metric
    return verdict
