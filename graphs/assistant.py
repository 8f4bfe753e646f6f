"""The assistant graph: plan_query → retrieve → plan_response → generate → verify, with a bounded way back.

Of a memory that answers by itself it is plan_query → retrieve → answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError, BudgetStop, ConfigError, EndpointError
from mnemoscope.core.ports import Span
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.metering import MeteredEmbedder, MeteredModel, count, metering
from mnemoscope.graphs.nodes.own import ask_loop, take_answer
from mnemoscope.graphs.nodes.ports import (
    GenerationTask,
    Generator,
    Planner,
    PlanningTask,
    PrivilegedPlanner,
    QueryPlanner,
    Verification,
    VerificationTask,
    Verifier,
)
from mnemoscope.graphs.parameters import whole
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.graphs.registry import GENERATORS, PLANNERS, QUERY_PLANNERS, VERIFIERS
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.graphs.spans import FIRST_TOKEN, Node, RunnableNode, spanned
from mnemoscope.graphs.state import AssistantContext, AssistantState
from mnemoscope.graphs.traces import tracing
from mnemoscope.scenarios.records import Probe

__all__ = ["Assistant", "AssistantContext", "AssistantNodes", "error_text"]

AssistantGraph = StateGraph[AssistantState, AssistantContext, AssistantState, AssistantState]
CompiledAssistant = CompiledStateGraph[AssistantState, AssistantContext, AssistantState, AssistantState]
Update = Mapping[str, object]

MOST_LOOPS = 10
FIXED_STEPS = 8
"""Steps of a run without a way back, with some to spare; each loop adds two."""


@dataclass(frozen=True, slots=True)
class AssistantNodes:
    """A way to answer: one node per place in the graph, by name, with parameters."""

    plan_query: str = "identity"
    plan_response: str | None = "unplanned"
    """None, and `generate` with it: the memory's own loop answers."""
    generate: str | None = "plain"
    verify: str | None = None
    max_loops: int = 2
    """How often `verify` may send a reply back, 0 to 10."""

    @property
    def own(self) -> bool:
        """Whether the memory's own loop answers."""
        return self.plan_response is None


class Assistant:
    """An assistant graph, compiled once and used for every probe.

    Args:
        nodes: Which node stands where.

    Raises:
        UnknownNameError: No such node; the nearest names are listed.
        ConfigError: A parameter out of its range, a thing that is no such node, or a loop of the memory's own with a
            node that writes or verifies.
    """

    def __init__(self, nodes: AssistantNodes) -> None:
        if (nodes.generate is None) != nodes.own or (nodes.own and nodes.verify is not None):
            raise ConfigError("a memory that answers by itself takes no plan_response, generate or verify")
        self.nodes = nodes
        self._max_loops = whole("max_loops", nodes.max_loops, 0, MOST_LOOPS)
        self._query_planner = _made(QUERY_PLANNERS, nodes.plan_query, QueryPlanner)
        self._planner: Any = None if nodes.plan_response is None else _planner(nodes.plan_response)
        self._generator: Any = None if nodes.generate is None else _made(GENERATORS, nodes.generate, Generator)
        self._verifier = None if nodes.verify is None else _made(VERIFIERS, nodes.verify, Verifier)

    @property
    def privileged(self) -> bool:
        """Whether its planner reads gold."""
        return isinstance(self._planner, PrivilegedPlanner)

    @cached_property
    def graph(self) -> CompiledAssistant:
        """The compiled graph."""
        return self._build().compile(name="assistant")

    async def respond(self, probe: Probe, context: AssistantContext) -> Reply:
        """Answer one probe.

        A failure of the memory, an endpoint or a node gives a reply with status `error`, which keeps what was reached
        before. Only `BudgetStop` and cancellation are raised.

        Args:
            probe: What the assistant may see.
            context: Memory, budget and writer; the verifier where `verify` is used; gold for a privileged planner.
        """
        with tracing(context.trace):
            try:
                state = await self.graph.ainvoke(
                    AssistantState(probe=probe, loops=0),
                    {"recursion_limit": FIXED_STEPS + 2 * self._max_loops},
                    context=context,
                )
            except BudgetStop:
                raise
            except Exception as error:
                return Reply("", HiddenTrace(), None, None, status="error", error=error_text(error))
        return _reply(cast("AssistantState", state))

    def _build(self) -> AssistantGraph:
        graph: AssistantGraph = StateGraph(AssistantState, context_schema=AssistantContext)
        steps: dict[str, Node[AssistantState, AssistantContext]] = {
            "plan_query": self._plan_query,
            "retrieve": self._retrieve,
            "plan_response": self._plan_response,
            "generate": self._generate,
        }
        if self._verifier is not None:
            steps["verify"] = self._verify
        if self.nodes.own:
            steps = {"plan_query": self._plan_query, "retrieve": ask_loop, "answer": take_answer}
        for name, step in steps.items():
            graph.add_node(name, _guarded(spanned(name, step)))
        names = list(steps)
        graph.add_edge(START, names[0])
        for name, following in pairwise(names):
            graph.add_edge(name, following)
        if self._verifier is None:
            graph.add_edge(names[-1], END)
        else:
            graph.add_conditional_edges("verify", _way_on, {"generate": "generate", END: END})
        return graph

    async def _plan_query(self, state: AssistantState, runtime: Runtime[AssistantContext]) -> Update:
        model = runtime.context.model
        metered = None if model is None else MeteredModel(model)
        return {"query": await self._query_planner.query(state["probe"], metered)}

    async def _retrieve(self, state: AssistantState, runtime: Runtime[AssistantContext]) -> Update:
        context = runtime.context
        found = await context.backend.retrieve(state["query"], context.budget, state["probe"].now, context.read_mode)
        count(found.usage)
        return {"retrieval": found}

    async def _plan_response(self, state: AssistantState, runtime: Runtime[AssistantContext]) -> Update:
        context, probe = runtime.context, state["probe"]
        task = PlanningTask(
            utterance=probe.text,
            asker=probe.speaker,
            memories=state["retrieval"].given_items,
            ranked=context.backend.capabilities.ranks,
            recent_turns=probe.recent_turns,
            persona=probe.persona,
            speaks_as=probe.speaks_as,
            now=probe.now,
            embedder=None if context.embedder is None else MeteredEmbedder(context.embedder),
            model=None if context.model is None else MeteredModel(context.model),
            replicate=context.replicate,
        )
        return {"plan": _checked(await self._planned(task, probe, context), task)}

    async def _planned(self, task: PlanningTask, probe: Probe, context: AssistantContext) -> ResponsePlan:
        planner: Planner | PrivilegedPlanner = self._planner
        if not isinstance(planner, PrivilegedPlanner):
            return await planner.plan(task)
        if context.gold is None:
            raise ConfigError(f"planner {self.nodes.plan_response} reads gold and was given none")
        return await planner.plan_with_gold(task, context.gold.gold(probe.probe_id))

    async def _generate(self, state: AssistantState, runtime: Runtime[AssistantContext]) -> Update:
        task = GenerationTask(
            probe=state["probe"],
            plan=state["plan"],
            memories=state["retrieval"].given_items,
            writer=runtime.context.writer,
            unmet=state.get("unmet", ()),
            leaked=state.get("leaked", ()),
            replicate=runtime.context.replicate,
        )
        try:
            draft = await self._generator.write(task)
        except EndpointError as error:
            count(error.usage)
            raise
        count(draft.usage)
        if draft.first_token_ms is not None:
            runtime.context.trace.record(Span(FIRST_TOKEN, draft.first_token_ms, 0, ""))
        return {"draft": draft.text, "drafts": (draft.text,), "reasoning": draft.hidden}

    async def _verify(self, state: AssistantState, runtime: Runtime[AssistantContext]) -> Update:
        verifier, detector = self._verifier, runtime.context.verifier
        if verifier is None or detector is None:
            raise ConfigError(f"verify {self.nodes.verify} needs a detector")
        task = VerificationTask(state["draft"], state["plan"], state["retrieval"].given_items, detector)
        drafts = state["drafts"]
        gets_nowhere = len(drafts) > 1 and drafts[-1] == drafts[-2]
        seen = (
            Verification(state["realised"], state["unmet"], state["leaked"]) if gets_nowhere else verifier.check(task)
        )
        update: dict[str, object] = {"realised": seen.realised, "unmet": seen.unmet, "leaked": seen.leaked}
        if not (seen.unmet or seen.leaked):
            return {**update, "again": False}
        if state["loops"] < self._max_loops and not gets_nowhere:
            return {**update, "again": True, "loops": state["loops"] + 1}
        if not seen.unmet:
            return {**update, "again": False}
        mended = verifier.mend(task, seen.unmet)
        final = verifier.check(VerificationTask(mended, task.plan, task.memories, detector))
        return {"realised": final.realised, "again": False, "draft": mended, "fallback": True}


def error_text(error: BaseException) -> str:
    """An error as a reply keeps it: a cause that failures are counted by, a colon, the message.

    The cause is an endpoint's (`timeout`, `rate_limit`, …), `memory-` and the phase for a memory, or the class name.
    """
    if isinstance(error, EndpointError):
        cause = error.cause
    elif isinstance(error, BackendError):
        cause = f"memory-{error.phase}"
    else:
        cause = type(error).__name__
    return f"{cause}: {error}"


def _guarded(
    node: RunnableNode[AssistantState, AssistantContext],
) -> RunnableNode[AssistantState, AssistantContext]:
    """A failing node sets `error` and ends the work, so that what was reached before it is kept."""

    async def run(state: AssistantState, runtime: Runtime[AssistantContext]) -> dict[str, Any]:
        if state.get("error") is not None:
            return {}
        with metering() as spent:
            try:
                return await node(state, runtime)
            except BudgetStop:
                raise
            except Exception as error:
                return {"error": error_text(error), "again": False, "usage": spent.usage}

    return run


async def _way_on(state: AssistantState) -> str:
    return "generate" if state.get("again") else END


def _reply(state: AssistantState) -> Reply:
    error = state.get("error")
    query = state.get("query")
    return Reply(
        visible_text="" if error is not None else state["draft"],
        hidden_trace=HiddenTrace(
            queries=() if query is None else (query,),
            drafts=state.get("drafts", ()),
            reasoning=state.get("reasoning", ""),
            fallback=state.get("fallback", False),
        ),
        retrieval=state.get("retrieval"),
        plan=state.get("plan"),
        realised=state.get("realised", {}),
        usage=state.get("usage", Usage()),
        status="ok" if error is None else "error",
        error=error,
    )


def _checked(plan: ResponsePlan, task: PlanningTask) -> ResponsePlan:
    known = {item.id for item in task.memories}
    if foreign := [slot.memory_id for slot in plan.slots if slot.memory_id not in known]:
        raise ConfigError(f"planner {plan.planner} plans memories that were not given: {', '.join(foreign)}")
    if len({slot.slot_id for slot in plan.slots}) != len(plan.slots):
        raise ConfigError(f"planner {plan.planner} gives two slots the same id")
    return plan


def _planner(text: str) -> Planner | PrivilegedPlanner:
    made = PLANNERS.create(text)
    if isinstance(made, PrivilegedPlanner | Planner):
        return made
    raise ConfigError(f"{text!r} is no planner: it has no `name` and `plan`")


def _made(registry: Any, text: str, protocol: type[Any]) -> Any:
    made = registry.create(text)
    if not isinstance(made, protocol):
        raise ConfigError(f"{text!r} is not a node for {registry.kind}")
    return made
