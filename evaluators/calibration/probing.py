"""What should not sway a judge, tried on it: wording, length, position, its own model's replies, the order of rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from statistics import median

from mnemoscope.core.language.tokens import has_unspaced_script
from mnemoscope.evaluators.calibration.labels import LabelledRow
from mnemoscope.evaluators.calibration.record import Probe
from mnemoscope.evaluators.calibration.wording import reworded
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.scales import LABELS

__all__ = ["Ask", "probes_of"]

Ask = Callable[[Sequence[LabelledRow], Sequence[Question]], Awaitable[list[Answer]]]
_WORDED: frozenset[Task] = frozenset({"use", "coverage", "references", "fact-use", "answer", "integration", "outcome"})
"""Tasks in which claiming to remember earns nothing by itself; in `unprompted` the claim is what is judged."""


async def probes_of(
    task: Task, rows: Sequence[LabelledRow], questions: Sequence[Question], answers: Sequence[Answer], ask: Ask
) -> dict[str, Probe]:
    """Every probe that the rows allow.

    Args:
        task: What was judged.
        rows: The labelled rows.
        questions: What was asked about them.
        answers: What the judge said.
        ask: Asks about rows in another form.
    """
    probes: dict[str, Probe] = {}
    if task in _WORDED:
        probes["wording"] = await _wording(rows, questions, answers, ask)
    if task == "preference":
        probes["position"] = await _position(rows, questions, answers, ask)
    told = {
        "length": _length(task, rows, answers),
        "own-model": _own_model(task, rows, answers),
        "drift": _drift(task, rows, answers),
    }
    return probes | {name: probe for name, probe in told.items() if probe is not None}


async def _wording(
    rows: Sequence[LabelledRow], questions: Sequence[Question], answers: Sequence[Answer], ask: Ask
) -> Probe:
    """The same replies without their claims of remembering, or with one in front (MemUse: +16.4 points)."""
    forms = [reworded(question.reply) for question in questions]
    places = [p for p, (text, _) in enumerate(forms) if text != questions[p].reply]
    changed = [replace(questions[p], reply=forms[p][0]) for p in places]
    others = await ask([rows[p] for p in places], changed)
    pairs = []
    for p, other in zip(places, others, strict=True):
        plain, cued = (answers[p], other) if forms[p][1] else (other, answers[p])
        if plain.score is not None and cued.score is not None:
            pairs.append((plain, cued))
    return Probe(
        n=len(pairs),
        before=_mean([plain.score for plain, _ in pairs]),
        after=_mean([cued.score for _, cued in pairs]),
        gap=_gap([(plain.score, cued.score) for plain, cued in pairs]),
        flips=sum(plain.label != cued.label for plain, cued in pairs),
        meaning="mean score without and with words that claim to remember",
    )


async def _position(
    rows: Sequence[LabelledRow], questions: Sequence[Question], answers: Sequence[Answer], ask: Ask
) -> Probe:
    turned = {"first": "second", "second": "first"}
    swapped = [replace(question, reply=question.other, other=question.reply) for question in questions]
    others = await ask(rows, swapped)
    pairs = [(a, b) for a, b in zip(answers, others, strict=True) if a.score is not None and b.score is not None]
    return Probe(
        n=len(pairs),
        before=_mean([a.score for a, _ in pairs]),
        after=_mean([1 - (b.score or 0.0) for _, b in pairs]),
        gap=_gap([(a.score, 1 - (b.score or 0.0)) for a, b in pairs]),
        flips=sum(turned.get(a.label, a.label) != b.label for a, b in pairs),
        meaning="share for the same reply when it stands first and when it stands second",
    )


def _length(task: Task, rows: Sequence[LabelledRow], answers: Sequence[Answer]) -> Probe | None:
    """Leniency on short and on long replies, people's labels taken out.

    Lengths are compared inside a script: a Chinese reply says in thirty characters what takes a hundred in English.
    """
    short: list[float] = []
    long: list[float] = []
    for known in _by_script(task, rows, answers):
        middle = median(len(row.reply) for row, _ in known)
        for row, bias in known:
            (long if len(row.reply) > middle else short).append(bias)
    if not short or not long:
        return None
    return _between(
        short,
        long,
        "judge's mean score minus people's, on replies up to the median length of their script and above it",
    )


def _own_model(task: Task, rows: Sequence[LabelledRow], answers: Sequence[Answer]) -> Probe | None:
    """Leniency on replies by the judge's own model, where rows name who wrote them."""
    own: list[float] = []
    other: list[float] = []
    for row, answer, bias in zip(rows, answers, _biases(task, rows, answers), strict=True):
        if row.model and bias is not None:
            (own if re.search(rf"model={re.escape(row.model)}[,)]", answer.judge_key) else other).append(bias)
    if not own or not other:
        return None
    return _between(other, own, "judge's mean score minus people's, on other models' replies and on its own model's")


def _drift(task: Task, rows: Sequence[LabelledRow], answers: Sequence[Answer]) -> Probe | None:
    """Leniency along the rows, inside a script, because files often hold one language after the other.

    A judge that sees one reply at a time cannot tire. A gap shows that people's labels became stricter or milder, or
    that hard and easy rows are not mixed.
    """
    first: list[float] = []
    last: list[float] = []
    for known in _by_script(task, rows, answers):
        half = len(known) // 2
        first += [bias for _, bias in known[:half]]
        last += [bias for _, bias in known[half:]]
    if not first:
        return None
    return _between(first, last, "judge's mean score minus people's, on the first and the last half of each script")


def _by_script(
    task: Task, rows: Sequence[LabelledRow], answers: Sequence[Answer]
) -> list[list[tuple[LabelledRow, float]]]:
    """Rows with the judge's score minus people's, by script; those without a score are left out."""
    found: defaultdict[bool, list[tuple[LabelledRow, float]]] = defaultdict(list)
    for row, bias in zip(rows, _biases(task, rows, answers), strict=True):
        if bias is not None:
            found[has_unspaced_script(row.reply)].append((row, bias))
    return list(found.values())


def _biases(task: Task, rows: Sequence[LabelledRow], answers: Sequence[Answer]) -> list[float | None]:
    scale = max(LABELS[task].values()) or 1.0
    return [
        None if answer.score is None or answer.status != "scored" else (answer.score - LABELS[task][row.label]) / scale
        for row, answer in zip(rows, answers, strict=True)
    ]


def _between(before: Sequence[float], after: Sequence[float], meaning: str) -> Probe:
    first, second = _mean(before), _mean(after)
    gap = None if first is None or second is None else round(second - first, 6)
    return Probe(n=len(before) + len(after), before=first, after=second, gap=gap, meaning=meaning)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 6) if known else None


def _gap(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    return _mean([b - a for a, b in pairs if a is not None and b is not None])
