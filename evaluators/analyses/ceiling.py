"""Ceiling: how much of what is missing is lost by retrieval, by the form of the memory, and even with the gold given.

``ceiling``, per system and style, against the system of memory `oracle` with the same profile (LoCoMo-Conv, arXiv
2609.03467, decomposition against the oracle). With f a reply's score, and probes in A where recall is at least .999, in
C where it is 0 and in B between:

- `ceiling = 1 - mean(oracle)`: lost although the gold was given
- `representation = P(A) (oracle_A - f_A)`: lost although everything was retrieved
- `retrieval = P(B) (oracle_B - f_B) + P(C) (oracle_C - f_C)`

With the system's own mean these add up to 1. A part may be negative: the system then does better there than with the
gold alone. `share_of_oracle` is the system's mean over the oracle's.

The score is that of the style: `fact-use` where a judge gives it, else `integration`; `correction` for
counterfactuals; `atomic-coverage` for composed; `answer` for questions. Recall is `recall-given`, else `recall@10`.
Only probes that have all three count. Deviations: the published figures are means over five answer seeds; replicates
are averaged here. Intervals by the cluster bootstrap are ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean

from mnemoscope.evaluators.analyses._one_judge import OfOneJudge, of_one_judge
from mnemoscope.evaluators.analyses._rating import ends, few_clusters, rated, rated_share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material, SystemFacts

__all__ = ["Ceiling"]

_ALL = 0.999
_SCORES = {
    "counterfactual": ("correction",),
    "composed": ("atomic-coverage", "integration"),
    "question": ("answer", "integration"),
}
_ELSE = ("fact-use", "integration")
_RECALLS = ("recall-given", "recall@10")
_COLUMNS = (
    Column("system", "text", "The system."),
    Column("style", "text", "How the probes are put."),
    Column("metric", "text", "The score."),
    Column("probes", "count", "Probes with a score, the oracle's score, and recall."),
    Column("mean", "share", "The system's score."),
    *ends("mean", "mean_"),
    Column("ceiling", "share", "Missing even with the gold given."),
    *ends("ceiling", "ceiling_"),
    Column("representation", "points", "Missing where everything was retrieved."),
    *ends("representation", "representation_", "points"),
    Column("retrieval", "points", "Missing where something was not."),
    *ends("retrieval", "retrieval_", "points"),
    Column("share_of_oracle", "number", "The score over the oracle's; above 1 where the system does better."),
    Column("all_retrieved", "share", "Probes on which everything was retrieved."),
    Column("none_retrieved", "share", "Probes on which nothing was."),
)
_Probe = tuple[str, str]
_Scores = Mapping[tuple[str, str], Mapping[_Probe, float]]
_NO_INPUT = (
    "the oracle was given the turns that hold the gold: what it does not reach is lost to writing and judging, and to "
    "labels that are wrong"
)


class Ceiling:
    """`ceiling`: what is lost where, against replies that were given the gold."""

    name = "ceiling"

    def analyse(self, material: Material) -> Findings:
        """One row per system and style."""
        title = "what is lost to retrieval, to the form of the memory, and with the gold given"
        oracles = {s.profile: s for s in material.systems.values() if s.memory == "oracle"}
        if not oracles:
            return Findings(self.name, title, missing="no system has the memory oracle; add --architecture oracle")
        wanted = {*_RECALLS, *_ELSE, *(name for names in _SCORES.values() for name in names)}
        verdicts = of_one_judge(material, *sorted(wanted))
        scores = _means(verdicts)
        styles = list(dict.fromkeys(_style(material, p) for found in scores.values() for p in found))
        rows = [
            row
            for style in styles
            for system in material.systems.values()
            if not system.privileged
            and (oracle := oracles.get(system.profile)) is not None
            and (row := _row(system, oracle, style, scores, material)) is not None
        ]
        if not rows:
            return Findings(self.name, title, missing="no probe has a score, the oracle's score, and recall")
        clusters = {material.probe(*probe).cluster for found in scores.values() for probe in found}
        notes = (_NO_INPUT, *few_clusters(clusters), *verdicts.limits())
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes)


def _means(verdicts: OfOneJudge) -> _Scores:
    """(System, metric) to probe to the mean score over subjects and replicates."""
    found: defaultdict[tuple[str, str], defaultdict[_Probe, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row, score in verdicts.scored():
        found[row.system, row.metric][row.scenario_id, row.probe_id].append(score)
    return {key: {probe: fmean(values) for probe, values in probes.items()} for key, probes in found.items()}


def _style(material: Material, probe: _Probe) -> str:
    return material.probe(*probe).probe.style or ""


def _row(
    system: SystemFacts, oracle: SystemFacts, style: str, scores: _Scores, material: Material
) -> tuple[Value, ...] | None:
    recall = next((scores[system.name, name] for name in _RECALLS if (system.name, name) in scores), {})
    for metric in _SCORES.get(style, _ELSE):
        own, given = scores.get((system.name, metric), {}), scores.get((oracle.name, metric), {})
        probes = [p for p in own if p in given and p in recall and _style(material, p) == style]
        if probes:
            break
    else:
        return None
    clusters = [material.probe(*probe).cluster for probe in probes]
    whole = [recall[probe] >= _ALL for probe in probes]
    missing = [given[probe] - own[probe] for probe in probes]
    mean = rated_share([own[probe] for probe in probes], clusters, material)
    ceiling = rated_share([1 - given[probe] for probe in probes], clusters, material)
    representation = rated([lost * there for lost, there in zip(missing, whole, strict=True)], clusters, material)
    retrieval = rated([lost * (not there) for lost, there in zip(missing, whole, strict=True)], clusters, material)
    best = fmean(given[probe] for probe in probes)
    return (
        system.name,
        style,
        metric,
        len(probes),
        *mean[:3],
        *ceiling[:3],
        *representation[:3],
        *retrieval[:3],
        fmean(own[probe] for probe in probes) / best if best else None,
        fmean(whole),
        fmean(recall[probe] == 0 for probe in probes),
    )
