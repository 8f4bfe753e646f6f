"""Contract `evolve`: which stored notes a new one belongs with, and how they are described from now on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mnemoscope.graphs.contracts.annotate import LONGEST_CONTEXT, MOST_TAGS, context_of
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import TEXTS, cited_numbers, numbered, phrases_of, section
from mnemoscope.graphs.notes import Note

__all__ = ["EVOLVE", "Change", "Evolution", "EvolveGiven", "Neighbour"]

NEAR = 0.6
"""Cosine from which the rule connects two notes."""
ALIKE = 0.3
"""Share of common keywords (Jaccard) from which it does, however far their vectors are."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A stored note, and how near the new one is."""

    note: Note
    nearness: float
    """Cosine; for the rule alone."""


@dataclass(frozen=True, slots=True)
class EvolveGiven:
    """What is decided about."""

    note: Note
    """The new one."""
    neighbours: tuple[Neighbour, ...]
    """Numbered."""


@dataclass(frozen=True, slots=True)
class Change:
    """How one stored note is described from now on; what it says stays as it is."""

    neighbour: int
    """Its number."""
    context: str | None = None
    """None: as before."""
    tags: tuple[str, ...] | None = None
    """All tags from now on; None: as before."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """What a new note brings about."""

    connect: tuple[int, ...] = ()
    """Numbers of the neighbours that it is linked with."""
    own_tags: tuple[str, ...] = ()
    """All tags of the new note; empty: as they were."""
    changes: tuple[Change, ...] = ()


# No key has two spellings, and every change names its note: parallel lists are how changes reach the wrong one.
_INSTRUCTION = (
    "You keep an assistant's long-term memory as linked notes. Compare the new note with the numbered stored ones. "
    "`connect`: the numbers of stored notes about the same person and matter, none where they only share words. "
    "`own_tags`: all tags of the new note, if the stored notes show better ones; else empty. `changes`: for each "
    "stored note that the new one lets you understand better, its number as `note`, with a new `context` (one "
    f"sentence of at most {LONGEST_CONTEXT} characters) or all its `tags` from now on (at most {MOST_TAGS}), or both; "
    "never what neither note says. Most notes need no change, and empty lists are fine. Reply as JSON: "
    '{"connect": [2], "own_tags": [], "changes": [{"note": 2, "context": "…", "tags": ["…"]}]}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "connect": {"type": "array", "items": {"type": "integer"}},
        "own_tags": TEXTS,
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "note": {"type": "integer"},
                    "context": {"type": ["string", "null"]},
                    "tags": {"type": ["array", "null"], "items": {"type": "string"}},
                },
                "required": ["note"],
            },
        },
    },
    "required": ["connect", "own_tags", "changes"],
}


def _show(given: EvolveGiven) -> str:
    return section("New note", given.note.text) + section(
        "Stored notes", numbered([neighbour.note.text for neighbour in given.neighbours])
    )


def _rule(given: EvolveGiven) -> Mapping[str, object]:
    own = _keys(given.note.annotation.keywords)
    connect: list[int] = []
    changes: list[Mapping[str, object]] = []
    for number, neighbour in enumerate(given.neighbours, start=1):
        known = neighbour.note.annotation
        if neighbour.nearness < NEAR and _jaccard(own, _keys(known.keywords)) < ALIKE:
            continue
        connect.append(number)
        tags = list(known.tags)
        tags += [word for word in known.keywords if word.casefold() in own - _keys(known.tags)]
        if tags[:MOST_TAGS] != list(known.tags):
            changes.append({"note": number, "tags": tags[:MOST_TAGS]})
    return {"connect": connect, "own_tags": [], "changes": changes}


def _keys(words: Sequence[str]) -> set[str]:
    return {word.casefold() for word in words}


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one & other else 0.0


def _read(value: Mapping[str, object], given: EvolveGiven) -> Reading[Evolution]:
    connect, rejected = cited_numbers(value["connect"], len(given.neighbours))
    own_tags, excess = phrases_of(value["own_tags"], MOST_TAGS)
    rejected += excess
    changes: dict[int, Change] = {}
    for entry in cast("list[Mapping[str, object]]", value["changes"]):
        change, left_out = _change(entry, len(given.neighbours))
        rejected += left_out
        if change is not None and change.neighbour not in changes:
            changes[change.neighbour] = change
        else:
            rejected += 1
    return Reading(Evolution(connect, own_tags, tuple(changes[number] for number in sorted(changes))), rejected)


def _change(entry: Mapping[str, object], offered: int) -> tuple[Change | None, int]:
    """A change of an offered note that says something, and what had to be left out of it."""
    numbers, _ = cited_numbers([entry["note"]], offered)
    if not numbers:
        return None, 0
    context, cut = context_of(entry.get("context"))
    tags, excess = phrases_of(entry.get("tags"), MOST_TAGS)
    if not (context or tags):
        return None, excess
    return Change(numbers[0], context or None, tags or None), cut + excess


EVOLVE: Contract[EvolveGiven, Evolution] = Contract(
    name="evolve",
    version=1,
    phase="decide",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=800,
)
