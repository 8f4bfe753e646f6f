"""What each architecture is, costs and loses, as a sheet: for listings and for the pages about them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache

from mnemoscope.core.spec import Spec, Value
from mnemoscope.graphs.architecture import Architecture, EvidenceClass, Family, Mode, create_architecture
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.memory_backends.record import Capabilities, Provenance
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Turn

__all__ = ["FAMILIES", "ArchitectureSheet", "ModeSheet", "sheet_of", "sheets"]

FAMILIES: dict[Family, str] = {
    "control": "bounds that others are compared with",
    "turns": "what was said, as it was said",
    "facts": "statements drawn from it",
    "graph": "linked notes, events or cues",
    "tiers": "layers with paging",
    "summary": "one text",
    "capacity": "a share of the history",
}
"""Every family, with what its members remember, in the order of listings."""

_SWITCHES: dict[str, tuple[Value, Value]] = {"mode": ("heuristic", "llm"), "infer": (False, True)}
"""Parameters that decide whether a model is asked; `infer` is what a package itself calls it."""


@dataclass(frozen=True, slots=True)
class ModeSheet:
    """One way in which an architecture works."""

    mode: Mode | None
    """None where no part of it ever asks a language model."""
    evidence: EvidenceClass
    provenance: Provenance
    """The tightest that its items can name their turns by."""
    calls_per_turn: float
    """Model calls that taking in the bundled scenarios would cost, over their turns; embedding left out."""
    calls_per_query: int
    """Model calls of one read; embedding left out."""
    unverified: bool
    """Written anew after a published system, and not shown to find what it finds."""
    embedded_per_turn: float
    """Texts that taking in the bundled scenarios embeds, over their turns."""


@dataclass(frozen=True, slots=True)
class ArchitectureSheet:
    """One architecture with its default parameters."""

    name: str
    summary: str
    family: Family
    loses: str
    """Empty where it loses nothing by design."""
    privileged: bool
    """Reads gold."""
    capabilities: Capabilities
    modes: tuple[ModeSheet, ...]
    """One, or one without a model and then one with it."""


def sheets() -> tuple[ArchitectureSheet, ...]:
    """Every registered architecture, by family and name."""
    order = list(FAMILIES)
    return tuple(sorted(map(sheet_of, ARCHITECTURES.names()), key=lambda s: (order.index(s.family), s.name)))


def sheet_of(name: str) -> ArchitectureSheet:
    """The sheet of an architecture by its registered name.

    Raises:
        UnknownNameError: No such name; the nearest are listed.
    """
    taken = inspect.signature(ARCHITECTURES.factory(name)).parameters
    ways = [
        create_architecture(str(Spec(name, (), {switch: value})))
        for switch, values in _SWITCHES.items()
        if switch in taken
        for value in values
    ] or [create_architecture(name)]
    first = ways[0]
    return ArchitectureSheet(
        name=name,
        summary=first.summary,
        family=first.family,
        loses=first.loses,
        privileged=first.capabilities.privileged,
        capabilities=first.capabilities,
        modes=tuple(map(_mode, ways)),
    )


def _mode(architecture: Architecture) -> ModeSheet:
    memory, histories = architecture.backend(), _typical()
    turns = sum(map(len, histories))
    usages = [memory.estimate(history) for history in histories]
    calls = sum(usage.calls - usage.calls_by_phase.get("embed", 0) for usage in usages)
    read = architecture.asks_to_read
    return ModeSheet(
        mode=architecture.mode,
        evidence=architecture.evidence_class,
        provenance=architecture.capabilities.finest_provenance,
        unverified=architecture.capabilities.unverified_as(architecture.name),
        calls_per_turn=round(calls / turns, 3),
        calls_per_query=read.calls - read.calls_by_phase.get("embed", 0),
        embedded_per_turn=round(sum(usage.embedded_texts for usage in usages) / turns, 3),
    )


@lru_cache(maxsize=1)
def _typical() -> tuple[tuple[Turn, ...], ...]:
    """The bundled scenarios' histories: real talk, in sessions of seven turns or so."""
    return tuple(scenario.turns for scenario in open_source("demo"))
