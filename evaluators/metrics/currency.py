"""Currency: does the reply rest on what holds now, or on what no longer does?

``currency``, for probes whose gold names facts that are out of date (`Gold.stale`) beside current ones: `current` 1,
`both` 0.5, `stale` 0, `neither` 0. A fact is used where the judge finds it in the visible reply; one current fact is
enough for `current`, one stale fact for `stale`.

After failure reports of memory systems whose updates leave the old value, both values or nothing behind; no paper
defines this score. `both` is half because two replies look alike to it: one that tells how things changed, which is
good, and one that leaves the choice open, which is not. The label and the quote show which of the four it is; read the
labels before the mean.

Deviations: none published. Silent use of a current fact (the reply fits, and says nothing) is `neither`.

Trivial policies: an empty reply or a refusal scores 0 (`neither`); dumping the memory scores 0.5 (`both`); always
giving the oldest value scores 0, always the newest 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored, use_question
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import joint
from mnemoscope.evaluators.metrics.metric import excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Currency"]

_SCORES = {"current": 1.0, "both": 0.5, "stale": 0.0, "neither": 0.0}


class Currency:
    """`currency`: current, stale, both or neither."""

    name = "currency"
    family = "currency"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"use"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes whose gold names facts that are out of date."""
        return bool(gold.stale)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without a current fact."""
        return None if case.gold.facts else excluded(self.name, "no current fact")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is each current fact used, and each stale one?"""
        if not case.gold.facts:
            return []
        return [use_question(case.reply.visible_text, fact.text) for fact in (*case.gold.facts, *case.gold.stale)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        found = [answers.one(question) for question in self.questions(case)]
        if (missing := unscored(self.name, found)) is not None:
            return [missing]
        n_current = len(case.gold.facts)
        current, stale = (sum(bool(use.score) for use in part) for part in (found[:n_current], found[n_current:]))
        label = "both" if current and stale else "current" if current else "stale" if stale else "neither"
        figures = {"current": f"{current}/{n_current}", "stale": f"{stale}/{len(case.gold.stale)}"}
        return [joint(self.name, found, _SCORES[label], label, figures=figures)]
