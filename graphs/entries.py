"""Entries: what is shown in full, found by a short name of the matter, its index, and by cues that entries share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.contracts.abstract import Abstracted
from mnemoscope.graphs.contracts.cues import Cued
from mnemoscope.graphs.contracts.segment import Segment
from mnemoscope.graphs.nodes.write import window_text
from mnemoscope.graphs.provenance import cite, made_from
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Source
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["CUE_KINDS", "ENTRY_KINDS", "FACT_KINDS", "INDEX", "Entry", "Episode", "episodes_of"]

ENTRY_KINDS: tuple[ItemKind, ...] = ("entry", "episode")
"""What is handed out: facts and episodes."""
FACT_KINDS: tuple[ItemKind, ...] = ("entry",)
CUE_KINDS: tuple[ItemKind, ...] = ("cue",)
INDEX = "index"
"""Attribute of an item: what its vector is made of. Its text is the value, which is not embedded."""


@dataclass(frozen=True, slots=True)
class Episode:
    """Turns about one topic."""

    number: int
    """Its place among those of one run."""
    topic: str
    turns: tuple[Turn, ...]

    @property
    def from_pool(self) -> bool:
        """It is a memory that a probe brings along: a fact as it stands."""
        return self.turns[0].session_id == POOL_SESSION

    @property
    def entry(self) -> Entry:
        """The episode itself as an entry: its turns word for word, found by who speaks and the topic."""
        names = " and ".join(dict.fromkeys(turn.speaker for turn in self.turns))
        share = 1 / len(self.turns)
        return Entry(
            f"{names}: {self.topic}",
            window_text(self.turns),
            self.turns,
            tuple(Source(turn.turn_id, "verbatim", share) for turn in self.turns),
            self,
            "episode",
        )

    def facts(self, abstracted: Sequence[Abstracted]) -> tuple[Entry, ...]:
        """What was drawn from it as entries, each of the turns that it names; a memory from a pool is its own index."""
        if self.from_pool:
            text = window_text(self.turns)
            return (Entry(text, text, self.turns, (Source(self.turns[0].turn_id, "verbatim"),), self),)
        return tuple(
            Entry(
                one.index,
                one.value,
                tuple(self.turns[number - 1] for number in one.numbers),
                cite(self.turns, one.numbers, one.value),
                self,
            )
            for one in abstracted
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory that is not stored yet."""

    index: str
    value: str
    turns: tuple[Turn, ...]
    sources: tuple[Source, ...]
    episode: Episode
    """Which it comes from."""
    kind: ItemKind = "entry"
    cues: tuple[str, ...] = ()

    @property
    def cued(self) -> Cued:
        """What its cues are drawn from: of an episode the index, since its facts have cues of their own."""
        about = tuple(dict.fromkeys(turn.speaker for turn in self.turns))
        return Cued(self.index, "" if self.kind == "episode" else self.value, about)

    def item(self, item_id: ItemId, links: Sequence[ItemId]) -> MemoryItem:
        """The item that it is stored as; `links` are its cues."""
        attrs = {INDEX: self.index, "speaker": self.turns[0].speaker}
        return made_from(
            self.turns,
            item_id=item_id,
            kind=self.kind,
            text=self.value,
            sources=self.sources,
            attrs=attrs,
            links=links,
        )


def episodes_of(stretch: Sequence[Turn], segments: Sequence[Segment], first: int) -> tuple[Episode, ...]:
    """A stretch of talk as its episodes.

    Args:
        stretch: Its turns, numbered from 1 by the segments.
        segments: They divide it.
        first: Number of the first episode.
    """
    return tuple(
        Episode(first + place, segment.topic, tuple(stretch[segment.start - 1 : segment.end]))
        for place, segment in enumerate(segments)
    )
