"""A calibration as it is kept: which judge, on which labels, how far it agrees, what it is swayed by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from mnemoscope.evaluators.judges.question import Task
from mnemoscope.evaluators.statistics.agreement import KappaWeights

__all__ = [
    "FEWEST_CLUSTERS",
    "FEWEST_OF_A_CLASS",
    "FEWEST_ROWS",
    "SCHEMA_VERSION",
    "Calibration",
    "Consistency",
    "GroupAgreement",
    "Injection",
    "KindRate",
    "MemberAgreement",
    "MetricCalibration",
    "Probe",
    "Rate",
]


SCHEMA_VERSION: Final = 1
"""What this program writes, and the only version that it reads."""
FEWEST_ROWS = 30
FEWEST_CLUSTERS = 10
"""Below these, a cluster bootstrap is too narrow: with ten clusters it covers in about 90 % instead of 95 %."""
FEWEST_OF_A_CLASS = 5
"""Below this, one reply more or less moves sensitivity or specificity by a fifth and more, and κ with it."""

_Count = Annotated[int, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Agreement = Annotated[float, Field(ge=-1, le=1)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Bounded(_Record):
    """Something with a κ and its interval: both ends or none, in order."""

    kappa: _Agreement | None
    """Cohen's κ; None where it is undefined, for `reason`."""
    low: _Agreement | None
    high: _Agreement | None

    @field_validator("high")
    @classmethod
    def _ends_in_order(cls, high: float | None, info: ValidationInfo) -> float | None:
        if "low" not in info.data:
            return high  # it is wrong itself, and said so
        low = info.data["low"]
        if (low is None) != (high is None):
            raise ValueError(f"an interval has both ends or none; low is {low}")
        if low is not None and high is not None and low > high:
            raise ValueError(f"the upper end is below the lower one, {low}")
        return high


class Rate(_Record):
    """A share with what it is a share of."""

    count: _Count
    n: _Count
    value: _Share | None
    """0–1; None of nothing."""

    @field_validator("n")
    @classmethod
    def _holds_the_count(cls, n: int, info: ValidationInfo) -> int:
        if n < info.data.get("count", 0):
            raise ValueError(f"fewer than the {info.data['count']} that are counted of them")
        return n

    @classmethod
    def of(cls, count: int, n: int) -> Rate:
        """`count` of `n`."""
        return cls(count=count, n=n, value=round(count / n, 6) if n else None)


class KindRate(_Record):
    """One kind of reply: how many the judge accepts, and how many people accept."""

    judge: Rate
    people: Rate


class GroupAgreement(_Bounded):
    """κ on a part of the rows."""

    n: _Count
    agreement: _Share | None
    reason: str | None = None


class MemberAgreement(GroupAgreement):
    """How far the members of a panel agree with each other; `kappa` is Fleiss'."""

    pairwise: Mapping[str, _Share | None] = {}
    """Two members (`offline + llm`) to the share of equal labels; None where they never both gave one."""


class Consistency(_Record):
    """The same question asked again."""

    asked: Annotated[int, Field(ge=2)]
    """How often each question was asked."""
    flips: Rate
    """Rows whose answers are not all the same, of those with an answer every time."""
    band: _Share | None
    """Chance that two askings differ, 0–1. Differences between systems up to this size are no wins."""


class Probe(_Record):
    """What a property that should not matter does to the judge."""

    n: _Count
    """Rows that it was tried on."""
    before: float | None
    """What the judge gives, 0–1; what is compared is said in `meaning`."""
    after: float | None
    gap: float | None
    """`after` minus `before`: 0 for a judge that is not swayed."""
    flips: _Count | None = None
    """Answers that change, where the same reply was judged in two forms."""
    meaning: str


class Injection(_Record):
    """Replies that deserve nothing and tell the judge what to say."""

    steered: Rate


class MetricCalibration(_Bounded):
    """One judge on one task."""

    metric: Annotated[str, Field(min_length=1)]
    """As the labels name it: a task or a metric."""
    task: Task
    """What the judge was asked."""
    judge_key: Annotated[str, Field(min_length=1)]
    """What the figures are bound to; with another key they say nothing."""
    rows: _Count
    """Labelled rows."""
    n: _Count
    """Rows with an answer; only these are in κ."""
    clusters: _Count
    """Histories that these rows are of."""
    n_invalid: _Count
    """Answers that could not be read."""
    n_error: _Count
    """Askings that failed."""
    n_excluded: _Count
    """Rows that the judge says it cannot judge."""
    weights: KappaWeights
    """How κ weighs disagreement: `linear` on scales."""
    agreement: _Share | None
    """Share of equal labels, 0–1."""
    interval: str
    """How the ends were made (`bca`, `percentile`: cluster bootstrap), or why there are none."""
    reason: str | None
    people: Mapping[str, _Share]
    """Label to its share among people's labels, 0–1."""
    judge: Mapping[str, _Share]
    """Label to its share among the judge's."""
    confusion: Mapping[str, Mapping[str, _Count]]
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
    members: MemberAgreement | None = None
    """None: the judge is no panel."""
    probes: Mapping[str, Probe] = {}
    """`wording`, `length`, `position`, `own-model`, `drift`: those that the rows allow."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """Why κ and its interval are to be read with care: few rows, few clusters, or hardly a row of one class."""
        few = (
            (self.n, FEWEST_ROWS, "row", ""),
            (self.clusters, FEWEST_CLUSTERS, "cluster", ""),
            (self.sensitivity.n, FEWEST_OF_A_CLASS, "row", " that people accept"),
            (self.specificity.n, FEWEST_OF_A_CLASS, "row", " that people do not accept"),
        )
        return tuple(f"{n} {what}{'' if n == 1 else 's'}{which}" for n, least, what, which in few if n < least)

    @field_validator("clusters")
    @classmethod
    def _has_a_row_each(cls, clusters: int, info: ValidationInfo) -> int:
        if clusters > info.data.get("n", clusters):
            raise ValueError(f"more clusters than the {info.data['n']} rows with an answer")
        return clusters

    @field_validator("n_excluded")
    @classmethod
    def _adds_up(cls, excluded: int, info: ValidationInfo) -> int:
        parts = ("n", "n_invalid", "n_error")
        if {"rows", *parts} <= info.data.keys():
            total = excluded + sum(info.data[name] for name in parts)
            if total != info.data["rows"]:
                raise ValueError(f"n, n_invalid, n_error and n_excluded add up to {total}, not to the rows")
        return excluded


class Calibration(_Record):
    """A calibration file."""

    schema_version: Literal[1] = SCHEMA_VERSION
    judge: str
    """The judge's name, which opens it."""
    at: AwareDatetime
    """When the judge was asked."""
    labels_sha256: str
    source: str
    """Where the labels come from."""
    seed: int
    metrics: Annotated[tuple[MetricCalibration, ...], Field(min_length=1)]
    injection: Injection | None = None
    """None: not tried."""
