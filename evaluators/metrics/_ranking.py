"""Rankings of turns, sessions or pool items, made from rankings of memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics._gold import GoldUnits, gold_units
from mnemoscope.memory_backends.record import MemoryItem, Provenance

__all__ = ["UNITS", "holds_at_most", "places_of", "size_of", "wanted"]

UNITS = ("gold", "session")
"""`gold`: the unit that the gold is given in. `session`: sessions, whichever the gold's is."""


def size_of(metric: str, k: object) -> int:
    """A cut-off.

    Raises:
        ConfigError: No whole number of at least 1.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"{metric} takes a whole number of at least 1, not {k!r}")
    return k


def wanted(case: EvaluationCase, unit: str) -> GoldUnits:
    """The gold units that should be found, as turns, sessions or items; those of the current session are left out."""
    gold = gold_units(case)
    if gold.reason is not None or unit == "gold" or case.gold.evidence_unit == "session":
        return gold
    if case.gold.evidence_unit == "item":
        return GoldUnits(frozenset(), "pool items have no session", gold.in_session)
    sessions = frozenset(case.turns[i].session_id for i in gold.ids if i in case.turns)
    return GoldUnits(sessions, None if sessions else "no resolvable gold", gold.in_session)


def places_of(
    case: EvaluationCase,
    items: Iterable[MemoryItem],
    methods: frozenset[Provenance],
    unit: str,
    limit: int | None = None,
) -> tuple[str, ...]:
    """Distinct units in the order in which a ranking first names them, as many as a limit says.

    A memory that was made from several units gives them consecutive places, in the order of its sources.
    """
    named = (found for item in items for found in _named(case, item, methods, unit))
    return tuple(islice(_distinct(named), limit))


def holds_at_most(case: EvaluationCase, unit: str, k: int) -> bool:
    """Whether retrieval could have named no more than k units, and at least one."""
    if unit == "session" or case.gold.evidence_unit == "session":
        named: Iterable[str] = (turn.session_id for turn in case.history if turn.turn_id not in case.recent_ids)
        # most histories have more, and need not be read to their end
        return 0 < len(tuple(islice(_distinct(named), k + 1))) <= k
    return 0 < len(case.history_units) <= k


def _distinct(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name not in seen:
            seen.add(name)
            yield name


def _named(case: EvaluationCase, item: MemoryItem, methods: frozenset[Provenance], unit: str) -> list[str]:
    sources: list[str] = [source.turn_id for source in item.sources if source.method in methods]
    if unit == "session" or case.gold.evidence_unit == "session":
        return [case.turns[source].session_id for source in sources if source in case.turns]
    if case.gold.evidence_unit == "item" and item.id in case.pool_texts:
        return [item.id, *sources]
    return sources
