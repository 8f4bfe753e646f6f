"""What privileged nodes ask of gold."""

from __future__ import annotations

from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold

__all__ = ["hits_gold"]


def hits_gold(item: MemoryItem, gold: Gold) -> bool:
    """Whether an item holds evidence: one of its turns, any turn of an evidence session, or a must or nice memory."""
    if gold.roles:
        return any(gold.roles.get(source.turn_id) in ("must", "nice") for source in item.sources)
    if gold.evidence_unit == "session":
        return item.attrs.get("session") in gold.evidence
    return any(source.turn_id in gold.evidence for source in item.sources)
