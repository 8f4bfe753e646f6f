"""Drawing an architecture, alone or with the assistant that asks it, as Mermaid text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.graph import END, START

from mnemoscope.graphs.architecture import EACH, Architecture
from mnemoscope.graphs.assistant import Assistant, AssistantNodes
from mnemoscope.graphs.nodes.own import OWN

__all__ = ["draw_mermaid"]


@dataclass(frozen=True, slots=True)
class _Edge:
    source: str
    target: str
    condition: str | None
    """When it is taken, in words; None: always."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Nodes in order of definition, and edges in order of nodes."""

    nodes: tuple[str, ...]
    edges: tuple[_Edge, ...]

    @property
    def entries(self) -> tuple[str, ...]:
        """Nodes that a run starts with."""
        return tuple(edge.target for edge in self.edges if edge.source == START)

    @property
    def exits(self) -> tuple[str, ...]:
        """Nodes after which a run may end."""
        return tuple(edge.source for edge in self.edges if edge.target == END)


def draw_mermaid(architecture: Architecture, nodes: AssistantNodes | None = None) -> str:
    """A flowchart of the WRITE and READ graphs; with an assistant, READ stands inside it as `retrieve`.

    The text depends on the graphs alone: the same graphs give the same text.

    Args:
        architecture: Whose graphs to draw.
        nodes: The assistant's nodes; None: the memory alone.
    """
    write, read = _shape(architecture.write_graph), _shape(architecture.read_graph)
    lines = ["flowchart TD"]
    lines += _box("WRITE", f"WRITE: {architecture.name}", "write", write)
    lines += _around("write", write, 'observe(["observe: a turn, or the end of a session"])', 'receipt(["receipt"])')
    if nodes is None:
        lines += _box("READ", f"READ: {architecture.name}", "read", read)
        lines += _around("read", read, 'query(["query"])', 'retrieval(["retrieval"])')
    else:
        lines += _assistant(architecture, read, nodes)
    lines.append('    store[("store")]')
    lines += [f"    {_id('write', name)} -.-> store" for name in write.nodes[-1:]]
    lines += [f"    store -.-> {_id('read', name)}" for name in read.entries]
    return "\n".join(lines) + "\n"


def _assistant(architecture: Architecture, read: _Shape, nodes: AssistantNodes) -> Iterator[str]:
    shape = _shape(Assistant(nodes).graph)
    chosen = {
        "plan_query": nodes.plan_query,
        "plan_response": nodes.plan_response,
        "generate": nodes.generate,
        "verify": nodes.verify,
        "answer": OWN,
    }
    yield '    respond(["respond: a probe"])'
    yield '    subgraph ASSISTANT["assistant"]'
    for name in shape.nodes:
        if name == "retrieve":
            yield from (f"    {line}" for line in _box("READ", f"retrieve: READ of {architecture.name}", "read", read))
        else:
            yield f'        {name}["{name}: {chosen[name]}"]'
    again = f"|again, at most {nodes.max_loops} times|"
    for edge in shape.edges:
        if START in (edge.source, edge.target) or END in (edge.source, edge.target):
            continue
        for source in _ends(edge.source, read.exits):
            for target in _ends(edge.target, read.entries):
                yield f"        {source} {'-.->' + again if edge.condition else '-->'} {target}"
    yield "    end"
    yield '    reply(["reply"])'
    yield from (f"    respond --> {name}" for name in shape.entries)
    yield from (f"    {name} --> reply" for name in shape.exits)


def _ends(name: str, read_nodes: Sequence[str]) -> Iterable[str]:
    return [_id("read", node) for node in read_nodes] if name == "retrieve" else [name]


def _box(box: str, title: str, prefix: str, shape: _Shape) -> Iterator[str]:
    yield f'    subgraph {box}["{title}"]'
    yield from (f'        {_id(prefix, name)}["{name}"]' for name in shape.nodes)
    for edge in shape.edges:
        if edge.source != START and edge.target != END:
            arrow = f"-->|{edge.condition}|" if edge.condition else "-->"
            yield f"        {_id(prefix, edge.source)} {arrow} {_id(prefix, edge.target)}"
    yield "    end"


def _around(prefix: str, shape: _Shape, before: str, after: str) -> Iterator[str]:
    first, last = before.partition("(")[0], after.partition("(")[0]
    yield f"    {before}"
    yield f"    {after}"
    yield from (f"    {first} --> {_id(prefix, name)}" for name in shape.entries)
    yield from (f"    {_id(prefix, name)} --> {last}" for name in shape.exits)


def _id(prefix: str, name: str) -> str:
    return f"{prefix}_{name}".replace("-", "_")


def _shape(graph: Any) -> _Shape:
    drawable = graph.get_graph()
    names = [name for name in graph.builder.nodes if name in drawable.nodes]
    place = {name: number for number, name in enumerate([START, *names, END])}
    edges = {_Edge(edge.source, edge.target, _condition(edge)) for edge in drawable.edges}
    return _Shape(tuple(names), tuple(sorted(edges, key=lambda edge: (place[edge.source], place[edge.target]))))


def _condition(edge: Any) -> str | None:
    """The branch's own name where it has one: a way of the path map that is not just the name of a node."""
    if not edge.conditional:
        return None
    return EACH if edge.data == EACH else f"if {edge.data or 'anything is ready'}"
