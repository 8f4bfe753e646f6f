"""Nodes that merge new entries into stored ones about the same matter, and store them with their cues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId
from mnemoscope.core.language.moments import moments
from mnemoscope.core.language.slots import SlotFact, slot_facts
from mnemoscope.core.language.tokens import lexical_tokens
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.consolidate import CONSOLIDATE, Candidates, Consolidation, Matter
from mnemoscope.graphs.entries import FACT_KINDS, INDEX, Entry
from mnemoscope.graphs.nodes.abstractions import EntryState, cues_for
from mnemoscope.graphs.nodes.facts import document_vectors
from mnemoscope.graphs.provenance import SUPPORTED, containment, free_ids, is_stored, last_time, made_from
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.item_store import united_sources
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore

__all__ = ["Change", "Consolidate", "ConsolidationState", "persist"]

CANDIDATES = 5
"""Stored entries that a new one is compared with."""
NEAR = 0.8
"""Cosine of two indexes from which they may name the same matter."""

Target = ItemId | int
"""A stored entry by its id, or one of the same run by its place in the plan."""


@dataclass(frozen=True, slots=True)
class Change:
    """One step of what `persist` will do."""

    entry: Entry
    row: Vectors
    """Vector of its index, shape `(dim,)`."""
    target: Target | None = None
    """What it is merged into; None: it stands for itself."""
    repeats: bool = False
    """It says nothing new: the target gets its turns and stays as it is."""


@dataclass(frozen=True, slots=True)
class Near:
    """An entry that a new one may be merged into."""

    target: Target
    index: str
    value: str
    speaker: str
    at: datetime | None
    score: float

    @property
    def matter(self) -> Matter:
        """As a contract sees it."""
        return Matter(self.index, self.value, _slots(self.value, self.speaker))


class ConsolidationState(EntryState, total=False):
    """One run of a WRITE graph that merges entries."""

    plan: tuple[Change, ...]


class Consolidate:
    """Node `consolidate`: compares each fact with those stored before, and with those of earlier episodes of the run.

    Args:
        mode: Whether a model is asked, once per fact whose index is near to another's. A reply that cannot be read is
            counted, and the fact stands for itself.
        merges: False: every entry stands for itself.
    """

    def __init__(self, mode: Mode, *, merges: bool) -> None:
        self._mode, self._merges = mode, merges

    async def __call__(self, state: ConsolidationState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `entries`; sets `plan` and `parse_failures`."""
        entries = state["entries"]
        rows = await document_vectors([entry.index for entry in entries], runtime)
        plan: list[Change] = []
        failures = 0
        for entry, row in zip(entries, rows, strict=True):
            change, failed = await self._changed(Change(entry, row), plan, runtime)
            plan.append(change)
            failures += failed
        plan, failed = await self._cued_anew(plan, entries, runtime)
        return {"plan": tuple(plan), "parse_failures": failures + failed}

    async def _changed(
        self, new: Change, plan: Sequence[Change], runtime: Runtime[MemoryContext]
    ) -> tuple[Change, int]:
        entry = new.entry
        if not self._merges or entry.kind not in FACT_KINDS or entry.episode.from_pool:
            return new, 0
        near = _near(new, plan, runtime.context.store)
        said = _statement(entry.value, last_time(entry.turns))
        for one in near:
            if _statement(one.value, one.at) == said:
                return replace(new, target=one.target, repeats=True), 0
        if not near:
            return new, 0
        matter = Matter(entry.index, entry.value, _slots(entry.value, entry.turns[0].speaker))
        given = Candidates(matter, tuple(one.matter for one in near))
        answer = await ask(CONSOLIDATE, given, self._mode, runtime.context.ports.model)
        if answer.value is None or answer.value.target is None:
            return new, answer.parse_failures
        merged = _merged(new, near[answer.value.target - 1], answer.value)
        if merged.entry.index != entry.index:
            merged = replace(merged, row=(await document_vectors([merged.entry.index], runtime))[0])
        return merged, answer.parse_failures

    async def _cued_anew(
        self, plan: list[Change], before: Sequence[Entry], runtime: Runtime[MemoryContext]
    ) -> tuple[list[Change], int]:
        """What a merge put in other words needs other cues."""
        said = [(entry.index, entry.value) for entry in before]
        places = [at for at, change in enumerate(plan) if (change.entry.index, change.entry.value) != said[at]]
        entries, failures = await cues_for([plan[at].entry for at in places], self._mode, runtime.context.ports.model)
        for at, entry in zip(places, entries, strict=True):
            plan[at] = replace(plan[at], entry=entry)
        return plan, failures


def _near(new: Change, plan: Sequence[Change], store: MemoryStore) -> list[Near]:
    replaced = {change.target for change in plan if change.target is not None and not change.repeats}
    found = [
        Near(item.id, item.attrs[INDEX], item.text, item.attrs["speaker"], item.observed_at, item.score or 0.0)
        for item in store.search_vector(new.row, CANDIDATES + len(replaced), kinds=FACT_KINDS)
        if item.id not in replaced
    ]
    found += [
        Near(
            place,
            one.index,
            one.value,
            one.turns[0].speaker,
            last_time(one.turns),
            round(float(new.row @ change.row), 6),
        )
        for place, change in enumerate(plan)
        if (one := change.entry).kind in FACT_KINDS
        and one.episode.number < new.entry.episode.number
        and not (change.repeats or place in replaced)
    ]
    return sorted((one for one in found if one.score >= NEAR), key=lambda one: -one.score)[:CANDIDATES]


def _merged(new: Change, old: Near, decided: Consolidation) -> Change:
    entry = new.entry
    index, value = decided.index or entry.index, decided.value or entry.value
    if value == old.value:
        return replace(new, target=old.target, repeats=True)
    sources = entry.sources
    heard = [old.value, entry.value, *(f"{turn.speaker} {turn.content}" for turn in entry.turns)]
    if containment(value, heard) < SUPPORTED:
        sources = tuple(replace(source, method="unknown") for source in sources)
    return replace(new, entry=replace(entry, index=index, value=value, sources=sources), target=old.target)


def _statement(value: str, at: datetime | None) -> tuple[Sequence[str], Sequence[str]]:
    """What makes two values the same: their words, and the days that time words in them mean."""
    return lexical_tokens(value), [] if at is None else [moment.resolved for moment in moments(value, at)]


def _slots(value: str, speaker: str) -> tuple[SlotFact, ...]:
    # a value by the rule opens with who says it; one by a model names the person in the third
    return slot_facts(value.removeprefix(f"{speaker}: "), speaker=speaker)


async def persist(state: ConsolidationState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `persist`: carries the plan out; sets `added`, `updated` and `invalidated`.

    Entries link to their cues, and cues to every version of an entry that they lead to, so that a read as of an earlier
    time follows them to what held then. A cue that leads to nothing that holds becomes a tombstone.
    """
    store, plan = runtime.context.store, state["plan"]
    names: dict[str, str] = {}
    for cue in (cue for change in plan if not change.repeats for cue in change.entry.cues):
        names.setdefault(cue.casefold(), cue)
    known = {key: item.id for key in names if (item := _live_cue(key, store)) is not None}
    fresh = [key for key in names if key not in known]
    rows = await document_vectors([names[key] for key in fresh], runtime) if fresh else ()
    cue_ids = known | dict(zip(fresh, free_ids([_cue_name(key) for key in fresh], store), strict=True))
    written = _Written(store)
    for change in plan:
        written.take(change, [cue_ids[cue.casefold()] for cue in change.entry.cues if not change.repeats])
    for key, row in zip(fresh, rows, strict=True):
        written.new_cue(cue_ids[key], names[key], row)
    for cue_id in known.values():
        written.lead_further(cue_id)
    written.prune()
    return {
        "added": tuple(written.added),
        "updated": tuple(written.updated),
        "invalidated": tuple(written.invalidated),
    }


@dataclass(slots=True)
class _Written:
    """What one run has stored so far."""

    store: MemoryStore
    ids: list[ItemId] = field(default_factory=list)
    """The entry that each step of the plan came to."""
    led: dict[ItemId, list[tuple[ItemId, Entry]]] = field(default_factory=dict)
    """Cue to the entries of this run that it leads to."""
    added: list[ItemId] = field(default_factory=list)
    updated: list[ItemId] = field(default_factory=list)
    invalidated: list[ItemId] = field(default_factory=list)

    def take(self, change: Change, cues: Sequence[ItemId]) -> None:
        """Carry out one step; `cues` are those of an entry that is new or changed."""
        entry, store = change.entry, self.store
        target = self.ids[change.target] if isinstance(change.target, int) else change.target
        links = tuple(dict.fromkeys(cues))
        if target is None:
            item_id = free_ids([f"{entry.kind}-{entry.turns[0].turn_id}"], store)[0]
            store.put([entry.item(item_id, links)], change.row[None])
            self.added.append(item_id)
        elif change.repeats:
            item_id = store.amend(target, sources=entry.sources).id
            self.updated.append(item_id)
        else:
            item_id = _renewed(store.get(target), change, links, store)
            self.updated.append(item_id)
            self.invalidated.append(target)
        self.ids.append(item_id)
        for cue in links:
            self.led.setdefault(cue, []).append((item_id, entry))

    def new_cue(self, cue_id: ItemId, text: str, row: Vectors) -> None:
        """Store a cue with the entries that it leads to."""
        links = [item_id for item_id, _ in self.led[cue_id]]
        first = self.led[cue_id][0][1]
        cue = made_from(first.turns, item_id=cue_id, kind="cue", text=text, sources=self._sources(cue_id), links=links)
        self.store.put([cue], row[None])
        self.added.append(cue_id)

    def lead_further(self, cue_id: ItemId) -> None:
        """Let a stored cue lead to further entries."""
        links = (*self.store.get(cue_id).links, *(item_id for item_id, _ in self.led[cue_id]))
        self.store.amend(cue_id, links=links, sources=self._sources(cue_id))

    def prune(self) -> None:
        """End the cues of replaced entries that lead to nothing any more."""
        for replaced in list(self.invalidated):
            old = self.store.get(replaced)
            for link in old.links:
                cue = self.store.get(link)
                if cue.is_live and not any(self.store.get(entry).is_live for entry in cue.links):
                    self.store.invalidate(cue.id, at=old.valid_to)
                    self.invalidated.append(cue.id)

    def _sources(self, cue_id: ItemId) -> tuple[Source, ...]:
        return united_sources(*(entry.sources for _, entry in self.led[cue_id]))


def _renewed(old: MemoryItem, change: Change, links: Sequence[ItemId], store: MemoryStore) -> ItemId:
    """Stores a further version of an entry. It holds from when both were said: turns may come out of order."""
    entry = change.entry
    times = [at for at in (old.observed_at, last_time(entry.turns)) if at is not None]
    new = store.update(
        old.id,
        text=entry.value,
        sources=entry.sources,
        at=max(times, default=None),
        vector=change.row,
        seq=max(turn.index for turn in entry.turns),
    )
    return store.amend(new.id, attrs=entry.item(new.id, ()).attrs, links=links).id


def _cue_name(key: str) -> str:
    return f"cue-{key}"


def _live_cue(key: str, store: MemoryStore) -> MemoryItem | None:
    """The cue of these words that holds; ended ones of the same words stand before it."""
    name = _cue_name(key)
    item_id, repeat = ItemId(name), 1
    while is_stored(item_id, store):
        if (item := store.get(item_id)).is_live:
            return item
        repeat += 1
        item_id = ItemId(f"{name}#{repeat}")
    return None
