"""Contract `compress`: what all sessions left behind, put together into one short memory that replaces the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mnemoscope.core.language.display import conversation_day
from mnemoscope.core.language.facts import statement_of
from mnemoscope.core.language.slots import slot_conflict, slot_facts
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import CITED_TEXTS, Fact, read_cited
from mnemoscope.graphs.contracts.listing import numbered, section
from mnemoscope.graphs.extracts import central, cut_at_sentence

__all__ = ["COMPRESS", "About", "Compressed", "Compressing", "Part"]

About = Literal["event", "user", "bot", "relationship"]


@dataclass(frozen=True, slots=True)
class Part:
    """A statement that a session left behind, or one of the memory before."""

    about: About
    text: str
    at: datetime | None
    speaker: str = ""
    """Whose words it was made of."""


@dataclass(frozen=True, slots=True)
class Compressing:
    """What is put together."""

    parts: tuple[Part, ...]
    """In the order of the conversation, numbered."""
    tokens: int
    """The longest result, in estimated tokens."""
    talks: str = ""
    """How people and assistant have dealt with each other, in counts; the rule's relationship."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """One memory of everything."""

    events: tuple[Fact, ...]
    profile: tuple[Fact, ...]
    relationship: str


_INSTRUCTION = (
    "You keep an assistant's only memory of a person: one short text. Put the numbered notes of earlier conversations "
    "together: `user_profile`, who the people are, with traits, habits, preferences and circumstances as they stand "
    "now, where a later note wins over an earlier one; `events`, what happened and what is planned, short and dated, "
    "in order, similar ones joined; `relationship`, in a sentence or two, how people and assistant deal with each "
    "other and how that has changed. Leave out what will hardly matter, never a name, number or date of what you "
    "keep; add nothing; keep the language of the notes; stay within the length that the data names. Give the numbers "
    "of the notes that each sentence comes from. Reply as JSON: "
    '{"user_profile": [{"text": "…", "sources": [1, 4]}], "events": [{"text": "…", "sources": [2]}], '
    '"relationship": "…"}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {"events": CITED_TEXTS, "user_profile": CITED_TEXTS, "relationship": {"type": "string"}},
    "required": ["events", "user_profile", "relationship"],
}


def _show(given: Compressing) -> str:
    notes = [f"({part.about}, {_day(part.at)}) {part.text}" for part in given.parts]
    return section("Length", f"at most {given.tokens} tokens in all") + section("Notes", numbered(notes))


def _rule(given: Compressing) -> Mapping[str, object]:
    """The newest value of every slot, then the sentences that speak most of what all speak of, until it is full."""
    portrait = _within(list(reversed(_newest(given.parts))), given.parts, given.tokens // 2)
    rest = given.tokens - _size([given.talks, *(given.parts[i].text for i in portrait)])
    events = [i for i, part in enumerate(given.parts) if part.about == "event"]
    said = {i: statement_of(given.parts[i].text) for i in events}
    score = central(list(said.values()), {part.speaker for part in given.parts})
    scored = sorted(events, key=lambda i: -round(score(said[i]), 9))
    return {
        "events": _cited(_within(scored, given.parts, rest), given.parts),
        "user_profile": _cited(portrait, given.parts),
        "relationship": given.talks,
    }


def _newest(parts: Sequence[Part]) -> list[int]:
    """Places of the statements about people that nothing later replaces, ends or repeats."""
    kept: list[int] = []
    for place, part in enumerate(parts):
        if part.about == "user":
            kept = [earlier for earlier in kept if not _outdated(parts[earlier], part)]
            kept.append(place)
    return kept


def _outdated(old: Part, new: Part) -> bool:
    later = slot_facts(new.text, speaker=new.speaker)
    known = slot_facts(old.text, speaker=old.speaker)
    return old.text == new.text or (
        bool(known) and all(any(slot_conflict(one, other) != "separate" for other in later) for one in known)
    )


def _within(places: Sequence[int], parts: Sequence[Part], tokens: int) -> list[int]:
    """The first places whose different texts fit, in the parts' own order."""
    chosen: dict[str, int] = {}
    left = tokens
    for place in places:
        size = _size([parts[place].text])
        if parts[place].text not in chosen and size <= left:
            chosen[parts[place].text] = place
            left -= size
    return sorted(chosen.values())


def _cited(places: Sequence[int], parts: Sequence[Part]) -> list[Mapping[str, object]]:
    """Each text with the numbers of all parts that say it in these words."""
    return [
        {
            "text": parts[place].text,
            "sources": [number for number, part in enumerate(parts, start=1) if part.text == parts[place].text],
        }
        for place in places
    ]


def _read(value: Mapping[str, object], given: Compressing) -> Reading[Compressed]:
    profile, events = (read_cited(value[name], len(given.parts)) for name in ("user_profile", "events"))
    left = given.tokens
    profile_kept, left = _fitting(profile.value, left)
    relationship = " ".join(str(value["relationship"]).split())
    shortened = cut_at_sentence(relationship, left, estimate_tokens)
    shortened = shortened if _size([shortened]) <= left else ""
    events_kept, left = _fitting(events.value, left - _size([shortened]))
    cut = (shortened != relationship) + (profile_kept != profile.value) + (events_kept != events.value)
    return Reading(Compressed(events_kept, profile_kept, shortened), profile.rejected + events.rejected + cut)


def _fitting(facts: Sequence[Fact], tokens: int) -> tuple[tuple[Fact, ...], int]:
    """The first statements that fit, the last of them cut at a sentence's end if need be, and what room is left."""
    kept: list[Fact] = []
    for fact in facts:
        text = fact.text if _size([fact.text]) <= tokens else cut_at_sentence(fact.text, tokens, estimate_tokens)
        if _size([text]) > tokens:
            break
        kept.append(Fact(text, fact.numbers))
        tokens -= _size([text])
        if text != fact.text:
            break
    return tuple(kept), tokens


def _size(texts: Sequence[str]) -> int:
    return estimate_tokens(text for text in texts if text)


def _day(at: datetime | None) -> str:
    return "undated" if at is None else conversation_day(at)


COMPRESS: Contract[Compressing, Compressed] = Contract(
    name="compress",
    version=1,
    phase="summarise",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
