"""Integration: does the visible reply bring in what the history knows?

``integration``, per gold fact: 1 where the detector finds the fact in the reply's visible text, else 0; a cell's score
is the mean over its facts (LoCoMo-Conv, composed style: coverage = covered / total). For dialog and implicit probes
with one fact it is the share of replies that say it.

Deviations: the published score is a model's graded judgement (0, 0.5, 1) that accepts paraphrase; this is the
deterministic floor under it. A fact given to another person is labelled `misattributed`, one with
another number, date or polarity `wrong`; both score 0. Silent use (the fact shapes the reply unsaid) is not seen.

Trivial policies: an empty reply or a refusal scores 0; dumping the memory scores 1: read it beside `cir` or `timing`.
"""

from __future__ import annotations

from mnemoscope.core.ports import UseDetector
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.offline import examine
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Integration"]

_STYLES = frozenset({"question", "dialog", "implicit", "counterfactual", "composed", "recollection", "plan"})


class Integration:
    """`integration`: one verdict per gold fact."""

    name = "integration"
    family = "use"
    lower_is_better = False

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with something to bring in; pools and moments have metrics of their own."""
        return probe.style in _STYLES and not gold.unanswerable

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without anything to bring in."""
        return None if case.gold.facts else excluded(self.name, "no gold fact")

    def evaluate(self, case: EvaluationCase, detector: UseDetector) -> list[Verdict]:
        """One verdict per fact, subject its id."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        verdicts = []
        for fact in case.gold.facts:
            use = detector.detect(case.reply.visible_text, fact.text)
            label = "used"
            if not use.used:
                clash = examine(case.reply.visible_text, fact.text).clash
                label = "misattributed" if clash == "person" else "wrong" if clash else "not said"
            verdicts.append(
                scored(
                    self.name,
                    float(use.used),
                    label,
                    subject=fact.fact_id,
                    judge_key=detector.key,
                    quote=use.quote,
                    figures={"coverage": use.score},
                )
            )
        return verdicts
