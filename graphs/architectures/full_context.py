"""`full-context`: hands over the whole history in order, as far as the token budget allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import keep_windows, plain_store
from mnemoscope.graphs.handing_over import share_of_history, text_of
from mnemoscope.graphs.nodes.read import cut_oldest, fit_latest, known_by
from mnemoscope.graphs.parameters import named, whole
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.record import Capabilities, MemoryItem
from mnemoscope.memory_backends.rendering import item_text, render_block

__all__ = ["full_context", "take_all"]

MOST_CHARACTERS = 100_000_000


async def take_all(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `take_all`: everything said by `now`, in order of the conversation."""
    return {"found": known_by(runtime.context.store.items(), state.get("now"))}


class CutCharacters:
    """Node `cut` with a limit in characters: the oldest turns go until the block is short enough.

    Args:
        last_chars: The longest block, in characters.
    """

    def __init__(self, last_chars: int) -> None:
        self._limit = last_chars

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `found` and `budget`; sets `retrieval`."""
        found = state["found"]
        kept = _fitting(found, self._limit)
        retrieval = fit_latest(found[len(found) - kept :], state["budget"])
        return {"retrieval": replace(retrieval, truncated=retrieval.truncated or kept < len(found))}


def _fitting(found: Sequence[MemoryItem], limit: int) -> int:
    """How many of the last items make a block within a limit of characters."""
    length, kept = 0, 0
    for item in reversed(found):
        length += len(item_text(item)) + (1 if kept else 0)
        if length > limit:
            break
        kept += 1
    while kept and len(render_block(found[len(found) - kept :])) > limit:
        kept -= 1
    return kept


def full_context(last_chars: int = 0) -> Architecture:
    """Keeps every turn; `k` does not apply, and a token budget cuts the oldest turns off.

    Args:
        last_chars: Hand over at most so many characters, the last ones; 0: no such limit. LoCoMo-Conv's all-memory
            variant keeps the last 95,000 and cuts inside a turn; here a turn is never torn.
    """
    limit = whole("last_chars", last_chars, 0, MOST_CHARACTERS)
    clipped = f"the last {limit:,} characters of the history in order" if limit else "the whole history in order"
    return Architecture(
        name=named("full-context", {"last_chars": limit}, {"last_chars": 0}),
        summary=f"{clipped}; a token budget cuts the oldest turns off",
        capabilities=Capabilities(blob_context=True, ranks=False),
        write=keep_windows(),
        read=read_graph({"take_all": take_all, "cut": CutCharacters(limit) if limit else cut_oldest}),
        new_store=plain_store,
        hands_over=text_of(limit // 4) if limit else share_of_history(),
        family="control",
        loses=f"all but the last {limit:,} characters" if limit else "the oldest turns, once a token budget is full",
    )
