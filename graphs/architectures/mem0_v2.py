"""`mem0-v2-style`: facts drawn in one pass and only ever added; words and names re-rank what is near in meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.language.entities import entities
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, Mode, asks_nothing, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import nothing_ready, vector_store
from mnemoscope.graphs.contracts.asking import Answer, ask, planned_call
from mnemoscope.graphs.contracts.extract_facts import Extraction, Fact
from mnemoscope.graphs.contracts.extract_new import EXTRACT_NEW, NewExtraction
from mnemoscope.graphs.nodes.batches import ObserveBatches
from mnemoscope.graphs.nodes.entity_links import (
    ENTITY_WEIGHT,
    BoostByEntities,
    EntityReadState,
    EntityState,
    LinkEntities,
    names_in,
)
from mnemoscope.graphs.nodes.facts import FACTS, ExtractFacts, FactState, document_vectors, fact_texts, nothing_drawn
from mnemoscope.graphs.nodes.read import cut, deep_enough
from mnemoscope.graphs.nodes.write import window_text
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.provenance import free_ids, made_from
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.graphs.windows import windows_of
from mnemoscope.memory_backends.record import Capabilities, MemoryItem, Source
from mnemoscope.scenarios.records import Turn

__all__ = ["mem0_v2_style"]

CONTEXT, LONGEST_EARLIER = 10, 300
"""Earlier turns that the extractor sees, and how much of each, in characters."""
NEIGHBOURS = 10
"""Stored facts that a batch is compared with."""
THRESHOLD = 0.1
"""Cosine below which nothing is found, whatever words or names say."""
_SIZES = {"turn": 1, "pair": 2, "session": 10_000}
"""Turns of one extraction; a session is over long before the last."""
_STEEPNESS = ((3, 5.0, 0.7), (6, 7.0, 0.6), (9, 9.0, 0.5), (15, 10.0, 0.5))
"""Up to so many words in a question: midpoint and steepness of the sigmoid over BM25 scores."""
_LONG = (12.0, 0.5)
MOST_NAMES = 8
_A_FACT = "A stated fact about somebody, with a name and a date in it."
"""As long as facts usually are; for estimates."""


class Mem0State(EntityState, total=False):
    """One run of the WRITE graph."""

    neighbours: tuple[MemoryItem, ...]
    """Stored facts near what is said, each once."""
    again: tuple[tuple[ItemId, tuple[Source, ...]], ...]
    """Stored facts that were stated once more, with the turns that did."""


class EmbedBatch:
    """Node `embed_batch`: the stored facts nearest to what is said, as one text."""

    async def __call__(self, state: Mem0State, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ready`; sets `neighbours`."""
        store = runtime.context.store
        if not len(store):
            return {"neighbours": ()}
        rows = await document_vectors([window_text(batch) for batch in state["ready"]], runtime)
        near = [item for row in rows for item in store.search_vector(row, NEIGHBOURS, kinds=FACTS)]
        return {"neighbours": tuple({item.id: item for item in near}.values())}


class ExtractNew(ExtractFacts):
    """Node `extract`: facts of the ready batch, drawn in view of what is stored near it."""

    async def answer(
        self, batch: tuple[Turn, ...], state: FactState, runtime: Runtime[MemoryContext]
    ) -> Answer[tuple[Fact, ...]]:
        """Reads `before` and `neighbours`."""
        before = tuple(turn.model_copy(update={"text": turn.text[:LONGEST_EARLIER]}) for turn in state["before"])
        known = tuple(item.text for item in cast("Mem0State", state)["neighbours"])
        given = NewExtraction(Extraction(batch, before), known)
        return await ask(EXTRACT_NEW, given, self.mode, runtime.context.ports.model)


async def dedup(state: Mem0State, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `dedup`: sets aside the facts that a neighbour states word for word; `facts` keeps the others."""
    stored = {item.text: item.id for item in state["neighbours"]}
    return {
        "facts": tuple(fact for fact in state["facts"] if fact.text not in stored),
        "again": tuple((stored[fact.text], fact.sources) for fact in state["facts"] if fact.text in stored),
    }


async def persist(state: Mem0State, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `persist`: stores the new facts and names; a fact stated once more gains the turns that did."""
    store, facts, names = runtime.context.store, state["facts"], state["entities"]
    ids = free_ids([f"fact-{fact.turns[0].turn_id}" for fact in facts], store)
    items = [
        made_from(
            fact.turns,
            item_id=item_id,
            kind="fact",
            text=fact.text,
            sources=fact.sources,
            links=links,
            attrs={"speaker": fact.speaker},
        )
        for fact, item_id, links in zip(facts, ids, state["links"], strict=True)
    ]
    side_table = [replace(items[e.fact], id=e.id, kind="entity", text=e.name, links=(), attrs={}) for e in names]
    if items:
        store.put([*items, *side_table], np.vstack([state["vectors"], *(entity.row for entity in names)]))
    again = tuple(store.amend(item_id, sources=sources).id for item_id, sources in state["again"])
    return {"added": (*ids, *(entity.id for entity in names)), "updated": again}


class Semantic:
    """Node `semantic`: the facts near the question in meaning; words and names choose among them and no others.

    Args:
        depth: Candidates at least.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth

    async def __call__(self, state: EntityReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`, `budget` and `now`; sets `by_vector` and `names`."""
        embedder, store, now = runtime.context.ports.embedder, runtime.context.store, state.get("now")
        if embedder is None:
            raise BackendError("there is no embedder", phase="retrieve")
        if not len(store):
            return {"by_vector": (), "names": np.zeros((0, embedder.dim), np.float32)}
        text = state["query"].text
        rows = await embedder.embed([text, *entities(text)[:MOST_NAMES]], "query")

        def search(k: int) -> list[MemoryItem]:
            return store.search_vector(rows[0], max(k, self._depth), now=now, kinds=FACTS)

        near = deep_enough(search, state["budget"], len(store))
        return {"by_vector": tuple(item for item in near if (item.score or 0.0) >= THRESHOLD), "names": rows[1:]}


class Words:
    """Node `bm25`: the facts that have the question's words, function words left out.

    Args:
        depth: Hits at most.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth

    async def __call__(self, state: EntityReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query` and `now`; sets `by_words`."""
        words = " ".join(content_tokens(state["query"].text))
        hits = runtime.context.store.search_lexical(words, self._depth, now=state.get("now"), kinds=FACTS)
        return {"by_words": tuple(hits)}


class Fuse:
    """Node `fuse`: orders the candidates by meaning, words and names together.

    Where the budget asks for a deeper ranking than the candidates give, the facts next in meaning follow without a
    score; so the head never depends on how deep the ranking is kept.

    Args:
        depth: Candidates.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth

    async def __call__(self, state: EntityReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`, `by_vector`, `by_words` and `boosts`; sets `found`."""
        near, boosts = state["by_vector"], state["boosts"]
        squash = _squasher(len(content_tokens(state["query"].text)))
        words = {item.id: squash(item.score or 0.0) for item in state["by_words"]}
        most = 1 + bool(words) + ENTITY_WEIGHT * bool(boosts)

        def score(item: MemoryItem) -> float:
            named = max((boosts.get(entity, 0.0) for entity in item.links), default=0.0)
            return round(min(((item.score or 0.0) + words.get(item.id, 0.0) + named) / most, 1.0), 6)

        head = [(item, score(item)) for item in near[: self._depth]]
        head.sort(key=lambda pair: -pair[1])  # stable: of equals, the one nearer in meaning comes first
        ranking = [*head, *((item, None) for item in near[self._depth :])]
        return {"found": tuple(item.ranked(rank, value) for rank, (item, value) in enumerate(ranking, start=1))}


def mem0_v2_style(add_per: str = "pair", k: int = 20, mode: str = "heuristic") -> Architecture:
    """Mem0 as its package works since 2.0, written anew: one extraction per call, and memories are only ever added.

    What is said is embedded as a whole, and the stored facts nearest to it are shown to the extractor; a fact that one
    of them states word for word is not stored again. The names in each fact go to a side table, one entity from a
    cosine of 0.95 on. A read scores the facts nearest to the question by
    `(cosine + sigmoid(BM25) + boost of shared names) / Z`, where `Z` is the most that the signals at hand can give
    (1, 2, 1.5 or 2.5); below a cosine of 0.1 nothing is found. What contradicts is kept side by side.

    Differences from the source: facts name their turns (the package credits nothing, and its adapters the whole call);
    a repeated fact gives its turn to the stored one (the package forgets it); names are found by their form and words
    are not lemmatised (the package uses spaCy, for English), so both work in Chinese; an entity keeps its first name's
    turns as sources; links between memories, which the package asks for and discards, are not asked for; BM25 is that
    of Lucene, over facts only. In `heuristic` mode clauses are the facts.

    Args:
        add_per: What one extraction takes in: a `turn`, a `pair` of turns or a `session`.
        k: Results that the package would be asked for, 1 to 1,000: words and names re-rank the max(4k, 60) nearest
            facts. How many are handed over is the run's budget.
        mode: `heuristic` or `llm`.
    """
    per, most = one_of("add_per", add_per, tuple(_SIZES)), whole("k", k, 1, 1_000)
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    size, depth = _SIZES[per], max(4 * most, 60)
    return Architecture(
        name=named(
            "mem0-v2-style",
            {"add_per": per, "k": most, "mode": how},
            {"add_per": "pair", "k": 20, "mode": "heuristic"},
        ),
        summary="facts, only ever added; words and names re-rank what is near",
        capabilities=Capabilities(
            needs_flush=size > 1, needs_embedder=True, keeps_turns=False, finest_provenance="cited"
        ),
        write=write_graph(
            {
                "window": ObserveBatches(size, context=CONTEXT),
                "embed_batch": EmbedBatch(),
                "extract": ExtractNew(how),
                "dedup": dedup,
                "link_entities": LinkEntities(),
                "persist": persist,
            },
            state=Mem0State,
            skip_after={"window": nothing_ready, "extract": nothing_drawn},
        ),
        read=read_graph(
            {
                "semantic": Semantic(depth),
                "bm25": Words(depth),
                "entity_boost": BoostByEntities(),
                "fuse": Fuse(depth),
                "cut": cut,
            },
            state=EntityReadState,
        ),
        new_store=partial(vector_store, lexical=True, lexical_kinds=FACTS),
        embeds=_texts(size),
        asks=_calls(size) if how == "llm" else asks_nothing,
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
        family="facts",
        loses="what no fact was drawn from; the wording; which of two contradicting facts holds",
    )


def _squasher(words: int) -> Callable[[float], float]:
    """BM25 scores of a question of so many words, brought to 0–1."""
    middle, steep = next(((m, s) for most, m, s in _STEEPNESS if words <= most), _LONG)
    return lambda raw: 1 / (1 + math.exp(-steep * (raw - middle)))


def _texts(size: int) -> Callable[[Sequence[Turn]], Sequence[str]]:
    """Batches, facts and names: what taking in whole sessions embeds."""
    facts_of = fact_texts(size)

    def texts(turns: Sequence[Turn]) -> Sequence[str]:
        facts = facts_of(turns)
        speakers = dict.fromkeys(turn.speaker for turn in turns)
        names = dict.fromkeys(name for fact in facts for speaker in speakers for name in names_in(fact, speaker))
        return [*(window_text(batch) for batch in windows_of(turns, size, 0)), *facts, *names]

    return texts


def _calls(size: int) -> Callable[[Sequence[Turn]], Usage]:
    def asks(turns: Sequence[Turn]) -> Usage:
        total = Usage()
        for batch in windows_of(turns, size, 0):
            given = NewExtraction(Extraction(batch), (_A_FACT,) * NEIGHBOURS)
            total = total + planned_call(EXTRACT_NEW, EXTRACT_NEW.show(given))
        return total

    return asks
