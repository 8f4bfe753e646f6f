"""The verdicts that figures are made of: those of the run files, and a failure for every cell that has none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from mnemoscope.comparison.merging import RunSet
from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.metric import Metric, failure
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.runfile.rows import CellKey, VerdictRow

__all__ = ["all_verdicts"]

_NO_REPLY = Reply("", HiddenTrace(), None, None, status="error")


def all_verdicts(runs: RunSet) -> Iterator[VerdictRow]:
    """Verdicts on every cell that was asked for.

    Failures of a failed cell are labelled with its cause. A cell without verdicts, such as one that is not there yet,
    fails each metric of the run files that applies to its probe.

    Args:
        runs: The run files.
    """
    causes = runs.unanswered()
    left, metrics = dict(causes), set[str]()
    for row in runs.verdict_rows():
        metrics.add(row.metric)
        key = CellKey(*row[:4])
        left.pop(key, None)
        yield row._replace(label=causes[key]) if row.status == "error" and key in causes else row
    yield from _failures(runs, left, metrics)


def _failures(runs: RunSet, causes: Mapping[CellKey, str], names: Iterable[str]) -> Iterator[VerdictRow]:
    metrics = [metric for name in sorted(names) if (metric := _known(name)) is not None]
    by_scenario: defaultdict[str, defaultdict[str, list[CellKey]]] = defaultdict(lambda: defaultdict(list))
    for key in causes:
        by_scenario[key.scenario_id][key.probe_id].append(key)
    for scenario_id, by_probe in by_scenario.items():
        scenario = runs.scenario(scenario_id)
        turns = scenario.turns
        for probe in scenario.probes:
            if probe.probe_id in by_probe:
                gold = scenario.gold_by_probe[probe.probe_id]
                case = EvaluationCase(probe, gold, _NO_REPLY, turns[: probe.cut.seq])
                found = [failure(metric, case, "") for metric in metrics if metric.applies(gold, probe)]
                for key, v in product(by_probe[probe.probe_id], found):
                    label = causes[key] if v.status == "error" else v.label
                    yield VerdictRow(*key, v.metric, v.subject, label, None, v.status, v.judge_key)


def _known(name: str) -> Metric | None:
    try:
        return METRICS.create(name)
    except ConfigError:
        return None
