"""Writes down what a judge answers, so that `recorded` can give it back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.judges.asking import ask
from mnemoscope.evaluators.judges.judge import Composite, Judge
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.rows import answer_rows, question_sha, read_rows

if TYPE_CHECKING:
    from mnemoscope.evaluators.judges.registry import JudgePorts

__all__ = ["Recording", "recording", "writes_down"]


class Recording:
    """Another judge, whose answers are appended to a JSON-lines file as they come.

    Answers and keys are those of the judge itself. All answers to one question are written at once, so that several
    processes may write to one file. What stands in the file already is not written again, so that a recording can be
    gone on with. Errors are not written: they say nothing about the question.

    Args:
        judge: Who answers.
        file: Where the rows go; what it holds stays.

    Raises:
        ConfigError: The file cannot be read, or there is no such folder.
        DataError: What the file holds are no judgements.
    """

    def __init__(self, judge: Judge, file: Path) -> None:
        self._judge, self._file = judge, file
        self._written = _written(file)

    @property
    def name(self) -> str:
        """`recording(JUDGE,file=PATH)`."""
        return str(Spec("recording", (self._judge.name,), {"file": str(self._file)}))

    @property
    def members(self) -> tuple[Judge, ...]:
        """The judge that answers."""
        return (self._judge,)

    def key(self, task: Task) -> str:
        """The judge's own."""
        return self._judge.key(task)

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        """The judge's answers, written down."""
        answers = await ask(self._judge, question)
        sha = question_sha(question)
        new = [a for a in answers if a.status != "error" and (sha, a.judge_key, a.subject) not in self._written]
        lines = "".join(row.model_dump_json(exclude_defaults=True) + "\n" for row in answer_rows(question, new))
        if lines:
            self._append(lines.encode(errors="replace"))
            self._written |= {(sha, answer.judge_key, answer.subject) for answer in new}
        return answers

    def _append(self, data: bytes) -> None:
        try:
            place = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(place, data)
            finally:
                os.close(place)
        except OSError as error:
            raise ConfigError(
                f"cannot write judgements to {self._file}: {error.strerror}; name another file="
            ) from error


def writes_down(judge: Judge) -> bool:
    """Whether a judge, or one that it asks, writes its answers to a file, so that it must be asked to do so."""
    if isinstance(judge, Recording):
        return True
    return isinstance(judge, Composite) and any(map(writes_down, judge.members))


def _written(file: Path) -> set[tuple[str, str, str]]:
    """Question, judge's key and subject of every answer that a file holds."""
    if not file.parent.is_dir():
        raise ConfigError(f"cannot write judgements to {file}: there is no folder {file.parent}; make it")
    try:
        content = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise ConfigError(f"cannot read judgements from {file}: {error.strerror}; name another file=") from error
    return {(row.asked_sha, row.judge, row.subject) for _, row in read_rows(content, file)}


def recording(judge: str, *, file: str) -> Callable[[JudgePorts], Judge]:
    """Another judge answers, and its answers are written to a file that `recorded` reads.

    Args:
        judge: The name of the judge that answers.
        file: Where the rows go; they are appended.
    """

    def opened(ports: JudgePorts) -> Judge:
        from mnemoscope.evaluators.judges.registry import open_judge

        return Recording(open_judge(str(judge), ports), Path(str(file)))

    return opened
