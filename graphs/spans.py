"""Spans: one wrapper around every registered node times it, measures it and counts what it spent."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeVar, cast

from langgraph.runtime import Runtime

from mnemoscope.core.language.display import clip
from mnemoscope.core.ports import Span, Trace
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.metering import count, metering
from mnemoscope.graphs.state import AssistantContext, MemoryContext
from mnemoscope.graphs.traces import NullTrace, redirected

__all__ = ["FIRST_TOKEN", "Node", "RunnableNode", "spanned"]

FIRST_TOKEN = "first-token"  # noqa: S105 - a token of text
"""Name of the span that lasts from asking the writer's model to its first visible token."""
OUTPUT_LIMIT = 80
_NOTHING = Usage()

S = TypeVar("S", bound=Mapping[str, object])
S_contra = TypeVar("S_contra", contravariant=True)
C = TypeVar("C", MemoryContext, AssistantContext)
C_node = TypeVar("C_node", MemoryContext, AssistantContext)


class Node(Protocol[S_contra, C_node]):
    """A node: reads the state, returns the channels that it changes."""

    def __call__(self, state: S_contra, runtime: Runtime[C_node]) -> Awaitable[Mapping[str, object]]:
        """Run the node."""


class RunnableNode(Protocol[S_contra, C_node]):
    """A node as a graph takes it."""

    def __call__(self, state: S_contra, runtime: Runtime[C_node]) -> Awaitable[dict[str, Any]]:
        """Run the node."""


def spanned(name: str, node: Node[S, C]) -> RunnableNode[S, C]:
    """The node, timed by the monotonic clock; what it spent is added to the state's `usage` channel.

    Args:
        name: The span's name, `write/index`.
        node: The node to wrap.
    """

    async def run(state: S, runtime: Runtime[C]) -> dict[str, Any]:
        trace = redirected() or runtime.context.trace
        started = time.perf_counter()
        spent = _NOTHING
        try:
            with metering() as meter:
                try:
                    update = dict(await node(state, runtime))
                finally:
                    spent = meter.usage
        except BaseException as raised:
            count(spent)
            _record(trace, name, started, state, "", spent, f"{type(raised).__name__}: {raised}")
            raise
        if spent != _NOTHING:
            update["usage"] = spent
        _record(trace, name, started, state, update, spent, None)
        return update

    return run


def _record(
    trace: Trace,
    name: str,
    started: float,
    state: object,
    update: Mapping[str, object] | str,
    spent: Usage,
    error: str | None,
) -> None:
    if isinstance(trace, NullTrace):
        return
    ms = (time.perf_counter() - started) * 1e3
    output = update if isinstance(update, str) else describe(update)
    trace.record(Span(name, ms, measure(cast("Mapping[str, object]", state)), output, spent, error))


def measure(state: Mapping[str, object]) -> int:
    """Size of what a node was given: characters of its texts plus entries of its collections."""
    return sum(len(v) if isinstance(v, str | tuple | list | Mapping) else 1 for v in state.values() if v is not None)


def describe(update: Mapping[str, object]) -> str:
    """What a node changed, in a line."""
    return ", ".join(f"{key}={_short(value)}" for key, value in update.items() if key != "usage")


def _short(value: object) -> str:
    if isinstance(value, str):
        return repr(clip(value, OUTPUT_LIMIT))
    if isinstance(value, tuple | list | Mapping):
        return f"{len(value)} entries" if len(value) != 1 else "1 entry"
    if value is None or isinstance(value, bool | int | float):
        return str(value)
    return type(value).__name__
