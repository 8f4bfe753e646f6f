"""Policies: what refusing, echoing, dumping, saying nothing and mere wording score on the same probes.

``policies``, per metric of the visible reply: the figure of each degenerate policy (`evaluators.policies`), the systems
that are not better than the best of them, and by which. A metric that a policy does well on measures that policy too; a
system that is not above it has shown nothing on that metric. Policies have no memory, so that metrics of retrieval and
of plans are left out; the judge is the offline one, and systems are compared by its verdicts only.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean
from typing import NamedTuple, TypeVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators._tally import collect
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.metric import Metric
from mnemoscope.evaluators.metrics.registry import METRICS, lower_is_better
from mnemoscope.evaluators.policies import POLICIES, policy_table
from mnemoscope.evaluators.rows import ALL
from mnemoscope.graphs.reply import HiddenTrace, Reply

__all__ = ["Policies"]

T = TypeVar("T")

_OF_MEMORY = frozenset({"retrieval", "ranked", "retrieval-text", "supportive"})
_RESAMPLES = 200
"""Policies are read without their intervals."""
_COLUMNS = (
    Column("metric", "text", "The metric."),
    *(Column(name, "share", f"What the policy `{name}` scores.") for name in POLICIES),
    Column("best_policy", "text", "The best of them."),
    Column("systems", "count", "Systems with a figure."),
    Column("not_better", "count", "Of these, not better than the best policy."),
    Column("which", "text", "Their names."),
)
_SAME = 1e-6
"""Figures of policies are rounded to six digits."""


class Policies:
    """`policies`: the floors that no memory is needed for."""

    name = "policies"

    def analyse(self, material: Material) -> Findings:
        """One row per metric that policies have a figure on."""
        title = "what replies without any memory score"
        if (judge := material.judge) is None:
            return Findings(
                self.name,
                title,
                missing="policies are judged anew, and this run's judge asks a model; score the run with offline, too",
            )
        means = _means(material)
        asked = _asked(material, sorted({metric for metric, _ in means}))
        try:
            table = _finished(
                policy_table(
                    asked.metrics, asked.cases, judge, clusters=asked.clusters, seed=material.seed, resamples=_RESAMPLES
                )
            )
        except ConfigError as error:
            return Findings(self.name, title, missing=str(error))
        figures: defaultdict[str, dict[str, float]] = defaultdict(dict)
        systems: dict[str, dict[str, float]] = {}
        for row in table:
            if row.stratum == ALL and row.value is not None and (row.metric, row.judge_key) in means:
                figures[row.metric][row.system] = row.value
                systems[row.metric] = means[row.metric, row.judge_key]
        if not figures:
            return Findings(self.name, title, missing="no metric of the visible reply has a figure by this judge")
        rows = tuple(_row(name, found, systems[name]) for name, found in figures.items())
        return Findings(self.name, title, _COLUMNS, rows, tuple(_notes(figures, systems)))


def _finished(work: Coroutine[object, object, T]) -> T:
    """What a coroutine returns; where an event loop runs already, as in a notebook, on a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


class _Asked(NamedTuple):
    """What policies are asked: every probe that some system has a verdict on."""

    metrics: list[Metric]
    cases: list[EvaluationCase]
    clusters: list[str]


def _asked(material: Material, names: Sequence[str]) -> _Asked:
    metrics = [metric for name in names if (metric := _of_replies(name)) is not None]
    asked = dict.fromkeys((row.scenario_id, row.probe_id) for row in material.verdicts(*names))
    probes = [material.probe(*key) for key in asked]
    nothing = Reply("", HiddenTrace(), None, None)
    cases = [EvaluationCase(probe.probe, probe.gold, nothing, probe.history) for probe in probes]
    return _Asked(metrics, cases, [probe.cluster for probe in probes])


def _means(material: Material) -> dict[tuple[str, str], dict[str, float]]:
    """Metric and judge to system to its figure: the mean over cells, as in every other table."""
    wanted = [name for name in material.metrics() if _of_replies(name) is not None]
    means: dict[tuple[str, str], dict[str, float]] = {}
    for key, cells in collect(material.verdicts(*wanted)).items():
        scores: defaultdict[str, list[float]] = defaultdict(list)
        for cell in cells:
            if cell.score is not None:
                scores[cell.system].append(cell.score)
        if scores:
            means[key] = {name: fmean(scores[name]) for name in material.systems if name in scores}
    return means


def _of_replies(name: str) -> Metric | None:
    try:
        metric = METRICS.create(name)
    except ConfigError:  # a recorded one
        return None
    return None if metric.family in _OF_MEMORY or "of=plan" in name else metric


def _row(metric: str, policies: Mapping[str, float], systems: Mapping[str, float]) -> tuple[Value, ...]:
    best = _best(metric, policies)
    behind = _behind(metric, policies[best], systems)
    which = "all" if behind and len(behind) == len(systems) else ", ".join(behind)
    return (metric, *(policies.get(name) for name in POLICIES), best, len(systems), len(behind), which)


def _best(metric: str, policies: Mapping[str, float]) -> str:
    return (min if lower_is_better(metric) else max)(policies, key=lambda name: policies[name])


def _behind(metric: str, floor: float, systems: Mapping[str, float]) -> list[str]:
    """Systems that are not better than a figure; means of the same scores may differ in the last digits."""
    sign = -1 if lower_is_better(metric) else 1
    return [name for name, value in systems.items() if sign * (value - floor) <= _SAME]


def _notes(figures: Mapping[str, Mapping[str, float]], systems: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Where a policy cannot be beaten, and which systems one policy matches throughout."""
    perfect = [name for name, found in figures.items() if found[_best(name, found)] == float(not lower_is_better(name))]
    if perfect:
        yield (
            f"a policy has the best possible figure on {len(perfect)} of {len(figures)} metrics; no system can be "
            "better there, so read each beside a metric that the policy fails"
        )
    for policy in POLICIES:
        held = [name for name, found in figures.items() if policy in found]
        behind = {name: _behind(name, figures[name][policy], systems[name]) for name in held}
        scored = dict.fromkeys(system for name in held for system in systems[name])
        matched = [one for one in scored if all(one in behind[name] for name in held if one in systems[name])]
        if matched:
            yield f"not better than {policy} on any metric: {', '.join(matched)}"
