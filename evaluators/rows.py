"""What aggregation reads and gives back: verdicts and probes, figures and pairs, as plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["ALL", "MACRO", "Aggregates", "MetricRow", "PairRow", "ProbeFacts", "ScoreRow"]

ALL = "all"
"""Stratum of every probe, each weighing the same: the micro figure."""
MACRO = "macro"
"""Stratum of the mean over categories, in which a small category weighs as much as a large one."""


class ScoreRow(NamedTuple):
    """One verdict in the order in which run files hand them over; any tuple of this shape will do."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    metric: str
    subject: str
    label: str
    score: float | None
    status: str
    judge_key: str


class ProbeFacts(NamedTuple):
    """What groups a probe."""

    cluster: str
    strata: tuple[str, ...]
    benchmark: str


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric of one system in one stratum by one judge, with everybody who is in it and who is not."""

    metric: str
    system: str
    stratum: str
    n_expected: int
    """Cells that have a verdict of this metric, failures and exclusions included."""
    n_scored: int
    n_error: Mapping[str, int]
    """Cause to number."""
    n_invalid: int
    n_excluded: Mapping[str, int]
    """Reason to number."""
    value: float | None
    """Mean of the scored, 0–1; None where nothing was scored."""
    strict: float | None
    """The same with every failed or invalid cell as 0 or, where lower is better, 1."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval."""
    interval: str
    """`cluster-bootstrap`, `wilson` (independent rows, or all 0 or all 1), or why there is none."""
    clusters: int
    judge_key: str
    evidence: str


@dataclass(frozen=True, slots=True)
class PairRow:
    """The difference of two systems on the probes that both scored; `delta` is a minus b."""

    metric: str
    judge_key: str
    stratum: str
    a: str
    b: str
    delta: float | None
    low: float | None
    high: float | None
    p: float | None
    """Unclustered: McNemar's exact test, or a paired t test."""
    p_clustered: float | None
    """Sign flips of whole clusters: the one to believe."""
    p_adjusted: float | None
    """`p_clustered` corrected over the pairs of one metric and stratum; None for one cluster, which tells nothing."""
    test: str
    n: int
    clusters: int
    mde: float | None
    """Smallest difference that this many clusters show with 80 % power; see `detectable`."""
    error: float | None = None
    """Standard error of `delta`, by the cluster bootstrap; None for one cluster."""


@dataclass(frozen=True, slots=True)
class Aggregates:
    """All figures of a set of verdicts, in a fixed order."""

    metrics: tuple[MetricRow, ...]
    pairs: tuple[PairRow, ...]
    warnings: tuple[str, ...] = field(default=())
