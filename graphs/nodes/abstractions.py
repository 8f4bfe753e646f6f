"""Nodes that turn a stretch of talk into entries: segment → episodes and facts → cues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from langgraph.runtime import Runtime

from mnemoscope.core.ports import LanguageModel
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.abstract import ABSTRACT
from mnemoscope.graphs.contracts.asking import ask, planned_call
from mnemoscope.graphs.contracts.cues import CUES
from mnemoscope.graphs.contracts.segment import SEGMENT, Segment, Stretch, topic_of
from mnemoscope.graphs.entries import Entry, Episode, episodes_of
from mnemoscope.graphs.nodes.facts import UNREADABLE, left_out
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.graphs.windows import windows_of
from mnemoscope.scenarios.records import Turn

__all__ = [
    "STRETCH",
    "AddCues",
    "DrawFacts",
    "EntryState",
    "Segmenting",
    "abstraction_calls",
    "abstraction_texts",
    "cues_for",
    "keep_episodes",
]

STRETCH = 40
"""Turns that are segmented at once: a session, unless it is longer than a small model reads in one go."""
BATCH = 24
"""Entries that are given cues in one call."""
UNDIVIDED = 3
"""Turns up to which a stretch is one segment, whatever is said."""


def in_order(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Reducer of entries drawn side by side: by episode, the episode itself before its facts."""
    return tuple(sorted((*old, *new), key=lambda entry: (entry.episode.number, entry.kind != "episode")))


class EntryState(WriteState, total=False):
    """One run of a WRITE graph that keeps entries."""

    episodes: tuple[Episode, ...]
    episode: Episode
    """What one run of `facts` draws from; they run side by side."""
    drawn: Annotated[tuple[Entry, ...], in_order]
    entries: tuple[Entry, ...]
    """With their cues."""


class Segmenting:
    """Node `segment`: divides each ready stretch of talk by topic.

    Args:
        mode: Whether a model is asked, once per stretch. A reply that cannot be read is counted, and the rule divides.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: EntryState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ready`; sets `episodes` and `parse_failures`."""
        episodes: tuple[Episode, ...] = ()
        failures = 0
        for turns in state["ready"]:
            segments, failed = await self._divided(Stretch(turns), runtime.context.ports.model)
            failures += failed
            episodes += episodes_of(turns, segments, len(episodes))
        return {"episodes": episodes, "parse_failures": failures}

    async def _divided(self, given: Stretch, model: LanguageModel | None) -> tuple[Sequence[Segment], int]:
        if len(given.turns) <= UNDIVIDED:
            return _undivided(given.turns), 0
        answer = await ask(SEGMENT, given, self._mode, model)
        if answer.value is None:
            return SEGMENT.read(SEGMENT.rule(given), given).value, answer.parse_failures
        return answer.value, answer.parse_failures


async def keep_episodes(state: EntryState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `episodic`: every episode word for word, as an entry; adds to `drawn`."""
    return {"drawn": tuple(episode.entry for episode in state["episodes"] if not episode.from_pool)}


class DrawFacts:
    """Node `facts`: what one episode says that is worth remembering, each matter as an entry.

    Args:
        mode: Whether a model is asked, once per episode.
        drops: Whether turns that no entry names are dropped, because nothing else keeps them.
    """

    def __init__(self, mode: Mode, *, drops: bool) -> None:
        self._mode, self._drops = mode, drops

    async def __call__(self, state: EntryState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `episode`; adds to `drawn`, `dropped` and `parse_failures`."""
        episode = state["episode"]
        if episode.from_pool:
            return {"drawn": episode.facts(())}
        answer = await ask(ABSTRACT, episode.turns, self._mode, runtime.context.ports.model)
        drawn = episode.facts(answer.value or ())
        update: dict[str, object] = {"drawn": drawn, "parse_failures": answer.parse_failures}
        if self._drops:
            gone = left_out(episode.turns, [source for entry in drawn for source in entry.sources])
            update["dropped"] = dict.fromkeys(gone, UNREADABLE) if answer.value is None else gone
        return update


class AddCues:
    """Node `cues`: short phrases for each entry, by which several may be reached.

    Args:
        mode: Whether a model is asked, once per 24 entries. Where its reply cannot be read, they have no cues.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: EntryState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `drawn`; sets `entries` and `parse_failures`."""
        entries, failures = await cues_for(state["drawn"], self._mode, runtime.context.ports.model)
        return {"entries": entries, "parse_failures": failures}


async def cues_for(entries: Sequence[Entry], mode: Mode, model: LanguageModel | None) -> tuple[tuple[Entry, ...], int]:
    """Entries with cues, in the same order, and what of the replies had to be left out.

    A memory from a pool needs none: it is its own index.
    """
    asked = [entry for entry in entries if not entry.episode.from_pool]
    groups: list[tuple[str, ...]] = []
    failures = 0
    for start in range(0, len(asked), BATCH):
        given = tuple(entry.cued for entry in asked[start : start + BATCH])
        answer = await ask(CUES, given, mode, model)
        groups += answer.value or [()] * len(given)
        failures += answer.parse_failures
    found = iter(groups)
    return tuple(entry if entry.episode.from_pool else replace(entry, cues=next(found)) for entry in entries), failures


def abstraction_texts(*, episodic: bool) -> Callable[[Sequence[Turn]], Sequence[str]]:
    """What rules make of given sessions to be embedded, ahead of time: each index, and each cue once."""

    def texts(turns: Sequence[Turn]) -> Sequence[str]:
        found: list[str] = []
        known: set[str] = set()
        for stretch in windows_of(turns, STRETCH, 0):
            entries = _by_rule(stretch, episodic=episodic)
            cues: dict[str, str] = {}
            for cue in (cue for entry in entries for cue in entry.cues if cue.casefold() not in known):
                cues.setdefault(cue.casefold(), cue)
            known |= cues.keys()
            found += [*(entry.index for entry in entries), *cues.values()]
        return found

    return texts


def abstraction_calls(*, episodic: bool) -> Callable[[Sequence[Turn]], Usage]:
    """An estimate of what entries by a model cost, before any is merged: as many calls as rules would have made."""

    def asks(turns: Sequence[Turn]) -> Usage:
        total = Usage()
        for stretch in windows_of(turns, STRETCH, 0):
            if len(stretch) > UNDIVIDED:
                total = total + planned_call(SEGMENT, SEGMENT.show(Stretch(stretch)))
            entries = [entry for entry in _by_rule(stretch, episodic=episodic) if not entry.episode.from_pool]
            for episode in _episodes(stretch):
                if not episode.from_pool:
                    total = total + planned_call(ABSTRACT, ABSTRACT.show(episode.turns))
            for start in range(0, len(entries), BATCH):
                shown = CUES.show(tuple(entry.cued for entry in entries[start : start + BATCH]))
                total = total + planned_call(CUES, shown)
        return total

    return asks


def _undivided(turns: Sequence[Turn]) -> tuple[Segment, ...]:
    return (Segment(1, len(turns), topic_of(turns)),)


def _episodes(stretch: tuple[Turn, ...]) -> tuple[Episode, ...]:
    given = Stretch(stretch)
    whole = len(stretch) <= UNDIVIDED
    return episodes_of(stretch, _undivided(stretch) if whole else SEGMENT.read(SEGMENT.rule(given), given).value, 0)


def _by_rule(stretch: tuple[Turn, ...], *, episodic: bool) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for episode in _episodes(stretch):
        if episodic and not episode.from_pool:
            entries.append(episode.entry)
        entries += episode.facts(ABSTRACT.read(ABSTRACT.rule(episode.turns), episode.turns).value)
    given = tuple(entry.cued for entry in entries)
    groups = CUES.read(CUES.rule(given), given).value
    return tuple(
        entry if entry.episode.from_pool else replace(entry, cues=cues)
        for entry, cues in zip(entries, groups, strict=True)
    )
