"""Node `window` of memories that take in a few turns at a time, with earlier ones for understanding."""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.runtime import Runtime

from mnemoscope.graphs.nodes.write import ends_session
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.graphs.windows import OpenWindow
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["ObserveBatches"]


class ObserveBatches:
    """Node `window`: collects turns until a batch is complete or its session ends; keeps what came before it.

    Args:
        size: Turns per batch.
        context: Earlier turns that stay at hand, of earlier sessions too; none for a memory that a probe brings along.
    """

    def __init__(self, size: int, context: int) -> None:
        self._size, self._context = size, context

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event`, `buffer` and `waiting`; sets `ready` and `before`, and the other two anew."""
        event, held, open_ids = state["event"], state["buffer"], set(state["waiting"])
        waiting = tuple(turn for turn in held if turn.turn_id in open_ids)
        before = tuple(turn for turn in held if turn.turn_id not in open_ids)
        window = OpenWindow(self._size, 0, waiting, len(waiting))
        if event.turn is not None:
            if event.turn.is_empty:
                return {"dropped": {event.turn.turn_id: "empty"}, "ready": ()}
            window, ready = window.take(event.turn)
        elif ends_session(event, waiting):
            window, ready = window.close()
        else:
            return {"ready": ()}
        said = [turn for batch in ready for turn in batch if turn.session_id != POOL_SESSION]
        kept = (*before, *said)[-self._context :] if self._context else ()
        alone = bool(ready) and not said
        return {
            "ready": ready,
            "before": () if alone else before,
            "buffer": (*kept, *window.turns),
            "waiting": tuple(turn.turn_id for turn in window.turns),
        }
