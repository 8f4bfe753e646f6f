"""The evaluator graph: families, errors as data, order, and its overhead."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from mnemoscope.core.errors import BudgetStop, ConfigError
from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.judges.offline.judge import OfflineJudge
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.scales import LABELS, label_score
from mnemoscope.evaluators.metrics.metric import Metric, judge_key, scored
from mnemoscope.evaluators.metrics.registry import (
    DEFAULT_METRICS,
    METRICS,
    default_metrics,
    lower_is_better,
    open_metrics,
)
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, GoldFact, Probe, Turn

Make = Callable[..., EvaluationCase]


class Counting(OfflineJudge):
    """Counts what really reaches the judge."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Question] = []

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        self.asked.append(question)
        return await super().judge(question)


class Failing:
    """A metric that fails on one probe text."""

    name, family, lower_is_better = "failing", "own", False

    def applies(self, gold: Gold, probe: Probe) -> bool:
        return True

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        if case.probe.text == "17":
            raise RuntimeError("the judge answered 500")
        return [scored(self.name, 1.0, "fine")]


class Picky(Failing):
    name, family = "picky", "other"

    def applies(self, gold: Gold, probe: Probe) -> bool:
        raise ValueError("cannot say")


def situational(make_case: Make) -> EvaluationCase:
    pool = {f"i{n}": f"Tomasz has a {thing}." for n, thing in enumerate(("cat", "kiln", "van"))}
    roles = {ItemId("i0"): "must", ItemId("i1"): "nice", ItemId("i2"): "irr"}
    return make_case(
        reply="Tomasz has a cat. Tomasz has a kiln.", gold=Gold(roles=roles), style="situational", pool=pool
    )


async def test_every_family_that_applies_and_none_else(make_case: Make, make_item: Callable[..., MemoryItem]) -> None:
    evaluator = Evaluator(default_metrics(), OfflineJudge())
    gold = Gold(answers=("a cat",), evidence=("t1",), facts=(GoldFact(fact_id="f", text="Tomasz has a cat."),))
    case = make_case(reply="a cat", gold=gold, items=[make_item("a", "cat", ["t1"])])
    names = [v.metric for v in (await evaluator.evaluate(case)).verdicts]
    assert {"recall@10", "recall-text@10", "answer-f1", "integration"} <= set(names)
    assert not {"smc", "timing", "correction", "adversarial"} & set(names)
    assert names == sorted(names)
    assert {v.status for v in (await evaluator.evaluate(make_case(style="moment"))).verdicts} <= {"not_applicable"}


async def test_verdicts_are_sorted_and_repeatable(make_case: Make) -> None:
    evaluator = Evaluator(default_metrics(), OfflineJudge())
    first = (await evaluator.evaluate(situational(make_case))).verdicts
    assert first == (await evaluator.evaluate(situational(make_case))).verdicts
    assert [(v.metric, v.subject) for v in first] == sorted((v.metric, v.subject) for v in first)
    assert [v.subject for v in first if v.metric == "use"] == ["i0", "i1", "i2"]


async def test_each_pair_of_texts_is_detected_once(make_case: Make) -> None:
    judge = Counting()
    await Evaluator(default_metrics(), judge).evaluate(situational(make_case))
    uses = [question for question in judge.asked if question.task == "use"]
    assert len(uses) == 3
    assert len(judge.asked) == len(set(judge.asked))


async def test_one_failure_leaves_its_siblings_alone(make_case: Make) -> None:
    evaluator = Evaluator((Failing(), Picky(), METRICS.create("answer-f1")), OfflineJudge())
    gold = Gold(answers=("yes",))
    cases = [make_case(text=str(n), reply="yes", gold=gold) for n in range(50)]
    found = [(await evaluator.evaluate(case)).verdicts for case in cases]
    of_failing = [v for verdicts in found for v in verdicts if v.metric == "failing"]
    assert [v.status for v in of_failing].count("scored") == 49
    (failed,) = [v for v in of_failing if v.status == "error"]
    assert (failed.score, failed.label) == (None, "judge-error:RuntimeError")
    assert "500" in failed.raw
    assert all(v.score == 1.0 for verdicts in found for v in verdicts if v.metric == "answer-f1")
    assert {v.label for verdicts in found for v in verdicts if v.metric == "picky"} == {"judge-error:ValueError"}


async def test_a_failed_cell_is_an_error_of_each_metric_that_applies(
    make_case: Make, make_turn: Callable[..., Turn]
) -> None:
    evaluator = Evaluator(default_metrics(), OfflineJudge())
    gold = Gold(answers=("yes",), evidence=("t",), facts=(GoldFact(fact_id="f", text="Tomasz has a cat."),))
    history = [make_turn("t", "Tomasz has a cat.")]
    case = make_case(gold=gold, history=history, error="timeout: no answer within 30 s", items=None)
    verdicts, usage = await evaluator.evaluate(case)
    assert usage.calls == 0
    assert {"recall@10", "answer-f1"} <= {v.metric for v in verdicts}
    assert {(v.status, v.score, v.label) for v in verdicts} == {("error", None, "answer-error:timeout")}
    assert len({v.metric for v in verdicts}) == len(verdicts)


class Stumbling(Failing):
    """A judged metric of somebody's own that fails while it concludes."""

    name, tasks = "stumbling", frozenset({"use", "tied"})

    def questions(self, case: EvaluationCase) -> list[Question]:
        return []


class Agreeable:
    """Gives the first label of each task."""

    name = "agreeable"

    def key(self, task: Task) -> str:
        return f"{task}-1"

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        label = next(iter(LABELS[question.task]))
        subjects = [fact.fact_id for fact in question.facts] if question.task in ("use", "references") else ["reply"]
        return tuple(Answer(label, label_score(question.task, label, s), s) for s in subjects)


async def test_one_judge_is_one_key_per_metric_whatever_a_cell_needs(make_case: Make) -> None:
    judge = Agreeable()
    names = ("graded-integration", "cue-without-fact", "grounding(scale=published)", "answer")
    evaluator = Evaluator((*open_metrics(names), Stumbling()), judge)
    facts = (GoldFact(fact_id="f", text="Tomasz has a cat."),)
    asked = {"question@f": "What has Tomasz?", "cue@1.2": "the cat", "expected@1.2": "the cat"}
    reply = "As you said, Tomasz has a cat."
    cases = [
        make_case(reply=reply, style="implicit", gold=Gold(facts=facts)),
        make_case(reply=reply, style="implicit", gold=Gold(facts=facts, judge_inputs=asked)),
        make_case(reply="Lovely!", style="implicit", gold=Gold(facts=facts)),
        make_case(reply=reply, style="implicit", gold=Gold()),
        make_case(style="implicit", gold=Gold(facts=facts), error="timeout: 30 s", items=None),
        *(
            make_case(reply=reply, style="plan", gold=Gold(facts=facts, strata=(kind,), rubric="Warn the user."))
            for kind in ("type1-event-align", "type2-event-correct")
        ),
        make_case(text="17", style="question", gold=Gold(answers=("a cat",)), reply=reply),
    ]
    keys: dict[str, set[str]] = {}
    statuses: dict[str, set[str]] = {}
    for case in cases:
        for verdict in (await evaluator.evaluate(case)).verdicts:
            keys.setdefault(verdict.metric, set()).add(verdict.judge_key)
            statuses.setdefault(verdict.metric, set()).add(verdict.status)
    assert keys == {metric.name: {judge_key(metric, judge)} for metric in evaluator.metrics}
    assert all(key and len(of) == 1 for of in keys.values() for key in of)
    assert statuses["graded-integration"] == {"scored", "not_applicable", "error"}
    assert {*judge_key(METRICS.create("graded-integration"), judge).split(" + ")} == {
        judge.key(task) for task in ("answer", "use", "tied", "outcome")
    }


async def test_failing_on_what_is_never_scored_is_no_failure(make_case: Make) -> None:
    evaluator = Evaluator(default_metrics(), OfflineJudge())

    async def statuses(**kwargs: object) -> dict[str, tuple[str, str]]:
        verdicts, _ = await evaluator.evaluate(make_case(error="timeout: 30 s", items=None, **kwargs))
        return {v.metric: (v.status, v.label) for v in verdicts}

    adversarial = await statuses(gold=Gold(unanswerable=True, evidence=("t",)))
    assert adversarial["recall@10"] == adversarial["retained@5"] == ("not_applicable", "unanswerable by design")
    assert adversarial["adversarial"] == ("error", "answer-error:timeout")
    roles = {ItemId("i"): "must", ItemId("j"): "irr"}
    pool = await statuses(gold=Gold(roles=roles), style="situational", pool={"i": "A cat.", "j": "A van."})
    assert pool["pes"] == pool["cir"] == pool["cir(of=plan)"] == ("not_applicable", "no nice memory in the pool")
    assert pool["smc"] == pool["use"] == ("error", "answer-error:timeout")
    bare = await statuses(gold=Gold())
    assert (bare["answer-f1"][1], bare["integration"][1]) == ("no gold answer", "no gold fact")


async def test_overhead_of_an_evaluation(make_case: Make) -> None:
    evaluator = Evaluator(default_metrics(), OfflineJudge())
    case = make_case(reply="yes", gold=Gold(answers=("yes",), evidence=("t1",)))
    await evaluator.evaluate(case)
    taken = []
    for _ in range(10):
        start = time.perf_counter()
        await evaluator.evaluate(case)
        taken.append(time.perf_counter() - start)
    assert min(taken) < 0.2


class Deaf(OfflineJudge):
    """Cannot judge use."""

    def key(self, task: Task) -> str:
        return "" if task == "use" else super().key(task)


class Breaking(OfflineJudge):
    """Fails on one of two facts."""

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        if question.task == "use" and "kiln" in question.facts[0].text:
            raise OSError("the endpoint hung up")
        return await super().judge(question)


async def test_a_judge_that_lacks_a_task_leaves_its_metrics_out(make_case: Make) -> None:
    evaluator = Evaluator(open_metrics(["smc", "smc(of=plan)", "correction"]), Deaf())
    assert evaluator.left_out == {"smc": ("use",)}
    assert {m.name for m in evaluator.metrics} == {"smc(of=plan)", "correction"}
    verdicts, _ = await evaluator.evaluate(situational(make_case))
    assert {v.metric for v in verdicts} == {"smc(of=plan)"}


async def test_a_judge_that_fails_is_an_error_and_never_a_no(make_case: Make) -> None:
    evaluator = Evaluator(open_metrics(["smc", "use"]), Breaking())
    verdicts, _ = await evaluator.evaluate(situational(make_case))
    by_subject = {(v.metric, v.subject): (v.status, v.label, v.score) for v in verdicts}
    assert by_subject["use", "i1"] == ("error", "judge-error:OSError", None)
    assert by_subject["use", "i0"] == ("scored", "used", 1.0)
    assert by_subject["smc", "reply"] == ("error", "judge-error:OSError", None)


async def test_a_budget_that_is_spent_ends_the_evaluation(make_case: Make) -> None:
    class Spent(OfflineJudge):
        async def judge(self, question: Question) -> tuple[Answer, ...]:
            raise BudgetStop("no more calls")

    with pytest.raises(BudgetStop):
        await Evaluator(open_metrics(["smc", "use"]), Spent()).evaluate(situational(make_case))


def test_default_metrics_round_trip() -> None:
    metrics = default_metrics()
    assert tuple(m.name for m in metrics) == DEFAULT_METRICS
    for metric in metrics:
        assert isinstance(metric, Metric)
        assert METRICS.create(metric.name).name == metric.name
    lower = {m.name for m in metrics if m.lower_is_better}
    assert lower >= {"cir", "cir(of=plan)", "false-correction", "hallucination"}
    assert not lower & {"smc", "pes", "recall@10", "integration", "correction"}
    assert lower_is_better("cir(of=plan)") and not lower_is_better("smc") and not lower_is_better("nobody-knows-it")
    with pytest.raises(ConfigError, match="twice"):
        open_metrics(["recall@10", "recall(10)", "recall@10"])


def test_the_graph_can_be_drawn() -> None:
    drawn = Evaluator(default_metrics(), OfflineJudge()).draw_mermaid()
    assert all(family in drawn for family in ("retrieval", "strategic", "timing", "merge"))
