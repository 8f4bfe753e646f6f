"""Outcome: in which of five ways does a reply deal with what it should remember?

``outcome``: `full`, the specifics are there and shape the reply; `gist`, only the topic; `generic`, empathy without
memory; `hallucinated`, something is recalled that did not happen; `admits`, the reply says that it does not remember.
`full` scores 1, all others 0; the labels are the result (MemUse, arXiv 2608.24189, failure taxonomy). With its largest
memory MemUse counts 6, 19, 28, 17 and 2 of 72 replies, where 16 of 72 pass the binary integration score.

For MemUse's positive instances, and for implicit probes with gold facts. The judge sees the cue, the reply, the facts
and the description of what should be recalled, and no memory block: what the history holds and the facts do not say
may be read as hallucinated.

Deviations: the published labels are people's; this is a judge's answer to the same five descriptions.

Trivial policies: an empty reply or small talk is `generic`, a refusal `admits`, dumping the memory at best `gist`: all
score 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import facts_of
from mnemoscope.evaluators.metrics.metric import concluded, excluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Outcome"]

_CUES = ("cue@1.2", "cue@1.1")
"""MemUse's cue, the newer version first."""


class Outcome:
    """`outcome`: the kind of reply; 1 for a full one."""

    name = "outcome"
    family = "outcome"
    lower_is_better = False
    tasks: frozenset[Task] = frozenset({"outcome"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """MemUse's positive instances and implicit probes that can be answered."""
        return not gold.unanswerable and (probe.style == "implicit" or any(cue in gold.judge_inputs for cue in _CUES))

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without anything to recall."""
        return None if case.gold.facts else excluded(self.name, "no gold fact")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Which of the five is it?"""
        gold, probe = case.gold, case.probe
        if not gold.facts:
            return []
        cue = next((gold.judge_inputs[name] for name in _CUES if name in gold.judge_inputs), probe.text)
        reply, expected = case.reply.visible_text, gold.expected or ""
        return [Question("outcome", reply, cue, probe.speaker, facts_of(case), expected=expected)]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        (question,) = self.questions(case)
        return [concluded(self.name, answers.one(question))]
