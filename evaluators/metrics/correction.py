"""Correction: is something wrong that the user takes for granted put right, and is nothing put right that was right?

- ``correction``, for probes with a false premise: `corrected` 1, the truth is stated, whether or not the error is
  pointed out and whether or not the premise is quoted first; `vague` 0.5, doubt, refusal or denial without the truth;
  `unaware` 0, the premise is taken over or passed by; `wrong correction` 0, something third is put in its place
  (LoCoMo-Conv, counterfactual style: C, B, A; the last label is ours and counts as A).
- ``false-correction``, for probes without one: 1 where the reply corrects the user or contradicts what the history
  knows, else 0; lower is better.

How truth is told from premise: by the words, numbers, dates and weekdays that only one of them holds. A reply that
states both counts as corrected, because premises are quoted in order to correct them.

Deviations: the published judge is a model; an indirect correction without the distinguishing words is not seen.

Trivial policies: always refusing scores 0.5 on `correction` and 0 on `false-correction`; correcting always scores 0 on
`correction` (as a wrong correction) and 1 on `false-correction`; dumping the memory scores 1 and 0.
"""

from __future__ import annotations

from mnemoscope.core.ports import UseDetector
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.offline import examine
from mnemoscope.evaluators.detectors.phrases import corrects, hedges, refuses
from mnemoscope.evaluators.detectors.quantity import Quantities, read_quantities
from mnemoscope.evaluators.detectors.reading import read_fact, read_reply
from mnemoscope.evaluators.metrics.metric import scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Correction", "FalseCorrection", "correction_label"]

_SCORES = {"corrected": 1.0, "vague": 0.5, "unaware": 0.0, "wrong correction": 0.0}
_ENOUGH = 0.6
_RULE = "correction-1"


class Correction:
    """`correction`: for probes with a false premise."""

    name = "correction"
    family = "correction"
    lower_is_better = False

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes in which the user asserts something that the history contradicts."""
        return gold.false_premise is not None

    def evaluate(self, case: EvaluationCase, detector: UseDetector) -> list[Verdict]:
        """One verdict on subject `reply`."""
        premise = case.gold.false_premise
        if premise is None:
            return []
        reply = case.reply.visible_text
        use = detector.detect(reply, premise.truth)
        label = "corrected" if use.used else correction_label(reply, premise.asserted, premise.truth)
        key = f"{_RULE}+{detector.key}"
        return [scored(self.name, _SCORES[label], label, judge_key=key, quote=use.quote)]


class FalseCorrection:
    """`false-correction`: for probes in which nothing is wrong; lower is better."""

    name = "false-correction"
    family = "correction"
    lower_is_better = True

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes without a false premise whose user says something that could be contradicted."""
        return (
            gold.false_premise is None and not gold.unanswerable and probe.style in ("dialog", "implicit", "composed")
        )

    def evaluate(self, case: EvaluationCase, detector: UseDetector) -> list[Verdict]:
        """One verdict on subject `reply`."""
        reply = case.reply.visible_text
        against = [fact.fact_id for fact in case.gold.facts if examine(reply, fact.text).clash == "negation"]
        label = "corrects" if corrects(reply) else "contradicts" if against else "none"
        key = f"{_RULE}+{detector.key}"
        return [scored(self.name, float(label != "none"), label, judge_key=key, figures={"facts": against})]


def correction_label(reply: str, asserted: str, truth: str) -> str:
    """What a reply makes of a false premise: `corrected`, `vague`, `unaware` or `wrong correction`."""
    if not reply.strip():
        return "unaware"
    right, wrong = read_fact(truth), read_fact(asserted)
    said_words = {token for s in read_reply(reply) for token, polarity in s.polarity.items() if False in polarity}
    any_words = {token for s in read_reply(reply) for token in s.polarity_with_refusals}
    said = read_quantities(reply)
    only_true = {t: w for t, w in right.weights.items() if t not in wrong.weights}
    only_false = set(wrong.weights) - set(right.weights)
    marks = _marks(right.quantities) - _marks(wrong.quantities)
    total = sum(only_true.values()) + 2.0 * len(marks)
    found = sum(w for t, w in only_true.items() if t in said_words) + 2.0 * len(marks & _marks(said))
    if total and found / total >= _ENOUGH:
        return "corrected"
    if hedges(reply) or refuses(reply):
        return "vague"
    third = _marks(said) - _marks(right.quantities) - _marks(wrong.quantities)
    topic = set(right.weights) & set(wrong.weights) & any_words
    if marks and third and topic:
        return "wrong correction"
    if corrects(reply):
        return "vague" if not third else "wrong correction"
    denied = only_false and only_false <= any_words and not only_false & said_words
    return "vague" if denied else "unaware"


def _marks(quantities: Quantities) -> frozenset[str]:
    dates = {f"date {date}" for date in quantities.dates}
    return frozenset(dates) | {f"number {n}" for n in quantities.numbers} | {f"day {d}" for d in quantities.weekdays}
