"""Contract `write-events`: what facts from different moments tell together, as short narratives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.core.language.display import conversation_time
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import CITED_TEXTS, Fact, read_cited
from mnemoscope.graphs.contracts.listing import numbered, section
from mnemoscope.graphs.extracts import Passage, central, count_words, extract
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.rendering import item_text

__all__ = ["WRITE_EVENTS", "EventsGiven"]

LONGEST = 120
"""Words of an event that is put together by rule; two characters of an unspaced script count as one."""


@dataclass(frozen=True, slots=True)
class EventsGiven:
    """What events are written of."""

    facts: tuple[MemoryItem, ...]
    """Associated facts in order of time, numbered."""
    dialogues: tuple[str, ...] = ()
    """What was said where the facts come from."""


_INSTRUCTION = (
    "You keep an assistant's long-term memory. The numbered facts come from different moments and seem to belong "
    "together; the dialogues show where they come from. Write down the events that they tell of: each one or two "
    "sentences that join several facts into what happened, to whom, in which order and why, and that can be understood "
    "alone. Use names, not pronouns, and keep dates, numbers and the language. Add nothing that is not said. Facts "
    "that merely sound alike are no event; where nothing belongs together, the list is empty. Give the numbers of the "
    'facts that each event joins. Reply as JSON: {"events": [{"text": "…", "sources": [1, 2]}]}.'
)
_SCHEMA = {"type": "object", "properties": {"events": CITED_TEXTS}, "required": ["events"]}


def _show(given: EventsGiven) -> str:
    facts = numbered([item_text(fact) for fact in given.facts])
    return section("Facts", facts) + section("Dialogues", "\n---\n".join(given.dialogues))


def _rule(given: EventsGiven) -> Mapping[str, object]:
    passages = [Passage(fact.text, f"[{conversation_time(fact.observed_at)}] ", ()) for fact in given.facts]
    text, used = extract(passages, central([fact.text for fact in given.facts]), LONGEST, count_words)
    return {"events": [{"text": text, "sources": [passages.index(passage) + 1 for passage in used]}]}


def _read(value: Mapping[str, object], given: EventsGiven) -> Reading[tuple[Fact, ...]]:
    return read_cited(value["events"], len(given.facts))


WRITE_EVENTS: Contract[EventsGiven, tuple[Fact, ...]] = Contract(
    name="write-events",
    version=1,
    phase="summarise",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
