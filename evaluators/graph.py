"""The evaluator graph: one node per metric family that applies, in parallel, and one merge."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Protocol, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from mnemoscope.core.ports import Use, UseDetector
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.metric import Metric, failure
from mnemoscope.evaluators.verdict import Verdict

__all__ = ["EvaluationState", "Evaluator"]


class EvaluationState(TypedDict, total=False):
    """One evaluation. Gold is in `case`: this state type is never that of an assistant."""

    case: EvaluationCase
    detector: UseDetector
    found: Annotated[list[Verdict], operator.add]
    verdicts: tuple[Verdict, ...]


class _Node(Protocol):
    async def __call__(self, state: EvaluationState) -> EvaluationState: ...


class _Once:
    """A detector that answers each pair of texts once per evaluation, whoever asks."""

    def __init__(self, detector: UseDetector) -> None:
        self._detector = detector
        self._known: dict[tuple[str, str], Use] = {}
        self.key = detector.key

    def detect(self, reply: str, fact: str) -> Use:
        """As the detector behind it."""
        pair = (reply, fact)
        if (use := self._known.get(pair)) is None:
            use = self._known[pair] = self._detector.detect(reply, fact)
        return use


class Evaluator:
    """Scores cells with a fixed set of metrics.

    The graph is compiled once. Its dispatch sends the case to one node per family of metrics that apply; nodes never
    raise, because one failing branch would discard its siblings: a metric that fails gives a verdict with status
    `error`. Merged verdicts are sorted by metric and subject.

    Args:
        metrics: The metrics; names are unique.
        detector: The scoring detector.
    """

    def __init__(self, metrics: Sequence[Metric], detector: UseDetector) -> None:
        self.metrics = tuple(metrics)
        self.detector = detector
        self._families = {
            family: tuple(m for m in self.metrics if _family(m) == family)
            for family in dict.fromkeys(_family(m) for m in self.metrics)
        }
        self._graph = self._compile()

    async def evaluate(self, case: EvaluationCase) -> tuple[Verdict, ...]:
        """All verdicts on one cell, sorted by metric and subject.

        A failed cell gives one verdict per metric that applies: an error labelled with the cause, or the exclusion of a
        probe that the metric leaves out whatever the reply.
        """
        state = await self._graph.ainvoke({"case": case, "detector": _Once(self.detector), "found": []})
        verdicts: tuple[Verdict, ...] = state["verdicts"]
        return verdicts

    def draw_mermaid(self) -> str:
        """The graph as Mermaid text."""
        return str(self._graph.get_graph().draw_mermaid())

    def _compile(self) -> CompiledStateGraph[EvaluationState, None, EvaluationState, EvaluationState]:
        builder = StateGraph(EvaluationState)
        builder.add_node("merge", _merge)
        for family, metrics in self._families.items():
            builder.add_node(family, _family_node(metrics))
            builder.add_edge(family, "merge")
        builder.add_conditional_edges(START, self._dispatch, [*self._families, "merge"])
        builder.add_edge("merge", END)
        return builder.compile()

    def _dispatch(self, state: EvaluationState) -> list[Send] | str:
        case = state["case"]
        payload = {"case": case, "detector": state["detector"]}
        sends = [
            Send(family, payload)
            for family, metrics in self._families.items()
            if any(_applies(metric, case) for metric in metrics)
        ]
        return sends or "merge"


def _family(metric: Metric) -> str:
    """A metric that names no family is one of its own kind."""
    return str(getattr(metric, "family", "own"))


def _family_node(metrics: tuple[Metric, ...]) -> _Node:
    # a coroutine, so that LangGraph runs it here: handing short rules to its thread pool costs more than they do
    async def evaluate_family(state: EvaluationState) -> EvaluationState:
        case, detector = state["case"], state["detector"]
        found = [v for metric in metrics if _applies(metric, case) for v in _verdicts(metric, case, detector)]
        return {"found": found}

    return evaluate_family


async def _merge(state: EvaluationState) -> EvaluationState:
    return {"verdicts": tuple(sorted(state.get("found", []), key=lambda v: (v.metric, v.subject)))}


def _applies(metric: Metric, case: EvaluationCase) -> bool:
    try:
        return metric.applies(case.gold, case.probe)
    except Exception:  # it is asked again, and recorded, in `_verdicts`
        return True


def _verdicts(metric: Metric, case: EvaluationCase, detector: UseDetector) -> list[Verdict]:
    try:
        if not metric.applies(case.gold, case.probe):
            return []
        if case.reply.status == "error":
            error = case.reply.error or "error"
            return [failure(metric, case, f"answer-error:{error.partition(':')[0].strip() or 'error'}", error)]
        return metric.evaluate(case, detector)
    except Exception as error:  # a metric's failure is a verdict, never the end of its siblings
        cause = f"judge-error:{type(error).__name__}"
        return [Verdict(metric.name, "reply", cause, None, "error", raw=f"{type(error).__name__}: {error}")]
