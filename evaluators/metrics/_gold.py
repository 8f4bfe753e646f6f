"""Gold units of retrieval: which turns, sessions or pool items should have been found, and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.memory_backends.record import MemoryItem, Provenance
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["GoldUnits", "Tightness", "expects_retrieval", "gold_units", "has_provenance", "methods_of", "units_of"]

Tightness = Literal["strict", "loose"]
_METHODS: dict[str, frozenset[Provenance]] = {
    "strict": frozenset({"verbatim", "cited"}),
    "loose": frozenset({"verbatim", "cited", "batch", "inherited", "session"}),
}


@dataclass(frozen=True, slots=True)
class GoldUnits:
    """Ids to be found, or why there are none."""

    ids: frozenset[str]
    reason: str | None = None
    in_session: int = 0
    """Gold units left out because the current session holds them."""


def methods_of(provenance: str) -> frozenset[Provenance]:
    """The methods that count: strict is verbatim and cited, loose is all but unknown.

    Raises:
        ConfigError: Neither `strict` nor `loose`.
    """
    if provenance not in _METHODS:
        raise ConfigError(f"provenance is {provenance!r}; it is strict or loose")
    return _METHODS[provenance]


def expects_retrieval(gold: Gold, probe: Probe) -> bool:
    """Whether a probe belongs to the retrieval metrics at all: it has gold evidence, or should have had some."""
    return bool(gold.evidence or gold.unresolvable or gold.answers or gold.unanswerable)


def gold_units(case: EvaluationCase) -> GoldUnits:
    """The gold ids that retrieval is measured on.

    Left out: gold inside the current session, which every system is given. No score at all: questions that are
    unanswerable by design (nothing is to be found), and gold that names nothing in the history.
    """
    gold = case.gold
    if gold.unanswerable:
        return GoldUnits(frozenset(), "unanswerable by design")
    if not gold.evidence:
        return GoldUnits(frozenset(), "no resolvable gold")
    recent = case.recent_ids
    if gold.evidence_unit == "session":
        recent = frozenset(turn.session_id for turn in case.probe.recent_turns)
    ids = frozenset(gold.evidence) - recent
    left_out = len(frozenset(gold.evidence)) - len(ids)
    return GoldUnits(ids, None if ids else "gold is in the current session", left_out)


def has_provenance(items: Iterable[MemoryItem]) -> bool:
    """Whether items say what they were made from; no items say so of nothing, and that is no lack."""
    seen = list(items)
    return not seen or any(source.method != "unknown" for item in seen for source in item.sources)


def units_of(case: EvaluationCase, items: Iterable[MemoryItem], methods: frozenset[Provenance]) -> frozenset[str]:
    """Distinct gold-unit ids that items were made from: turns, sessions, or pool items (by source or own id)."""
    sources = {s.turn_id for item in items for s in item.sources if s.method in methods}
    if case.gold.evidence_unit == "session":
        return frozenset(case.turns[s].session_id for s in sources if s in case.turns)
    if case.gold.evidence_unit == "item":
        return frozenset(sources) | {item.id for item in items if item.id in case.pool_texts}
    return frozenset(sources)
