"""Nodes of memories that keep every turn as a note, link notes and describe older ones anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.annotate import ANNOTATE, Annotation
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.evolve import EVOLVE, Evolution, EvolveGiven, Neighbour
from mnemoscope.graphs.contracts.query_keywords import QUERY_KEYWORDS
from mnemoscope.graphs.nodes.facts import document_vectors
from mnemoscope.graphs.nodes.write import window_text
from mnemoscope.graphs.notes import Note
from mnemoscope.graphs.provenance import SUPPORTED, containment, free_ids, made_from
from mnemoscope.graphs.state import MemoryContext, ReadState, WriteState
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = [
    "NOTES",
    "Annotate",
    "Described",
    "Evolve",
    "Keywords",
    "NoteState",
    "SearchNotes",
    "expand_links",
    "reindex",
    "strengthen",
    "update_neighbours",
]

NOTES: tuple[ItemKind, ...] = ("note",)
ROOT = "note"
"""Attribute of every version of a note: the id of its first one. Links name it, since versions come and go."""


@dataclass(frozen=True, slots=True)
class Described:
    """A stored note as it is described from now on."""

    item: MemoryItem
    """The version that is replaced."""
    note: Note
    source: Source
    """The turn that brought it about."""


class NoteState(WriteState, total=False):
    """One run of the WRITE graph."""

    note: Note | None
    """The new one; None where the event brings none."""
    vector: Vectors | None
    """Its row, shape `(1, dim)`; None while it is not embedded as it stands."""
    near: tuple[MemoryItem, ...]
    """Stored notes near it; an evolution names them by their place, from 1."""
    evolution: Evolution
    links: tuple[ItemId, ...]
    described: tuple[Described, ...]


class Annotate:
    """Node `annotate`: the turn as a note with keywords, a sentence of context and tags.

    Args:
        mode: Whether a model is asked. A turn whose annotation cannot be read is kept without one.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: NoteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event`; sets `note` and `parse_failures`, or drops an empty turn."""
        turn = state["event"].turn
        if turn is None:
            return {"note": None}
        if turn.is_empty:
            return {"note": None, "dropped": {turn.turn_id: "empty"}}
        answer = await ask(ANNOTATE, turn, self._mode, runtime.context.ports.model)
        note = Note(window_text((turn,)), answer.value or Annotation())
        return {"note": note, "parse_failures": answer.parse_failures}


class SearchNotes:
    """Node `neighbours`: the stored notes nearest to the new one.

    Args:
        depth: How many.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth

    async def __call__(self, state: NoteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `note`; sets `vector` and `near`."""
        vector = await document_vectors([_noted(state).embedded], runtime)
        return {
            "vector": vector,
            "near": tuple(runtime.context.store.search_vector(vector[0], self._depth, kinds=NOTES)),
        }


class Evolve:
    """Node `evolve`: asks what the new note is linked with, and which stored notes it lets one understand better.

    Args:
        mode: Whether a model is asked. A reply that cannot be read is counted and changes nothing.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: NoteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `note` and `near`; sets `evolution` and `parse_failures`."""
        neighbours = tuple(Neighbour(Note.of(item), item.score or 0.0) for item in state["near"])
        given = EvolveGiven(_noted(state), neighbours)
        answer = await ask(EVOLVE, given, self._mode, runtime.context.ports.model)
        return {"evolution": answer.value or Evolution(), "parse_failures": answer.parse_failures}


async def strengthen(state: NoteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `strengthen`: links the new note and gives it better tags; `vector` goes where `note` changes."""
    note, evolution = _noted(state), state["evolution"]
    links = tuple(ItemId(state["near"][number - 1].attrs[ROOT]) for number in evolution.connect)
    tags = evolution.own_tags or note.annotation.tags
    if tags == note.annotation.tags:
        return {"links": links}
    return {"links": links, "note": replace(note, annotation=replace(note.annotation, tags=tags)), "vector": None}


async def update_neighbours(state: NoteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `update_neighbours`: describes stored notes anew; `described` holds those that really change."""
    turn, described = _turn(state), []
    for change in state["evolution"].changes:
        item = state["near"][change.neighbour - 1]
        old = Note.of(item)
        noted = replace(
            old.annotation,
            context=old.annotation.context if change.context is None else change.context,
            tags=old.annotation.tags if change.tags is None else change.tags,
        )
        if noted != old.annotation:
            said = [old.content, _noted(state).content]
            supported = change.context is None or containment(change.context, said) >= SUPPORTED
            source = Source(turn.turn_id, "inherited" if supported else "unknown", 0.0)
            described.append(Described(item, replace(old, annotation=noted), source))
    return {"described": tuple(described)}


async def reindex(state: NoteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `reindex`: embeds whatever is not embedded as it stands, then stores it all; sets `added` and the like.

    A note that is described anew becomes a further version, so that a read as of an earlier time finds the older one.
    """
    store, note, turn, described = runtime.context.store, _noted(state), _turn(state), state.get("described", ())
    vector, texts = state.get("vector"), [one.note.embedded for one in described]
    if vector is None:
        rows = await document_vectors([note.embedded, *texts], runtime)
        vector, rows = rows[:1], rows[1:]
    else:
        rows = await document_vectors(texts, runtime) if texts else vector[:0]
    item = _item(note, turn, state.get("links", ()), store)
    store.put([item], vector)
    renewed = [_renewed(one, turn, row, store) for one, row in zip(described, rows, strict=True)]
    return {
        "added": (item.id,),
        "updated": tuple(renewed),
        "invalidated": tuple(one.item.id for one in described),
    }


class Keywords:
    """Node `keywords`: the query as the terms to search for; as it stands where there are none.

    Args:
        mode: Whether a model is asked.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`; sets its text, and `parse_failures`."""
        query = state["query"]
        answer = await ask(QUERY_KEYWORDS, query.text, self._mode, runtime.context.ports.model)
        text = ", ".join(answer.value or ()) or query.text
        return {"query": replace(query, text=text), "parse_failures": answer.parse_failures}


async def expand_links(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `expand_links`: behind each note that was found stand the notes that it links, as they were at `now`.

    A linked note that the search found lower down moves up; it has no score, since nearness did not bring it there.
    """
    now, found = state.get("now"), state["found"]
    held: dict[str, MemoryItem] = {}
    if any(item.links for item in found):
        held = {item.attrs[ROOT]: item for item in runtime.context.store.held(now, *NOTES)}
    order: dict[ItemId, MemoryItem] = {}
    for item in found:
        order.setdefault(item.id, item)
        linked = [held[link] for link in item.links if link in held]
        order |= {one.id: one for one in linked if one.id not in order}
    return {"found": tuple(item.ranked(rank, item.score) for rank, item in enumerate(order.values(), start=1))}


def _noted(state: NoteState) -> Note:
    note = state["note"]
    if note is None:
        raise ValueError("no note was made of this event")
    return note


def _turn(state: NoteState) -> Turn:
    turn = state["event"].turn
    if turn is None:
        raise ValueError("this event brings no turn")
    return turn


def _item(note: Note, turn: Turn, links: Sequence[ItemId], store: MemoryStore) -> MemoryItem:
    item_id = free_ids([f"note-{turn.turn_id}"], store)[0]
    return made_from(
        (turn,),
        item_id=item_id,
        kind="note",
        text=note.text,
        sources=(Source(turn.turn_id, "verbatim"),),
        attrs={ROOT: item_id, "speaker": turn.speaker, **note.attrs},
        links=links,
    )


def _renewed(one: Described, turn: Turn, row: Vectors, store: MemoryStore) -> ItemId:
    """Stores the new version. It holds from when both turns were said: turns may come out of order."""
    old = one.item
    times = [at for at in (old.observed_at, turn.at) if at is not None]
    new = store.update(
        old.id, text=one.note.text, sources=(one.source,), at=max(times, default=None), vector=row, seq=turn.index
    )
    return store.amend(new.id, attrs=one.note.attrs).id
