"""`mem0-v1-style`: facts of each pair of turns, each added, merged, deleted or skipped against its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.core.language.slots import slot_facts
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, Mode, asks_nothing, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import nothing_ready, vector_store
from mnemoscope.graphs.contracts.asking import ask, planned_call
from mnemoscope.graphs.contracts.decide_ops import DECIDE_OPS, Known, NewFact, Op, OpsGiven
from mnemoscope.graphs.nodes.batches import ObserveBatches
from mnemoscope.graphs.nodes.facts import (
    FACTS,
    Drawn,
    ExtractFacts,
    FactState,
    document_vectors,
    extraction_calls,
    fact_texts,
    nothing_drawn,
)
from mnemoscope.graphs.nodes.read import SearchVector, cut
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.provenance import free_ids, last_time, made_from
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import Capabilities, MemoryItem
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = ["mem0_v1_style"]

PAIR = 2
"""Turns per extraction: a user's turn and the reply to it."""
RETRACTS = "ends a stored memory"
UNDECIDED = "no valid decision"
_A_FACT = "A stated fact about somebody, with a name and a date in it.\n"
"""As long as facts usually are; for estimates."""


class Mem0State(FactState, total=False):
    """One run of the WRITE graph."""

    neighbours: tuple[MemoryItem, ...]
    """Stored facts near any of the new ones, each once; decisions name them by their place, from 1."""
    nearness: tuple[Mapping[int, float], ...]
    """Per new fact: place of a neighbour to cosine."""
    ops: tuple[Op, ...]


class SearchNeighbours:
    """Node `search_neighbours`: the stored facts nearest to each new one.

    Args:
        depth: Neighbours per fact.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth

    async def __call__(self, state: Mem0State, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `facts`; sets `vectors`, `neighbours` and `nearness`."""
        vectors = await document_vectors([fact.text for fact in state["facts"]], runtime)
        near = [runtime.context.store.search_vector(row, self._depth, kinds=FACTS) for row in vectors]
        found = {item.id: item for items in near for item in items}
        place = {item_id: number for number, item_id in enumerate(found, start=1)}
        return {
            "vectors": vectors,
            "neighbours": tuple(found.values()),
            "nearness": tuple({place[item.id]: item.score or 0.0 for item in items} for items in near),
        }


class Decide:
    """Node `decide`: ADD, UPDATE, DELETE or NOOP for every new fact.

    Args:
        mode: Whether a model is asked; about a fact with nothing stored near it, there is nothing to ask.
        per_fact: Asks about each fact alone, against its own neighbours; else about all facts of the pair at once.
    """

    def __init__(self, mode: Mode, per_fact: bool) -> None:
        self._mode, self._per_fact = mode, per_fact

    async def __call__(self, state: Mem0State, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `facts`, `neighbours` and `nearness`; sets `ops` and `parse_failures`."""
        facts, near = state["facts"], state["nearness"]
        known = [Known(item.text, slot_facts(item.text, speaker=item.attrs["speaker"])) for item in state["neighbours"]]
        ops: dict[int, Op] = {}
        changed: set[int] = set()
        failures = 0
        for numbers, places in self._questions(near, len(known)):
            if not places:
                ops |= {number: Op(number, "ADD") for number in numbers}
                continue
            given = OpsGiven(
                tuple(_new(facts[number - 1], near[number - 1], places) for number in numbers),
                tuple(known[place - 1] for place in places),
            )
            answer = await ask(DECIDE_OPS, given, self._mode, runtime.context.ports.model)
            failures += answer.parse_failures
            for op in answer.value or ():
                number, target = numbers[op.fact - 1], None if op.target is None else places[op.target - 1]
                changes = target is not None and op.name != "NOOP"
                if changes and target in changed:
                    failures += 1
                    continue
                ops[number] = replace(op, fact=number, target=target)
                changed |= {target} if changes and target is not None else set()
        return {"ops": tuple(ops.values()), "parse_failures": failures}

    def _questions(
        self, near: Sequence[Mapping[int, float]], known: int
    ) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Numbers of the facts of each question, and the places of the neighbours that it shows."""
        if self._per_fact:
            return [((number,), tuple(places)) for number, places in enumerate(near, start=1)]
        return [(tuple(range(1, len(near) + 1)), tuple(range(1, known + 1)))]


def _new(fact: Drawn, near: Mapping[int, float], places: Sequence[int]) -> NewFact:
    """A fact as a question shows it, its neighbours numbered as that question numbers them."""
    numbered = {number: near[place] for number, place in enumerate(places, start=1) if place in near}
    return NewFact(fact.text, slot_facts(fact.text, speaker=fact.speaker), numbered)


class Apply:
    """Node `apply`: carries the decisions out; every version is kept, and provenance is united.

    What is known already gives its turns to the stored fact first, so that a version that replaces it in the same run
    has them too.
    """

    async def __call__(self, state: Mem0State, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `facts`, `vectors`, `neighbours` and `ops`; sets `added`, `updated`, `invalidated` and `dropped`."""
        store, facts, known = runtime.context.store, state["facts"], state["neighbours"]
        ops = sorted(state["ops"], key=lambda op: op.name != "NOOP")
        # all that an endpoint answers comes before the first change: a run that fails is repeated as a whole
        rows = await _rows(ops, state, runtime)
        added: list[ItemId] = []
        updated: list[ItemId] = []
        invalidated: list[ItemId] = []
        ended: dict[TurnId, str] = {}
        for op, row in zip(ops, rows, strict=True):
            fact = facts[op.fact - 1]
            if op.target is None:
                added.append(item_id := free_ids([f"fact-{fact.turns[0].turn_id}"], store)[0])
                store.put([_item(item_id, fact)], row[None])
                continue
            old, at = known[op.target - 1], last_time(fact.turns)
            if op.name == "NOOP":
                updated.append(store.amend(old.id, sources=fact.sources).id)
                continue
            invalidated.append(old.id)
            if op.name == "DELETE":
                store.invalidate(old.id, at=at)
                ended |= dict.fromkeys((turn.turn_id for turn in fact.turns), RETRACTS)
                continue
            text, seq = op.text or fact.text, fact.turns[-1].index
            updated.append(store.update(old.id, text=text, sources=fact.sources, at=at, vector=row, seq=seq).id)
        return {
            "added": tuple(added),
            "updated": tuple(updated),
            "invalidated": tuple(invalidated),
            "dropped": _unkept(facts, [*added, *updated], ended, store),
        }


async def _rows(ops: Sequence[Op], state: Mem0State, runtime: Runtime[MemoryContext]) -> list[np.ndarray]:
    """One vector per decision: that of its fact, or of the text that it states the fact in."""
    texts = [op.text for op in ops if op.text is not None]
    given = iter(await document_vectors(texts, runtime) if texts else ())
    return [state["vectors"][op.fact - 1] if op.text is None else next(given) for op in ops]


def mem0_v1_style(neighbours: int = 10, per_fact: bool = False, mode: str = "heuristic") -> Architecture:
    """Mem0 as published (arXiv 2504.19413) and as its package worked until 1.x, written anew.

    Every pair of turns is asked for facts; each fact is compared with the stored ones nearest to it, and added, merged
    into one of them, dropped as known, or taken as the end of one. A read is a nearest-neighbour search over the facts
    that hold.

    Differences from the source: facts name their turns (the original credits the pair); a fact that is known already
    gives its turn to the stored one (the original forgets where it came from); a replaced or ended fact stays as a
    tombstone; a decision about something that was not offered is refused and counted; there is no rolling summary
    (the paper's context has one, the package had none) and no graph variant. In `heuristic` mode clauses are the
    facts, and the same slot of the same person decides about merging, whatever the cosine.

    Args:
        neighbours: Stored facts that each new one is compared with, 1 to 50; the paper has 10, the package had 5.
        per_fact: One decision per fact, as the paper has it; the package decided on all facts of a pair at once.
        mode: `heuristic` or `llm`.
    """
    if not isinstance(per_fact, bool):
        raise ConfigError(f"per_fact is {per_fact!r}; it must be true or false")
    depth = whole("neighbours", neighbours, 1, 50)
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    return Architecture(
        name=named(
            "mem0-v1-style",
            {"neighbours": depth, "per_fact": per_fact, "mode": how},
            {"neighbours": 10, "per_fact": False, "mode": "heuristic"},
        ),
        summary="facts, merged with what is stored about the same",
        capabilities=Capabilities(
            needs_flush=True, needs_embedder=True, updates=True, keeps_turns=False, finest_provenance="cited"
        ),
        write=write_graph(
            {
                "window": ObserveBatches(PAIR, context=10),
                "extract": ExtractFacts(how),
                "search_neighbours": SearchNeighbours(depth),
                "decide": Decide(how, per_fact),
                "apply": Apply(),
            },
            state=Mem0State,
            skip_after={"window": nothing_ready, "extract": nothing_drawn},
        ),
        read=read_graph({"search": SearchVector(kinds=FACTS), "cut": cut}),
        new_store=vector_store,
        embeds=fact_texts(PAIR),
        asks=_calls(depth, per_fact) if how == "llm" else asks_nothing,
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
        family="facts",
        loses="what no fact was drawn from; the wording; a merged fact's older form, kept as a tombstone",
    )


def _item(item_id: ItemId, fact: Drawn) -> MemoryItem:
    return made_from(
        fact.turns,
        item_id=item_id,
        kind="fact",
        text=fact.text,
        sources=fact.sources,
        attrs={"speaker": fact.speaker},
    )


def _unkept(
    facts: Sequence[Drawn], kept: Sequence[ItemId], ended: Mapping[TurnId, str], store: MemoryStore
) -> dict[TurnId, str]:
    """Turns that none of the items made in this run names: they ended a memory, or nothing valid was decided."""
    covered = {source.turn_id for item_id in kept for source in store.get(item_id).sources}
    gone = [turn.turn_id for fact in facts for turn in fact.turns if turn.turn_id not in covered]
    return {turn_id: ended.get(turn_id, UNDECIDED) for turn_id in gone}


def _calls(depth: int, per_fact: bool) -> Callable[[Sequence[Turn]], Usage]:
    extraction, facts = extraction_calls(PAIR), fact_texts(PAIR)

    def asks(turns: Sequence[Turn]) -> Usage:
        drawn = extraction(turns)
        decisions = len(facts(turns)) if per_fact else drawn.calls
        return drawn + planned_call(DECIDE_OPS, _A_FACT * (depth + (1 if per_fact else 2)), decisions)

    return asks
