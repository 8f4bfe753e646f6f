"""Contract `consolidate`: whether a new entry is about the same matter as a stored one, and what holds then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.core.language.slots import SlotFact, slot_conflict
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import numbered, section

__all__ = ["CONSOLIDATE", "Candidates", "Consolidation", "Matter"]


@dataclass(frozen=True, slots=True)
class Matter:
    """An entry, as this contract sees it."""

    index: str
    value: str
    slots: tuple[SlotFact, ...] = ()
    """Of its value; for the rule alone."""

    @property
    def text(self) -> str:
        """As it is shown."""
        return f"{self.index} | {self.value}"


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is decided about."""

    new: Matter
    known: tuple[Matter, ...]
    """Stored entries with an index like the new one's, nearest first; numbered."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What becomes of the new entry."""

    target: int | None = None
    """Number of the stored entry that it is merged into; None: it stands for itself."""
    index: str | None = None
    """From now on; None: the new entry's."""
    value: str | None = None
    """From now on; None: the new entry's."""


_INSTRUCTION = (
    "You keep an assistant's long-term memory. Compare the new entry with the numbered stored ones. Merge it into a "
    "stored one only if both are about the same matter of the same person and only one of them should be kept: the new "
    "one continues, completes, corrects, ends or repeats it. Then give its number as `target`, and as `value` all that "
    "holds now and what it was before, with dates; and an `index` if the name no longer fits. Otherwise do not merge. "
    'Reply as JSON: {"merge": false} or {"merge": true, "target": 1, "value": "…", "index": "…"}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "merge": {"type": "boolean"},
        "target": {"type": ["integer", "null"]},
        "index": {"type": ["string", "null"]},
        "value": {"type": ["string", "null"]},
    },
    "required": ["merge"],
}


def _show(given: Candidates) -> str:
    return section("New entry", given.new.text) + section(
        "Stored entries", numbered([matter.text for matter in given.known])
    )


def _rule(given: Candidates) -> Mapping[str, object]:
    for number, known in enumerate(given.known, start=1):
        relations = {slot_conflict(old, new) for old in known.slots for new in given.new.slots}
        if relations & {"replaces", "ends"}:
            return {"merge": True, "target": number, "value": given.new.value}
        if "same" in relations:
            return {"merge": True, "target": number, "value": max(known.value, given.new.value, key=_told)}
    return {"merge": False}


def _told(value: str) -> int:
    return len(set(content_tokens(value)))


def _read(value: Mapping[str, object], given: Candidates) -> Reading[Consolidation]:
    if not value["merge"]:
        return Reading(Consolidation())
    target = value.get("target")
    if not isinstance(target, int) or isinstance(target, bool) or not 1 <= target <= len(given.known):
        return Reading(Consolidation(), rejected=1)
    index, said = " ".join(str(value.get("index") or "").split()), str(value.get("value") or "").strip()
    return Reading(Consolidation(target, index or None, said or None))


CONSOLIDATE: Contract[Candidates, Consolidation] = Contract(
    name="consolidate",
    version=1,
    phase="decide",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=512,
)
"""A merge that names no stored entry is none, and is counted."""
