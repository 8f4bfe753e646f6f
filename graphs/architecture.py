"""An architecture: how to remember, as a store, a WRITE graph and a READ graph with named nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeVar, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, parse_spec
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.backend import MemoryBackend, Ports
from mnemoscope.graphs.handing_over import BEST_TURNS, HandsOver
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.graphs.spans import Node, spanned
from mnemoscope.graphs.state import MemoryContext, ReadState, WriteState
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = [
    "EACH",
    "Architecture",
    "EvidenceClass",
    "Family",
    "Mode",
    "ReadGraph",
    "WriteGraph",
    "create_architecture",
    "read_graph",
    "write_graph",
]

EvidenceClass = Literal["package", "model", "twin"]
"""`package`: the system's own code or, for baselines, the exact method. `model`: written anew, with a model.
`twin`: rules in the place of a model."""
Mode = Literal["llm", "heuristic"]
Family = Literal["control", "turns", "facts", "graph", "tiers", "summary", "capacity"]
"""`control`: bounds that others are compared with. `turns`: what was said, as it was said. `facts`: statements drawn
from it. `graph`: linked notes, events or cues. `tiers`: layers with paging. `summary`: one text. `capacity`: a share
of the history (MemUse's conditions)."""

EACH = "for each"
"""Name of the way to a node that runs once for each of several states."""

G = TypeVar("G")
_METHODS = sorted(name for name in vars(MemoryBackend) if not name.startswith("_"))

WriteGraph = StateGraph[WriteState, MemoryContext, WriteState, WriteState]
ReadGraph = StateGraph[ReadState, MemoryContext, ReadState, ReadState]
CompiledWrite = CompiledStateGraph[WriteState, MemoryContext, WriteState, WriteState]
CompiledRead = CompiledStateGraph[ReadState, MemoryContext, ReadState, ReadState]


def embeds_nothing(turns: Sequence[Turn]) -> Sequence[str]:
    """The texts that an architecture without an embedder embeds."""
    return ()


def asks_nothing(turns: Sequence[Turn]) -> Usage:
    """What an architecture that writes without a model asks one while it takes turns in."""
    return Usage()


@dataclass(frozen=True)
class Architecture:
    """A named way to remember. It is compiled once; each memory made from it is one run of its graphs.

    `draw_mermaid` shows both graphs; `backend` makes a memory. A memory class of somebody's own has no graphs and
    names its class in `make` instead.
    """

    name: str
    """With the parameters that differ from their defaults; `create_architecture(name)` gives the same again."""
    summary: str
    """One line for lists."""
    capabilities: Capabilities
    write: WriteGraph | None = None
    read: ReadGraph | None = None
    new_store: Callable[[Ports], MemoryStore] | None = None
    """Makes an empty store."""
    make: Callable[[], MemoryBackend] | None = None
    """Makes a memory that is no run of graphs."""
    embeds: Callable[[Sequence[Turn]], Sequence[str]] = embeds_nothing
    asks: Callable[[Sequence[Turn]], Usage] = asks_nothing
    """Model calls and tokens that taking these turns in would cost, as an estimate."""
    asks_to_read: Usage = Usage()
    """Model calls and tokens that one read costs, as an estimate; empty where reading asks no model."""
    hands_over: HandsOver = BEST_TURNS
    """Tokens of memory that one read hands over, as an estimate."""
    family: Family = "turns"
    loses: str = ""
    """What it is known to lose, in a line; empty where it loses nothing by design."""
    mode: Mode | None = None
    """None where no part of it ever asks a language model."""
    evidence_class: EvidenceClass = "package"

    @cached_property
    def write_graph(self) -> CompiledWrite:
        """The WRITE graph, compiled on first use."""
        return self._drawn(self.write).compile(name="write")

    @cached_property
    def read_graph(self) -> CompiledRead:
        """The READ graph, compiled on first use."""
        return self._drawn(self.read).compile(name="read")

    def backend(self) -> MemoryBackend:
        """A new memory; `open` it before use."""
        if self.make is not None:
            return self.make()
        from mnemoscope.graphs.compiled import GraphBackend

        return GraphBackend(self)

    def texts_to_embed(self, turns: Sequence[Turn]) -> Sequence[str]:
        """What ingesting these turns will embed, in order, so that it can be embedded ahead in large batches.

        Args:
            turns: Whole sessions.
        """
        return self.embeds(turns)

    def _drawn(self, graph: G | None) -> G:
        if graph is None:
            raise ConfigError(f"{self.name} is a memory class of its own; it has no graph")
        return graph


def create_architecture(text: str) -> Architecture:
    """An architecture by name, with parameters: `dense(window=3,overlap=1)`, `my_file.py:mine`.

    A reference may also name a class with the methods of `MemoryBackend`; every memory is then an instance of it. All
    take the parameter `admit`, a gate in front of the WRITE graph: `always`, `salience(AT_LEAST)` or `llm`.

    Raises:
        UnknownNameError: No such name; the nearest are listed.
        ConfigError: A parameter that it does not take, or out of its range; or the reference is no memory.
    """
    spec = parse_spec(text)
    if "admit" in spec.kwargs:
        from mnemoscope.graphs.admitting import admitting, read_gate

        own = {key: value for key, value in spec.kwargs.items() if key != "admit"}
        return admitting(create_architecture(str(replace(spec, kwargs=own))), read_gate(spec.kwargs["admit"]))
    target: object = ARCHITECTURES.factory(spec.name)
    made: object = target if isinstance(target, Architecture) else ARCHITECTURES.create(spec)
    if isinstance(made, Architecture):
        return _reopening(made, spec)
    if not isinstance(made, MemoryBackend):
        methods = [name for name in _METHODS if not hasattr(made, name)]
        raise ConfigError(
            f"{text!r} is neither an architecture nor a memory: {type(made).__name__} lacks {', '.join(methods)}"
        )
    return Architecture(
        name=str(spec),
        summary=next(iter((type(made).__doc__ or "").strip().splitlines()), "") or "a memory class of its own",
        capabilities=made.capabilities,
        make=lambda: cast("MemoryBackend", ARCHITECTURES.create(spec)),
    )


def _reopening(made: Architecture, spec: Spec) -> Architecture:
    """The architecture under a name that opens it again; one of somebody else's may call itself what it likes."""
    known = ":" not in spec.name and made.name.partition("(")[0] == spec.name
    return made if known else replace(made, name=str(spec))


def write_graph(
    nodes: Mapping[str, Node[Any, MemoryContext]],
    *,
    state: type[WriteState] = WriteState,
    skip_after: Mapping[str, Callable[[Any], bool]] | None = None,
    for_each: Mapping[str, Callable[[Any], Sequence[Mapping[str, object]]]] | None = None,
) -> WriteGraph:
    """A WRITE graph whose nodes run one after the other.

    Args:
        nodes: Name to node, in order.
        state: `WriteState`, or one of the architecture's own with further channels.
        skip_after: After these nodes the run ends where the test is true.
        for_each: These nodes, never the first or the last one, run once for each of the states that are made of the
            graph's, side by side, and not at all where there is none. What they return is joined by the channels'
            reducers, which must not depend on who was first.
    """
    graph: WriteGraph = StateGraph(state, context_schema=MemoryContext)
    for name, node in nodes.items():
        graph.add_node(name, spanned(f"write/{name}", node))
    names, tests, spread = [*nodes, END], skip_after or {}, for_each or {}
    graph.add_edge(START, names[0])
    for place, name in enumerate(nodes):
        following = names[place + 1]
        if (states := spread.get(following)) is not None:
            beyond = names[place + 2]
            ways: dict[Hashable, str] = {EACH: following, "there is none": beyond}
            graph.add_conditional_edges(name, _spreading(states, following), ways)
        elif (test := tests.get(name)) is not None:
            graph.add_conditional_edges(name, _skipping(test, following), {following: following, END: END})
        else:
            graph.add_edge(name, following)
    return graph


def read_graph(
    nodes: Mapping[str, Node[Any, MemoryContext]],
    *,
    state: type[ReadState] = ReadState,
    together: Sequence[str] = (),
) -> ReadGraph:
    """A READ graph whose nodes run one after the other.

    Args:
        nodes: Name to node, in order.
        state: `ReadState`, or one of the architecture's own with further channels.
        together: The names of nodes in a row that run side by side; the next one waits for all of them.
    """
    graph: ReadGraph = StateGraph(state, context_schema=MemoryContext)
    steps: list[list[str]] = []
    for name, node in nodes.items():
        graph.add_node(name, spanned(f"read/{name}", node))
        if name in together and steps and steps[-1][0] in together:
            steps[-1].append(name)
        else:
            steps.append([name])
    for before, after in pairwise([[START], *steps, [END]]):
        for name in after:
            graph.add_edge(before if len(before) > 1 else before[0], name)
    return graph


def _skipping(test: Callable[[Any], bool], following: str) -> Callable[[Any], Awaitable[str]]:
    # a coroutine, so that LangGraph runs it here: handing each turn to its thread pool costs more than the test
    async def route(state: Any) -> str:
        return END if test(state) else following

    return route


def _spreading(
    states: Callable[[Any], Sequence[Mapping[str, object]]], following: str
) -> Callable[[Any], Awaitable[list[Send] | str]]:
    async def route(state: Any) -> list[Send] | str:
        return [Send(following, one) for one in states(state)] or "there is none"

    return route
