"""How far the judge of each figure agrees with people, from calibration files; what was not measured stays unsaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mnemoscope.comparison.summary import Figure
from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.calibration.library import (
    CAUTION,
    Calibrations,
    Kappa,
    bundled_calibrations,
    read_calibration,
)
from mnemoscope.evaluators.calibration.record import FEWEST_CLUSTERS, FEWEST_OF_A_CLASS, FEWEST_ROWS
from mnemoscope.evaluators.judges.question import Task
from mnemoscope.evaluators.metrics.metric import tasks_of
from mnemoscope.evaluators.metrics.registry import METRICS

__all__ = ["agreement_on", "calibrations_of", "caution_warnings", "stale_warnings", "with_kappa"]


def calibrations_of(files: Sequence[Path]) -> Calibrations:
    """The bundled calibrations and the named ones, which win over them.

    Raises:
        ConfigError: A file that cannot be read.
        DataError: A file that is no calibration.
    """
    return Calibrations([*bundled_calibrations(), *map(read_calibration, files)])


def with_kappa(figures: Iterable[Figure], calibrations: Calibrations) -> Iterator[Figure]:
    """The figures with κ where this metric by this judge was calibrated, else with κ of the tasks that it asks."""
    for figure in figures:
        if figure.judged:
            of_metric, of_tasks = agreement_on(figure.metric, figure.judge_key, calibrations)
            yield replace(figure, agreement=of_metric, task_agreement=of_tasks)
        else:
            yield figure


def agreement_on(metric: str, judge_key: str, calibrations: Calibrations) -> tuple[Kappa | None, Mapping[Task, Kappa]]:
    """κ on a metric and, only where there is none, κ on the tasks that it asks.

    Args:
        metric: Its name.
        judge_key: Of its verdicts.
        calibrations: All that are known.
    """
    known = calibrations.kappa(metric, judge_key)
    return known, calibrations.of_tasks(_tasks(metric), judge_key) if known is None else {}


@lru_cache(maxsize=256)
def _tasks(metric: str) -> frozenset[Task]:
    try:
        return tasks_of(METRICS.create(metric))
    except ConfigError:  # a metric that only the run's author has
        return frozenset()


def stale_warnings(figures: Iterable[Figure], named: Sequence[Path]) -> list[str]:
    """What is wrong with calibrations that were named: those that hold for no figure here.

    Args:
        figures: The figures, κ filled in.
        named: The files that the user named; bundled ones may well be for other judges.
    """
    used = {(figure.metric, figure.judge_key) for figure in figures}
    metrics = {metric for metric, _ in used}
    return [
        f"{file.name}: the calibration of {one.metric} is of another judge ({one.judge_key}) than judged here; "
        "calibrate again"
        for file in named
        for one in read_calibration(file).metrics
        if one.metric in metrics and (one.metric, one.judge_key) not in used
    ]


def caution_warnings(figures: Iterable[Figure]) -> list[str]:
    """What the mark behind a κ means: one sentence for all figures whose calibration rests on little.

    Args:
        figures: The figures, κ filled in.
    """
    known = [(f.metric, f.agreement) for f in figures if f.agreement]
    known += [(f"task {task}", kappa) for f in figures for task, kappa in f.task_agreement.items()]
    found = {of: ", ".join(kappa.cautions) for of, kappa in known if kappa.cautions}
    if not found:
        return []
    of = "; ".join(f"{metric} ({few})" for metric, few in sorted(found.items()))
    return [
        f"{CAUTION} κ rests on few labelled replies, so its interval is too narrow: {of}; calibrate on {FEWEST_ROWS} "
        f"replies of {FEWEST_CLUSTERS} histories or more, {FEWEST_OF_A_CLASS} of each class"
    ]
