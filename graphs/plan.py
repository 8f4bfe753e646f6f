"""The response plan: what is going to be said of which memory, decided before a word is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mnemoscope.core.identity import ItemId

__all__ = ["Conflict", "Move", "ResponsePlan", "Slot", "SlotRole", "Speak"]

SlotRole = Literal["must", "nice", "suppress"]
Move = Literal["answer", "correct", "guide", "hold"]
Speak = Literal["silent", "use", "mention"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned use of one memory."""

    slot_id: str
    memory_id: ItemId
    role: SlotRole
    """`must`: has to be said. `nice`: offered, the writer decides. `suppress`: must stay out of the reply."""
    effect: str = ""
    """How it changes the reply, in a few words."""
    speak: Speak = "mention"
    """`mention` it, `use` it silently, or keep `silent` about it."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that the user asserted and a memory contradicts."""

    asserted: str
    truth: str
    memory_id: ItemId


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """The decision of a planner. `speak` is `silent` where memory is not to be brought up at all."""

    planner: str
    slots: tuple[Slot, ...] = ()
    moves: tuple[Move, ...] = ("answer",)
    conflicts: tuple[Conflict, ...] = ()
    speak: Speak = "mention"

    def memory_ids(self, *roles: SlotRole) -> tuple[ItemId, ...]:
        """Memories planned in one of the roles, in plan order."""
        return tuple(slot.memory_id for slot in self.slots if slot.role in roles)
