"""A judge's answers as rows of a file, each under the hash of its question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.evaluators.json_lines import json_lines
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.verdict import VerdictStatus

__all__ = ["AnswerRow", "answer_rows", "question_sha", "read_rows"]


class AnswerRow(BaseModel):
    """One answer about one subject of one question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_sha: str | None = None
    """`question_sha` of the question; or give the question itself."""
    question: Question | None = None
    """The question in full; the first row of each question is enough, and none is needed beside the hash."""
    task: Task
    """What is judged."""
    subject: str = "reply"
    """`reply`, a fact's id, an axis, or `others`."""
    label: str
    """A label of the task, or the reason why there is none."""
    score: float | None = None
    """Optional: the label says it; another score than the label's is refused."""
    status: VerdictStatus = "scored"
    """Whether there is a score."""
    judge: str = ""
    """Who judged: a judge's key, or a person."""
    quote: str = ""
    """Words of the reply that the answer rests on."""
    agreement: float | None = None
    """Share of the votes for this label, 0–1."""
    flags: tuple[str, ...] = ()
    """What a reader should look at."""
    prompt_sha: str = ""
    """Hash of the prompt that was sent."""
    raw: str = ""
    """What the judge said, as received."""
    id: str = ""
    """The writer's own name for the row; not read."""

    @property
    def asked_sha(self) -> str:
        """The hash of the question that it answers; empty where neither question nor hash is given."""
        return self.question_sha or (question_sha(self.question) if self.question is not None else "")


def question_sha(question: Question) -> str:
    """sha256 of everything that a judge sees: equal questions, and only these, have one hash."""
    facts = [[fact.fact_id, fact.text] for fact in question.facts]
    texts = (question.reply, question.utterance, question.speaker, question.expected, question.premise)
    rest = (question.context, question.rubric, question.other)
    written = canonical_json(["question-1", question.task, *texts, *rest, facts])
    return sha256_of(written.encode(errors="surrogatepass"))


def answer_rows(question: Question, answers: Sequence[Answer]) -> Iterator[AnswerRow]:
    """Answers as rows; the first one holds the question.

    Args:
        question: What was asked.
        answers: All answers to it.
    """
    sha = question_sha(question)
    for place, answer in enumerate(answers):
        yield AnswerRow(
            question_sha=sha,
            question=question if place == 0 else None,
            task=question.task,
            subject=answer.subject,
            label=answer.label,
            score=answer.score,
            status=answer.status,
            judge=answer.judge_key,
            quote=answer.quote,
            agreement=answer.agreement,
            flags=answer.flags,
            prompt_sha=answer.prompt_sha,
            raw=answer.raw,
        )


def read_rows(content: bytes, file: Path) -> list[tuple[int, AnswerRow]]:
    """The rows of a file with the numbers of their lines.

    Args:
        content: What the file holds.
        file: Its name, for messages.

    Raises:
        DataError: A row that is not as `AnswerRow` says, without a question, or with another's hash.
    """
    rows = json_lines(content, file, AnswerRow)
    for number, row in rows:
        _check(row, number, file)
    return rows


def _check(row: AnswerRow, number: int, file: Path) -> None:
    place = f"line {number}"
    if row.question_sha is None and row.question is None:
        fix = "give the question in full, or the hash that `recording` wrote"
        raise DataError("a row without a question", file=file, record=place, field="question_sha", fix=fix)
    if row.question is not None:
        sha = question_sha(row.question)
        if row.question.task != row.task or row.question_sha not in (None, sha):
            raise DataError(
                "question and row do not fit", file=file, record=place, field="question_sha", seen=row.question_sha,
                fix="the task must be the same, and the hash that of the question; leave question_sha out",
            )  # fmt: skip
