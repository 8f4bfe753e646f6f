"""Contract `abstract`: what a few turns say, each matter under a short name by which it is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from mnemoscope.core.language.facts import caption_text
from mnemoscope.core.language.keyphrases import keyphrases
from mnemoscope.core.language.slots import SINGLE, slot_facts
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import Extraction, telling_clauses
from mnemoscope.graphs.contracts.listing import CITED, cited_numbers, numbered_turns, section
from mnemoscope.scenarios.records import Turn

__all__ = ["ABSTRACT", "Abstracted"]

PHRASES = 3
"""Keyphrases that name what a clause is about."""


@dataclass(frozen=True, slots=True)
class Abstracted:
    """One matter."""

    index: str
    """Its name, which is embedded: whose it is and what it is about."""
    value: str
    """What was said of it, in full."""
    numbers: tuple[int, ...]
    """The turns that it names, at least one."""


_INSTRUCTION = (
    "You keep an assistant's long-term memory. From the numbered turns, write one entry for each matter that is worth "
    "remembering. `index`: its name in six to eight words, with the person's name and what it is about, the same name "
    "whenever the same matter comes up again, so without what may change. `value`: all that was said about it, "
    "understandable alone: names instead of pronouns, numbers, places, relative dates kept and worked out from the "
    "time of the turn. Keep the language of the speaker. What an assistant merely repeats or suggests is no matter of "
    "its own. `sources`: the numbers of the turns that say it. Where nothing is worth keeping, the list is empty. "
    'Reply as JSON: {"entries": [{"index": "Ada\'s place of work", "value": "Ada started at …", "sources": [2]}]}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"index": {"type": "string"}, "value": {"type": "string"}, "sources": CITED},
                "required": ["index", "value", "sources"],
            },
        }
    },
    "required": ["entries"],
}


def _show(given: tuple[Turn, ...]) -> str:
    return section("Turns", numbered_turns(given))


def _rule(given: tuple[Turn, ...]) -> Mapping[str, object]:
    entries: list[Mapping[str, object]] = [
        {
            "index": _index(clause, given[number - 1]),
            "value": f"{given[number - 1].speaker}: {clause}",
            "sources": [number],
        }
        for number, clause in telling_clauses(Extraction(given))
    ]
    for number, turn in enumerate(given, start=1):
        if turn.caption:
            value = caption_text(turn.caption, speaker=turn.speaker, at=None)
            entries.append({"index": _index(turn.caption, turn), "value": value, "sources": [number]})
    return {"entries": entries}


def _index(clause: str, turn: Turn) -> str:
    """What a clause is about: the slot, of which one has one at a time, or else its keyphrases."""
    kept = [fact for fact in slot_facts(clause, speaker=turn.speaker) if fact.slot in SINGLE]
    if kept:
        return f"{kept[0].subject} {kept[0].slot.replace('-', ' ')}"
    return f"{turn.speaker}: {', '.join(keyphrases(clause, limit=PHRASES)) or clause}"


def _read(value: Mapping[str, object], given: tuple[Turn, ...]) -> Reading[tuple[Abstracted, ...]]:
    found: dict[str, Abstracted] = {}
    rejected = 0
    for entry in cast("list[Mapping[str, object]]", value["entries"]):
        index, said = " ".join(str(entry["index"]).split()), str(entry["value"]).strip()
        numbers, wrong = cited_numbers(entry["sources"], len(given))
        rejected += wrong
        if not (index and said and numbers):
            rejected += not wrong
            continue
        known = found.setdefault(said, Abstracted(index, said, numbers))
        found[said] = replace(known, numbers=tuple(sorted({*known.numbers, *numbers})))
    return Reading(tuple(found.values()), rejected)


ABSTRACT: Contract[tuple[Turn, ...], tuple[Abstracted, ...]] = Contract(
    name="abstract",
    version=1,
    phase="extract",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
"""An entry that names no turn which was offered is left out; what is said twice in the same words is one entry."""
