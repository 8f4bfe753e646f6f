"""Timing: are memories brought up when that helps, over whole conversations?

``timing``, per system, over facts with windows (multi-turn scenarios; single use decisions are in `use-decisions`):

- `on_time`: mentioned while a window is open, of all that are due; the recall of the moment
- `precision`: on time, of all mentions; `f1` of the two
- `mistimed_per_100`: mentions outside an open window per 100 assistant turns; of these `early`, `late` and `closed`
- `repeats`: mentions of a fact that an earlier turn of the same conversation had mentioned
- `lag`: turns from the opening of the first window to the first mention at or after it, median
- `uptake`: on-time mentions that the user's next recorded turn takes up (the offline use rule on that turn), where it
  is known. A replayed user answers the logged assistant, so that this is a lower bound
- `projected`: precision where moments are as rare as in life, 14 per 1,000 turns: a gate with 80 % hits and 5 % false
  mentions is right in 74 % of its mentions at 15 % moments, and in 19 % at 1.4 %

`never`, `refuse`, `always` and `dump` are what these policies score on the same moments. After MemUse (arXiv
2608.24189), which publishes 66 recalls, 8 of them mistimed, 30 % of 64 taken up, and no such figure per system.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from mnemoscope.evaluators.analyses._moments import POLICIES, Decision, as_policy, decisions
from mnemoscope.evaluators.analyses._rating import projected_precision, rated, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector

__all__ = ["Timing"]

_COLUMNS = (
    Column("system", "text", "The system, or a policy on the same moments."),
    Column("due", "count", "Facts whose window is open."),
    Column("on_time", "share", "Of these, mentioned."),
    Column("low", "share", "Lower end of the 95 % interval of `on_time`."),
    Column("high", "share", "Upper end."),
    Column("missed", "count", "Due and not mentioned."),
    Column("precision", "share", "On time, of all mentions."),
    Column("f1", "share", "Of precision and `on_time`."),
    Column("mistimed_per_100", "number", "Mistimed mentions per 100 assistant turns."),
    Column("early", "count", "Mentioned before the first window."),
    Column("late", "count", "Mentioned after the last window."),
    Column("closed", "count", "Mentioned in a closed window."),
    Column("repeats", "count", "Mentioned again in one conversation."),
    Column("lag", "number", "Turns from the window's opening to the first mention, median."),
    Column("uptake", "share", "On-time mentions that the user's next turn takes up, where it is known."),
    Column("projected", "share", "Precision at 14 moments per 1,000 turns."),
)


class Timing:
    """`timing`: when memories are brought up."""

    name = "timing"

    def analyse(self, material: Material) -> Findings:
        """One row per system, and one per policy."""
        title = "when memories are brought up"
        by_system: defaultdict[str, list[Decision]] = defaultdict(list)
        for decision in decisions(material):
            by_system[decision.system].append(decision)
        if not by_system:
            return Findings(
                self.name, title, missing="no probe has timing windows; run demo, or build some with scenario build"
            )
        rows = [_row(name, by_system[name], material) for name in material.systems if name in by_system]
        some = next(iter(by_system.values()))
        rows += [_row(name, [as_policy(decision, name) for decision in some], material) for name in POLICIES]
        return Findings(self.name, title, _COLUMNS, tuple(rows), ("the last four rows are policies, not systems",))


def _row(name: str, found: Sequence[Decision], material: Material) -> tuple[Value, ...]:
    due = [d for d in found if d.due]
    mentions = [d for d in found if d.mentioned]
    hits = [d for d in due if d.mentioned]
    mistimed = [d for d in mentions if not d.due]
    recall = rated([float(d.mentioned) for d in due], [d.cluster for d in due], material)
    precision = share(len(hits), len(mentions))
    turns = len({(d.scenario_id, d.probe_id, d.replicate) for d in found})
    false = share(len(mistimed), len(found) - len(due))
    lags = _lags(found)
    return (
        name,
        len(due),
        recall.value,
        recall.low,
        recall.high,
        len(due) - len(hits),
        precision,
        None if precision is None or not due else share(2 * len(hits), len(mentions) + len(due)),
        share(100 * len(mistimed), turns),
        sum(d.place == "early" for d in mistimed),
        sum(d.place == "late" for d in mistimed),
        sum(d.place == "closed" for d in mistimed),
        _repeats(found),
        median(lags) if lags else None,
        None if name in POLICIES else _uptake(hits, material),
        projected_precision(recall.value, false),
    )


def _by_fact(found: Sequence[Decision]) -> list[list[Decision]]:
    """Decisions about one fact in one conversation, in order."""
    facts: defaultdict[tuple[str, int, str], list[Decision]] = defaultdict(list)
    for decision in found:
        facts[decision.scenario_id, decision.replicate, decision.fact_id].append(decision)
    return [sorted(group, key=lambda d: d.moment) for group in facts.values()]


def _repeats(found: Sequence[Decision]) -> int:
    return sum(max(0, sum(d.mentioned for d in group) - 1) for group in _by_fact(found))


def _lags(found: Sequence[Decision]) -> list[int]:
    lags = []
    for group in _by_fact(found):
        opened = group[0].opened
        if opened is not None:
            after = [d.moment - opened for d in group if d.mentioned and d.moment >= opened]
            lags += after[:1]
    return lags


def _uptake(hits: Sequence[Decision], material: Material) -> float | None:
    detector, taken = OfflineUseDetector(), []
    for hit in hits:
        asked = material.probe(hit.scenario_id, hit.probe_id)
        fact = next((fact.text for fact in asked.gold.facts if fact.fact_id == hit.fact_id), None)
        if asked.next_text is not None and fact is not None:
            taken.append(detector.detect(asked.next_text, fact).used)
    return share(sum(taken), len(taken))
