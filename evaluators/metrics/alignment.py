"""PRAGMA's guidance: does the reply do what the moment asks, and does it say which experiences it rests on?

- ``alignment``: `aligned` 1, `not aligned` 0, by a rubric (PRAGMA, arXiv 2609.09664, response metrics). Type 1: a next
  step that builds on earlier attempts; type 2: the mixed-up recollection is noticed; type 3: a positioning in line with
  the trajectory; type 4: the conflict of the plan with the trajectory is noticed. Any other probe whose gold brings a
  rubric is judged by that.
- ``grounding = referred / judged`` evidence items that the reply explicitly refers to; items are judged one by one and
  joined by id, and the ratio is ours. One that the judge failed on is left out, and the figures say so.
- ``grounding-precision = referred / (referred + others)``, with the number of things that the reply claims of the past
  and that are none of the items: listing everything does not pay here. Nothing referred to has no precision.
- ``grounding(scale=published)``: the published scales, which differ by type: 0 or 1 for types 1 and 3, by the
  benchmark's own grounding rubric, and the share above for types 2 and 4. Never average it over types.

Deviations: the published judge is given its rubric with the history inside and asked for a bare number; here it also
sees the query, which types 2 and 4 speak of, and the two axes, which types 3 and 4 speak of, where the files hold them.
Without `response_metrics.json` the wanted behaviour in our words stands in for the rubric; `rubric` in the figures says
which of the two it was. The published share is a model's estimate with two decimals.

Trivial policies: an empty reply scores 0, 0 and no precision; listing all the evidence scores 0 on `alignment` and 1 on
`grounding`; dumping the whole history scores 1 on `grounding` and little on `grounding-precision`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import facts_of, joint, tally_of
from mnemoscope.evaluators.metrics.metric import concluded, excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Alignment", "Grounding", "GroundingPrecision"]

OTHERS = "others"
"""Subject of the answer that counts claims of the past beyond the evidence."""
_TYPES = frozenset({"type1-event-align", "type2-event-correct", "type3-traj-align", "type4-traj-correct"})
_BINARY = frozenset({"type1-event-align", "type3-traj-align"})
_ON_AXES = frozenset({"type3-traj-align", "type4-traj-correct"})
_OUR_GROUNDING = "The reply says explicitly that the listed experiences are the reason for what it recommends."


class Alignment:
    """`alignment`: the reply does what the rubric asks."""

    name = "alignment"
    family = "alignment"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"alignment"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """PRAGMA's queries, and other probes with a rubric; a question's rubric is part of its answer."""
        return probe.style != "question" and (gold.rubric is not None or _is_pragma(gold))

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply do what is asked of it?"""
        return [_by_rubric(case, case.gold.judge_inputs.get("alignment") or _wanted(case.gold))]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        (question,) = self.questions(case)
        return [concluded(self.name, answers.one(question))]


class _References(ABC):
    """What the metrics on references share: one question."""

    family = "grounding"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"references"})
    name: str

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """PRAGMA's queries, and other probes that rest on a recollection or a plan."""
        return _is_pragma(gold) or (probe.style in ("recollection", "plan") and bool(gold.facts))

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without evidence items."""
        return None if case.gold.facts else excluded(self.name, "no evidence item")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Which items does the reply refer to, and what else does it claim of the past?"""
        facts, probe = facts_of(case), case.probe
        return [Question("references", case.reply.visible_text, probe.text, probe.speaker, facts)] if facts else []

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        (question,) = self.questions(case)
        return [self._verdict(question, answers)]

    @abstractmethod
    def _verdict(self, question: Question, answers: Answers) -> Verdict: ...


class Grounding(_References):
    """`grounding`: share of the evidence items that the reply refers to.

    Args:
        scale: `share` for all types, or `published`.
    """

    def __init__(self, scale: str = "share") -> None:
        if scale not in ("share", "published"):
            raise ConfigError(f"scale is {scale!r}; it is share or published")
        self._published = scale == "published"
        self.name = str(Spec("grounding", (), {"scale": scale} if self._published else {}))
        self.tasks = frozenset({"references", "alignment"}) if self._published else frozenset({"references"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """As the other metrics on references; the published scales belong to PRAGMA's types alone."""
        return _is_pragma(gold) if self._published else super().applies(gold, probe)

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Which items does the reply refer to? On the published scale of types 1 and 3: is it grounded at all?"""
        if self._published and _BINARY & set(case.gold.strata) and case.gold.facts:
            return [_by_rubric(case, case.gold.judge_inputs.get("grounding") or _OUR_GROUNDING)]
        return super().questions(case)

    def _verdict(self, question: Question, answers: Answers) -> Verdict:
        if question.task == "alignment":
            answer = answers.one(question)
            label = "grounded" if answer.score else "not grounded"
            return concluded(self.name, answer, label=label)
        tally = tally_of(answers, question)
        if (missing := tally.missing(self.name)) is not None and not tally.judged:
            return missing
        share = tally.found / tally.judged
        return joint(self.name, tally.answers, share, tally.label, figures=tally.figures())


class GroundingPrecision(_References):
    """`grounding-precision`: share of what the reply claims of the past that is among the evidence items."""

    name = "grounding-precision"

    def _verdict(self, question: Question, answers: Answers) -> Verdict:
        tally, others = tally_of(answers, question), answers.one(question, OTHERS)
        found = (*tally.answers, others)
        if (missing := unscored(self.name, found)) is not None:
            return missing
        beside = max(0.0, others.score or 0.0)
        figures = tally.figures(others=beside)
        if not tally.found and not beside:
            nothing = joint(self.name, found, 0.0, "refers to nothing", figures=figures)
            return replace(nothing, score=None, status="not_applicable")
        label = "clean" if not beside else "mixed" if tally.found else "others only"
        return joint(self.name, found, tally.found / (tally.found + beside), label, figures=figures)


def _is_pragma(gold: Gold) -> bool:
    return not _TYPES.isdisjoint(gold.strata)


def _wanted(gold: Gold) -> str:
    return gold.rubric or gold.expected or ""


def _by_rubric(case: EvaluationCase, rubric: str) -> Question:
    gold, probe = case.gold, case.probe
    axes = gold.judge_inputs.get("axes", "") if _ON_AXES & set(gold.strata) else ""
    if axes and axes not in rubric:
        rubric = f"{rubric}\n\nThe two axes: {axes}."
    return Question("alignment", case.reply.visible_text, probe.text, probe.speaker, facts_of(case), rubric=rubric)
