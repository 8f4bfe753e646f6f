"""How many verdicts a judge was asked for, and how many it failed to give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.metrics.metric import tasks_of
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.verdict import JUDGE_ERROR
from mnemoscope.runfile.reader import RunReader

__all__ = ["Judgements", "is_judged", "is_recorded", "judgements_of"]


@dataclass(frozen=True, slots=True)
class Judgements:
    """Verdicts of judged metrics on cells that have a reply; those that do not apply are not counted."""

    asked: int
    failed: Mapping[str, int]
    """Cause to number: a judge's errors (`timeout`), and answers that could not be read (`unparseable`)."""

    @property
    def n_failed(self) -> int:
        """All that are no verdict; none of them is a no."""
        return sum(self.failed.values())

    @property
    def failed_share(self) -> float:
        """Failed ones among those asked for, 0–1."""
        return self.n_failed / self.asked if self.asked else 0.0

    def __str__(self) -> str:
        said = f"{self.n_failed:,} of {self.asked:,} judgements failed ({self.failed_share:.1%})"
        causes = ", ".join(f"{cause} {count:,}" for cause, count in self.failed.items())
        return f"{said}: {causes}" if causes else said

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"asked": self.asked, "failed": dict(self.failed), "failed_share": round(self.failed_share, 6)}


def judgements_of(runs: Iterable[RunReader]) -> Judgements | None:
    """Count the verdicts of judges over whole run files; None where no metric of theirs is judged.

    Args:
        runs: Open run files.
    """
    asked = 0
    failed: Counter[str] = Counter()
    for run in runs:
        for row in run.verdict_states():
            if is_judged(row.metric, row.judge_key):
                asked += row.n
                if row.status != "scored":
                    failed[row.label.removeprefix(JUDGE_ERROR)] += row.n
    return Judgements(asked, dict(sorted(failed.items()))) if asked else None


def is_recorded(judge_key: str) -> bool:
    """Whether verdicts of this key were imported from another harness, so that nobody here can give more of them."""
    return judge_key.startswith("recorded:")


@lru_cache(maxsize=256)
def is_judged(metric: str, judge_key: str) -> bool:
    """Whether a judge reads texts for a metric; False where ids or a published formula decide.

    Args:
        metric: Its name.
        judge_key: Of a verdict; foreign verdicts always come from a judge.
    """
    if is_recorded(judge_key):
        return True
    try:
        return bool(tasks_of(METRICS.create(metric)))
    except ConfigError:  # a metric that only the run's author has
        return bool(judge_key)
