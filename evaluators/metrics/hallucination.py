"""Hallucination: does the reply assert as remembered what the memory it was given does not hold?

``hallucination``, for dialog and implicit probes that nothing in the history answers (LoCoMo-Conv, arXiv 2609.03467,
category 5): `unsupported` 1, `supported` 0; lower is better. The judge sees who speaks, the utterance, the reply, and
the memory block that *this* system was given, with the current session where there is one.

**Specific to the system.** What counts as supported depends on what was retrieved: a system that retrieves more has
more to be supported by, and one without a memory is judged against nothing. Two systems' figures differ by retrieval
and by restraint at once; read them beside `recall-given` and the size of the block. An older version of the release
judged against the trap answer instead; this one follows the later protocol.

Deviations: the block is the given items in the one format that all systems share, before a planner narrows it, so a
claim from a memory that the planner dropped is still supported.

Trivial policies: an empty reply, a refusal or "not mentioned" scores 0, the best; repeating the block scores 0 too;
inventing scores 1. Read it beside `fact-use`, which refusing pays for.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.judges.question import Question, Task
from mnemoscope.evaluators.metrics._joint import given_block
from mnemoscope.evaluators.metrics.metric import concluded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Hallucination"]


class Hallucination:
    """`hallucination`: for probes that nothing answers; lower is better."""

    name = "hallucination"
    family = "hallucination"
    lower_is_better = True
    tasks: frozenset[Task] = frozenset({"hallucination"})

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Dialog and implicit probes about what was never said."""
        return gold.unanswerable and probe.style in ("dialog", "implicit")

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """Does the reply claim to remember what the block does not hold?"""
        probe, reply = case.probe, case.reply.visible_text
        return [Question("hallucination", reply, probe.text, probe.speaker, context=given_block(case))]

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        (question,) = self.questions(case)
        return [concluded(self.name, answers.one(question))]
