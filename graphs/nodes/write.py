"""Nodes of the WRITE graphs: observe → render → index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.graphs.provenance import free_ids, last_time
from mnemoscope.graphs.state import MemoryContext, WriteEvent, WriteState
from mnemoscope.graphs.windows import OpenWindow
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["ObserveWindows", "drop_turn", "index_vectors", "index_words", "render", "window_item", "window_text"]


class ObserveWindows:
    """Node `observe`: collects turns until a window is complete or its session ends.

    Args:
        size: Turns per window.
        overlap: Turns that a window shares with the one before.
    """

    def __init__(self, size: int, overlap: int) -> None:
        self._size, self._overlap = size, overlap

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event`, `buffer` and `waiting`; sets `ready`, and the other two anew."""
        event = state["event"]
        window = OpenWindow(self._size, self._overlap, state["buffer"], len(state["waiting"]))
        if event.turn is not None:
            if event.turn.is_empty:
                return {"dropped": {event.turn.turn_id: "empty"}, "ready": ()}
            window, ready = window.take(event.turn)
        elif ends_session(event, window.turns):
            window, ready = window.close()
        else:
            return {"ready": ()}
        return {"ready": ready, "buffer": window.turns, "waiting": tuple(turn.turn_id for turn in window.waiting)}


def ends_session(event: WriteEvent, turns: Sequence[Turn]) -> bool:
    """Whether a flush ends the session that these turns belong to."""
    if event.reason == "history_end":
        return True
    return event.reason == "session_end" and (
        event.session_id is None or not turns or turns[-1].session_id == event.session_id
    )


async def drop_turn(state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `drop`: lets every turn go by policy."""
    turn = state["event"].turn
    if turn is None:
        return {"ready": ()}
    return {"dropped": {turn.turn_id: "empty" if turn.is_empty else "policy"}}


async def render(state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `render`: one item per ready window, in the one form in which turns are kept."""
    store = runtime.context.store
    return {"drafts": tuple(window_item(window, store) for window in state["ready"])}


async def index_words(state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `index` without vectors: stores the drafts."""
    drafts = state["drafts"]
    runtime.context.store.put(drafts)
    return {"added": tuple(item.id for item in drafts)}


async def index_vectors(state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `index` with vectors: embeds the drafts' texts, then stores them; nothing is stored if embedding fails."""
    embedder, drafts = runtime.context.ports.embedder, state["drafts"]
    if embedder is None:
        raise BackendError("there is no embedder", phase="write")
    vectors = await embedder.embed([item.text for item in drafts], "document")
    runtime.context.store.put(drafts, vectors)
    return {"added": tuple(item.id for item in drafts)}


def window_text(window: Sequence[Turn]) -> str:
    """The text of a window: one dated line per turn; a memory from a pool is the bare fact."""
    if window[0].session_id == POOL_SESSION:
        return "\n".join(turn.content for turn in window)
    return "\n".join(unit_text(turn) for turn in window)


def window_item(window: Sequence[Turn], store: MemoryStore) -> MemoryItem:
    """An item made of consecutive turns, each a verbatim source with an equal share.

    Its id is the turn's, or the first and the last turn's.
    """
    first, last = window[0], window[-1]
    observed = last_time(window)
    attrs = {"session": str(first.session_id)}
    if len(window) == 1 and first.session_id != POOL_SESSION:
        attrs["speaker"] = first.speaker
    return MemoryItem(
        id=free_ids([first.turn_id if len(window) == 1 else f"{first.turn_id}..{last.turn_id}"], store)[0],
        kind="turn" if len(window) == 1 else "chunk",
        text=window_text(window),
        sources=tuple(Source(turn.turn_id, "verbatim", 1 / len(window)) for turn in window),
        observed_at=observed,
        valid_from=observed,
        seq_from=first.index,
        seq_to=last.index,
        attrs=attrs,
    )
