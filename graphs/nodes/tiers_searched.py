"""Nodes that read an agent's memory: by a direct search of its tiers, or by letting the agent search."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError, EndpointError
from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.desk import Desk, Result
from mnemoscope.graphs.contracts.look_up import LOOK_UP, search_words
from mnemoscope.graphs.contracts.tool_calls import SEND, Call, Step
from mnemoscope.graphs.nodes.message_queue import desk_of
from mnemoscope.graphs.nodes.read import fuse_ranks
from mnemoscope.graphs.nodes.tool_search import having, messages_of, search
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import fit
from mnemoscope.memory_backends.record import Answering, ItemKind, MemoryItem

__all__ = ["ENTRIES", "LookUp", "LookUpState", "OpenDesk", "assemble", "run_searches", "search_messages"]

ENTRIES: tuple[ItemKind, ...] = ("passage", "core_block")
"""What is written down in words of the agent's own."""
_LINES: tuple[ItemKind, ...] = ("core_block",)


async def search_messages(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `search_recall`: messages that have words of the query as they stand, those with the rarest first."""
    messages = messages_of(runtime.context.store, state.get("now"))
    scores: dict[ItemId, float] = defaultdict(float)
    for word in search_words(state["query"].text):
        hits = having(word, messages)
        for item in hits:
            scores[item.id] += math.log((1 + len(messages)) / (1 + len(hits))) + 1
    found = sorted((item for item in messages if item.id in scores), key=lambda i: (-scores[i.id], i.seq_to, i.id))
    return {"by_words": tuple(item.ranked(rank, scores[item.id]) for rank, item in enumerate(found, start=1))}


class LookUpState(ReadState, total=False):
    """One run of a READ graph in which an agent searches."""

    desk: Desk
    step: Step
    steps: int
    failed: bool
    """A call of the last step did."""
    said: str
    """What the agent answered; empty as long as it did not."""
    log: tuple[str, ...]
    """What it did, a line each."""


class OpenDesk:
    """Node `context`: what the agent has before it when it is asked.

    Args:
        window: Tokens of its context.
        limit: Characters of a block of core memory.
    """

    def __init__(self, window: int, limit: int) -> None:
        self._window, self._limit = window, limit

    async def __call__(self, state: LookUpState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query` and `now`; sets `desk`, `steps`, `said` and `log`."""
        query = state["query"]
        desk = desk_of(
            runtime.context.store, query.recent_turns, self._window, self._limit, state.get("now"), query.text
        )
        if query.answering is not None:
            desk = replace(desk, alert=_part(query.answering))
        return {"desk": desk, "steps": 0, "said": "", "log": ()}


def _part(answering: Answering) -> str:
    """What the agent is told of the part that it plays."""
    lines = [f"You speak as {answering.speaks_as}." if answering.speaks_as else "", answering.persona or ""]
    return "\n".join(filter(None, lines))


class LookUp:
    """Node `agent`: decides what is searched.

    Args:
        mode: Whether a model is asked, once per step. A reply that cannot be read is counted and ends the loop; so
            does an endpoint that fails, which `outage` says.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: LookUpState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`, `desk`, `steps` and `log`; sets `step`, `steps`, `log` and `parse_failures`, or `outage`."""
        answering, number = state["query"].answering or Answering(), state["steps"] + 1
        model = runtime.context.ports.model
        try:
            answer = await ask(LOOK_UP, state["desk"], self._mode, model, replicate=answering.replicate)
        except EndpointError as failure:
            return {"step": Step(), "outage": failure}
        log = [f"step {number}, thought: {answer.hidden}"] if answer.hidden else []
        if answer.value is None:
            log.append(f"step {number}: the reply cannot be read: {answer.problem}")
        elif not answer.value.calls:
            log.append(f"step {number}: no call")
        return {
            "step": answer.value or Step(),
            "steps": number,
            "log": (*state["log"], *log),
            "parse_failures": answer.parse_failures,
        }


async def run_searches(state: LookUpState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `tools`: runs the calls of a step; none of them changes the memory. A failing embedder sets `outage`."""
    desk, said, log = state["desk"], state["said"], list(state["log"])
    results: list[Result] = []
    update: dict[str, object] = {}
    for call in state["step"].calls:
        if call.tool == SEND.name and not call.problem:
            said, told = call.texts["text"].strip(), "sent"
        else:
            try:
                result = await _run(call, state, runtime)
            except EndpointError as failure:
                update["outage"] = failure
                break
            results.append(result)
            told = result.text
        log.append(f"step {state['steps']}: {_shown(call)}: {told}")
    return update | {
        "desk": replace(desk, results=(*desk.results, *results)),
        "said": said,
        "log": tuple(log),
        "failed": any(result.failed for result in results),
    }


async def _run(call: Call, state: LookUpState, runtime: Runtime[MemoryContext]) -> Result:
    if call.problem:
        return Result(call.tool, f"error: {call.problem}", failed=True)
    return await search(call, runtime, state.get("now"))


def _shown(call: Call) -> str:
    given = [f"{key}={text!r}" for key, text in call.texts.items()] + ([f"page={call.page}"] if call.page > 1 else [])
    return f"{call.tool}({', '.join(given)})"


async def assemble(state: LookUpState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `assemble`: what the agent saw, cut to the budget.

    The pages that it asked for are fused by rank. Core memory, nearest line first, and the summary follow, although the
    agent saw them all the time: before what was searched for, they would fill most budgets by themselves. After an
    outage nothing is embedded, so that lines come as they stand.
    """
    desk = state["desk"]
    searched = [item for item, _ in fuse_ranks(*(result.hits for result in desk.results))]
    lines = [line.stored for block in desk.blocks for line in block.lines if line.stored is not None]
    if lines and "outage" not in state:
        lines = await _by_nearness(len(lines), state, runtime)
    found = [*searched, *lines, *([desk.summary] if desk.summary else [])]
    once = [item.ranked(rank, None) for rank, item in enumerate(found, start=1)]
    return {"retrieval": replace(fit(once, state["budget"]), answer=state["said"] or None, steps=state["log"])}


async def _by_nearness(count: int, state: LookUpState, runtime: Runtime[MemoryContext]) -> list[MemoryItem]:
    embedder = runtime.context.ports.embedder
    if embedder is None:
        raise BackendError("there is no embedder", phase="retrieve")
    vector = (await embedder.embed([state["query"].text], "query"))[0]
    return runtime.context.store.search_vector(vector, count, now=state.get("now"), kinds=_LINES)
