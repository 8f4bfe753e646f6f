"""Panels: majority, median, ties, and how far members agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import BudgetStop, ConfigError
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.panel import Panel, member_labels
from mnemoscope.evaluators.judges.question import Answer, Fact, Question, Task
from mnemoscope.evaluators.judges.scales import label_score
from mnemoscope.evaluators.judges.voting import vote

USE = use_question("It is under the blue pot.", "The spare key is under the blue pot.")


class Saying:
    """A judge with one label per task; an exception is raised."""

    def __init__(self, name: str, **labels: str | Answer | Exception) -> None:
        self.name = name
        self._labels = {task.replace("_", "-"): said for task, said in labels.items()}

    def key(self, task: Task) -> str:
        return f"{self.name}-1" if task in self._labels else ""

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        said = self._labels[question.task]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Answer):
            return (said,)
        score = label_score(question.task, said)
        subjects = [fact.fact_id for fact in question.facts] or ["reply"]
        usage = Usage({"judge": 1})
        return tuple(
            Answer(said, score, s, judge_key=self.key(question.task), quote="pot", usage=usage) for s in subjects
        )


async def test_most_members_decide_and_all_are_kept() -> None:
    panel = Panel([Saying("a", use="used"), Saying("b", use="not used"), Saying("c", use="used")])
    (answer,) = await panel.judge(USE)
    assert (answer.label, answer.score, answer.status, answer.quote) == ("used", 1.0, "scored", "pot")
    assert answer.agreement == pytest.approx(2 / 3)
    assert member_labels(answer.raw) == {"a": "used", "b": "not used", "c": "used"}
    assert answer.judge_key == panel.key("use") == "panel(a-1+b-1+c-1)"
    assert answer.usage.calls == 3


async def test_two_that_differ_decide_nothing() -> None:
    (answer,) = await Panel([Saying("a", use="used"), Saying("b", use="not used")]).judge(USE)
    assert (answer.label, answer.score, answer.status, answer.agreement) == ("no majority", None, "invalid", 0.5)


async def test_scales_have_a_median_and_facts_are_decided_one_by_one() -> None:
    question = Question("quality", "…", facts=())
    (answer,) = await Panel([Saying(n, quality=q) for n, q in (("a", "5"), ("b", "1"), ("c", "4"))]).judge(question)
    assert (answer.label, answer.score) == ("4", 4.0)
    two = Question("coverage", "…", facts=(Fact("x", "X."), Fact("y", "Y.")))
    members = [Saying("a", coverage="stated"), Saying("b", coverage="stated"), Saying("c", coverage="not stated")]
    answers = await Panel(members).judge(two)
    assert [(a.subject, a.label) for a in answers] == [("x", "stated"), ("y", "stated")]
    assert sum((a.usage for a in answers), Usage()).calls == 6


async def test_members_without_an_answer_do_not_vote() -> None:
    failed = Answer("judge-error:timeout", None, status="error")
    lost = Answer("truncated", None, status="invalid")
    three = [Saying("a", use="used"), Saying("b", use="used"), Saying("c", use=failed)]
    assert (await Panel(three).judge(USE))[0].label == "used"
    one_left = [Saying("a", use="used"), Saying("b", use=lost), Saying("c", use=failed)]
    (answer,) = await Panel(one_left).judge(USE)
    assert (answer.status, answer.label, answer.score) == ("error", "judge-error:timeout", None)
    assert member_labels(answer.raw) == {"a": "used", "b": None, "c": None}


async def test_a_failure_of_the_whole_question_counts_for_each_fact() -> None:
    failed = Answer("judge-error:timeout", None, status="error")
    two = Question("coverage", "…", facts=(Fact("x", "X."), Fact("y", "Y.")))
    answers = await Panel([Saying("a", coverage="stated"), Saying("b", coverage=failed)]).judge(two)
    assert {a.subject: a.status for a in answers if a.subject in "xy"} == {"x": "error", "y": "error"}


async def test_the_end_of_the_budget_is_passed_on() -> None:
    with pytest.raises(BudgetStop):
        await Panel([Saying("a", use="used"), Saying("b", use=BudgetStop("over"))]).judge(USE)


async def test_one_member_alone_is_no_panel() -> None:
    panel = Panel([Saying("a", use="used", answer="right"), Saying("b", use="used")])
    assert panel.key("answer") == ""
    (answer,) = await panel.judge(Question("answer", "…", expected="x"))
    assert answer.status == "not_applicable"
    with pytest.raises(ConfigError, match="at least two"):
        Panel([Saying("a", use="used")])
    with pytest.raises(ConfigError, match="twice"):
        Panel([Saying("a", use="used"), Saying("a", use="used")])


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
def test_the_order_of_votes_does_not_matter(labels: list[str]) -> None:
    for scale in ((), ("a", "b", "c")):
        won = vote(labels, scale)
        assert won == vote(labels[::-1], scale)
        assert 0 < won.agreement <= 1
        assert won.label is None or won.label in labels
        if labels.count(labels[0]) * 2 > len(labels):
            assert won.label == labels[0]
