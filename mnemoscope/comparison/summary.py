"""The one summary that terminal, exports and report all print: figures, pairs, losses, costs, warnings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mnemoscope.evaluators.analyses.analysis import Findings
from mnemoscope.evaluators.calibration.library import Kappa, calibration_said
from mnemoscope.evaluators.judges.question import Task
from mnemoscope.evaluators.rows import MetricRow, PairRow
from mnemoscope.evaluators.statistics.config import DEFAULT_STATISTICS, StatisticsConfig
from mnemoscope.evaluators.statistics.equivalence import Equivalence
from mnemoscope.evaluators.statistics.paired import smallest_p
from mnemoscope.runfile.judging import Judgements
from mnemoscope.runfile.rows import IMPORTED, SystemRow

__all__ = ["Comparison", "Cost", "Figure", "Funnel", "Headline", "PairFigure", "SystemView", "finite"]


def finite(value: float | None) -> float | None:
    """A figure to 1e-6 as JSON can hold it; None for what is missing, not a number or infinite.

    Example:
        >>> finite(float("nan")) is None, finite(2 / 3)
        (True, 0.666667)
    """
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), 6) + 0.0


class Headline(NamedTuple):
    """One metric in one stratum: what a table shows unless asked for others."""

    metric: str
    stratum: str


@dataclass(frozen=True, slots=True)
class SystemView:
    """One system, with the conditions that its figures hold under."""

    row: SystemRow
    files: tuple[str, ...]
    """Labels of the run files that it comes from."""
    settings: Mapping[str, str]
    cells_expected: int
    cells_done: int
    cells_failed: int
    unequal: tuple[str, ...] = ()
    """Settings that are others here than in most rows; an imported row's are not known."""

    @property
    def name(self) -> str:
        """The name that figures refer to."""
        return self.row.name

    @property
    def is_imported(self) -> bool:
        """Whether another harness made it: shown apart, and never ranked."""
        return self.row.evidence_class == IMPORTED

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands beside its figures: evidence class and mode, and what sets it apart from other rows."""
        own = ("unverified" if self.row.is_unverified else "", "reads gold" if self.row.privileged else "")
        unequal = (f"other {setting}" for setting in self.unequal)
        return tuple(filter(None, (self.row.evidence_class, self.row.mode, *own, *unequal)))

    @property
    def part(self) -> Literal[0, 1, 2]:
        """Part of a table: 0 for what is ranked, 1 for imported rows, 2 for those that read gold."""
        return 2 if self.row.privileged else 1 if self.is_imported else 0

    @property
    def is_complete(self) -> bool:
        """Whether every cell has an outcome, failed ones included."""
        return self.cells_done == self.cells_expected

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "system": self.row.name,
            "memory": self.row.memory,
            "profile": self.row.profile,
            "evidence": self.row.evidence_class,
            "mode": self.row.mode or None,
            "privileged": self.row.privileged,
            "unverified": self.row.is_unverified,
            "summary": self.row.summary,
            "files": list(self.files),
            "settings": {name: _setting(name, text) for name, text in self.settings.items()},
            "cells_expected": self.cells_expected,
            "cells_done": self.cells_done,
            "cells_failed": self.cells_failed,
            "unequal": list(self.unequal),
        }


_NAMES = frozenset({"model", "memory_model", "judge_model", "judge", "embedder", "vector_store", "encoding"})
"""Settings whose text is a name, even where it reads as a number."""


def _setting(name: str, text: str) -> object:
    """A setting as JSON holds it: numbers, switches and lists are no text."""
    if name in _NAMES:
        return None if text == "null" else text
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(MetricRow):
    """A metric's row with what must be said beside it."""

    benchmark: str
    judged: bool
    """Whether a judge read texts; False where ids or a published formula decide, so that no calibration is due."""
    ceiling: float | None = None
    """The most that a right reply can score, where an overlay shows that the gold scored against is partly wrong."""
    vs_none: float | None = None
    """Value minus that of `none` with the same profile and settings: what the memory adds."""
    vs_oracle: float | None = None
    """Value minus that of `oracle` with the same profile and settings: what is still missing."""
    agreement: Kappa | None = None
    """Of the judge with people, on this metric; None: not calibrated."""
    task_agreement: Mapping[Task, Kappa] = field(default_factory=dict)
    """Where the metric is not calibrated, agreement on the tasks that it asks the judge, as far as measured."""
    flip_rate: float | None = None
    """Share of a judge's votes that went against its own majority, 0–1; None where it voted once."""

    @property
    def kappa(self) -> float | None:
        """κ of the judge with people on this metric; None: not calibrated, or undefined."""
        return self.agreement.value if self.agreement else None

    @property
    def calibration(self) -> str:
        """What every table says beside a judge: κ with its interval and rows, or that there is none."""
        return calibration_said(self.agreement, self.task_agreement)

    @property
    def n_failed(self) -> int:
        """Cells without a score for a reason that is nobody's answer."""
        return sum(self.n_error.values()) + self.n_invalid

    @property
    def is_above_ceiling(self) -> bool:
        """Whether the value is more than a right reply can score: its judge or the gold is at fault."""
        return self.ceiling is not None and self.value is not None and self.value > self.ceiling + 1e-6

    def to_json(self) -> dict[str, object]:
        """Plain data: shares are 0–1, what is missing is null."""
        return {
            "benchmark": self.benchmark,
            "metric": self.metric,
            "system": self.system,
            "stratum": self.stratum,
            "n_expected": self.n_expected,
            "n_scored": self.n_scored,
            "n_error": dict(sorted(self.n_error.items())),
            "n_invalid": self.n_invalid,
            "n_excluded": dict(sorted(self.n_excluded.items())),
            "value": finite(self.value),
            "low": finite(self.low),
            "high": finite(self.high),
            "interval": self.interval,
            "strict": finite(self.strict),
            "ceiling": finite(self.ceiling),
            "vs_none": finite(self.vs_none),
            "vs_oracle": finite(self.vs_oracle),
            "flip_rate": finite(self.flip_rate),
            "clusters": self.clusters,
            "judge_key": self.judge_key,
            "kappa": finite(self.kappa),
            "kappa_low": finite(self.agreement.low) if self.agreement else None,
            "kappa_high": finite(self.agreement.high) if self.agreement else None,
            "kappa_n": self.agreement.n if self.agreement else None,
            "task_kappa": {task: _kappa(kappa) for task, kappa in self.task_agreement.items()},
            "kappa_cautions": list(self.agreement.cautions) if self.agreement else [],
            "evidence": self.evidence,
        }


def _kappa(known: Kappa) -> dict[str, object]:
    ends = {name: finite(value) for name, value in (("kappa", known.value), ("low", known.low), ("high", known.high))}
    return {**ends, "n": known.n, "clusters": known.clusters, "cautions": list(known.cautions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigure(PairRow):
    """A pair's row with what decides whether a mark may be set."""

    benchmark: str
    comparable: bool
    """False across evidence classes, for systems that read gold, and under unequal conditions."""
    flip_band: float | None = None
    """Difference that the judge's changes of mind alone could make of equal replies; None where it voted once."""
    alpha: float = DEFAULT_STATISTICS.alpha
    """Level of the tests."""
    equivalence: Equivalence | None = None
    """Whether the difference is shown to stay within the margin; None where the configuration sets none."""

    @property
    def p_floor(self) -> float | None:
        """Smallest `p_clustered` that this many clusters allow; None for one, which tells nothing."""
        return smallest_p(self.clusters) if self.clusters > 1 else None

    @property
    def is_within_flips(self) -> bool:
        """Whether judging the same replies again could undo the difference."""
        return bool(self.flip_band) and self.delta is not None and abs(self.delta) <= (self.flip_band or 0.0)

    @property
    def is_significant(self) -> bool:
        """Whether a mark may be set: comparable, adjusted p below alpha, and more than the judge's changes of mind."""
        shown = self.p_adjusted is not None and self.p_adjusted < self.alpha
        return self.comparable and shown and not self.is_within_flips

    @property
    def is_equivalent(self) -> bool:
        """Whether it may be said that the difference is too small to matter: comparable, and shown by the tests."""
        return self.comparable and self.equivalence is not None and self.equivalence.equivalent

    def to_json(self) -> dict[str, object]:
        """Plain data: differences of shares, what is missing is null."""
        return {
            "benchmark": self.benchmark,
            "metric": self.metric,
            "judge_key": self.judge_key,
            "stratum": self.stratum,
            "a": self.a,
            "b": self.b,
            "delta": finite(self.delta),
            "low": finite(self.low),
            "high": finite(self.high),
            "p": finite(self.p),
            "p_clustered": finite(self.p_clustered),
            "p_adjusted": finite(self.p_adjusted),
            "test": self.test,
            "n": self.n,
            "clusters": self.clusters,
            "mde": finite(self.mde),
            "p_floor": finite(self.p_floor),
            "equivalence": None if self.equivalence is None else _equivalence(self.equivalence),
            "flip_band": finite(self.flip_band),
        }


def _equivalence(found: Equivalence) -> dict[str, object]:
    numbers = {"margin": found.margin, "p": found.p, "low": found.low, "high": found.high}
    return {"verdict": found.verdict, **{name: finite(value) for name, value in numbers.items()}}


@dataclass(frozen=True, slots=True)
class Funnel:
    """Where one system's gold facts went; `stages` adds up to `facts`, those counted that cannot be told."""

    system: str
    facts: int
    stages: Mapping[str, int]
    non_monotone: int
    """Facts that came out although an earlier stage had lost them."""
    routes_disagree: int
    """Facts of which provenance and text say different things."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one system took, over its cells and the ingests of its memory."""

    system: str
    replies: int
    context_tokens: float | None
    """Estimated tokens of memory per reply."""
    given: float | None
    """Memories per reply."""
    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    embedded_texts: int
    cache_hits: int
    reply_ms: float | None
    first_token_ms: float | None
    """Median over the replies that were streamed; None where none was."""
    ingest_ms: float
    """Of the whole memory; systems that share a memory share it."""
    reply_characters: float | None = None
    """Of the visible reply, on average: long replies can look right by naming everything."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that was compared, once."""

    systems: tuple[SystemView, ...]
    metrics: tuple[Figure, ...]
    pairs: tuple[PairFigure, ...]
    warnings: tuple[str, ...]
    funnels: tuple[Funnel, ...] = ()
    costs: tuple[Cost, ...] = ()
    headlines: Mapping[str, tuple[Headline, ...]] = field(default_factory=dict)
    """Benchmark to what a table of it shows, in order."""
    baseline: str | None = None
    """The system that the others are compared with; None: every pair is compared."""
    baseline_is_chosen: bool = False
    """Whether nobody named the baseline, so that it was taken from the usual ones."""
    judges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Judge to the keys of its verdicts on the metrics that are compared."""
    detectors: tuple[str, ...] = ()
    """The rules that losses are attributed by, one or one per run file."""
    analyses: tuple[Findings, ...] = ()
    judgements: Judgements | None = None
    """Of all judged metrics, whether shown or not; None where no metric is judged."""
    statistics: StatisticsConfig = DEFAULT_STATISTICS
    """The rules that tests followed."""

    @property
    def is_complete(self) -> bool:
        """Whether no system lacks a cell."""
        return all(system.is_complete for system in self.systems)

    def system(self, name: str) -> SystemView:
        """One system by name; `KeyError` if there is none."""
        return {view.name: view for view in self.systems}[name]

    def to_json(self) -> dict[str, object]:
        """The documented shape: systems, metrics, pairs, warnings."""
        return {
            "systems": [
                {**system.to_json(), **self._taken(system.name), **self._lost(system.name)} for system in self.systems
            ],
            "metrics": [figure.to_json() for figure in self.metrics],
            "pairs": [pair.to_json() for pair in self.pairs],
            "judgements": None if self.judgements is None else self.judgements.to_json(),
            "judges": {judge: list(keys) for judge, keys in self.judges.items()},
            "detectors": list(self.detectors),
            "baseline": self.baseline,
            "statistics": self.statistics.model_dump(),
            "warnings": list(self.warnings),
            **({"analyses": [findings.to_json() for findings in self.analyses]} if self.analyses else {}),
        }

    def _lost(self, system: str) -> dict[str, object]:
        """Where a system's gold facts went, stage by stage: the numbers add up to its facts."""
        funnel = next((funnel for funnel in self.funnels if funnel.system == system), None)
        return {} if funnel is None else {"losses": dict(funnel.stages)}

    def _taken(self, system: str) -> dict[str, object]:
        """What a reply of a system was given, and how long it came out."""
        cost = next((cost for cost in self.costs if cost.system == system), None)
        if cost is None:
            return {}
        return {
            "context_tokens": finite(cost.context_tokens),
            "given": finite(cost.given),
            "reply_characters": finite(cost.reply_characters),
        }
