"""The evaluator graph: one node per metric family that applies, in parallel, and one merge."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple, Protocol, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.asking import ask
from mnemoscope.evaluators.judges.judge import Answers, Judge
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.metrics.metric import Judged, Metric, excluded, failure, judge_key, tasks_of
from mnemoscope.evaluators.verdict import JUDGE_ERROR, Verdict

__all__ = ["Evaluation", "EvaluationState", "Evaluator"]


class Evaluation(NamedTuple):
    """All verdicts on one cell, sorted by metric and subject, and what judging it cost."""

    verdicts: tuple[Verdict, ...]
    usage: Usage


class EvaluationState(TypedDict, total=False):
    """One evaluation. Gold is in `case`: this state type is never that of an assistant."""

    case: EvaluationCase
    asked: _Asked
    found: Annotated[list[Verdict], operator.add]
    verdicts: tuple[Verdict, ...]


class _Node(Protocol):
    async def __call__(self, state: EvaluationState) -> EvaluationState: ...


class _Asked:
    """The questions of one evaluation: each is put to the judge once, whichever families ask it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._answers: dict[Question, asyncio.Task[tuple[Answer, ...]]] = {}

    async def answers(self, questions: Sequence[Question]) -> Answers:
        """Answers to all of the questions; those that are new are asked at the same time."""
        for question in questions:
            if question not in self._answers:
                task = self._answers[question] = asyncio.ensure_future(ask(self._judge, question))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, whoever awaits it
        return Answers({question: await self._answers[question] for question in questions})

    def usage(self) -> Usage:
        """What all answers cost."""
        done = (answer.usage for task in self._answers.values() for answer in task.result())
        return sum(done, Usage())


class Evaluator:
    """Scores cells with a fixed set of metrics.

    The graph is compiled once. Its dispatch sends the case to one node per family of metrics that apply; a node asks
    the judge what its metrics need to know, has them conclude, and binds what a judged metric gives, exclusions and
    failures included, to one key (`judge_key`). Nodes never raise, because one failing branch would discard its
    siblings: a metric that fails gives a verdict with status `error`. Merged verdicts are sorted by metric and subject.

    Args:
        metrics: The metrics; names are unique.
        judge: Answers the questions of those that are judged.
    """

    def __init__(self, metrics: Sequence[Metric], judge: Judge) -> None:
        lacking = {m.name: tuple(sorted(t for t in tasks_of(m) if not judge.key(t))) for m in metrics}
        self.left_out: dict[str, tuple[Task, ...]] = {name: tasks for name, tasks in lacking.items() if tasks}
        """Metrics that this judge cannot serve, with the tasks that it cannot do."""
        self.metrics = tuple(m for m in metrics if m.name not in self.left_out)
        self.judge = judge
        self._families = {
            family: tuple(m for m in self.metrics if _family(m) == family)
            for family in dict.fromkeys(_family(m) for m in self.metrics)
        }
        self._graph = self._compile()

    async def evaluate(self, case: EvaluationCase) -> Evaluation:
        """Evaluate one cell.

        A failed cell gives one verdict per metric that applies: an error labelled with the cause, or the exclusion of a
        probe that the metric leaves out whatever the reply. An excluded cell gives the exclusion, with its reason.

        Raises:
            BudgetStop: The judge may not be asked any more.
        """
        asked = _Asked(self.judge)
        state = await self._graph.ainvoke({"case": case, "asked": asked, "found": []})
        return Evaluation(state["verdicts"], asked.usage())

    def questions(self, case: EvaluationCase) -> tuple[Question, ...]:
        """What the judge is asked about one cell, each question once."""
        asked = (q for metric in self.metrics if _applies(metric, case) for q in _questions(metric, case))
        return tuple(dict.fromkeys(asked))

    def draw_mermaid(self) -> str:
        """The graph as Mermaid text."""
        return str(self._graph.get_graph().draw_mermaid())

    def _compile(self) -> CompiledStateGraph[EvaluationState, None, EvaluationState, EvaluationState]:
        builder = StateGraph(EvaluationState)
        builder.add_node("merge", _merge)
        for family, metrics in self._families.items():
            builder.add_node(family, _family_node(metrics, {m.name: judge_key(m, self.judge) for m in metrics}))
            builder.add_edge(family, "merge")
        builder.add_conditional_edges(START, self._dispatch, [*self._families, "merge"])
        builder.add_edge("merge", END)
        return builder.compile()

    def _dispatch(self, state: EvaluationState) -> list[Send] | str:
        case = state["case"]
        payload = {"case": case, "asked": state["asked"]}
        sends = [
            Send(family, payload)
            for family, metrics in self._families.items()
            if any(_applies(metric, case) for metric in metrics)
        ]
        return sends or "merge"


def _family(metric: Metric) -> str:
    """A metric that names no family is one of its own kind."""
    return str(getattr(metric, "family", "own"))


def _family_node(metrics: tuple[Metric, ...], keys: Mapping[str, str]) -> _Node:
    # a coroutine, so that LangGraph runs it here: handing short rules to its thread pool costs more than they do
    async def evaluate_family(state: EvaluationState) -> EvaluationState:
        case, asked = state["case"], state["asked"]
        wanted = [metric for metric in metrics if _applies(metric, case)]
        answers = await asked.answers([q for metric in wanted for q in _questions(metric, case)])
        found = ((v, keys[metric.name]) for metric in wanted for v in _verdicts(metric, case, answers))
        return {"found": [replace(verdict, judge_key=key) if key else verdict for verdict, key in found]}

    return evaluate_family


async def _merge(state: EvaluationState) -> EvaluationState:
    return {"verdicts": tuple(sorted(state.get("found", []), key=lambda v: (v.metric, v.subject)))}


def _applies(metric: Metric, case: EvaluationCase) -> bool:
    try:
        return metric.applies(case.gold, case.probe)
    except Exception:  # it is asked again, and recorded, in `_verdicts`
        return True


def _questions(metric: Metric, case: EvaluationCase) -> Sequence[Question]:
    if not isinstance(metric, Judged) or case.reply.status != "ok":
        return ()
    try:
        return metric.questions(case)
    except Exception:  # the metric runs into it again, and it is recorded, in `_verdicts`
        return ()


def _verdicts(metric: Metric, case: EvaluationCase, answers: Answers) -> list[Verdict]:
    try:
        if not metric.applies(case.gold, case.probe):
            return []
        if case.reply.status == "excluded":
            return [excluded(metric.name, case.reply.error or case.reply.status)]
        if case.reply.status == "error":
            error = case.reply.error or "error"
            return [failure(metric, case, f"answer-error:{error.partition(':')[0].strip() or 'error'}", error)]
        return metric.evaluate(case, answers)
    except Exception as error:  # a metric's failure is a verdict, never the end of its siblings
        cause = f"{JUDGE_ERROR}{type(error).__name__}"
        return [Verdict(metric.name, "reply", cause, None, "error", raw=f"{type(error).__name__}: {error}")]
