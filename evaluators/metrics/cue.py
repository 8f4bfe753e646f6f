"""Wording of recall: how often does a reply sound as if it remembered, and how often is nothing behind it?

- ``cue-phrase``: 1 where the reply says in so many words that something was said or happened earlier ("as you
  mentioned", "I remember", 你之前说过), else 0. Neither more nor less is better: it is the control that a judged score
  of integration is read beside.
- ``cue-without-fact``: 1 where it says so and no gold fact is found in the reply, else 0; lower is better.

Phrases alone raised MemUse's judged integration by 16.4 points (12 of 73 replies) where nothing could be recalled
(MemUse, arXiv 2608.24189, wording bias): a difference in `natural-integration` that goes with one in `cue-phrase` and
not with one in `reference` is a difference in wording. The phrases are a fixed list of English and Chinese forms; a
phrase in a sentence that declines ("you never told me") is none. A fact is found by the questions of `reference` where
the gold has a question for it, else by those of `integration`.

Deviations: no benchmark publishes either. Recall without such a phrase ("how was the fair in Delft?") is not seen by
design; phrases in other languages are missed. A false recall has no gold fact behind it and counts as
`cue-without-fact`; `outcome` tells it from an empty phrase.

Trivial policies: an empty reply or a refusal scores 0 on both; the constant "as you mentioned before" scores 1 on both;
dumping the memory scores 0 on `cue-without-fact`; the user's own words score what the user's wording does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored
from mnemoscope.evaluators.judges.offline.heard import HEARING, hear
from mnemoscope.evaluators.judges.offline.recalling import cue_sentence
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._cued import fact_questions, is_negative
from mnemoscope.evaluators.metrics._joint import joint
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["CuePhrase", "CueWithoutFact"]

_RULE = f"cue-phrase-1+{HEARING}"
_STYLES = frozenset({"dialog", "implicit", "composed"})
_FLAG = "cue-without-fact"


class CuePhrase:
    """`cue-phrase`: the reply says that it remembers; a control, neither better nor worse."""

    name = "cue-phrase"
    family = "cue"
    lower_is_better = False

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Turns of a conversation, those that nothing answers and those that need no memory included."""
        return probe.style in _STYLES

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        said = _phrase(case)
        label = "phrase" if said else "no phrase"
        return [scored(self.name, float(bool(said)), label, judge_key=_RULE, quote=said)]


class CueWithoutFact:
    """`cue-without-fact`: it says that it remembers, and shows no gold fact; lower is better."""

    name = "cue-without-fact"
    family = "cue"
    lower_is_better = True
    tasks: frozenset[Task] = frozenset({"answer", "use"})
    rule = _RULE

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Turns of a conversation that call for a fact."""
        return probe.style in _STYLES and not gold.unanswerable and not is_negative(gold)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without a fact."""
        return None if case.gold.facts else excluded(self.name, "no gold fact")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Is each fact in the reply?"""
        return list(fact_questions(case).values())

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`; decided by the phrase alone where there is none."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        found = [answers.one(question) for question in self.questions(case)]
        said = _phrase(case)
        shown = [answer for answer in found if answer.score]
        if said and not shown and (missing := unscored(self.name, found)) is not None:
            return [missing]
        empty = bool(said) and not shown
        label = "cue without fact" if empty else "fact shown" if said else "no phrase"
        judged = [answer for answer in found if answer.status == "scored"]
        figures = {"phrase": bool(said), "facts": len(found), "judged": len(judged), "shown": len(shown)}
        verdict = joint(self.name, judged, float(empty), label, figures=figures)
        flags = (*verdict.flags, _FLAG) if empty and _FLAG not in verdict.flags else verdict.flags
        return [replace(verdict, quote=said or verdict.quote, flags=flags)]


def _phrase(case: EvaluationCase) -> str:
    return cue_sentence(hear(case.reply.visible_text).text)
