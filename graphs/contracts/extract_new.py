"""Contract `extract-new`: what a few turns say that is worth keeping and is not stored yet, in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import EXTRACT_FACTS, Extraction, Fact
from mnemoscope.graphs.contracts.listing import numbered, section

__all__ = ["EXTRACT_NEW", "NewExtraction"]


@dataclass(frozen=True, slots=True)
class NewExtraction:
    """What facts are drawn from, and what is known about the same."""

    said: Extraction
    known: tuple[str, ...] = ()
    """Stored statements near what is said."""


_INSTRUCTION = (
    f"{EXTRACT_FACTS.instruction} Stored statements show what is known already: leave out what one of them says in "
    "full. Where the turns change or correct one, state how it is now and since when; what is stored stays as it is."
)


def _show(given: NewExtraction) -> str:
    return section("Stored statements", numbered(given.known)) + EXTRACT_FACTS.show(given.said)


def _rule(given: NewExtraction) -> Mapping[str, object]:
    return EXTRACT_FACTS.rule(given.said)


def _read(value: Mapping[str, object], given: NewExtraction) -> Reading[tuple[Fact, ...]]:
    return EXTRACT_FACTS.read(value, given.said)


EXTRACT_NEW: Contract[NewExtraction, tuple[Fact, ...]] = Contract(
    name="extract-new",
    version=1,
    phase=EXTRACT_FACTS.phase,
    instruction=_INSTRUCTION,
    schema=EXTRACT_FACTS.schema,
    show=_show,
    rule=_rule,
    read=_read,
)
