"""How far the judge of each figure agrees with people, from calibration files; what was not measured stays unsaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mnemoscope.comparison.summary import Figure
from mnemoscope.evaluators.calibration.library import CAUTION, Calibrations, bundled_calibrations, read_calibration
from mnemoscope.evaluators.calibration.record import FEWEST_CLUSTERS, FEWEST_OF_A_CLASS, FEWEST_ROWS

__all__ = ["calibrations_of", "caution_warnings", "stale_warnings", "with_kappa"]


def calibrations_of(files: Sequence[Path]) -> Calibrations:
    """The bundled calibrations and the named ones, which win over them.

    Raises:
        ConfigError: A file that cannot be read.
        DataError: A file that is no calibration.
    """
    return Calibrations([*bundled_calibrations(), *map(read_calibration, files)])


def with_kappa(figures: Iterable[Figure], calibrations: Calibrations) -> Iterator[Figure]:
    """The figures with κ where this metric by this judge was calibrated."""
    for figure in figures:
        known = calibrations.kappa(figure.metric, figure.judge_key) if figure.judged else None
        yield figure if known is None else replace(figure, agreement=known)


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
    found = {f.metric: ", ".join(f.agreement.cautions) for f in figures if f.agreement and f.agreement.cautions}
    if not found:
        return []
    of = "; ".join(f"{metric} ({few})" for metric, few in sorted(found.items()))
    return [
        f"{CAUTION} κ rests on few labelled replies, so its interval is too narrow: {of}; calibrate on {FEWEST_ROWS} "
        f"replies of {FEWEST_CLUSTERS} histories or more, {FEWEST_OF_A_CLASS} of each class"
    ]
