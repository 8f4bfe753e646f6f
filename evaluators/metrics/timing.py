"""Timing: is a memory brought up when that helps, and kept back when it hurts?

``timing``, per fact that has windows: the moment is the last turn that the assistant knows (index ``cut - 1``). The
fact is *due* where an open window holds the moment and no closed one does.

- due and mentioned: `on-time`, 1
- due and not mentioned: `missed`, 0
- not due and mentioned: `mistimed`, 0; the figures say whether it lies `early` before, `late` after, or `between` the
  open windows, or in a `closed` one
- not due and not mentioned: `quiet`, 1

A mention is what the judge finds used in the visible text. Cases are labelled moments, which are common in benchmarks
and rare in life: precision there is not precision at 14 moments per 1,000 turns. After MemUse (arXiv 2608.24189), where
mistimed recalls cost 0.48 standard deviations of satisfaction; it publishes no such score.

Trivial policies: never mentioning scores the share of facts that are not due, always mentioning the share that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, use_question
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics.metric import concluded, rounded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe, Window

__all__ = ["Timing", "kept_back", "moment_of", "place_of"]


class Timing:
    """`timing`: one verdict per fact with windows."""

    name = "timing"
    family = "timing"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"use"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes whose gold has windows."""
        return bool(gold.windows)

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is each fact that has windows brought up?"""
        texts = _texts(case.gold)
        return [use_question(case.reply.visible_text, texts[f]) for f in _with_windows(case.gold) if f in texts]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict per fact, subject its id, in the order in which the windows name them."""
        moment, texts = moment_of(case.probe), _texts(case.gold)
        verdicts = []
        for fact_id in _with_windows(case.gold):
            if fact_id not in texts:
                verdicts.append(Verdict(self.name, fact_id, "window of an unknown fact", None, "invalid"))
                continue
            place = place_of(moment, [w for w in case.gold.windows if w.fact_id == fact_id])
            answer = answers.use(case.reply.visible_text, texts[fact_id])
            used, due = bool(answer.score), place == "open"
            label = ("on-time" if due else "mistimed") if used else ("missed" if due else "quiet")
            verdict = concluded(
                self.name, answer, subject=fact_id, label=label, figures={"place": place, "moment": moment}
            )
            verdicts.append(replace(verdict, score=None if verdict.score is None else rounded(used == due)))
        return verdicts


def _texts(gold: Gold) -> dict[str, str]:
    return {fact.fact_id: fact.text for fact in gold.facts}


def _with_windows(gold: Gold) -> list[str]:
    return list(dict.fromkeys(window.fact_id for window in gold.windows))


def place_of(moment: int, windows: Sequence[Window]) -> str:
    """Where a turn lies among a fact's windows: `open`, `closed`, `early`, `late`, `between` or `outside`.

    A closed window overrules an open one; `outside` is said where no window is open at any time.
    """
    inside = [w.kind for w in windows if w.from_index <= moment <= w.to_index]
    if inside:
        return "closed" if "closed" in inside else "open"
    opened = [w for w in windows if w.kind == "open"]
    if not opened:
        return "outside"
    if all(moment < w.from_index for w in opened):
        return "early"
    return "late" if all(moment > w.to_index for w in opened) else "between"


def moment_of(probe: Probe) -> int:
    """The turn that windows are compared with: the last one that the assistant knows."""
    return max(0, probe.cut.seq - 1)


def kept_back(gold: Gold, probe: Probe) -> frozenset[str]:
    """Facts with windows of which none is open now: a good reply does not bring them up."""
    by_fact: dict[str, list[Window]] = {}
    for window in gold.windows:
        by_fact.setdefault(window.fact_id, []).append(window)
    return frozenset(fact for fact, windows in by_fact.items() if place_of(moment_of(probe), windows) != "open")
