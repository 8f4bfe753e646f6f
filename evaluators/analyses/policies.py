"""Policies: what refusing, echoing, dumping, saying nothing and mere wording score on the same probes.

``policies``, per metric of the visible reply: the figure of each degenerate policy (`evaluators.policies`), the systems
that are not better than the best of them, and by which. A metric that a policy does well on measures that policy too; a
system that is not above it has shown nothing on that metric. Policies have no memory, so that metrics of retrieval and
of plans are left out; the judge is the run's own, and only where it asks no model.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from statistics import fmean

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators._tally import collect
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.metric import Metric
from mnemoscope.evaluators.metrics.registry import METRICS, lower_is_better
from mnemoscope.evaluators.policies import POLICIES, policy_table
from mnemoscope.graphs.reply import HiddenTrace, Reply

__all__ = ["Policies"]

_OF_MEMORY = frozenset({"retrieval", "ranked", "retrieval-text", "supportive"})
_RESAMPLES = 200
"""Policies are read without their intervals."""
_COLUMNS = (
    Column("metric", "text", "The metric."),
    *(Column(name, "share", f"What the policy `{name}` scores.") for name in POLICIES),
    Column("best_policy", "text", "The best of them."),
    Column("systems", "count", "Systems with a figure."),
    Column("not_better", "text", "Systems that are not better than it."),
)


class Policies:
    """`policies`: the floors that no memory is needed for."""

    name = "policies"

    def analyse(self, material: Material) -> Findings:
        """One row per metric that policies have a figure on."""
        title = "what replies without any memory score"
        judge = material.judge
        if judge is None:
            return Findings(
                self.name,
                title,
                missing="policies are judged anew, and this run's judge asks a model; score it with offline",
            )
        means = _means(material)
        metrics = [metric for name in means if (metric := _of_replies(name)) is not None]
        asked = list(dict.fromkeys((row.scenario_id, row.probe_id) for row in material.verdicts(*means)))
        cases, clusters = [], []
        for key in asked:
            probe = material.probe(*key)
            empty = Reply("", HiddenTrace(), None, None)
            cases.append(EvaluationCase(probe.probe, probe.gold, empty, probe.history))
            clusters.append(probe.cluster)
        try:
            table = asyncio.run(
                policy_table(metrics, cases, judge, clusters=clusters, seed=material.seed, resamples=_RESAMPLES)
            )
        except ConfigError as error:
            return Findings(self.name, title, missing=str(error))
        figures: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for row in table:
            if row.stratum == "all" and row.value is not None:
                figures[row.metric][row.system] = row.value
        rows = [_row(name, found, means[name]) for name, found in figures.items()]
        if not rows:
            return Findings(self.name, title, missing="no metric of the visible reply has a figure")
        return Findings(self.name, title, _COLUMNS, tuple(rows))


def _means(material: Material) -> dict[str, dict[str, float]]:
    """Metric to system to its figure, of the metrics of replies: the mean over cells, as in every other table."""
    wanted = [name for name in material.metrics() if _of_replies(name) is not None]
    means: dict[str, dict[str, float]] = {}
    for (metric, _), cells in collect(material.verdicts(*wanted)).items():
        scores: defaultdict[str, list[float]] = defaultdict(list)
        for cell in cells:
            if cell.score is not None:
                scores[cell.system].append(cell.score)
        if scores:
            means.setdefault(metric, {}).update({system: fmean(found) for system, found in scores.items()})
    return means


def _of_replies(name: str) -> Metric | None:
    try:
        metric = METRICS.create(name)
    except ConfigError:  # a recorded one
        return None
    return None if metric.family in _OF_MEMORY or "of=plan" in name else metric


def _row(metric: str, policies: dict[str, float], systems: dict[str, float]) -> tuple[Value, ...]:
    lower = lower_is_better(metric)
    best = (min if lower else max)(policies, key=lambda name: policies[name])
    behind = [
        name for name, value in systems.items() if (value >= policies[best] if lower else value <= policies[best])
    ]
    shown = ", ".join(behind[:3]) + (f" and {len(behind) - 3} more" if len(behind) > 3 else "")
    return (metric, *(policies.get(name) for name in POLICIES), best, len(systems), shown)
