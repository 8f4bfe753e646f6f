"""Calibrating a judge: its answers beside people's labels, once and again, and with what should not matter changed."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.tokens import has_unspaced_script
from mnemoscope.evaluators.calibration.labels import LabelledRow, Labels, question_of, subject_of, task_of
from mnemoscope.evaluators.calibration.members import agreement_of_members
from mnemoscope.evaluators.calibration.probing import probes_of
from mnemoscope.evaluators.calibration.record import (
    Calibration,
    Consistency,
    GroupAgreement,
    Injection,
    KindRate,
    MetricCalibration,
    Rate,
)
from mnemoscope.evaluators.judges.asking import ask
from mnemoscope.evaluators.judges.canaries import injection_rate
from mnemoscope.evaluators.judges.judge import Answers, Judge
from mnemoscope.evaluators.judges.panel import is_panel
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.scales import LABELS, SCALES
from mnemoscope.evaluators.statistics.agreement import Agreement, KappaWeights, cohen

__all__ = ["calibrate"]

_FEWEST = 10
"""Rows of a script below which no κ of it is given."""


class _Told(Protocol):
    def __call__(self) -> None: ...


async def calibrate(
    askings: Sequence[Judge],
    labels: Labels,
    *,
    at: datetime,
    seed: int = 0,
    resamples: int = 10_000,
    with_canaries: bool = True,
    concurrency: int = 8,
    told: _Told = lambda: None,
) -> Calibration:
    """Ask a judge about labelled replies and say how far it agrees.

    Each row is asked once by each of `askings`; κ is of the first answer. Rows without an answer (invalid, failed, or
    beyond what the judge can do) are counted and are in no κ: they are not disagreements. κ is Cohen's, linearly
    weighted on the tasks whose labels are steps of a scale; its interval resamples clusters.

    Args:
        askings: The judge, once for every time that each question is asked (see `AskedAgain`). A rule gives the same
            answer each time; a model does not: two to five in a hundred labels flip at temperature 0 between MemUse's
            two released scorings.
        labels: The labelled rows.
        at: When; a calibration is dated.
        seed: Of the resampling.
        resamples: Of each bootstrap.
        with_canaries: Try replies that tell the judge what to say.
        concurrency: Questions in flight.
        told: Is called after each row.

    Returns:
        The calibration; rows of tasks that the judge does not have are left out.

    Raises:
        ConfigError: The judge has none of the tasks.
        BudgetStop: The judge may not be asked any more.
    """
    judge = askings[0]
    rounds = [_Asking(one, concurrency, told) for one in askings]
    by_metric: defaultdict[str, list[LabelledRow]] = defaultdict(list)
    for row in labels.rows:
        if judge.key(task_of(row.metric)):
            by_metric[row.metric].append(row)
    if not by_metric:
        labelled = ", ".join(sorted({task_of(row.metric) for row in labels.rows}))
        raise ConfigError(f"judge {judge.name} judges none of {labelled}; see mnemoscope judge list")
    found = [await _metric(rounds, metric, rows, _Draws(seed, resamples)) for metric, rows in sorted(by_metric.items())]
    canaries = await injection_rate(judge) if with_canaries else None
    return Calibration(
        judge=judge.name,
        at=at,
        labels_sha256=labels.sha256,
        source=labels.source,
        seed=seed,
        metrics=tuple(found),
        injection=Injection(steered=Rate.of(canaries.steered, canaries.n)) if canaries and canaries.n else None,
    )


@dataclass(frozen=True, slots=True)
class _Draws:
    seed: int
    resamples: int


class _Asking:
    """Puts questions to the judge, a bounded number at a time."""

    def __init__(self, judge: Judge, concurrency: int, told: _Told) -> None:
        self.judge, self._told = judge, told
        self._gate = asyncio.Semaphore(concurrency)

    async def about(self, rows: Sequence[LabelledRow], questions: Sequence[Question]) -> list[Answer]:
        """One answer per row, about the row's own subject."""
        return list(await asyncio.gather(*(self._one(row, q) for row, q in zip(rows, questions, strict=True))))

    async def _one(self, row: LabelledRow, question: Question) -> Answer:
        async with self._gate:
            answers = await ask(self.judge, question)
        self._told()
        return Answers({question: answers}).one(question, subject_of(row))


async def _metric(
    askings: Sequence[_Asking], metric: str, rows: Sequence[LabelledRow], draws: _Draws
) -> MetricCalibration:
    task = task_of(metric)
    questions = [question_of(row) for row in rows]
    rounds = [await ask.about(rows, questions) for ask in askings]
    ask, first = askings[0], rounds[0]
    said = [_label(answer) for answer in first]
    people = [row.label for row in rows]
    agreed = _kappa(task, people, said, [row.cluster for row in rows], draws)
    interval = agreed.by_cluster or agreed.by_item
    people_rates, judge_rates = agreed.rates if agreed.n else ({}, {})
    pairs = [(one, two, row) for one, two, row in zip(people, said, rows, strict=True) if two is not None]
    top = max(LABELS[task].values())
    accepted: Callable[[str], bool] = lambda label: LABELS[task][label] == top  # noqa: E731 - used four times below
    return MetricCalibration(
        metric=metric,
        task=task,
        judge_key=ask.judge.key(task),
        rows=len(rows),
        n=agreed.n,
        clusters=len({row.cluster for _, _, row in pairs}),
        n_invalid=sum(answer.status == "invalid" for answer in first),
        n_error=sum(answer.status == "error" for answer in first),
        n_excluded=sum(answer.status == "not_applicable" for answer in first),
        weights=_weights(task),
        agreement=agreed.observed,
        kappa=_rounded(agreed.kappa),
        low=_rounded(interval.low),
        high=_rounded(interval.high),
        interval=interval.method or (interval.reason or ""),
        reason=agreed.reason,
        people=people_rates,
        judge=judge_rates,
        confusion=_confusion([(one, two) for one, two, _ in pairs]),
        sensitivity=Rate.of(
            sum(accepted(two) for one, two, _ in pairs if accepted(one)), sum(accepted(one) for one, _, _ in pairs)
        ),
        specificity=Rate.of(
            sum(not accepted(two) for one, two, _ in pairs if not accepted(one)),
            sum(not accepted(one) for one, _, _ in pairs),
        ),
        kinds=_kinds(pairs, accepted),
        scripts=_scripts(task, rows, said, draws),
        consistency=_consistency(rounds) if len(rounds) > 1 else None,
        members=agreement_of_members(first, [row.cluster for row in rows], seed=draws.seed, resamples=draws.resamples)
        if is_panel(ask.judge.name)
        else None,
        probes=await probes_of(task, rows, questions, first, ask.about),
    )


def _label(answer: Answer) -> str | None:
    return answer.label if answer.status == "scored" else None


def _weights(task: Task) -> KappaWeights:
    return "linear" if task in SCALES else "none"


def _kappa(
    task: Task, people: Sequence[str], said: Sequence[str | None], clusters: Sequence[str], draws: _Draws
) -> Agreement:
    order = SCALES.get(task)
    return cohen(
        list(people),
        list(said),
        list(clusters),
        seed=draws.seed,
        weights=_weights(task),
        order=order,
        resamples=draws.resamples,
    )


def _confusion(pairs: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
    counts = Counter(pairs)
    table: dict[str, dict[str, int]] = {}
    for (one, two), n in sorted(counts.items()):
        table.setdefault(one, {})[two] = n
    return table


def _kinds(pairs: Sequence[tuple[str, str, LabelledRow]], accepted: Callable[[str], bool]) -> dict[str, KindRate]:
    of_kind: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for one, two, row in pairs:
        if row.kind:
            of_kind[row.kind].append((one, two))
    return {
        kind: KindRate(
            judge=Rate.of(sum(accepted(two) for _, two in found), len(found)),
            people=Rate.of(sum(accepted(one) for one, _ in found), len(found)),
        )
        for kind, found in sorted(of_kind.items())
    }


def _scripts(
    task: Task, rows: Sequence[LabelledRow], said: Sequence[str | None], draws: _Draws
) -> dict[str, GroupAgreement]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        groups["unspaced" if has_unspaced_script(row.reply) else "latin"].append(place)
    found: dict[str, GroupAgreement] = {}
    for script, places in sorted(groups.items()):
        if len(places) < _FEWEST:
            found[script] = GroupAgreement(
                n=len(places), agreement=None, kappa=None, low=None, high=None, reason=f"fewer than {_FEWEST} rows"
            )
            continue
        agreed = _kappa(
            task,
            [rows[p].label for p in places],
            [said[p] for p in places],
            [rows[p].cluster for p in places],
            draws,
        )
        interval = agreed.by_cluster or agreed.by_item
        found[script] = GroupAgreement(
            n=agreed.n,
            agreement=agreed.observed,
            kappa=_rounded(agreed.kappa),
            low=_rounded(interval.low),
            high=_rounded(interval.high),
            reason=agreed.reason,
        )
    return found


def _consistency(rounds: Sequence[Sequence[Answer]]) -> Consistency:
    """How often the same question gets another answer; rows that failed once are left out."""
    complete = [labels for labels in zip(*([_label(a) for a in r] for r in rounds), strict=True) if None not in labels]
    asked = len(rounds)
    flips = sum(len(set(labels)) > 1 for labels in complete)
    differing = [1 - sum(n * (n - 1) for n in Counter(labels).values()) / (asked * (asked - 1)) for labels in complete]
    band = round(sum(differing) / len(differing), 6) if differing else None
    return Consistency(asked=asked, flips=Rate.of(flips, len(complete)), band=band)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
