"""Nodes of the profile `own`: the memory's own loop reads and answers, and its answer is the reply."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.hidden import split_hidden
from mnemoscope.core.ports import Span
from mnemoscope.graphs.backend import UnfinishedReadError
from mnemoscope.graphs.metering import count
from mnemoscope.graphs.nodes.planners import slots_for
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.graphs.spans import FIRST_TOKEN
from mnemoscope.graphs.state import AssistantContext, AssistantState
from mnemoscope.memory_backends.record import Answering, Budget, Retrieval

__all__ = ["OWN", "ask_loop", "take_answer"]

OWN = "own"
"""Name of the profile, and of the planner in its plans."""


async def ask_loop(state: AssistantState, runtime: Runtime[AssistantContext]) -> Mapping[str, object]:
    """Node `retrieve`: runs the loop. All that it saw is given: a budget of the run would only cut the record of it.

    Reads `query` and `probe`; sets `retrieval`. Where an endpoint fails in the middle, what was found by then is kept,
    beside `error`.
    """
    context, probe = runtime.context, state["probe"]
    if not context.backend.capabilities.answers:
        raise ConfigError("the memory does not answer by itself; profile own needs one that does")
    answering = Answering(probe.persona, probe.speaks_as, context.replicate)
    query, budget = (
        replace(state["query"], answering=answering),
        Budget(k=None, depth_tokens=context.budget.depth_tokens),
    )
    started = time.perf_counter()
    try:
        found = await context.backend.retrieve(query, budget, probe.now, context.read_mode)
    except UnfinishedReadError as unfinished:
        count(unfinished.reached.usage)
        return {**_reached(unfinished.reached), "error": f"{unfinished.cause}: {unfinished}"}
    count(found.usage)
    if found.answer is not None and found.usage.calls and not found.usage.cache_hits:
        # nobody sees a word of the answer before the loop is over
        context.trace.record(Span(FIRST_TOKEN, (time.perf_counter() - started) * 1e3, 0, ""))
    return _reached(found)


def _reached(found: Retrieval) -> Mapping[str, object]:
    drafts = () if found.answer is None else (found.answer,)
    return {"retrieval": found, "drafts": drafts, "reasoning": "\n".join(found.steps)}


async def take_answer(state: AssistantState, runtime: Runtime[AssistantContext]) -> Mapping[str, object]:
    """Node `answer`: the loop's answer, without what was only thought, is the reply.

    A loop that ended without an answer gives an empty one, which is judged as such: it is the system that did not
    answer, and no infrastructure that failed. Reads `retrieval`; sets `plan` and `draft`.
    """
    found = state["retrieval"]
    visible, thought = split_hidden(found.answer or "")
    plan = ResponsePlan(OWN, slots_for(found.given_items, lambda _: "nice"))
    return {"plan": plan, "draft": visible, "reasoning": "\n".join(filter(None, (state["reasoning"], thought)))}
