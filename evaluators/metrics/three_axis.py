"""Three axes of a reply to an implicit utterance: faithfulness, relevance, engagement.

For implicit probes a judge gives each axis 0, 0.5 or 1, seeing the reply, the utterance and the memory block that the
system itself was given (LoCoMo-Conv, arXiv 2609.03467, the three-axis judge of its pairwise comparison):

- ``three-axis``: the total of the three divided by 3, 0–1; the label is the published total out of 3
- ``faithfulness``, ``relevance``, ``engagement``: one axis each

Because faithfulness is judged against each reply's own block, replies without memory are at a disadvantage that has
nothing to do with the reply. ``three-axis(blind=true)``, ``relevance(blind=true)`` and ``engagement(blind=true)`` ask
without the block: relevance and engagement alone, the total divided by 2.

Deviations: the published figure is pairwise (wins, losses and ties of the totals); here each reply has its own score,
and a pair of systems is compared on the probes both have. Differences in length are not corrected for: read them
beside the words of the reply.

Trivial policies: an empty reply scores near 0 on relevance and engagement and 1 on faithfulness; small talk that
ignores the utterance scores 0 on relevance; repeating the block scores 1 on faithfulness only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import given_block, joint
from mnemoscope.evaluators.metrics.metric import concluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Engagement", "Faithfulness", "Relevance", "ThreeAxis"]

_AXES = ("faithfulness", "relevance", "engagement")
_BLIND_AXES = ("relevance", "engagement")
_BLIND = "The memory block is withheld on purpose: judge relevance and engagement by the reply and the utterance alone."


class ThreeAxis:
    """`three-axis`: the mean of the axes.

    Args:
        blind: Ask without the memory block, for relevance and engagement only.
    """

    family = "three-axis"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"three-axis"})
    _base: ClassVar[str] = "three-axis"

    def __init__(self, blind: bool = False) -> None:
        if not isinstance(blind, bool):
            raise ConfigError(f"blind is {blind!r}; it is true or false")
        self.blind = blind
        self.name = str(Spec(self._base, (), {"blind": True} if blind else {}))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Implicit probes, those that nothing answers included."""
        return probe.style == "implicit"

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """How does the reply do on the axes?"""
        probe, reply = case.probe, case.reply.visible_text
        if self.blind:
            return [Question("three-axis", reply, probe.text, probe.speaker, rubric=_BLIND)]
        return [Question("three-axis", reply, probe.text, probe.speaker, context=given_block(case))]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        (question,) = self.questions(case)
        axes = _BLIND_AXES if self.blind else _AXES
        found = [answers.one(question, axis) for axis in axes]
        if (missing := unscored(self.name, found)) is not None:
            return [missing]
        levels = {axis: answer.score or 0.0 for axis, answer in zip(axes, found, strict=True)}
        total = sum(levels.values())
        label = f"{total:g} of {len(axes)}"
        return [joint(self.name, found, total / len(axes), label, figures={"total": total, **levels})]


class _Axis(ThreeAxis):
    """One axis."""

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`; the judge names the axis as the answer's subject."""
        (question,) = self.questions(case)
        answer = answers.one(question, self._base)
        return [concluded(self.name, answer, label=f"{answer.score or 0.0:g}")]


class Relevance(_Axis):
    """`relevance`: does the reply speak to what was said?"""

    _base = "relevance"


class Engagement(_Axis):
    """`engagement`: does the reply take part in the conversation?"""

    _base = "engagement"


class Faithfulness(_Axis):
    """`faithfulness`: is what the reply claims in the block? There is no blind form of it."""

    _base = "faithfulness"

    def __init__(self) -> None:
        super().__init__()
