"""MemUse: does a natural reply recall what the user alludes to, and would the facts have been known if asked?

All three are yes or no by a judge (MemUse, arXiv 2608.24189, metrics):

- ``natural-integration`` (primary), per instance: `integrated` 1, `not integrated` 0; the judge sees a cue, a
  description of what should be recalled, and the natural reply
- ``direct-qa``, per fact question asked outright: `right` 1, `wrong` 0; the judge sees question, expected answer, reply
- ``reference``, per fact question: the same question and expected answer, put to the *natural* reply; one verdict per
  fact, subject its id

`direct-qa` minus `reference` is the published gap between retrieval and integration.

**What the judge is shown moves the figure more than the system does.** The release has two versions. ``inputs=1.2``
(default, those of the paper) shows the span of the turn that alludes, and a description of the recall; ``inputs=1.1``
shows the whole turn and the reference paragraph. The same replies score 20/72 and 42/72 (Mem0), 21/72 and 41/72
(Letta). The two are metrics of different names and are never put beside each other. The release also cuts the
description after 300 characters, which leaves some of it out of reach; nothing is cut here unless it is asked for:
``natural-integration(cut=300)`` and ``natural-integration(inputs=1.1,cut=300)`` show exactly what the published judge
saw. The judge ``llm(parser=memuse)`` makes that cut by itself, and reads as the release does.

Deviations: an instance without the inputs of the version is left out, never filled in from the other one. The published
`reference` is the mean over all 316 questions; here a cell is a reply, so it is the mean over instances of the share of
their questions (Mem0 .0750 where the release prints .0728, both from the same 23 questions). A judge that cannot be
read gives `invalid`, where the release reads no. Instances whose meaning is odd stay in, under strata that tell them.

Trivial policies: an empty reply or a refusal scores 0 on all three; dumping the memory scores as the judge lets it.
Phrases such as "as you said" alone raised the published score by 16.4 points (12 of 73) where nothing could be
recalled: read it beside `graded-integration` and `cue-without-fact`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, Value
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._cued import has_cue, reference_questions
from mnemoscope.evaluators.metrics._joint import best_of
from mnemoscope.evaluators.metrics.metric import concluded, excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.loaders.memuse_gold import DIRECT_QA
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["VERSIONS", "DirectQa", "NaturalIntegration", "Reference"]

VERSIONS = ("1.2", "1.1")
"""Of the judge's inputs; the first is that of the paper."""


class NaturalIntegration:
    """`natural-integration`: the natural reply shows memory of what the user alludes to.

    Args:
        inputs: `1.2` or `1.1`: what stands for cue and description.
        cut: Characters of the description that the judge sees; None: all.

    Raises:
        ConfigError: Another version, or a cut that is no positive number.
    """

    family = "natural"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"integration"})

    def __init__(self, inputs: str | float = VERSIONS[0], cut: int | None = None) -> None:
        self.inputs, self.cut = str(inputs), cut
        if self.inputs not in VERSIONS:
            raise ConfigError(f"natural-integration: inputs is {inputs!r}; it is {' or '.join(VERSIONS)}")
        if cut is not None and (isinstance(cut, bool) or not isinstance(cut, int) or cut < 1):
            raise ConfigError(f"natural-integration: cut is {cut!r}; write a number of characters, such as 300")
        given: dict[str, Value] = {} if self.inputs == VERSIONS[0] else {"inputs": self.inputs}
        self.name = str(Spec("natural-integration", (), given if cut is None else {**given, "cut": cut}))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """MemUse's positive instances."""
        return has_cue(gold)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Instances without the inputs of this version."""
        return None if self._shown(case.gold) else excluded(self.name, f"no judge inputs {self.inputs}")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply show memory of what the cue refers to?"""
        if (shown := self._shown(case.gold)) is None:
            return []
        cue, expected = shown
        return [Question("integration", case.reply.visible_text, cue, expected=expected[: self.cut])]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        (question,) = self.questions(case)
        return [concluded(self.name, answers.one(question))]

    def _shown(self, gold: Gold) -> tuple[str, str] | None:
        cue, expected = (gold.judge_inputs.get(f"{name}@{self.inputs}") for name in ("cue", "expected"))
        return (cue, expected) if cue and expected else None


class DirectQa:
    """`direct-qa`: a fact question asked outright is answered."""

    name = "direct-qa"
    family = "natural"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"answer"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """MemUse's fact questions."""
        return DIRECT_QA in gold.strata

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Questions whose answer is not known."""
        return None if case.gold.answers else excluded(self.name, "no gold answer")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply give the expected answer?"""
        asked, reply = case.probe.text, case.reply.visible_text
        return [Question("answer", reply, asked, expected=answer) for answer in case.gold.answers]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        return [best_of(self.name, [answers.one(question) for question in self.questions(case)])]


class Reference:
    """`reference`: the natural reply answers the instance's fact questions; one verdict per fact."""

    name = "reference"
    family = "natural"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"answer"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """MemUse's positive instances."""
        return has_cue(gold)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Instances without a fact question."""
        return None if reference_questions(case) else excluded(self.name, "no fact question")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the natural reply give the expected answer to each fact question?"""
        return list(reference_questions(case).values())

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict per fact question, subject the fact's id."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        asked = reference_questions(case)
        return [concluded(self.name, answers.one(q), subject=fact) for fact, q in asked.items()]
