"""Nodes for `plan_query`: what the memory is asked."""

from __future__ import annotations

from mnemoscope.core.ports import LanguageModel
from mnemoscope.memory_backends.record import Query
from mnemoscope.scenarios.records import Probe

__all__ = ["Identity"]


class Identity:
    """Asks with the utterance as it is."""

    name = "identity"

    async def query(self, probe: Probe, model: LanguageModel | None) -> Query:
        """The utterance, who said it, the current session and, where the probe brings one, its pool."""
        return Query(
            text=probe.text,
            asker=probe.speaker,
            recent_turns=probe.recent_turns,
            pool_ids=None if probe.pool is None else tuple(entry.item_id for entry in probe.pool.items),
            probe_id=probe.probe_id,
            pool=probe.pool,
        )
