"""The closed labels of each task, with their scores, and which tasks are scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemoscope.evaluators.judges.question import Task

__all__ = ["LABELS", "SCALES", "label_score", "scale_of"]

LABELS: Mapping[Task, Mapping[str, float]] = {
    "use": {"used": 1.0, "not used": 0.0},
    "coverage": {"stated": 1.0, "not stated": 0.0},
    "fact-use": {"none": 0.0, "partial": 0.5, "full": 1.0},
    "correction": {"unaware": 0.0, "vague": 0.5, "corrected": 1.0, "wrong correction": 0.0},
    "objection": {"corrects": 1.0, "contradicts": 1.0, "none": 0.0},
    "hallucination": {"unsupported": 1.0, "supported": 0.0},
    "three-axis": {"0": 0.0, "0.5": 0.5, "1": 1.0},
    "integration": {"integrated": 1.0, "not integrated": 0.0},
    "answer": {"right": 1.0, "wrong": 0.0},
    "unprompted": {"recalls": 1.0, "quiet": 0.0},
    "grounding": {"ungrounded": 0.0, "partial": 1.0, "grounded": 2.0},
    "alignment": {"aligned": 1.0, "not aligned": 0.0},
    "references": {"referred": 1.0, "not referred": 0.0},
    "quality": {str(n): float(n) for n in range(1, 6)},
    "tied": {"tied": 1.0, "untied": 0.0},
    "outcome": {"full": 1.0, "gist": 0.0, "generic": 0.0, "hallucinated": 0.0, "admits": 0.0},
    "refusal": {"refuses": 1.0, "does not refuse": 0.0},
    "preference": {"first": 1.0, "second": 0.0, "tie": 0.5},
}
"""Task to label to score, as `question.Task` says it."""

_SCALES: tuple[Task, ...] = ("fact-use", "three-axis", "grounding", "quality")
SCALES: Mapping[Task, tuple[str, ...]] = {task: tuple(LABELS[task]) for task in _SCALES}
"""Labels, lowest first, of the tasks whose labels are steps of a scale: their votes have a median."""


def label_score(task: Task, label: str, subject: str = "reply") -> float | None:
    """The score of a label; None for a label that the task does not have.

    Example:
        >>> label_score("fact-use", "partial")
        0.5
        >>> label_score("references", "3", subject="others")
        3.0
    """
    if task == "references" and subject == "others":
        return float(label) if label.isascii() and label.isdigit() else None
    return LABELS[task].get(label)


def scale_of(task: Task, subject: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The scale that labels are steps of, lowest first; empty where they are names."""
    if task == "references" and subject == "others":
        return tuple(sorted(set(labels), key=float))
    return SCALES.get(task, ())
