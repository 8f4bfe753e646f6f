"""A calibration as it is kept: which judge, on which labels, how far it agrees, what it is swayed by."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from mnemoscope.evaluators.judges.question import Task
from mnemoscope.evaluators.statistics.agreement import KappaWeights

__all__ = [
    "Calibration",
    "Consistency",
    "GroupAgreement",
    "Injection",
    "KindRate",
    "MetricCalibration",
    "Probe",
    "Rate",
]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rate(_Record):
    """A share with what it is a share of."""

    count: int
    n: int
    value: float | None
    """0–1; None of nothing."""

    @classmethod
    def of(cls, count: int, n: int) -> Rate:
        """`count` of `n`."""
        return cls(count=count, n=n, value=round(count / n, 6) if n else None)


class KindRate(_Record):
    """One kind of reply: how many the judge accepts, and how many people accept."""

    judge: Rate
    people: Rate


class GroupAgreement(_Record):
    """κ on a part of the rows."""

    n: int
    agreement: float | None
    kappa: float | None
    low: float | None
    high: float | None
    reason: str | None = None


class Consistency(_Record):
    """The same question asked again."""

    asked: int
    """How often each question was asked."""
    flips: Rate
    """Rows whose answers are not all the same, of those with an answer every time."""
    band: float | None
    """Chance that two askings differ, 0–1. Differences between systems up to this size are no wins."""


class Probe(_Record):
    """What a property that should not matter does to the judge."""

    n: int
    """Rows that it was tried on."""
    before: float | None
    """What the judge gives, 0–1; what is compared is said in `meaning`."""
    after: float | None
    gap: float | None
    """`after` minus `before`: 0 for a judge that is not swayed."""
    flips: int | None = None
    """Answers that change, where the same reply was judged in two forms."""
    meaning: str


class Injection(_Record):
    """Replies that deserve nothing and tell the judge what to say."""

    steered: Rate


class MetricCalibration(_Record):
    """One judge on one task."""

    metric: str
    """As the labels name it: a task or a metric."""
    task: Task
    """What the judge was asked."""
    judge_key: str
    """What the figures are bound to; with another key they say nothing."""
    rows: int
    """Labelled rows."""
    n: int
    """Rows with an answer; only these are in κ."""
    clusters: int
    n_invalid: int
    """Answers that could not be read."""
    n_error: int
    """Askings that failed."""
    n_excluded: int
    """Rows that the judge says it cannot judge."""
    weights: KappaWeights
    """How κ weighs disagreement: `linear` on scales."""
    agreement: float | None
    """Share of equal labels, 0–1."""
    kappa: float | None
    """Cohen's κ; None where it is undefined, for `reason`."""
    low: float | None
    high: float | None
    interval: str
    """How the ends were made (`bca`, `percentile`: cluster bootstrap), or why there are none."""
    reason: str | None
    people: Mapping[str, float]
    """Label to its share among people's labels, 0–1."""
    judge: Mapping[str, float]
    """Label to its share among the judge's."""
    confusion: Mapping[str, Mapping[str, int]]
    """People's label to the judge's label to number of rows."""
    sensitivity: Rate
    """Of the replies that people give the highest score, those that the judge does too."""
    specificity: Rate
    """Of the others, those that the judge does not."""
    kinds: Mapping[str, KindRate]
    """Kind of reply to acceptance, which is the highest score."""
    scripts: Mapping[str, GroupAgreement]
    """Script of the reply (`latin`, `unspaced`) to agreement."""
    consistency: Consistency | None = None
    """None: asked once."""
    probes: Mapping[str, Probe] = {}
    """`wording`, `length`, `position`, `own-model`, `drift`: those that the rows allow."""


class Calibration(_Record):
    """A calibration file."""

    schema_version: int = 1
    judge: str
    """The judge's name, which opens it."""
    at: datetime
    """When the judge was asked."""
    labels_sha256: str
    source: str
    """Where the labels come from."""
    seed: int
    metrics: tuple[MetricCalibration, ...]
    injection: Injection | None = None
    """None: not tried."""
