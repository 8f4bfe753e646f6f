"""Contract `knowledge`: what a few turns tell about the user, and what about the assistant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import EXTRACT_FACTS, Extraction, Fact
from mnemoscope.graphs.contracts.listing import CITED, numbered_turns

__all__ = ["KNOWLEDGE", "OWNERS", "Owned"]

OWNERS = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Owned:
    """Statements by whom they are about."""

    user: tuple[Fact, ...]
    assistant: tuple[Fact, ...]


_INSTRUCTION = (
    "From the numbered turns of a conversation between a user and an assistant, write down two lists of short "
    "statements that can be understood alone. First, facts about the user: their life, people, belongings, "
    "preferences, plans, dates. Second, facts about the assistant: what it said of itself, promised, recommended or "
    "did. What one merely repeats of the other is no fact about either. Start with the person's name; keep numbers, "
    "dates and the language. Give the numbers of the turns that each statement comes from. A list may be empty. Reply "
    'as JSON: {"user": [{"text": "…", "sources": [1]}], "assistant": []}.'
)
_STATEMENTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "sources": CITED},
        "required": ["text", "sources"],
    },
}
_SCHEMA = {
    "type": "object",
    "properties": dict.fromkeys(OWNERS, _STATEMENTS),
    "required": list(OWNERS),
}


def _show(given: Extraction) -> str:
    return numbered_turns(given.turns)


def _rule(given: Extraction) -> Mapping[str, object]:
    facts = EXTRACT_FACTS.read(EXTRACT_FACTS.rule(given), given).value
    lists: dict[str, list[Mapping[str, object]]] = {owner: [] for owner in OWNERS}
    for fact in facts:
        said_by = given.turns[fact.numbers[0] - 1].role
        owner = "assistant" if said_by == "assistant" else "user"
        lists[owner].append({"text": fact.text, "sources": list(fact.numbers)})
    return lists


def _read(value: Mapping[str, object], given: Extraction) -> Reading[Owned]:
    user, assistant = (EXTRACT_FACTS.read({"facts": value[owner]}, given) for owner in OWNERS)
    return Reading(Owned(user.value, assistant.value), user.rejected + assistant.rejected)


KNOWLEDGE: Contract[Extraction, Owned] = Contract(
    name="knowledge",
    version=1,
    phase="extract",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
