"""Writes down what a judge answers, so that `recorded` can give it back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.rows import answer_rows

if TYPE_CHECKING:
    from mnemoscope.evaluators.judges.registry import JudgePorts

__all__ = ["Recording", "recording"]


class Recording:
    """Another judge, whose answers are appended to a JSON-lines file as they come.

    Answers and keys are those of the judge itself. All answers to one question are written at once, so that several
    processes may write to one file; a question asked twice stands there twice. Errors are not written: they say
    nothing about the question.

    Args:
        judge: Who answers.
        file: Where the rows go.
    """

    def __init__(self, judge: Judge, file: Path) -> None:
        self._judge, self._file = judge, file

    @property
    def name(self) -> str:
        """`recording(JUDGE,file=PATH)`."""
        return str(Spec("recording", (self._judge.name,), {"file": str(self._file)}))

    def key(self, task: Task) -> str:
        """The judge's own."""
        return self._judge.key(task)

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        """The judge's answers, written down."""
        answers = await self._judge.judge(question)
        kept = [answer for answer in answers if answer.status != "error"]
        lines = "".join(row.model_dump_json(exclude_defaults=True) + "\n" for row in answer_rows(question, kept))
        if lines:
            self._append(lines.encode(errors="replace"))
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
