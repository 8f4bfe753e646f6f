"""Verdicts from a file: another run's judge, a person's, or a judge that cannot be asked here.

A question is matched by `question_sha`, the hash of all that a judge sees (task, reply, utterance, facts, expected
text, premise, context, rubric). A question has no id of a scenario or a system, so a recorded verdict holds for equal
texts wherever they come from, and for no others. Reports of other harnesses that name instances instead of texts are
read by `mnemoscope import --verdicts`, which puts their labels into a run file.

The file is JSON lines, one row per answer (`rows.AnswerRow`). `recording(JUDGE,file=PATH)` writes it. By hand, a row
needs a question (in full, or its hash), the task and a label::

    {"task": "use", "subject": "f1", "label": "used", "judge": "Ines", "question": {"task": "use", "reply": "…",
     "facts": [{"fact_id": "f1", "text": "…"}]}}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.rows import AnswerRow, question_sha, read_rows
from mnemoscope.evaluators.judges.scales import LABELS, label_score

__all__ = ["RecordedJudge", "recorded"]

_NOT_RECORDED = "not recorded"


class RecordedJudge:
    """Gives back the answers of one judge from a file. What is not in it is `not_applicable`, "not recorded".

    Args:
        file: JSON lines of `AnswerRow`.
        judge: Whose rows; None: the file must hold one judge's only of each task.

    Raises:
        DataError: A row that is not as described, a label that the task does not have, or two answers to one question.
        ConfigError: No such file or judge, or several judges of one task and none chosen.
    """

    def __init__(self, file: Path, judge: str | None = None) -> None:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read recorded verdicts from {file}: {error.strerror}; check file=") from error
        rows = read_rows(content, file)
        judges = sorted({row.judge for _, row in rows})
        if judge is not None and judge not in judges:
            raise ConfigError(f"{file} holds no verdicts of judge {judge!r}; it has: {_named(judges)}")
        self._file, self._given = file, judge
        self._sha = sha256_of(content)
        self._found: dict[tuple[str, str], Answer] = {}
        self._judges: dict[Task, str] = {}
        for number, row in rows:
            if judge in (None, row.judge):
                self._add(number, row)

    @property
    def name(self) -> str:
        """`recorded(file=PATH)`, with the judge where one was chosen."""
        chosen = {} if self._given is None else {"judge": self._given}
        return str(Spec("recorded", (), {"file": str(self._file), **chosen}))

    def key(self, task: Task) -> str:
        """The recorded judge and the hash of the file; empty for a task of which the file has nothing."""
        if task not in self._judges:
            return ""
        return str(Spec("recorded", (), {"task": task, "file": self._sha[:12], "judge": self._judges[task]}))

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        """The recorded answers in the order of the question's facts; those of one judge's other subjects follow."""
        key, sha = self.key(question.task), question_sha(question)
        known = {subject: answer for (of, subject), answer in self._found.items() if of == sha} if key else {}
        wanted = _subjects(question, known)
        missing = Answer(_NOT_RECORDED, None, status="not_applicable")
        return tuple(_with(known.get(subject, missing), subject, key) for subject in wanted)

    def _add(self, number: int, row: AnswerRow) -> None:
        if (one := self._judges.setdefault(row.task, row.judge)) != row.judge:
            raise ConfigError(
                f"{self._file} holds verdicts of several judges on task {row.task}; choose one with judge=: "
                f"{_named(sorted({one, row.judge}))}"
            )
        place = (row.asked_sha, row.subject)
        answer = Answer(
            row.label,
            _score(self._file, number, row),
            row.subject,
            row.status,
            prompt_sha=row.prompt_sha,
            raw=row.raw,
            quote=row.quote,
            agreement=row.agreement,
            flags=row.flags,
        )
        before = self._found.setdefault(place, answer)
        if (before.label, before.status) != (answer.label, answer.status):
            raise DataError(
                "the same question is answered in two ways",
                file=self._file,
                record=f"line {number}",
                field="label",
                seen=row.label,
                fix=f"an earlier line says {before.label!r}; keep one, or tell the judges apart in the field judge",
            )


def recorded(*, file: str, judge: str | None = None) -> RecordedJudge:
    """Answers from a file: those of people, or of a judge that was asked before; by everything that a judge sees.

    Args:
        file: JSON lines, as `recording` writes them.
        judge: Whose rows; None: the file holds one judge's only of each task.
    """
    return RecordedJudge(Path(str(file)), judge if judge is None else str(judge))


def _score(file: Path, number: int, row: AnswerRow) -> float | None:
    if row.status != "scored":
        return None
    score = label_score(row.task, row.label, row.subject)
    if score is None or row.score not in (None, score):
        field, seen = ("label", row.label) if score is None else ("score", row.score)
        known = ", ".join(f"{label} ({value:g})" for label, value in LABELS[row.task].items())
        raise DataError(
            f"no {field} of task {row.task}", file=file, record=f"line {number}", field=field, seen=seen,
            fix=f"labels are: {known}",
        )  # fmt: skip
    return score


def _subjects(question: Question, known: Mapping[str, Answer]) -> list[str]:
    """Every fact asked about where the answer is one per fact, else what is recorded, else the reply."""
    facts = [fact.fact_id for fact in question.facts] if question.task in ("use", "coverage", "references") else []
    return list(dict.fromkeys((*facts, *known))) or ["reply"]


def _with(answer: Answer, subject: str, key: str) -> Answer:
    return Answer(
        answer.label, answer.score, subject, answer.status, key, answer.prompt_sha, answer.raw, answer.quote,
        answer.agreement, answer.flags,
    )  # fmt: skip


def _named(judges: list[str]) -> str:
    return ", ".join(repr(judge) for judge in judges) or "none"
