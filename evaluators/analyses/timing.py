"""Timing: are memories brought up when that helps, over whole conversations?

``timing``, per system, over facts with windows (multi-turn scenarios; single use decisions are in `use-decisions`):

- `on_time`: mentioned while a window is open, of all that are due; the recall of the moment
- `precision`: on time, of all mentions; `f1` of the two
- `mistimed_per_100`: mentions outside an open window per 100 assistant turns; they part into `early`, `late`, `closed`
  and `other`
- `repeats`: mentions of a fact that an earlier turn of the same conversation had mentioned
- `lag`: turns from the opening of the first window to the first mention at or after it, median
- `uptake`: on-time mentions that the user's next recorded turn takes up (the offline use rule on that turn), of the
  `followed` ones, where it is known. A replayed user answers the logged assistant, so that this is a lower bound
- `projected`: precision where moments are as rare as in life, 14 per 1,000 turns: a gate with 80 % hits and 5 % false
  mentions is right in 74 % of its mentions at 15 % moments, and in 19 % at 1.4 %. No false mention among a few moments
  gives 100 %, which says little: `projected_low` takes as many as could still be there

A figure is missing where there is nothing to count from: no precision without a mention, no lag without one in time.
`never`, `refuse`, `always` and `dump` are what these policies score on the same moments. After MemUse (arXiv
2608.24189), which publishes 66 recalls, 8 of them mistimed, 30 % of 64 taken up, and no such figure per system.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from mnemoscope.evaluators.analyses._moments import POLICIES, Decision, findings_of
from mnemoscope.evaluators.analyses._rating import ends, projected_precision, rated_share, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector

__all__ = ["Timing"]

_COLUMNS = (
    Column("system", "text", "The system, or a policy on the same moments."),
    Column("due", "count", "Facts whose window is open."),
    Column("on_time", "share", "Of these, mentioned."),
    *ends("on_time"),
    Column("missed", "count", "Due and not mentioned."),
    Column("precision", "share", "On time, of all mentions."),
    *ends("precision", "precision_"),
    Column("f1", "share", "Of precision and `on_time`."),
    Column("mistimed_per_100", "number", "Mistimed mentions per 100 assistant turns."),
    Column("early", "count", "Mentioned before the first window."),
    Column("late", "count", "Mentioned after the last window."),
    Column("closed", "count", "Mentioned in a closed window."),
    Column("other", "count", "Mentioned between windows, or where no window ever opens."),
    Column("repeats", "count", "Mentioned again in one conversation."),
    Column("lag", "number", "Turns from the window's opening to the first mention, median."),
    Column("followed", "count", "On-time mentions after which the user's next turn is known."),
    Column("uptake", "share", "Of these, taken up in that turn."),
    Column("projected", "share", "Precision at 14 moments per 1,000 turns."),
    Column("projected_low", "share", "The same with mistimed mentions at the upper end of their 95 % interval."),
)


class Timing:
    """`timing`: when memories are brought up."""

    name = "timing"

    def analyse(self, material: Material) -> Findings:
        """One row per system, and one per policy."""
        return findings_of(self.name, "when memories are brought up", material, _COLUMNS, _row)


def _row(name: str, found: Sequence[Decision], material: Material) -> tuple[Value, ...]:
    due = [d for d in found if d.due]
    mentions = [d for d in found if d.mentioned]
    hits = [d for d in due if d.mentioned]
    mistimed = Counter(d.place for d in mentions if not d.due)
    recall = rated_share([float(d.mentioned) for d in due], [d.cluster for d in due], material)
    precision = rated_share([float(d.due) for d in mentions], [d.cluster for d in mentions], material)
    idle = [d for d in found if not d.due]
    false = rated_share([float(d.mentioned) for d in idle], [d.cluster for d in idle], material)
    turns = len({(d.scenario_id, d.probe_id, d.replicate) for d in found})
    lags = _lags(found)
    heard = [] if name in POLICIES else _heard(hits, material)
    return (
        name,
        len(due),
        recall.value,
        recall.low,
        recall.high,
        len(due) - len(hits),
        precision.value,
        precision.low,
        precision.high,
        share(2 * len(hits), len(mentions) + len(due)) if mentions and due else None,
        share(100 * mistimed.total(), turns),
        mistimed["early"],
        mistimed["late"],
        mistimed["closed"],
        mistimed["between"] + mistimed["outside"],
        _repeats(found),
        median(lags) if lags else None,
        len(heard),
        share(sum(heard), len(heard)),
        projected_precision(recall.value, false.value),
        projected_precision(recall.value, false.high),
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


def _heard(hits: Sequence[Decision], material: Material) -> list[bool]:
    """Whether the user's next turn takes each mention up, where there is a next turn."""
    detector, taken = OfflineUseDetector(), []
    for hit in hits:
        asked = material.probe(hit.scenario_id, hit.probe_id)
        fact = next((fact.text for fact in asked.gold.facts if fact.fact_id == hit.fact_id), None)
        if asked.next_text is not None and fact is not None:
            taken.append(detector.detect(asked.next_text, fact).used)
    return taken
