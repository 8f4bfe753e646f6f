"""Small MemUse cases for tests: gold as the loader makes it, with replies of choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mnemoscope.core.identity import ProbeId
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.scenarios.loaders.memuse_gold import SubQuestion, question_gold
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.conftest import case

FAIR = "I am off to that fair I told you about."
ASKED = (
    SubQuestion("q0", "Which city is the fair in?", "Delft"),
    SubQuestion("q1", "How did the user feel about selling?", "nervous"),
)


def natural_gold(asked: Sequence[SubQuestion] = ASKED, **inputs: str) -> Gold:
    """Gold of a positive instance; `cue_1_1="…"` overrides `cue@1.1`, and so on."""
    given = {
        "cue@1.1": f"Long day. {FAIR}",
        "expected@1.1": "The user told of a ceramics fair in Delft and was nervous about selling.",
        "cue@1.2": "that fair I told you about",
        "expected@1.2": "Recalls the fair in Delft.",
    } | {name.replace("_", "@", 1).replace("_", "."): text for name, text in inputs.items()}
    return Gold(
        facts=tuple(GoldFact(fact_id=entry.fact_id, text=entry.answer) for entry in asked),
        expected=given["expected@1.2"],
        judge_inputs=given | {f"question@{entry.fact_id}": entry.question for entry in asked},
        strata=("natural", "positive"),
    )


def natural(reply: str, gold: Gold | None = None) -> EvaluationCase:
    """The natural reply to a cue."""
    return case(reply=reply, gold=gold or natural_gold(), style="dialog", text=FAIR)


def direct(reply: str, entry: SubQuestion = ASKED[0], gold: Gold | None = None) -> EvaluationCase:
    """The reply to a fact question asked outright."""
    return case(reply=reply, gold=question_gold(entry, gold or natural_gold()), text=entry.question)


def negative(reply: str, summaries: str = "Session 0: slept badly.") -> EvaluationCase:
    """The reply to a turn that needs no memory."""
    inputs = {"cue": "I am going to bed now.", "prior_summaries": summaries}
    gold = Gold(judge_inputs=inputs, strata=("natural", "negative"))
    return case(reply=reply, gold=gold, style="dialog", text=inputs["cue"])


def named(made: EvaluationCase, probe_id: str) -> EvaluationCase:
    """The same case under another probe id."""
    return replace(made, probe=made.probe.model_copy(update={"probe_id": ProbeId(probe_id)}))


class Table:
    """A judge whose answers stand in a table; a question that is not in it is one that no metric may ask."""

    name = "table"

    def __init__(self, answers: Mapping[Question, bool], labels: Mapping[Task, tuple[str, str]]) -> None:
        self.answers, self.labels = answers, labels

    def key(self, task: Task) -> str:
        return f"table-{task}" if task in self.labels else ""

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        yes, no = self.labels[question.task]
        found = self.answers[question]
        return (Answer(yes if found else no, float(found), judge_key=self.key(question.task)),)
