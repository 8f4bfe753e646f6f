"""A side table of names: facts link to the names in them, and a question's names lift the facts that link to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId
from mnemoscope.core.language.entities import entities
from mnemoscope.core.language.facts import statement_of
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.nodes.facts import FACTS, FactState, document_vectors
from mnemoscope.graphs.provenance import is_stored
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.store import MemoryStore

__all__ = [
    "ENTITY_WEIGHT",
    "BoostByEntities",
    "EntityReadState",
    "EntityState",
    "LinkEntities",
    "NewEntity",
    "names_in",
]

SAME = 0.95
"""Cosine from which two names are one entity."""
NEAR = 0.5
"""Cosine from which a question's name speaks of a stored one."""
ENTITY_WEIGHT = 0.5
"""The most that names add to a score."""
CROWD = 0.001
"""How fast a name that many facts link to loses its say."""


@dataclass(frozen=True, slots=True)
class NewEntity:
    """A name that no stored entity goes by."""

    id: ItemId
    name: str
    fact: int
    """Place of the first fact that has it, from 0."""
    row: Vectors


class EntityState(FactState, total=False):
    """One run of a WRITE graph that links facts to names."""

    links: tuple[tuple[ItemId, ...], ...]
    """Per fact: the entities in it."""
    entities: tuple[NewEntity, ...]


class EntityReadState(ReadState, total=False):
    """One run of a READ graph that knows names."""

    names: Vectors
    """One vector per name in the question, shape `(names, dim)`."""
    boosts: Mapping[ItemId, float]
    """Entity to what a fact that links to it gains, 0–0.5."""


class LinkEntities:
    """Node `link_entities`: the names in each new fact, as entities that are stored or new. It stores nothing."""

    async def __call__(self, state: EntityState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `facts`; sets `vectors`, `links` and `entities`."""
        facts, store = state["facts"], runtime.context.store
        named = [{_id(name): name for name in names_in(fact.text, fact.speaker)} for fact in facts]
        unknown = {key: name for names in named for key, name in names.items() if not is_stored(key, store)}
        texts = [fact.text for fact in facts]
        # facts and names in one request
        rows = await document_vectors([*texts, *unknown.values()], runtime) if facts else np.zeros((0, 0), np.float32)
        same, new = _resolved(unknown, rows[len(texts) :], named, store)
        return {
            "vectors": rows[: len(texts)],
            "links": tuple(tuple(dict.fromkeys(same.get(key, key) for key in names)) for names in named),
            "entities": new,
        }


class BoostByEntities:
    """Node `entity_boost`: what the names in the question are worth to the facts that link to them.

    A name that `n` facts link to gives `similarity · 0.5 / (1 + 0.001 (n - 1)²)`.
    """

    async def __call__(self, state: EntityReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `names` and `now`; sets `boosts`."""
        store, now = runtime.context.store, state.get("now")
        if not len(state["names"]):
            return {"boosts": {}}
        keys = _entities(store.held(now, "entity"))
        nearness = _cosines(state["names"], keys, store).max(axis=0)
        near = {key: score for key, score in zip(keys, nearness.tolist(), strict=True) if score >= NEAR}
        linked = Counter(entity for item in store.held(now, *FACTS) for entity in item.links if entity in near)
        return {"boosts": {e: s * ENTITY_WEIGHT / (1 + CROWD * (linked[e] - 1) ** 2) for e, s in near.items()}}


def names_in(fact: str, speaker: str) -> tuple[str, ...]:
    """The names in a fact; the speaker's counts wherever it stands, unless it is a mere role such as `user`."""
    statement = statement_of(fact)
    found = entities(statement)
    if speaker in statement and speaker not in found and not speaker.islower():
        return (speaker, *found)
    return found


def _resolved(
    unknown: Mapping[ItemId, str], rows: Vectors, named: Sequence[Collection[ItemId]], store: MemoryStore
) -> tuple[dict[ItemId, ItemId], tuple[NewEntity, ...]]:
    """The unknown names that go by another's entity, and those that become one."""
    same: dict[ItemId, ItemId] = {}
    new: list[NewEntity] = []
    stored = _entities(store.items("entity")) if unknown else []
    for (key, name), row, cosines in zip(unknown.items(), rows, _cosines(rows, stored, store), strict=True):
        hits = [*zip(cosines.tolist(), stored, strict=True), *((float(row @ entity.row), entity.id) for entity in new)]
        score, nearest = max(hits, key=lambda hit: hit[0], default=(0.0, key))
        if score >= SAME:
            same[key] = nearest
        else:
            new.append(NewEntity(key, name, next(n for n, keys in enumerate(named) if key in keys), row))
    return same, tuple(new)


def _entities(items: Iterable[MemoryItem]) -> list[ItemId]:
    return [item.id for item in items]


def _cosines(rows: Vectors, keys: Sequence[ItemId], store: MemoryStore) -> np.ndarray:
    """Cosines of unit vectors with those of stored entities, shape `(rows, entities)`.

    Entities are few and lie among many facts: comparing with them alone is cheaper than a search that skips facts.
    """
    if not keys:
        return np.zeros((len(rows), len(keys)))
    return np.asarray(np.round(rows.astype(np.float64) @ store.vectors(keys).astype(np.float64).T, 6))


def _id(name: str) -> ItemId:
    return ItemId(f"entity-{name.casefold()}")
