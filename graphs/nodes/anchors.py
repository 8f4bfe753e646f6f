"""Nodes of the WRITE graph of anchored memories: facts of each chunk, associated over the history, told as events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId, sha256_of
from mnemoscope.core.language.facts import undated
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.association import Associations, associate, distinct_groups
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.extract_facts import EXTRACT_MATTERS, Extraction, Fact
from mnemoscope.graphs.contracts.write_events import WRITE_EVENTS, EventsGiven
from mnemoscope.graphs.nodes.facts import FACTS, Drawn, document_vectors, drawn_from, from_pool
from mnemoscope.graphs.nodes.write import window_item
from mnemoscope.graphs.provenance import made_from
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.graphs.windows import windows_of
from mnemoscope.memory_backends.item_store import united_sources
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Turn

__all__ = [
    "AnchorState",
    "Associate",
    "Chunk",
    "DedupGroups",
    "ExtractChunk",
    "Group",
    "Told",
    "WriteEvents",
    "chunk_states",
    "group_states",
    "plain_facts",
    "told_groups",
    "with_told",
]


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """What one chunk says."""

    place: int
    """Of the chunk among those of this run."""
    facts: tuple[Drawn, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Facts to be told together."""

    anchor: MemoryItem
    facts: tuple[MemoryItem, ...]
    """The anchor and its neighbours, in order of time."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was made of a group."""

    place: int
    """Of the group among those that are told in this run."""
    group: Group
    events: tuple[Fact, ...]
    """Their numbers are places of facts in the group, from 1; none where nothing was told, or nothing readable."""


def _in_order(some: tuple[ChunkFacts, ...], others: tuple[ChunkFacts, ...]) -> tuple[ChunkFacts, ...]:
    return tuple(sorted((*some, *others), key=attrgetter("place")))


def _told_in_order(some: tuple[Told, ...], others: tuple[Told, ...]) -> tuple[Told, ...]:
    return tuple(sorted((*some, *others), key=attrgetter("place")))


class AnchorState(WriteState, total=False):
    """One run of the WRITE graph."""

    drawn: Annotated[tuple[ChunkFacts, ...], _in_order]
    facts: tuple[MemoryItem, ...]
    """All facts as they are to be: the stored ones, with what was said again, then the new ones."""
    vectors: Vectors
    """One row per new fact."""
    associations: Associations
    """What new facts bring, over the places of `facts`; it lives for one run."""
    untold: tuple[Group, ...]
    """What is to be told, largest and closest first."""
    told: Annotated[tuple[Told, ...], _told_in_order]


class ChunkState(WriteState, total=False):
    """What one run of `extract_facts` is given."""

    place: int
    window: tuple[Turn, ...]


class GroupState(WriteState, total=False):
    """What one run of `write_events` is given."""

    place: int
    group: Group


class Chunk:
    """Node `chunk`: windows over the turns of the session that is over, each an item as it was said.

    Args:
        window: Turns per chunk.
        overlap: Turns that a chunk shares with the one before.
    """

    def __init__(self, window: int, overlap: int) -> None:
        self._window, self._overlap = window, overlap

    async def __call__(self, state: AnchorState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ended`; sets `ready` and `drafts`, one for each of them."""
        windows = windows_of(state["ended"], self._window, self._overlap)
        return {"ready": windows, "drafts": tuple(window_item(window, runtime.context.store) for window in windows)}


def chunk_states(state: AnchorState) -> list[Mapping[str, object]]:
    """One state per chunk of this run."""
    return [{"place": place, "window": window} for place, window in enumerate(state["ready"])]


class ExtractChunk:
    """Node `extract_facts`: what one chunk says, in statements that begin with who says it and bear no date.

    Args:
        mode: Whether a model is asked, once per chunk.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: ChunkState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `place` and `window`; adds to `drawn` and `parse_failures`."""
        window = state["window"]
        if (brought := from_pool(window)) is not None:
            return {"drawn": (ChunkFacts(state["place"], (brought,)),)}
        answer = await ask(EXTRACT_MATTERS, Extraction(window), self._mode, runtime.context.ports.model)
        facts = plain_facts(drawn_from(answer.value or (), window))
        return {"drawn": (ChunkFacts(state["place"], facts),), "parse_failures": answer.parse_failures}


def plain_facts(facts: Iterable[Drawn]) -> tuple[Drawn, ...]:
    """Facts without the date in their frame: what is said twice is one fact, and a shared day makes none similar."""
    return tuple(replace(fact, text=undated(fact.text, speaker=fact.speaker, at=fact.turns[0].at)) for fact in facts)


class Associate:
    """Node `associate`: joins the new facts to the stored ones, and each fact to its nearest others.

    A text is one fact, however often it is said: it has the turns and the chunks of all times.

    Args:
        threshold: Cosine above which facts are associated.
        most: Neighbours of one fact, each from chunks of its own.
    """

    def __init__(self, threshold: float, most: int) -> None:
        self._threshold, self._most = threshold, most

    async def __call__(self, state: AnchorState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `drawn` and `drafts`; sets `facts`, `vectors` and `associations`."""
        store = runtime.context.store
        facts = {item.id: item for item in store.items(*FACTS)}
        stored = list(facts)
        for chunk in state.get("drawn", ()):
            for fact in chunk.facts:
                item = _fact_item(fact, state["drafts"][chunk.place].id)
                known = facts.get(item.id)
                facts[item.id] = item if known is None else _united(known, item)
        texts = [item.text for item in facts.values()][len(stored) :]
        origins = [item.links for item in facts.values()]
        changed = [
            place for place, item in enumerate(facts.values()) if place >= len(stored) or item != store.get(item.id)
        ]
        old = store.vectors(stored)
        new = await document_vectors(texts, runtime) if texts else old[:0]
        return {
            "facts": tuple(facts.values()),
            "vectors": new,
            "associations": associate(np.vstack([old, new]), origins, changed, self._threshold, self._most),
        }


class DedupGroups:
    """Node `dedup_groups`: the groups that have enough to tell besides what was told before.

    Args:
        least_new: Facts that a group must have besides those of any other one.
    """

    def __init__(self, least_new: int) -> None:
        self._least_new = least_new

    async def __call__(self, state: AnchorState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `facts` and `associations`; sets `untold`."""
        facts = state["facts"]
        place_of = {fact.id: place for place, fact in enumerate(facts)}
        told = [[place_of[ItemId(member)] for member in group] for fact in facts for group in told_groups(fact)]
        groups = distinct_groups(state["associations"], self._least_new, told)
        return {
            "untold": tuple(
                Group(facts[group.anchor], tuple(sorted((facts[place] for place in group.members), key=_time)))
                for group in groups
            )
        }


def group_states(state: AnchorState) -> list[Mapping[str, object]]:
    """One state per group that is told in this run."""
    return [{"place": place, "group": group, "drafts": state["drafts"]} for place, group in enumerate(state["untold"])]


class WriteEvents:
    """Node `write_events`: what one group of facts tells.

    Args:
        mode: Whether a model is asked, once per group.
        compat: Leaves the chunks of the anchor out of what a model is shown, as the source's release does.
    """

    def __init__(self, mode: Mode, *, compat: bool) -> None:
        self._mode, self._compat = mode, compat

    async def __call__(self, state: GroupState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `place`, `group` and `drafts`; adds to `told` and `parse_failures`."""
        group, store = state["group"], runtime.context.store
        drafts = {item.id: item for item in state["drafts"]}
        hidden = group.anchor.links if self._compat else ()
        ids = dict.fromkeys(link for fact in group.facts for link in fact.links if link not in hidden)
        chunks = sorted((drafts.get(link) or store.get(link) for link in ids), key=attrgetter("seq_from", "id"))
        given = EventsGiven(group.facts, tuple(chunk.text for chunk in chunks))
        answer = await ask(WRITE_EVENTS, given, self._mode, runtime.context.ports.model)
        told = Told(state["place"], group, answer.value or ())
        return {"told": (told,), "parse_failures": answer.parse_failures}


_TOLD = "told"
"""Attribute of an anchor: the ids of the facts of its groups, with commas between facts and spaces between groups."""
_time = attrgetter("seq_from", "seq_to", "id")


def told_groups(anchor: MemoryItem) -> list[list[str]]:
    """The groups of an anchor that were told, whatever came of it, as the ids of their facts."""
    return [group.split(",") for group in anchor.attrs.get(_TOLD, "").split()]


def with_told(group: Group) -> dict[str, str]:
    """What its anchor notes of a group that was told."""
    groups: list[list[str]] = [*told_groups(group.anchor), [fact.id for fact in group.facts]]
    return {_TOLD: " ".join(",".join(group) for group in groups)}


def _fact_item(fact: Drawn, chunk: ItemId) -> MemoryItem:
    return made_from(
        fact.turns,
        item_id=ItemId(f"fact-{sha256_of(fact.text)[:16]}"),
        kind="fact",
        text=fact.text,
        sources=fact.sources,
        links=(chunk,),
    )


def _united(known: MemoryItem, again: MemoryItem) -> MemoryItem:
    """A fact that is said once more keeps its time and gains turns and chunks."""
    return replace(
        known,
        sources=united_sources(known.sources, again.sources),
        links=tuple(dict.fromkeys((*known.links, *again.links))),
    )
