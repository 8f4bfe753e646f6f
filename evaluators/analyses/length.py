"""Length: how long the replies are, and whether verdicts follow length.

``length``, per system and judged metric: the median length of the visible replies in characters, and Spearman's ρ of
length and score over the replies that the metric scored, with an interval by the cluster bootstrap. Where long replies
score higher by themselves, a system that talks more wins without remembering more; a judge that follows length shows
the same ρ for every system. The score of a reply is the mean over its verdicts.

A ρ is about association only: replies that remember more may well be longer for that reason. It is missing where all
scores or all lengths are the same; metrics with fewer than ten replies of a system are left out.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median
from typing import Protocol

from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses._rating import few_clusters
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.metrics.metric import tasks_of
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.statistics.association import spearman

__all__ = ["Length"]

_FEWEST = 10
_RESAMPLES = 2_000
"""Ranks are taken anew in every draw, which takes time."""
_COLUMNS = (
    Column("system", "text", "The system."),
    Column("metric", "text", "The judged metric."),
    Column("replies", "count", "Replies that it scored."),
    Column("characters", "number", "Median length of these replies."),
    Column("rho", "number", "Spearman's ρ of length and score."),
    Column("low", "number", "Lower end of its 95 % interval."),
    Column("high", "number", "Upper end."),
)
_Key = tuple[str, str, str, int]


class Length:
    """`length`: reply length per system, and its rank correlation with each judged metric."""

    name = "length"

    def analyse(self, material: Material) -> Findings:
        """One row per system and judged metric with enough replies."""
        title = "reply length, and whether verdicts follow it"
        sizes = {_key(c): float(len(c.text)) for c in material.cells() if c.status == "ok"}
        scores: defaultdict[tuple[str, str], defaultdict[_Key, list[float]]] = defaultdict(lambda: defaultdict(list))
        verdicts = of_one_judge(material, *filter(_is_judged, material.metrics()))
        for row, score in verdicts.scored():
            if (key := _key(row)) in sizes:
                scores[row.system, row.metric][key].append(score)
        rows = [
            _row(material, system, metric, scores[system, metric], sizes)
            for system in material.systems
            for _, metric in sorted(pair for pair in scores if pair[0] == system)
            if len(scores[system, metric]) >= _FEWEST
        ]
        if not rows:
            return Findings(
                self.name, title, missing=f"no judged metric scored {_FEWEST} replies of one system in this run"
            )
        short = len({metric for _, metric in scores} - {row[1] for row in rows})
        left_out = (f"{short} metrics with fewer than {_FEWEST} replies are left out",) if short else ()
        clusters = {material.probe(scenario, probe).cluster for _, scenario, probe, _ in sizes}
        notes = (*left_out, *few_clusters(clusters), *verdicts.limits())
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes)


class _Named(Protocol):
    """A cell, or a verdict on one."""

    @property
    def system(self) -> str: ...
    @property
    def scenario_id(self) -> str: ...
    @property
    def probe_id(self) -> str: ...
    @property
    def replicate(self) -> int: ...


def _key(row: _Named) -> _Key:
    return row.system, row.scenario_id, row.probe_id, row.replicate


def _row(
    material: Material, system: str, metric: str, scores: dict[_Key, list[float]], sizes: dict[_Key, float]
) -> tuple[Value, ...]:
    lengths, means = [sizes[key] for key in scores], [fmean(found) for found in scores.values()]
    clusters = [material.probe(scenario, probe).cluster for _, scenario, probe, _ in scores]
    found = spearman(lengths, means, clusters, seed=material.seed, resamples=min(material.resamples, _RESAMPLES))
    return (system, metric, len(scores), median(lengths), found.rho, found.low, found.high)


def _is_judged(name: str) -> bool:
    base = name.partition("(")[0].partition("@")[0]
    return base in METRICS and bool(tasks_of(METRICS.create(name)))
