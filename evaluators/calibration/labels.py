"""Replies that people have labelled, read strictly, as the questions that a judge is asked about them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.evaluators.json_lines import json_lines
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.question import TASKS, Fact, Question, Task
from mnemoscope.evaluators.judges.scales import LABELS
from mnemoscope.evaluators.metrics.answer_judged import RULES
from mnemoscope.evaluators.metrics.metric import tasks_of
from mnemoscope.evaluators.metrics.registry import METRICS

__all__ = ["BUNDLED_ROWS", "LabelledRow", "Labels", "bundled_rows", "question_of", "read_labels", "task_of"]

BUNDLED_ROWS = Path(__file__).parent / "rows"
"""Where the labelled rows lie that come with the program; see the README there."""
_FACT = "fact"
_TASK = "task:"
"""Goes before a task's name where a metric has the same."""
_NEEDED: Mapping[Task, tuple[str, ...]] = {
    "use": ("fact",),
    "coverage": ("fact",),
    "references": ("fact",),
    "objection": ("fact",),
    "fact-use": ("gold",),
    "correction": ("premise", "gold"),
    "answer": ("question", "gold"),
    "refusal": ("question",),
    "integration": ("gold",),
    "preference": ("other",),
    "hallucination": ("context",),
    "grounding": ("context",),
    "alignment": ("rubric",),
}
"""Task to the fields that its question cannot do without."""


class LabelledRow(BaseModel):
    """One reply with the label that a person gave it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    """Unique in the file."""
    cluster: str = Field(min_length=1)
    """Which history it belongs to: intervals resample clusters."""
    metric: str
    """A task, or the name of a metric that asks one task only; see `task_of`."""
    reply: str
    """What is judged. It may be empty: silence is a reply."""
    label: str
    """One of the task's labels."""
    question: str = ""
    """What the reply answers, where it was asked outright."""
    utterance: str = ""
    """What the reply answers otherwise."""
    gold: str = ""
    """The expected answer, or the truth behind a premise."""
    fact: str = ""
    """The one fact asked about."""
    premise: str = ""
    """What the user asserts wrongly."""
    context: str = ""
    """The memory block."""
    rubric: str = ""
    """What is asked of the reply."""
    other: str = ""
    """The second reply of a pair."""
    axis: str = ""
    """Which axis the label is for, where the task has several."""
    kind: str = ""
    """How the reply was made (`paraphrase`, `wrong-date`); a judge never sees it."""
    model: str = ""
    """Which model wrote the reply; a judge never sees it."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Labelled rows in their order, and the hash of the files that they come from."""

    rows: tuple[LabelledRow, ...]
    sha256: str
    source: str
    """Names of the files, without folders."""


def bundled_rows() -> tuple[Path, ...]:
    """The sealed half of the labelled rows that come with the program."""
    return tuple(sorted(BUNDLED_ROWS.glob("*.sealed.jsonl")))


def read_labels(files: Sequence[Path]) -> Labels:
    """Labelled rows of one or more JSON Lines files.

    Raises:
        ConfigError: No file, or one that cannot be read.
        DataError: A row that is not as `LabelledRow` says, a label that its task does not have, a field that its task
            needs and that is missing, or an id that occurs twice; each with file, line and field.
    """
    if not files:
        raise ConfigError("no labels are named; give JSON Lines files of labelled replies, or `bundled`")
    rows: dict[str, LabelledRow] = {}
    contents = []
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read labels from {file}: {error.strerror}; check the name") from error
        contents.append(content)
        for number, row in json_lines(content, file, LabelledRow):
            _check(row, number, file)
            if row.id in rows:
                raise DataError(
                    "an id occurs twice", file=file, record=f"line {number}", field="id", seen=row.id,
                    fix="every labelled reply has an id of its own",
                )  # fmt: skip
            rows[row.id] = row
    if not rows:
        raise DataError("no labelled reply", file=files[0], fix="give one JSON object per line")
    source = ", ".join(file.name for file in files)
    return Labels(tuple(rows.values()), sha256_of("".join(sha256_of(content) for content in contents)), source)


@lru_cache(maxsize=256)
def task_of(metric: str) -> Task:
    """The task that a row's `metric` names: as a metric that asks one task only, or else as a task.

    Where a metric and a task have one name and the metric asks another task, the name is the metric's, because κ is
    printed beside metrics: `integration` asks whether a fact is used. `task:integration` is the task.

    Raises:
        ConfigError: Neither, a metric that asks none or several tasks, or a reference to code: reading a file
            of labels runs nothing.
    """
    name = metric.removeprefix(_TASK)
    if name in TASKS and (name != metric or not _asked(name)):
        return name
    if ":" in name:
        raise ConfigError(f"{metric!r} is a reference to code, which labels cannot name; name the task that it asks")
    if metric not in METRICS and "(" not in metric and "@" not in metric:
        nearest = difflib.get_close_matches(name, [*TASKS, *METRICS.names()], n=3, cutoff=0.3)
        raise ConfigError(f"{metric!r} is neither a task nor a metric; nearest: {', '.join(nearest) or 'none'}")
    tasks = sorted(tasks_of(METRICS.create(metric)))
    if len(tasks) != 1:
        asked = f"asks several tasks: {', '.join(tasks)}; label one of them" if tasks else "asks no judge"
        raise ConfigError(f"metric {metric} {asked}")
    return tasks[0]


def _asked(name: str) -> frozenset[Task]:
    """What the metric of a task's name asks, if there is one that can be made without parameters."""
    try:
        return tasks_of(METRICS.create(name))
    except ConfigError:
        return frozenset()


def question_of(row: LabelledRow) -> Question:
    """What a judge is asked about a row, in the words that the metrics use for it."""
    task, said = task_of(row.metric), row.question or row.utterance
    if task == "use":
        return use_question(row.reply, row.fact)
    rubric = row.rubric or {"answer": RULES["answer"], "refusal": RULES["abstention"]}.get(task, "")
    return Question(
        task,
        row.reply,
        said,
        facts=(Fact(_FACT, row.fact),) if row.fact else (),
        expected=row.gold,
        premise=row.premise,
        context=row.context,
        rubric=rubric,
        other=row.other,
    )


def subject_of(row: LabelledRow) -> str:
    """Whose answer is compared with the label: `reply`, the fact, or an axis."""
    if row.axis:
        return row.axis
    return _FACT if task_of(row.metric) in ("coverage", "references") else "reply"


def _check(row: LabelledRow, number: int, file: Path) -> None:
    place = f"line {number}"
    try:
        task = task_of(row.metric)
    except ConfigError as error:
        raise DataError(str(error), file=file, record=place, field="metric", seen=row.metric) from None
    if row.label not in LABELS[task]:
        raise DataError(
            f"no label of task {task}", file=file, record=place, field="label", seen=row.label,
            fix=f"labels are: {', '.join(LABELS[task])}",
        )  # fmt: skip
    if row.axis and task != "three-axis":
        raise DataError(
            f"task {task} has no axes", file=file, record=place, field="axis", seen=row.axis, fix="leave it out"
        )
    for field in (*_NEEDED.get(task, ()), *(("axis",) if task == "three-axis" else ())):
        if not getattr(row, field).strip():
            raise DataError(
                f"task {task} needs a field that is missing", file=file, record=place, field=field, fix="fill it in"
            )
