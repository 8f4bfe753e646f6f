"""One word per cell: where its gold facts were lost, or whether it passed where there are none to follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from mnemoscope.comparison.merging import RunSet
from mnemoscope.core.identity import derive_seed
from mnemoscope.evaluators.attribution import STAGES

__all__ = ["OUTCOME_STYLE", "CellOutcomes", "outcomes_of", "worst_first"]

OUTCOME_STYLE: Mapping[str, str] = {
    "kept": "right",
    "passed": "right",
    "wrong": "wrong",
    "missed": "wrong",
    "unknown": "untold",
    "not-said": "unsaid",
    "not-planned": "unplanned",
    "not-retrieved": "unretrieved",
    "not-stored": "unstored",
    "none": "untold",
    "excluded": "untold",
    "error": "untold",
    "missing": "untold",
}
"""Outcome to the name of its colour."""

CellOutcomes = dict[tuple[str, str], dict[str, str]]
"""Scenario and probe to system to outcome, of the first replicate."""

_GOOD = frozenset({"kept", "passed", "none", "excluded"})
_NO_REPLY = frozenset({"error", "excluded"})


def outcomes_of(
    runs: RunSet, judged_by: Mapping[str, Collection[str]], lower_is_better: Collection[str]
) -> CellOutcomes:
    """Every cell's outcome: the first stage that lost a fact, before one that cannot be told.

    Args:
        runs: The run files.
        judged_by: Benchmark to the metrics that decide where a cell has no gold facts; any of them missed is `missed`.
            Where gold has roles, `smc` decides: a reply that complies is right, another one is `missed` where every
            fact was kept.
        lower_is_better: Metrics whose good end is 0.
    """
    benchmark = {row.scenario_id: row.benchmark for row in runs.scenarios()}
    found: CellOutcomes = defaultdict(dict)
    complies: dict[tuple[str, str, str], bool] = {}
    for cell in runs.cells():
        if cell.replicate == 0:
            found[cell.scenario_id, cell.probe_id][cell.system] = cell.status if cell.status in _NO_REPLY else "none"
    for row in runs.verdict_rows():
        if row.metric == "smc" and row.score is not None and not row.replicate:
            complies[row.scenario_id, row.probe_id, row.system] = row.score == 1
        known = found[row.scenario_id, row.probe_id]
        decides = row.metric in judged_by.get(benchmark.get(row.scenario_id, ""), ())
        if row.replicate or row.score is None or not decides or known.get(row.system) not in ("none", "passed"):
            continue
        good = row.score <= 0.5 if row.metric in lower_is_better else row.score >= 0.5
        known[row.system] = "passed" if good else "missed"
    stages: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for loss in runs.losses():
        if loss.replicate == 0:
            stages[loss.scenario_id, loss.probe_id, loss.system].add(loss.stage)
    for (scenario, probe, system), lost in stages.items():
        outcome = found[scenario, probe].get(system, "none")
        if outcome not in _NO_REPLY:
            stage = next((stage for stage in STAGES if stage in lost), "none")
            if stage == "unknown" and outcome == "passed":
                continue  # a judge can tell that it is right, though nothing tells by which way
            complied = complies.get((scenario, probe, system), stage == "kept")
            found[scenario, probe][system] = "kept" if complied else "missed" if stage == "kept" else stage
    return found


def worst_first(outcomes: CellOutcomes, systems: Collection[str]) -> list[tuple[str, str]]:
    """Probes by the number of these systems that missed them, most first; ties in an order spread over scenarios."""

    def key(probe: tuple[str, str]) -> tuple[int, int]:
        return (-sum(outcomes[probe].get(name, "missing") not in _GOOD for name in systems), derive_seed(*probe))

    return sorted(outcomes, key=key)
