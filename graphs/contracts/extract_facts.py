"""Contract `extract-facts`: what a few turns say that is worth keeping, as statements that name their turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mnemoscope.core.language.claims import claims
from mnemoscope.core.language.facts import caption_text, fact_text
from mnemoscope.core.language.pleasantries import is_pleasantry
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import (
    CITED,
    cited_numbers,
    numbered_turns,
    one_a_line,
    says_something,
    section,
)
from mnemoscope.graphs.provenance import containment
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = [
    "CITED_TEXTS",
    "EXTRACT_FACTS",
    "EXTRACT_MATTERS",
    "Extraction",
    "Fact",
    "addressee_of",
    "read_cited",
    "telling_clauses",
    "why_nothing",
]

REPEATED = 0.6
"""An assistant's clause with this share of its words in what people said before tells nothing of its own."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What facts are drawn from."""

    turns: tuple[Turn, ...]
    """Numbered; facts come from these."""
    before: tuple[Turn, ...] = ()
    """Earlier turns, for understanding only."""
    summary: str = ""
    """Of what came before those."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement."""

    text: str
    numbers: tuple[int, ...]
    """The turns that it names; empty where the reply named none."""


_INSTRUCTION = (
    "You keep an assistant's long-term memory. From the numbered turns, write down every lasting fact as one short "
    "statement that can be understood alone: who, what, where, when. Start with the person's name, not with a "
    "pronoun. Work out relative dates from the time of the turn and keep both. Keep names, numbers and the language "
    "of the speaker as they are. What an assistant merely repeats or suggests is no fact about anyone. Give the "
    "numbers of the turns that each fact comes from. Where nothing is worth keeping, the list is empty. "
    'Reply as JSON: {"facts": [{"text": "…", "sources": [1]}]}.'
)
CITED_TEXTS = {
    "type": "array",
    "items": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"text": {"type": "string"}, "sources": CITED},
                "required": ["text", "sources"],
            },
            {"type": "string"},
        ]
    },
}
"""Schema of what `read_cited` reads."""
_SCHEMA = {"type": "object", "properties": {"facts": CITED_TEXTS}, "required": ["facts"]}


def _show(given: Extraction) -> str:
    return (
        section("Summary of what came before", given.summary)
        + section("Earlier turns, for understanding only", one_a_line([unit_text(turn) for turn in given.before]))
        + section("Turns", numbered_turns(given.turns))
    )


def _rule(given: Extraction) -> Mapping[str, object]:
    return _stated(given, telling_clauses(given))


def _rule_of_matters(given: Extraction) -> Mapping[str, object]:
    names = tuple({turn.speaker for turn in (*given.before, *given.turns)})
    return _stated(given, [told for told in telling_clauses(given) if not is_pleasantry(told[1], names)])


def _stated(given: Extraction, told: Sequence[tuple[int, str]]) -> Mapping[str, object]:
    facts: list[Mapping[str, object]] = []
    for number, turn in enumerate(given.turns, start=1):
        addressee = addressee_of(turn, (*given.before, *given.turns))
        texts = [
            fact_text(clause, speaker=turn.speaker, addressee=addressee, at=turn.at)
            for place, clause in told
            if place == number
        ]
        if turn.caption:
            texts.append(caption_text(turn.caption, speaker=turn.speaker, at=turn.at))
        facts += [{"text": text, "sources": [number]} for text in texts]
    return {"facts": facts}


def _read(value: Mapping[str, object], given: Extraction) -> Reading[tuple[Fact, ...]]:
    return read_cited(value["facts"], len(given.turns))


EXTRACT_FACTS: Contract[Extraction, tuple[Fact, ...]] = Contract(
    name="extract-facts",
    version=1,
    phase="extract",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)

EXTRACT_MATTERS = replace(EXTRACT_FACTS, rule=_rule_of_matters)
"""The same question; by rule without pleasantries, which are alike all over a history and tell of nothing."""


def read_cited(entries: object, offered: int) -> Reading[tuple[Fact, ...]]:
    """The statements of a reply, each once, with the numbers that they name.

    Args:
        entries: A list of objects with `text` and `sources`, or of bare texts: such a one is made of all that was
            offered, the one promotion that these contracts know.
        offered: Valid numbers are 1 to this; an object that names others only is left out.
    """
    facts: list[Fact] = []
    rejected = 0
    for entry in entries if isinstance(entries, list) else []:
        text = str(entry["text"] if isinstance(entry, dict) else entry).strip()
        numbers, wrong = cited_numbers(entry["sources"], offered) if isinstance(entry, dict) else ((), 0)
        rejected += wrong
        if not says_something(text) or (wrong and not numbers):
            rejected += not wrong
            continue
        facts.append(Fact(text, numbers))
    return Reading(tuple(dict.fromkeys(facts)), rejected)


def telling_clauses(given: Extraction) -> list[tuple[int, str]]:
    """The clauses that say something, as they were said, each with its turn's number.

    Those of an assistant count only where they are not an echo of what people said.
    """
    heard = [turn.content for turn in (*given.before, *given.turns) if turn.role != "assistant"]
    return [
        (number, claim.text)
        for number, turn in enumerate(given.turns, start=1)
        for claim in claims(turn.text).kept
        if turn.role != "assistant" or containment(claim.text, heard) < REPEATED
    ]


def addressee_of(turn: Turn, around: Sequence[Turn]) -> str | None:
    """Whom a turn speaks to: the other one of two, and nobody certain where there are more or fewer."""
    others = {other.speaker for other in around if other.speaker != turn.speaker}
    return next(iter(others)) if len(others) == 1 else None


def why_nothing(turn: Turn) -> str:
    """Why nothing of a turn was kept: a question, a greeting, a backchannel, or simply nothing to remember."""
    reasons = {reason for _, reason in claims(turn.text).passed_over}
    return next(iter(reasons)) if len(reasons) == 1 and not claims(turn.text).kept else "nothing to remember"
