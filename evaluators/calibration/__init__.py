"""Calibration: how far a judge agrees with people's labels, and what it is swayed by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if __name__ != "mnemoscope.evaluators.calibration":
    raise ImportError(
        "import mnemoscope.evaluators.calibration, not evaluators.calibration: a bare import loads a second copy"
    )

if TYPE_CHECKING:
    from mnemoscope.evaluators.calibration.calibrating import calibrate
    from mnemoscope.evaluators.calibration.labels import LabelledRow, read_labels
    from mnemoscope.evaluators.calibration.library import Calibrations, Kappa, read_calibration
    from mnemoscope.evaluators.calibration.record import Calibration, MetricCalibration

__all__ = [
    "Calibration",
    "Calibrations",
    "Kappa",
    "LabelledRow",
    "MetricCalibration",
    "calibrate",
    "read_calibration",
    "read_labels",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Calibration": "record",
        "Calibrations": "library",
        "LabelledRow": "labels",
        "MetricCalibration": "record",
        "calibrate": "calibrating",
        "Kappa": "library",
        "read_calibration": "library",
        "read_labels": "labels",
    },
)
