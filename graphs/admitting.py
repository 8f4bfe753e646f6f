"""A gate in front of a memory: a node of its WRITE graph that decides which turns are worth remembering."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.spec import Spec, Value, parse_spec
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.admission import Admission
from mnemoscope.graphs.architecture import Architecture, EvidenceClass, Mode, WriteGraph
from mnemoscope.graphs.contracts.admit import ADMIT, Candidate
from mnemoscope.graphs.contracts.asking import ask, planned_call
from mnemoscope.graphs.parameters import one_of
from mnemoscope.graphs.spans import spanned
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["ALWAYS", "NOT_ADMITTED", "Admit", "Gate", "admitting", "read_gate"]

ALWAYS = "always"
NOT_ADMITTED = "not admitted"
"""Why turns are dropped that the gate keeps out."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Which turns are let in."""

    DEFAULT: ClassVar[float] = -0.3
    MOST: ClassVar[float] = 10.0

    mode: Mode
    """`heuristic`: by salience. `llm`: by a model."""
    at_least: float = DEFAULT
    """The least salience; a turn of average rarity without a cue has 0."""

    def __str__(self) -> str:
        if self.mode == "llm":
            return "llm"
        return "salience" if self.at_least == self.DEFAULT else f"salience({self.at_least:g})"


class Admit:
    """Node `admit`: lets a turn in, or drops it as not admitted; the ends of sessions always pass.

    A turn is judged on what was said until then, admitted or not. Memories that a probe brings along are admitted, and
    so is a turn about which a model's reply cannot be read: where nobody knows, nothing is lost. Empty turns are left
    to the memory.

    Args:
        gate: Which turns are let in.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event` and `admission`; sets `admission`, `dropped` and `parse_failures`."""
        turn = state["event"].turn
        if turn is None or not _is_judged(turn):
            return {"parse_failures": 0}
        known = state.get("admission") or Admission()
        salience, admission = known.hear(turn)
        candidate = Candidate(turn, known.before, salience, self._gate.at_least)
        answer = await ask(ADMIT, candidate, self._gate.mode, runtime.context.ports.model)
        kept_out = answer.value is False
        return {
            "admission": admission,
            "dropped": {turn.turn_id: NOT_ADMITTED} if kept_out else {},
            "parse_failures": answer.parse_failures,
        }


def read_gate(text: object) -> Gate | None:
    """A gate as it is written: `always` (None), `salience`, `salience(0.2)`, `llm`.

    Raises:
        ConfigError: Another word, or a bound that is no number from -10 to 10.
    """
    spec = parse_spec(str(text))
    kind = one_of("admit", spec.name, (ALWAYS, "salience", "llm"))
    given: list[Value] = [*spec.args, *spec.kwargs.values()]
    if kind != "salience" and given:
        raise ConfigError(f"admit is {shown(text)}; {kind} takes no parameter")
    if kind == ALWAYS:
        return None
    if kind == "llm":
        return Gate("llm")
    if not given:
        return Gate("heuristic")
    bound = given[0]
    named = set(spec.kwargs) <= {"at_least"} and len(given) == 1
    if not named or isinstance(bound, bool | str) or not -Gate.MOST <= bound <= Gate.MOST:
        raise ConfigError(f"admit is {shown(text)}; write salience(AT_LEAST) with a number from -10 to 10")
    return Gate("heuristic", float(bound))


def admitting(architecture: Architecture, gate: Gate | None) -> Architecture:
    """The same architecture behind a gate; its name carries the gate as the parameter `admit`.

    Every architecture with a WRITE graph takes it. What is embedded ahead stays that of all turns, an upper bound.

    Args:
        architecture: What takes in the turns that are admitted.
        gate: None: the architecture as it is.

    Raises:
        ConfigError: It has no WRITE graph, or one that begins with a choice.
    """
    if gate is None:
        return architecture
    if architecture.write is None:
        raise ConfigError(f"{architecture.name} is a memory class of its own; admit needs a WRITE graph to stand in")
    spec = parse_spec(architecture.name)
    evidence: tuple[EvidenceClass, EvidenceClass] = (architecture.evidence_class, _EVIDENCE[gate.mode])
    return replace(
        architecture,
        name=str(Spec(spec.name, spec.args, {**spec.kwargs, "admit": str(gate)})),
        summary=f"{architecture.summary}; of turns that {_BY[gate.mode]} admits",
        capabilities=replace(architecture.capabilities, keeps_turns=False),
        write=_behind(architecture.write, Admit(gate), architecture.name),
        asks=_with_questions(architecture.asks) if gate.mode == "llm" else architecture.asks,
        loses="; ".join(part for part in (architecture.loses, f"turns that {_BY[gate.mode]} keeps out") if part),
        mode="llm" if "llm" in (gate.mode, architecture.mode) else "heuristic",
        evidence_class="twin" if "twin" in evidence else "model",
    )


_BY: Mapping[Mode, str] = {"heuristic": "salience", "llm": "a model"}
_EVIDENCE: Mapping[Mode, EvidenceClass] = {"heuristic": "twin", "llm": "model"}


def _behind(graph: WriteGraph, node: Admit, name: str) -> WriteGraph:
    """A copy of a WRITE graph that begins with the gate; the nodes and all other ways stay as they are."""
    firsts = sorted(target for source, target in graph.edges if source == START)
    if START in graph.branches or not firsts:
        raise ConfigError(f"the WRITE graph of {name} begins with a choice; admit needs one that begins with a node")
    gated = copy(graph)
    gated.nodes = {}
    gated.edges = {edge for edge in graph.edges if edge[0] != START}
    gated.branches = defaultdict(dict, {source: dict(ways) for source, ways in graph.branches.items()})
    gated.add_node("admit", spanned("write/admit", node))
    gated.nodes |= graph.nodes
    gated.add_edge(START, "admit")
    ways: dict[Hashable, str] = {_admitted_way(place): first for place, first in enumerate(firsts)}

    async def route(state: WriteState) -> Hashable | Sequence[Hashable]:
        turn = state["event"].turn
        kept_out = turn is not None and turn.turn_id in state.get("dropped", {})
        return END if kept_out else list(ways)

    gated.add_conditional_edges("admit", route, {**ways, END: END})
    return gated


def _admitted_way(place: int) -> str:
    return "admitted" if place == 0 else f"admitted, way {place + 1}"


def _with_questions(asks: Callable[[Sequence[Turn]], Usage]) -> Callable[[Sequence[Turn]], Usage]:
    """The architecture's own estimate, as if all turns came in, and one question per turn."""

    def both(turns: Sequence[Turn]) -> Usage:
        total, admission = asks(turns), Admission()
        for turn in filter(_is_judged, turns):
            shown_text = ADMIT.show(Candidate(turn, admission.before, 0.0, 0.0))
            total, admission = total + planned_call(ADMIT, shown_text), admission.hear(turn)[1]
        return total

    return both


def _is_judged(turn: Turn) -> bool:
    return not turn.is_empty and turn.session_id != POOL_SESSION
