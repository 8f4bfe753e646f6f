"""Which turn went where: the one place that checks that no turn is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import TurnId
from mnemoscope.memory_backends.record import MemoryItem

__all__ = ["Ledger"]


@dataclass(slots=True)
class Ledger:
    """Every turn that a memory was given, and what became of it.

    A turn is dropped with a reason, or covered by some item's sources (tombstones count), or deferred. There is no
    fourth case.
    """

    written: dict[TurnId, None] = field(default_factory=dict)
    """All turns, in order of writing."""
    dropped: dict[TurnId, str] = field(default_factory=dict)
    covered: set[TurnId] = field(default_factory=set)
    deferred: dict[TurnId, None] = field(default_factory=dict)
    """Turns that are neither dropped nor covered yet, in order."""

    def copy(self) -> Ledger:
        """Another one with the same content."""
        return Ledger(dict(self.written), dict(self.dropped), set(self.covered), dict(self.deferred))

    def enter(self, turn_id: TurnId) -> None:
        """Note that a turn has come in; until settled it is deferred."""
        self.written[turn_id] = None
        self.deferred[turn_id] = None

    def withdraw(self, turn_id: TurnId) -> None:
        """The memory refused the turn: the caller still has it and may offer it again."""
        self.written.pop(turn_id, None)
        self.deferred.pop(turn_id, None)

    def cover(self, items: Iterable[MemoryItem], phase: str) -> tuple[TurnId, ...]:
        """Note the sources of items; returns the turns that have just been settled.

        Raises:
            BackendError: An item names a turn that was never written.
        """
        sources = dict.fromkeys(source.turn_id for item in items for source in item.sources)
        if unknown := [turn for turn in sources if turn not in self.written]:
            raise BackendError("an item names turns that were never written", phase=phase, turn_ids=unknown)
        settled = tuple(turn for turn in sources if turn in self.deferred)
        self.covered.update(sources)
        for turn in settled:
            del self.deferred[turn]
        return settled

    def drop(self, reasons: Mapping[TurnId, str], phase: str) -> tuple[TurnId, ...]:
        """Note turns that the memory lets go of, and why.

        Raises:
            BackendError: A turn that was never written, or no reason.
        """
        if wrong := [turn for turn, reason in reasons.items() if turn not in self.written or not reason]:
            raise BackendError("turns were dropped without a reason, or never written", phase=phase, turn_ids=wrong)
        for turn, reason in reasons.items():
            self.dropped[turn] = reason
            self.deferred.pop(turn, None)
            self.covered.discard(turn)
        return tuple(reasons)

    def check(self, held: Iterable[TurnId], phase: str) -> None:
        """Every turn that is still open must be held by the memory.

        Args:
            held: Turns in the memory's buffers.
            phase: For the error.

        Raises:
            BackendError: A turn is neither covered, deferred nor dropped.
        """
        keeping = set(held)
        if lost := [turn for turn in self.deferred if turn not in keeping]:
            raise BackendError("turns are neither covered, deferred nor dropped", phase=phase, turn_ids=lost)

    @property
    def dropped_by_reason(self) -> dict[str, int]:
        """Number of dropped turns by reason, sorted by reason."""
        return dict(sorted(Counter(self.dropped.values()).items()))
