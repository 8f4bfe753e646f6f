"""A memory that is one short text, as stored items: what sessions left behind, and the entries made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import regex

from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.core.language.display import conversation_day
from mnemoscope.graphs.contracts.compress import About, Compressed, Part
from mnemoscope.graphs.contracts.extract_facts import Fact
from mnemoscope.graphs.nodes.facts import Drawn
from mnemoscope.graphs.provenance import containment, free_ids, last_time, made_from
from mnemoscope.memory_backends.item_store import united_sources
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = [
    "ENTRY",
    "Changes",
    "Recalled",
    "entries_of",
    "in_order",
    "part_of",
    "replace_entries",
    "session_items",
    "talks_so_far",
    "talks_text",
    "unkept",
]

ENTRY: ItemKind = "entry"
_KINDS: Mapping[About, ItemKind] = {"event": "event", "user": "profile", "bot": "profile"}
_ORDER: tuple[str, ...] = ("user", "relationship", "event")
_SAME_WORDS = 0.6
"""From this share of its words in a note on, a sentence keeps the note's own sources; below, it inherits them."""
_WARM = regex.compile(
    r"\b(?:thank(?:s| you)|appreciate|dear|glad|lovely|love (?:you|it|that)|proud of|miss(?:ed)? you|sweet)\b"
    r"|谢谢|感谢|亲爱|爱你|想你|太好了|真好|暖心|开心",
    regex.IGNORECASE,
)
_CROSS = regex.compile(
    r"\b(?:annoy\w*|angry|furious|stupid|useless|shut up|hate (?:you|it|that)|leave me alone|disappoint\w*)\b"
    r"|讨厌|生气|烦人|没用|闭嘴|失望",
    regex.IGNORECASE,
)


_COUNTED = ("since", "conversations", "warm", "cross")


@dataclass(frozen=True, slots=True)
class Recalled:
    """A statement that a session leaves behind."""

    about: About
    drawn: Drawn


@dataclass(frozen=True, slots=True)
class Changes:
    """What replacing entries did to the store."""

    added: tuple[ItemId, ...]
    updated: tuple[ItemId, ...]
    invalidated: tuple[ItemId, ...]


def session_items(recalled: Sequence[Recalled], store: MemoryStore) -> list[MemoryItem]:
    """What a session leaves behind, as items that are not stored yet."""
    ids = free_ids([f"{one.about}-{one.drawn.turns[0].turn_id}" for one in recalled], store)
    return [
        made_from(
            one.drawn.turns,
            item_id=item_id,
            kind=_KINDS[one.about],
            text=one.drawn.text,
            sources=one.drawn.sources,
            attrs={"about": one.about, "speaker": one.drawn.speaker},
        )
        for item_id, one in zip(ids, recalled, strict=True)
    ]


def part_of(item: MemoryItem) -> Part:
    """A stored statement as it is put before the compressor."""
    return Part(cast("About", item.attrs["about"]), item.text, item.observed_at, item.attrs["speaker"])


def entries_of(
    memory: Compressed, notes: Sequence[MemoryItem], ended: Sequence[Turn], talks: Mapping[str, str]
) -> list[MemoryItem]:
    """The memory's entries as items that have no id yet."""
    made = [_entry(fact, "user", notes, ended) for fact in memory.profile]
    made += [_entry(fact, "event", notes, ended) for fact in memory.events]
    if memory.relationship:
        # it is about everything and repeats no turn: it stands beside the latest one without being evidence of it
        latest = max(made or notes, key=lambda item: item.seq_to).sources[-1]
        made.append(
            made_from(
                ended,
                item_id=ItemId(""),
                kind=ENTRY,
                text=memory.relationship,
                sources=[replace(latest, method="unknown")],
                attrs={"about": "relationship", "speaker": "", **talks},
            )
        )
    return made


def _entry(fact: Fact, about: About, notes: Sequence[MemoryItem], ended: Sequence[Turn]) -> MemoryItem:
    named = [notes[number - 1] for number in fact.numbers] or [_nearest(fact.text, notes)]
    times = [item.observed_at for item in named if item.observed_at is not None]
    return MemoryItem(
        id=ItemId(""),
        kind=ENTRY,
        text=fact.text,
        sources=united_sources(*([_inherited(source, fact.text, item) for source in item.sources] for item in named)),
        observed_at=max(times, default=None),
        valid_from=last_time(ended),
        seq_from=min(item.seq_from for item in named),
        seq_to=max(item.seq_to for item in named),
        attrs={"about": about, "speaker": named[0].attrs["speaker"]},
    )


def _nearest(text: str, notes: Sequence[MemoryItem]) -> MemoryItem:
    """The note that has most of a statement's words, of equals the latest: one that names no note comes from there."""
    return max(reversed(notes), key=lambda item: containment(text, [item.text]))


def _inherited(source: Source, text: str, note: MemoryItem) -> Source:
    if source.method == "unknown" or containment(text, [note.text]) >= _SAME_WORDS:
        return source
    return Source(source.turn_id, "inherited", source.weight)


def replace_entries(
    entries: Sequence[MemoryItem], wanted: Sequence[MemoryItem], store: MemoryStore, ended: Sequence[Turn]
) -> Changes:
    """Make the stored entries those that are wanted; what stays word for word keeps its item and gains sources."""
    live = {(item.attrs["about"], item.text): item for item in entries}
    distinct = {(item.attrs["about"], item.text): item for item in wanted}
    fresh = [item for key, item in distinct.items() if key not in live]
    ids = free_ids([f"entry-{item.attrs['about']}-{item.sources[0].turn_id}" for item in fresh], store)
    updated: list[ItemId] = []
    for key, item in distinct.items():
        old = live.get(key)
        if old is None:
            continue
        attrs = {**old.attrs, **item.attrs}
        if united_sources(old.sources, item.sources) != old.sources or attrs != old.attrs:
            updated.append(store.amend(old.id, sources=item.sources, attrs=attrs).id)
    invalidated = [item.id for key, item in live.items() if key not in distinct]
    at = last_time(ended)
    for item_id in invalidated:
        store.invalidate(item_id, at=at)
    store.put([replace(item, id=item_id) for item, item_id in zip(fresh, ids, strict=True)])
    return Changes(tuple(ids), tuple(updated), tuple(invalidated))


def in_order(entries: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Who people are, how they deal with each other, events; each in the conversation's order."""
    return sorted(entries, key=lambda item: (_ORDER.index(item.attrs["about"]), item.seq_from, item.seq_to, item.id))


def talks_so_far(entries: Sequence[MemoryItem], ended: Sequence[Turn]) -> dict[str, str]:
    """Counts of how people and assistant have dealt with each other: those of the memory so far, and of this session.

    Args:
        entries: Live entries; the counts stand on the relationship.
        ended: The session that is over.
    """
    before = next((item.attrs for item in entries if item.attrs["about"] == "relationship"), {})
    said = [turn for turn in ended if turn.session_id != POOL_SESSION]
    if not said:
        return {name: before[name] for name in _COUNTED if name in before}
    told = "\n".join(turn.text for turn in said)
    first = said[0].at
    counts = {"conversations": 1, "warm": len(_WARM.findall(told)), "cross": len(_CROSS.findall(told))}
    since = "" if first is None else conversation_day(first)
    return {
        "since": before.get("since") or since,
        **{name: str(int(before.get(name, "0")) + count) for name, count in counts.items()},
    }


def talks_text(talks: Mapping[str, str]) -> str:
    """Those counts in words; nothing where nobody has talked."""
    if not talks:
        return ""
    since = f" since {talks['since']}" if talks["since"] else ""
    return (
        f"Conversations{since}: {talks['conversations']}; warm words: {talks['warm']}; cross words: {talks['cross']}."
    )


def unkept(new: Sequence[MemoryItem], kept: Sequence[MemoryItem], reason: str) -> dict[TurnId, str]:
    """The turns of new items that none of the kept ones names, each with the reason."""
    named = {source.turn_id for item in kept for source in item.sources}
    gone = dict.fromkeys(source.turn_id for item in new for source in item.sources)
    return {turn_id: reason for turn_id in gone if turn_id not in named}
