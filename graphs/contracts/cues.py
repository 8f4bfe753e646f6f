"""Contract `cues`: the short phrases by which somebody might come to think of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from mnemoscope.core.language.entities import entities
from mnemoscope.core.language.keyphrases import keyphrases
from mnemoscope.core.language.tokens import lexical_tokens
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import TEXTS, numbered, phrases_of

__all__ = ["CUES", "Cued"]

MOST = 3
"""Cues of one entry."""
WORDS = 4
"""Words that a cue of the rule has at most."""


@dataclass(frozen=True, slots=True)
class Cued:
    """What needs cues."""

    index: str
    value: str = ""
    """Empty where the index alone is to go by."""
    about: tuple[str, ...] = ()
    """Who speaks in it; for the rule alone."""

    @property
    def text(self) -> str:
        """As it is shown."""
        return f"{self.index} | {self.value}" if self.value else self.index


_INSTRUCTION = (
    "You keep an assistant's long-term memory. For each numbered entry, write one to three cues: phrases of two to "
    "four words, a person, place or thing and one aspect of it, by which the entry should come to mind. Two entries "
    "that belong together should share a cue, so prefer plain words, and write the same cue in the same way each time. "
    'Keep the language of the entry. Reply as JSON: {"cues": [{"entry": 1, "cues": ["Ada new job"]}, '
    '{"entry": 2, "cues": ["…"]}]}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "cues": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"entry": {"type": "integer"}, "cues": TEXTS},
                "required": ["entry", "cues"],
            },
        }
    },
    "required": ["cues"],
}


def _show(given: tuple[Cued, ...]) -> str:
    return numbered([entry.text for entry in given])


def _rule(given: tuple[Cued, ...]) -> Mapping[str, object]:
    return {"cues": [{"entry": number, "cues": _pairs(entry)} for number, entry in enumerate(given, start=1)]}


def _pairs(entry: Cued) -> list[str]:
    """Names and what goes with them, the most telling pairs first."""
    lead, _, told = (entry.value or entry.index).partition(": ")
    told = told if lead.startswith(entry.about) else f"{lead} {told}"
    names = tuple(dict.fromkeys((*entry.about, *entities(told))))
    phrases = keyphrases(told, limit=MOST)
    pairs = [
        (i + j, f"{name} {phrase}")
        for j, phrase in enumerate(phrases)
        for i, name in enumerate(names)
        if not set(lexical_tokens(name)) & set(lexical_tokens(phrase))
    ]
    short = [pair for pair in sorted(pairs, key=lambda pair: pair[0]) if len(pair[1].split()) <= WORDS]
    return [text for _, text in short[:MOST]]


def _read(value: Mapping[str, object], given: tuple[Cued, ...]) -> Reading[tuple[tuple[str, ...], ...]]:
    cues: dict[int, tuple[str, ...]] = {}
    rejected = 0
    for entry in cast("list[Mapping[str, object]]", value["cues"]):
        number = cast("int", entry["entry"])
        if not 1 <= number <= len(given) or number in cues:
            rejected += 1
            continue
        cues[number], left_out = phrases_of(entry["cues"], MOST)
        rejected += left_out
    return Reading(tuple(cues.get(number, ()) for number in range(1, len(given) + 1)), rejected)


CUES: Contract[tuple[Cued, ...], tuple[tuple[str, ...], ...]] = Contract(
    name="cues",
    version=1,
    phase="extract",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=1_536,
)
"""One group of cues per entry, in order; an entry that the answer passes over has none."""
