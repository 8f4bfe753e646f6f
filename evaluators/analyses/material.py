"""What analyses read: the verdicts, cells and losses of a run, with the probes and gold behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.aggregate import ScoreRow
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.statistics.config import StatisticsConfig
from mnemoscope.scenarios.records import Gold, Probe, Turn

__all__ = ["AskedProbe", "CellFacts", "Lost", "Material", "Scope", "SystemFacts"]


class SystemFacts(NamedTuple):
    """One system, as compared."""

    name: str
    memory: str
    """The architecture with its parameters: systems of one memory share what was stored."""
    profile: str
    evidence: str
    privileged: bool
    seed: int = 0
    """With which its memory was built: that of the memory's model, else that of the run."""
    settings: str = ""
    """All others of its run, as text: systems that differ in that seed alone are one system, built again."""


class Scope(NamedTuple):
    """One figure that tables show: a metric over some of the probes."""

    metric: str
    stratum: str
    """What the probes have in common, for people; empty: all of one benchmark."""
    probes: frozenset[tuple[str, str]]
    """Scenario and probe."""


class AskedProbe(NamedTuple):
    """A probe with its gold and its place."""

    probe: Probe
    gold: Gold
    cluster: str
    benchmark: str
    history: tuple[Turn, ...]
    """The turns that were known."""
    next_text: str | None
    """The user's next turn in the recorded history, where there is one."""


@dataclass(frozen=True, slots=True)
class CellFacts:
    """One cell's outcome: what was said, and at what cost."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    status: str
    text: str
    """The visible reply; empty where the cell failed."""
    planned: tuple[str, ...]
    """Slots of the plan, suppressed ones left out; empty without a plan."""
    realised: Mapping[str, bool]
    """Slot to whether `verify` found it said; empty where nothing was verified."""
    slot_memories: Mapping[str, str]
    """Slot to the id of its memory."""
    context_tokens: int
    usage: Usage
    judging: Usage
    ms: float
    """Milliseconds from the probe to the reply."""
    first_token_ms: float | None = None
    """Milliseconds to the writer's first token; None where replies are not streamed."""


class Lost(NamedTuple):
    """Where one gold fact of one cell went."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    fact_id: str
    stage: str
    is_told: bool = True
    """Whether something tells if it was retrieved; a fact of which nothing does may still be `kept`."""


class Material(Protocol):
    """One run, or several merged; rows come in one order each time they are read."""

    @property
    def systems(self) -> Mapping[str, SystemFacts]:
        """Systems by name, in the order asked for."""

    @property
    def seed(self) -> int:
        """Of all draws."""

    @property
    def resamples(self) -> int:
        """Of bootstraps."""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The figures that tables show, or those of the metrics that were asked for, in their order."""

    @property
    def baseline(self) -> str | None:
        """The system that the others are compared with; None: every pair."""

    @property
    def statistics(self) -> StatisticsConfig:
        """The rules of tests."""

    def verdicts(self, *metrics: str) -> Iterator[ScoreRow]:
        """Verdicts of the named metrics, with a failure for every cell that should have one and has none."""

    def calibration(self, metric: str, judge_key: str) -> str:
        """What is known of a metric's judge: κ, or `uncalibrated` with κ of the tasks that it is asked."""

    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that have verdicts, sorted."""

    def cells(self) -> Iterator[CellFacts]:
        """All cells that were asked and have an outcome."""

    def losses(self) -> Iterator[Lost]:
        """Where all gold facts went."""

    def ingest(self) -> Mapping[str, Usage]:
        """System to what writing its memory cost: that of all who share it, or of its own."""

    def probe(self, scenario_id: str, probe_id: str) -> AskedProbe:
        """One probe; `KeyError` where there is none."""

    def cluster(self, scenario_id: str) -> str:
        """A scenario's unit of resampling."""

    @property
    def judge(self) -> Judge | None:
        """A judge of the run's verdicts that may be asked anew at no cost; None where a model gave them all."""
