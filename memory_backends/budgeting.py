"""One budget for every memory: how many of the ranked items are handed over, and how deep the ranking is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.memory_backends.record import Budget, MemoryItem, Retrieval
from mnemoscope.memory_backends.rendering import item_text, render_block

__all__ = ["RANKED", "fit", "item_tokens"]

RANKED = 10
"""Items that a ranking keeps at least, whatever the budget: the largest k that metrics cut at by default."""


def item_tokens(item: MemoryItem) -> int:
    """Estimated tokens of one item in a memory block, the break after it included.

    Sums of it bound the tokens of a rendered block from above, so a prefix of a ranking that stays within a token
    budget by this count stays within it when rendered.
    """
    return _tokens(item_text(item))


@lru_cache(maxsize=65_536)
def _tokens(text: str) -> int:
    return estimate_tokens(text + "\n\n")


def fit(
    items: Sequence[MemoryItem],
    budget: Budget,
    render: Callable[[Sequence[MemoryItem]], str] = render_block,
) -> Retrieval:
    """Cut ranked items to a budget.

    The assistant is given the longest prefix of at most `budget.k` items and at most `budget.max_tokens` tokens; an
    item is never torn. The ranking behind it is kept as far as it stays within `budget.depth_tokens`, and for
    `RANKED` items in any case.

    Args:
        items: The ranking, best first.
        budget: The same for every system.
        render: Makes the memory block of the given items.

    Returns:
        A retrieval: `truncated` where tokens allowed fewer items than `k`, `tied_at_cut` where the last given item
        and the next one have the same score.
    """
    running = list(_running(items, max(budget.depth_tokens, budget.max_tokens or 0)))
    wanted = len(items) if budget.k is None else max(0, min(budget.k, len(items)))
    given = wanted if budget.max_tokens is None else min(wanted, _prefix(running, budget.max_tokens))
    rendered = render(items[:given])
    tokens = estimate_tokens(rendered)
    while given and budget.max_tokens is not None and tokens > budget.max_tokens:
        given -= 1
        rendered = render(items[:given])
        tokens = estimate_tokens(rendered)
    return Retrieval(
        items=tuple(items[: max(wanted, RANKED, _prefix(running, budget.depth_tokens))]),
        given=given,
        rendered=rendered,
        context_tokens=tokens,
        truncated=given < wanted,
        tied_at_cut=_tied(items, given),
    )


def _running(items: Sequence[MemoryItem], limit: int) -> Iterator[int]:
    """Sums of tokens up to the first one above the limit; texts behind it are not counted."""
    for total in accumulate(map(item_tokens, items)):
        yield total
        if total > limit:
            return


def _prefix(running: Sequence[int], limit: int) -> int:
    return next((n for n, total in enumerate(running) if total > limit), len(running))


def _tied(items: Sequence[MemoryItem], given: int) -> bool:
    if not 0 < given < len(items):
        return False
    last, following = items[given - 1].score, items[given].score
    return last is not None and last == following
