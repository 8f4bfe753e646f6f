"""Graded integration: four levels of recall, of which the upper two need a fact that was verified by itself.

``graded-integration`` is `level / 3`, for MemUse's positive instances and for implicit probes with gold facts:

- 0 `none`, nothing is recalled; or `fabricated`, what is recalled is not so
- 1 `gesture`: the topic, without a correct specific that speaks to the moment
- 2 `specific`: at least one correct specific, tied to the moment
- 3 `shaping`: correct specifics that make the reply what it is

Three kinds of questions decide, and none of them alone. *Verified* is a fact that was found by its own question, with a
quote that stands in the reply: MemUse's fact question where there is one, else whether the reply uses the fact. *Tied*
is whether the reply speaks to the situation of the utterance. *Kind* is the label of `outcome`. Then: kind
`hallucinated` is 0; verified and tied is 3 where the kind is `full`, else 2; verified, or of kind `gist` or `full`, is
1; all else is 0. So a judge who is taken in by the wording can lift a reply to 1 and no further. The questions are
those of `reference`, `integration`, `tied-use` and `outcome`, and are put once for all of them.

Why: the binary `natural-integration`, which is always reported beside this one, passes 16 of 72 replies of a system of
which people call 6 full integrations, and calls replies integrated that refer to no gold fact (28 of 42 and 21 of 41
under the older inputs; MemUse, arXiv 2608.24189, failure taxonomy, and its released labels).

Deviations: the scale is ours; no benchmark publishes it. The judge of the kind sees the facts of the gold and not the
whole history, so a true detail beyond them may be read as hallucinated and cost all levels. A judge whose answers carry
no quotes, such as labels of people, never gives more than 1. Where facts could not be judged but the level does not
depend on them, it stands.

Trivial policies: an empty reply, a refusal, small talk or a phrase of recall scores 0; dumping the memory scores at
most 1/3, because it is not tied to the moment; the user's own words score 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._cued import fact_questions, is_verified
from mnemoscope.evaluators.metrics._joint import joint
from mnemoscope.evaluators.metrics.metric import excluded
from mnemoscope.evaluators.metrics.outcome import Outcome
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["GradedIntegration", "level_of"]

_OUTCOME = Outcome()
_HIGHEST = 3
_NAMES = ("none", "gesture", "specific", "shaping")


def level_of(*, verified: bool, tied: bool, kind: str) -> int:
    """The level, 0–3.

    Args:
        verified: At least one gold fact was found by its own question, with a quote from the reply.
        tied: The reply speaks to the situation.
        kind: The label of `outcome`.
    """
    if kind == "hallucinated":
        return 0
    if verified and tied:
        return _HIGHEST if kind == "full" else 2
    return 1 if verified or kind in ("gist", "full") else 0


class GradedIntegration:
    """`graded-integration`: level 0 to 3 of recall, as a share."""

    name = "graded-integration"
    family = "graded"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"answer", "use", "tied", "outcome"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """As `outcome`: MemUse's positive instances and implicit probes that can be answered."""
        return _OUTCOME.applies(gold, probe)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without anything to recall."""
        return None if case.gold.facts else excluded(self.name, "no gold fact")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is the reply tied to the moment, of which kind is it, and is each fact in it?"""
        if not case.gold.facts:
            return []
        probe = case.probe
        tied = Question("tied", case.reply.visible_text, probe.text, probe.speaker)
        return [tied, *_OUTCOME.questions(case), *fact_questions(case).values()]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        tied, outcome, *facts = [answers.one(question) for question in self.questions(case)]
        if (missing := unscored(self.name, [tied, outcome])) is not None:
            return [missing]
        is_tied, kind = bool(tied.score), outcome.label
        judged = [answer for answer in facts if answer.status == "scored"]
        verified = [answer for answer in judged if is_verified(answer, case.reply.visible_text)]
        level = level_of(verified=bool(verified), tied=is_tied, kind=kind)
        missing = None if verified else unscored(self.name, facts)
        if missing is not None and level_of(verified=True, tied=is_tied, kind=kind) != level:
            return [missing]
        name = "fabricated" if kind == "hallucinated" else _NAMES[level]
        figures = {
            "level": level,
            "facts": len(facts),
            "judged": len(judged),
            "verified": len(verified),
            "tied": is_tied,
            "kind": kind,
        }
        quoted = [*verified, tied, outcome]
        return [joint(self.name, quoted, level / _HIGHEST, f"{level} {name}", figures=figures)]
