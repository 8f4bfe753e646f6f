"""What is evaluated: a probe with its gold, the reply, the turns that were known, and what was stored."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from mnemoscope.core.identity import TurnId
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.graphs.reply import Reply
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, Probe, Turn

__all__ = ["EvaluationCase", "StoredView"]


@dataclass(frozen=True)
class StoredView:
    """What a memory holds at a cut. Probes of one cut share one view, so that its indexes are made once."""

    items: tuple[MemoryItem, ...] = ()
    """Live items and tombstones, in order of writing."""
    turns_written: int = 0

    @cached_property
    def live(self) -> tuple[MemoryItem, ...]:
        """Items that still hold."""
        return tuple(item for item in self.items if item.is_live)

    @cached_property
    def sources(self) -> frozenset[str]:
        """Turns and pool items that some live item names as its source, by any method but `unknown`."""
        return frozenset(s.turn_id for item in self.live for s in item.sources if s.method != "unknown")

    @cached_property
    def text(self) -> str:
        """All live items' texts, lower-cased."""
        return joined_text(self.live)

    @cached_property
    def words(self) -> tuple[frozenset[str], ...]:
        """Content tokens of each live item."""
        return tuple(frozenset(content_tokens(item.text)) for item in self.live)


@dataclass(frozen=True)
class EvaluationCase:
    """One cell to evaluate: all that metrics may read."""

    probe: Probe
    gold: Gold
    reply: Reply
    history: tuple[Turn, ...]
    """The turns that were known at the probe, empty ones included."""
    stored: StoredView = StoredView()
    known: dict[TurnId, Turn] | None = None
    """The history by turn id, shared by cells of one cut; None: it is made where it is needed."""

    @cached_property
    def turns(self) -> Mapping[str, Turn]:
        """Known turns by id, those of the current session included."""
        known = {turn.turn_id: turn for turn in self.history} if self.known is None else self.known
        recent = {turn.turn_id: turn for turn in self.probe.recent_turns}
        return cast("Mapping[str, Turn]", ChainMap(recent, known))

    @cached_property
    def recent_ids(self) -> frozenset[str]:
        """Turns of the current session, which every system gets."""
        return frozenset(turn.turn_id for turn in self.probe.recent_turns)

    @cached_property
    def pool_texts(self) -> dict[str, str]:
        """Pool item id to text."""
        return {} if self.probe.pool is None else {item.item_id: item.text for item in self.probe.pool.items}

    @cached_property
    def history_units(self) -> frozenset[str]:
        """All units that retrieval could have named: turns with content, their sessions, or the pool's items."""
        if self.gold.evidence_unit == "item":
            return frozenset(self.pool_texts)
        spoken = [turn for turn in self.history if not _blank(turn) and turn.turn_id not in self.recent_ids]
        by_session = self.gold.evidence_unit == "session"
        return frozenset(turn.session_id if by_session else turn.turn_id for turn in spoken)

    def source_text(self, source: str) -> str | None:
        """Text of a turn or pool item, stripped; None where there is none."""
        turn = self.turns.get(source)
        text = self.pool_texts.get(source) if turn is None else turn.text
        return (text.strip() or None) if text is not None else None


def _blank(turn: Turn) -> bool:
    return turn.is_empty if not turn.text.isascii() else not (turn.text.strip() or turn.caption)


def joined_text(items: tuple[MemoryItem, ...]) -> str:
    """Texts of items, lower-cased, one after the other with a separator that no text holds."""
    return "\x00".join(item.text.lower() for item in items)
