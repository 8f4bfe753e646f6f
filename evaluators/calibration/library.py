"""Calibration files, and what they say of a figure: κ for one metric by one judge, and for no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.evaluators.calibration.record import SCHEMA_VERSION, Calibration, MetricCalibration
from mnemoscope.evaluators.judges.question import Task
from mnemoscope.evaluators.metrics.metric import JOINT

__all__ = ["CAUTION", "Calibrations", "Kappa", "bundled_calibrations", "calibration_said", "read_calibration"]

_ASKED_AS = {"abstention": "refusal"}
"""Metric to the task that its rows are labelled by, where the names differ and the judge is asked in the same words."""
CAUTION = "†"
"""Stands behind a κ that rests on little."""
_BUNDLED = Path(__file__).parent / "bundled"


class Kappa(NamedTuple):
    """Agreement of one judge with people, on one metric."""

    value: float | None
    """Cohen's κ; None where it is undefined."""
    low: float | None
    high: float | None
    n: int
    """Labelled replies."""
    clusters: int
    source: str
    """Names of the label files."""
    band: float | None
    """Chance that two askings of the judge differ; None where it was asked once."""
    cautions: tuple[str, ...] = ()
    """Why it is to be read with care; see `MetricCalibration.cautions`."""

    def __str__(self) -> str:
        """As tables print it; a dagger stands for the cautions.

        Example:
            >>> str(Kappa(0.708, 0.55, 0.84, 120, 31, "rows.jsonl", None))
            'κ .71 [.55, .84] n=120'
            >>> str(Kappa(0.708, 0.41, 0.92, 24, 5, "rows.jsonl", None, ("24 rows", "5 clusters")))
            'κ .71 [.41, .92] n=24†'

        Where few rows all agree, every draw gives the same: that is no interval.

            >>> str(Kappa(1.0, 1.0, 1.0, 6, 3, "rows.jsonl", None, ("6 rows",)))
            'κ 1.00 [ – ] n=6†'
        """
        mark = CAUTION if self.cautions else ""
        if self.value is None:
            return f"κ undefined n={self.n}{mark}"
        if self.low is None or self.high is None:
            ends = ""
        else:
            ends = " [ – ]" if self.low == self.high else f" [{_short(self.low)}, {_short(self.high)}]"
        return f"κ {_short(self.value)}{ends} n={self.n}{mark}"


class Calibrations:
    """Calibrations by judge key and metric.

    Args:
        found: Calibration files; of two on one judge key and metric, the later counts.
    """

    def __init__(self, found: Iterable[Calibration] = ()) -> None:
        self._by_key = {
            (one.metric, one.judge_key): (one, calibration) for calibration in found for one in calibration.metrics
        }

    def kappa(self, metric: str, judge_key: str) -> Kappa | None:
        """Agreement for this metric by this judge; None: uncalibrated.

        A κ holds for the metric whose rows were labelled: one of direct questions says nothing about integration,
        though both may ask the judge the same task. It holds for the judge that was asked: with another prompt, model,
        parameter or parser, the key is another.
        """
        known = self._by_key.get((metric, judge_key)) or self._by_key.get((_ASKED_AS.get(metric, ""), judge_key))
        return None if known is None else _kappa(*known)

    def of_tasks(self, tasks: Iterable[Task], judge_key: str) -> Mapping[Task, Kappa]:
        """Agreement on the tasks that a metric is built on, as far as it was measured.

        It says how well the judge does what it is asked, not how far a figure made of its answers can be believed: a
        metric asks about other replies, and counts answers in a way of its own.

        Args:
            tasks: What the metric asks its judge.
            judge_key: Of the metric's verdicts, joined of the keys of all its tasks.
        """
        asked = ((task, key) for task in sorted(tasks) for key in judge_key.split(JOINT))
        return {one[0]: _kappa(*known) for one in asked if (known := self._by_key.get(one)) is not None}


def calibration_said(of_metric: Kappa | None, of_tasks: Mapping[Task, Kappa]) -> str:
    """What every table says beside a judge: κ with its interval and rows, or `uncalibrated`.

    κ of a task that an uncalibrated metric asks is named as that: it says nothing about the metric.

    Example:
        >>> calibration_said(None, {"use": Kappa(0.47, 0.2, 0.78, 55, 12, "rows.jsonl", None)})
        'uncalibrated; task use: κ .47 [.20, .78] n=55'
    """
    if of_metric is not None:
        return str(of_metric)
    return "; ".join(["uncalibrated", *(f"task {task}: {kappa}" for task, kappa in of_tasks.items())])


def _kappa(one: MetricCalibration, calibration: Calibration) -> Kappa:
    band = one.consistency.band if one.consistency else None
    return Kappa(one.kappa, one.low, one.high, one.n, one.clusters, calibration.source, band, one.cautions)


def read_calibration(file: Path) -> Calibration:
    """A file that `mnemoscope judge calibrate --out` wrote.

    Raises:
        ConfigError: It cannot be read.
        DataError: It is not a calibration, a figure of it is impossible, or a later version wrote it; with the field.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the calibration {file}: {error}; check the name") from error
    try:
        return Calibration.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        later = field == "schema_version"
        raise DataError(
            f"a calibration of another version than {SCHEMA_VERSION}"
            if later
            else f"not a calibration: {first['msg'].removeprefix('Value error, ')}",
            file=file,
            field=field,
            seen=first["input"],
            fix=f"{'update the program, or ' if later else ''}make it again with mnemoscope judge calibrate",
        ) from None


@lru_cache(maxsize=1)
def bundled_calibrations() -> Sequence[Calibration]:
    """The calibrations that come with the program, by file name."""
    return tuple(read_calibration(file) for file in sorted(_BUNDLED.glob("*.json")))


def _short(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
