"""Nodes of the READ graphs: search or take → cut to the budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.budgeting import RANKED, fit, item_tokens
from mnemoscope.memory_backends.record import Budget, ItemKind, MemoryItem, Retrieval

__all__ = [
    "RRF_CONSTANT",
    "SearchVector",
    "SearchWords",
    "cut",
    "cut_oldest",
    "deep_enough",
    "fills",
    "fit_latest",
    "fuse_ranks",
    "known_by",
]

RRF_CONSTANT = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""
FIRST_DEPTH = 128
"""Items that one search asks for; turns of a chat fill the usual depth with about a hundred."""

_NEVER = datetime.max.replace(tzinfo=UTC)

Search = Callable[[int], list[MemoryItem]]


class SearchWords:
    """Node `search_words`: BM25 ranking, as deep as the budget asks.

    Args:
        channel: Where the ranking goes: `found` to be cut as it is, `by_words` to be fused.
    """

    def __init__(self, channel: Literal["found", "by_words"] = "found") -> None:
        self._channel = channel

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`, `budget` and `now`."""
        store, text, now = runtime.context.store, state["query"].text, state.get("now")
        return {
            self._channel: deep_enough(lambda k: store.search_lexical(text, k, now=now), state["budget"], len(store))
        }


class SearchVector:
    """Node `search_vector`: nearest vectors, as deep as the budget asks.

    Args:
        channel: Where the ranking goes: `found` to be cut as it is, `by_vector` to be fused.
        kinds: What is looked for; None: everything.
    """

    def __init__(
        self, channel: Literal["found", "by_vector"] = "found", kinds: Collection[ItemKind] | None = None
    ) -> None:
        self._channel, self._kinds = channel, kinds

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query`, `budget` and `now`."""
        embedder, store, now = runtime.context.ports.embedder, runtime.context.store, state.get("now")
        if embedder is None:
            raise BackendError("there is no embedder", phase="retrieve")
        if not len(store):
            return {self._channel: ()}
        vector = (await embedder.embed([state["query"].text], "query"))[0]
        return {
            self._channel: deep_enough(
                lambda k: store.search_vector(vector, k, now=now, kinds=self._kinds), state["budget"], len(store)
            )
        }


async def cut(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `cut`: hands over what the budget allows, rendered."""
    return {"retrieval": fit(state["found"], state["budget"])}


async def cut_oldest(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `cut` of a block in conversation order: the number of items is not limited, and the oldest go first."""
    return {"retrieval": fit_latest(state["found"], state["budget"])}


def fit_latest(found: Sequence[MemoryItem], budget: Budget, *, head: int = 0) -> Retrieval:
    """Cut items in conversation order to a token budget: the oldest go first, and `k` does not apply.

    Args:
        found: The items.
        budget: Its `max_tokens` counts.
        head: Leading items that stay until all others are gone.
    """
    budget = replace(budget, k=None)
    whole = fit(found, budget)
    if not whole.truncated:
        return whole
    first, rest = tuple(found[:head]), found[head:]
    kept = max(0, fit((*first, *reversed(rest)), budget, lambda items: "").given - head)
    while (retrieval := fit((*first, *rest[len(rest) - kept :]), budget)).truncated and kept:
        kept -= 1
    return replace(retrieval, truncated=True)


def deep_enough(search: Search, budget: Budget, size: int) -> tuple[MemoryItem, ...]:
    """Search deeper until the ranking fills the budget's depth or there is nothing more to find.

    Args:
        search: Gives the best `k` items; more only where the last place is tied.
        budget: Says how deep the ranking must be; one item more than `k` shows a tie at the cut.
        size: Items in the store.
    """
    unbounded = budget.k is None and budget.max_tokens is None
    depth = size if unbounded else min(size, max(FIRST_DEPTH, (budget.k or 0) + 1))
    while depth:
        found = search(depth)
        if len(found) < depth or depth >= size or fills(found, budget):
            return tuple(found)
        depth = min(size, depth * 4)
    return ()


def fuse_ranks(
    *rankings: Sequence[MemoryItem], weights: Sequence[float] | None = None
) -> list[tuple[MemoryItem, float]]:
    """Reciprocal rank fusion: each item once with the sum of weight / (60 + rank) over the rankings, ranks from 1.

    Best first; ties are broken by time, then id.

    Args:
        rankings: Each best first.
        weights: One per ranking; None: all 1.
    """
    scores: dict[ItemId, float] = {}
    items: dict[ItemId, MemoryItem] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(ranking, start=1):
            items.setdefault(item.id, item)
            scores[item.id] = scores.get(item.id, 0.0) + weight / (RRF_CONSTANT + rank)
    pairs = [(item, round(scores[item_id], 6)) for item_id, item in items.items()]
    pairs.sort(key=lambda pair: (-pair[1], *_tie_key(pair[0])))
    return pairs


def _tie_key(item: MemoryItem) -> tuple[int, datetime, ItemId]:
    return item.seq_to, item.observed_at or _NEVER, item.id


def known_by(items: Iterable[MemoryItem], now: datetime | None) -> tuple[MemoryItem, ...]:
    """Items in conversation order that were said by `now`, numbered; undated ones count as said."""
    said = [item for item in items if now is None or item.observed_at is None or item.observed_at <= now]
    said.sort(key=lambda item: (item.seq_from, item.seq_to, item.id))
    return tuple(item.ranked(rank, None) for rank, item in enumerate(said, start=1))


def fills(items: Sequence[MemoryItem], budget: Budget) -> bool:
    """Whether a ranking is as deep as a budget can ask for, one item more than `k` included."""
    if budget.k is None and budget.max_tokens is None:
        return False
    enough = len(items) > max(budget.k or 0, RANKED)
    return enough and _tokens_exceed(items, max(budget.depth_tokens, budget.max_tokens or 0))


def _tokens_exceed(items: Sequence[MemoryItem], limit: int) -> bool:
    total = 0
    for item in items:
        total += item_tokens(item)
        if total > limit:
            return True
    return False
