"""Contract `session-memory`: what a session leaves behind, as events and as what it tells about user and assistant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.language.facts import caption_text, fact_text, statement_of
from mnemoscope.core.language.slots import slot_facts
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import (
    CITED_TEXTS,
    Extraction,
    Fact,
    addressee_of,
    read_cited,
    telling_clauses,
)
from mnemoscope.graphs.contracts.listing import numbered_turns, section
from mnemoscope.graphs.extracts import central
from mnemoscope.scenarios.records import Turn

__all__ = ["SESSION_MEMORY", "SessionMemory"]

_MOST_EVENTS = 3
"""Events per session that the rule keeps."""


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """What is kept of one session; every statement names its turns."""

    events: tuple[Fact, ...]
    user: tuple[Fact, ...]
    """Who the people are, what they have, like and live by."""
    bot: tuple[Fact, ...]
    """What the assistant said of itself."""


_INSTRUCTION = (
    "You keep an assistant's memory of whole conversations. From the numbered turns of one conversation write down: "
    "`events`, what happened or was planned, one short dated sentence each, the most important ones only; `user`, "
    "lasting traits, habits, preferences and circumstances of the people, one sentence each, only from what they said "
    "themselves; `bot`, what the assistant said of itself or promised. Use names instead of pronouns, work out "
    "relative dates, keep the language of the conversation, and add nothing. Give the numbers of the turns that each "
    "sentence comes from. A list may be empty; where people only greet each other, all three are. Reply as JSON: "
    '{"events": [{"text": "…", "sources": [1]}], "user": [{"text": "…", "sources": [2, 3]}], "bot": []}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {"events": CITED_TEXTS, "user": CITED_TEXTS, "bot": CITED_TEXTS},
    "required": ["events", "user", "bot"],
}


def _show(turns: Sequence[Turn]) -> str:
    return section("Turns", numbered_turns(turns))


def _rule(turns: Sequence[Turn]) -> Mapping[str, object]:
    told: dict[str, list[tuple[int, str]]] = {"event": [], "user": [], "bot": []}
    for number, clause in telling_clauses(Extraction(tuple(turns))):
        turn = turns[number - 1]
        addressee = addressee_of(turn, turns)
        about = _about(clause, turn, addressee)
        told[about].append((number, fact_text(clause, speaker=turn.speaker, addressee=addressee, at=turn.at)))
    told["event"] += [
        (number, caption_text(turn.caption, speaker=turn.speaker, at=turn.at))
        for number, turn in enumerate(turns, start=1)
        if turn.caption
    ]
    score = central([turn.content for turn in turns], {turn.speaker for turn in turns})
    best = sorted(told["event"], key=lambda event: -round(score(statement_of(event[1])), 9))[:_MOST_EVENTS]
    return {"events": _cited(sorted(best)), "user": _cited(told["user"]), "bot": _cited(told["bot"])}


def _about(clause: str, turn: Turn, addressee: str | None) -> str:
    """What an assistant says counts for itself alone: its claims about a user are never the user's own."""
    subjects = {fact.subject for fact in slot_facts(clause, speaker=turn.speaker, addressee=addressee)}
    if turn.role == "assistant":
        return "bot" if turn.speaker in subjects else "event"
    return "user" if subjects else "event"


def _cited(told: Sequence[tuple[int, str]]) -> list[Mapping[str, object]]:
    return [{"text": text, "sources": [number]} for number, text in told]


def _read(value: Mapping[str, object], turns: Sequence[Turn]) -> Reading[SessionMemory]:
    events, user, bot = (read_cited(value[name], len(turns)) for name in ("events", "user", "bot"))
    heard, misheard = _own_words(user.value, turns)
    return Reading(
        SessionMemory(events.value, heard, bot.value), sum(r.rejected for r in (events, user, bot)) + misheard
    )


def _own_words(told: Sequence[Fact], turns: Sequence[Turn]) -> tuple[tuple[Fact, ...], int]:
    """Statements about people without those that rest on an assistant's turns alone, and how many those were."""
    people = {number for number, turn in enumerate(turns, start=1) if turn.role != "assistant"}
    kept = tuple(fact for fact in told if not fact.numbers or people & set(fact.numbers))
    return kept, len(told) - len(kept)


SESSION_MEMORY: Contract[Sequence[Turn], SessionMemory] = Contract(
    name="session-memory",
    version=1,
    phase="summarise",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
