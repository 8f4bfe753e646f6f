"""The verdicts that figures are made of: those of the run files, and a reason for every one that is not there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from mnemoscope.comparison.merging import Member, RunSet
from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.metric import Metric, failure
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.verdict import NOT_JUDGED
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.runfile.judging import is_judged, is_recorded
from mnemoscope.runfile.rows import CellKey, VerdictRow
from mnemoscope.scenarios.records import Scenario

__all__ = ["all_verdicts"]

_NO_REPLY = Reply("", HiddenTrace(), None, None, status="error")


class _Scoring(NamedTuple):
    """One metric by one judge."""

    metric: str
    judge_key: str
    """Empty: whichever judge the metric has."""


class _Gap(NamedTuple):
    """A cell that a scoring has no verdict on, though the metric may apply."""

    cell: CellKey
    scoring: _Scoring


_Seen = Mapping[_Scoring, set[CellKey]]


def all_verdicts(runs: RunSet) -> Iterator[VerdictRow]:
    """Verdicts on every cell that was asked for, by every judge that judged its file.

    Failures of a failed cell are labelled with its cause. A cell without verdicts, such as one that is not there yet,
    fails each metric of the run files that applies to its probe. A cell that has a reply and that a judge has not been
    asked about is left out of that judge's figure, for the reason `NOT_JUDGED`.

    Args:
        runs: The run files.
    """
    causes = runs.unanswered()
    bare, metrics = set(causes), set[str]()
    gaps: list[_Gap] = []
    for member in runs.members:
        seen: defaultdict[_Scoring, set[CellKey]] = defaultdict(set)
        for row in member.verdict_rows():
            key = CellKey(*row[:4])
            metrics.add(row.metric)
            bare.discard(key)
            if is_judged(row.metric, row.judge_key) and not is_recorded(row.judge_key):
                seen[_Scoring(row.metric, row.judge_key)].add(key)
            yield row._replace(label=causes[key]) if row.status == "error" and key in causes else row
        if half := list(_half_judged(member, seen)):
            silent = member.without_text()
            gaps += [gap for gap in half if gap.cell not in silent]
    gaps = [gap for gap in gaps if gap.cell not in bare]
    gaps += [_Gap(cell, _Scoring(metric, "")) for cell in bare for metric in sorted(metrics)]
    yield from _filled(runs, gaps, causes)


def _half_judged(member: Member, seen: _Seen) -> Iterator[_Gap]:
    """Cells of one file that a judge of it has not seen.

    A metric applies to a probe whatever the system, so it is enough to look where another verdict of it stands; only a
    metric that was scored by later judges alone may lack all verdicts on a probe.
    """
    later = {_Scoring(asked.metric, asked.judge_key) for asked in member.run.asked_judges()}
    by_metric: defaultdict[str, list[_Scoring]] = defaultdict(list)
    for scoring in seen:
        by_metric[scoring.metric].append(scoring)
    asked = list(member.asked())
    for metric, scorings in by_metric.items():
        keyed = [scoring for scoring in scorings if scoring.judge_key]
        probes = {(key.scenario_id, key.probe_id) for scoring in scorings for key in seen[scoring]}
        everywhere = later.issuperset(keyed)
        unsigned = seen.get(_Scoring(metric, ""), set())
        for scoring in keyed:
            done = seen[scoring] | unsigned
            for key in asked:
                if key not in done and (everywhere or (key.scenario_id, key.probe_id) in probes):
                    yield _Gap(key, scoring)


def _filled(runs: RunSet, gaps: Iterable[_Gap], causes: Mapping[CellKey, str]) -> Iterator[VerdictRow]:
    by_scenario: defaultdict[str, list[_Gap]] = defaultdict(list)
    for gap in gaps:
        by_scenario[gap.cell.scenario_id].append(gap)
    metrics = {gap.scoring.metric: _known(gap.scoring.metric) for found in by_scenario.values() for gap in found}
    for scenario_id, found in by_scenario.items():
        cases = _cases(runs.scenario(scenario_id))
        for cell, (name, judge_key) in found:
            metric, case = metrics[name], cases[cell.probe_id]
            if metric is not None and metric.applies(case.gold, case.probe):
                verdict = failure(metric, case, "")
                label, status = verdict.label, verdict.status
                if status == "error" and cell in causes:
                    label = causes[cell]
                elif status == "error":
                    label, status = NOT_JUDGED, "not_applicable"
                yield VerdictRow(*cell, name, verdict.subject, label, None, status, judge_key)


def _cases(scenario: Scenario) -> dict[str, EvaluationCase]:
    turns = scenario.turns
    return {
        probe.probe_id: EvaluationCase(probe, scenario.gold_by_probe[probe.probe_id], _NO_REPLY, turns[: probe.cut.seq])
        for probe in scenario.probes
    }


def _known(name: str) -> Metric | None:
    try:
        return METRICS.create(name)
    except ConfigError:
        return None
