"""Nodes of memories that work on exchanges: what a user said, with the assistant's reply to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from mnemoscope.graphs.importance import GIVEN, SAID, given_importance
from mnemoscope.graphs.nodes.write import ends_session, window_item
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["MOST_TURNS", "ObserveExchanges", "exchange_item", "exchanges_of", "render_exchanges"]

MOST_TURNS = 8
"""Turns of a user in a row that make one exchange; a longer monologue is cut into several."""


class ObserveExchanges:
    """Node `observe`: collects an exchange until the user speaks again or the session ends.

    Args:
        whole_session: Keep a session's turns until it is over, and then hand them on as `ended`.
    """

    def __init__(self, *, whole_session: bool = False) -> None:
        self._whole = whole_session

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event`, `buffer` and `waiting`; sets `ready` and `ended`, and the other two anew."""
        event, held = state["event"], state["buffer"]
        open_ids = set(state["waiting"])
        exchange = tuple(turn for turn in held if turn.turn_id in open_ids)
        turn = event.turn
        if turn is None:
            if not held or not ends_session(event, held):
                return {"ready": (), "ended": ()}
            return self._state((), (), (exchange,) if exchange else (), held)
        if turn.is_empty:
            return {"dropped": {turn.turn_id: "empty"}, "ready": (), "ended": ()}
        other = bool(held) and held[-1].session_id != turn.session_id
        begins = bool(exchange) and (other or _begins(exchange, turn))
        ready = (exchange,) if begins else ()
        open_now = (turn,) if begins or not exchange else (*exchange, turn)
        kept = ((turn,) if other else (*held, turn)) if self._whole else open_now
        return self._state(kept, open_now, ready, held if other else ())

    def _state(
        self, held: Sequence[Turn], exchange: Sequence[Turn], ready: tuple[tuple[Turn, ...], ...], over: Sequence[Turn]
    ) -> Mapping[str, object]:
        return {
            "buffer": tuple(held),
            "waiting": tuple(turn.turn_id for turn in exchange),
            "ready": ready,
            "ended": tuple(over) if self._whole else (),
        }


async def render_exchanges(state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `render`: one item per exchange, with the importance that its turns were given."""
    return {"drafts": tuple(exchange_item(turns, runtime.context.store) for turns in state["ready"])}


def exchange_item(turns: Sequence[Turn], store: MemoryStore) -> MemoryItem:
    """An exchange as an item: a dated line per turn, each a verbatim source."""
    item = window_item(turns, store)
    said = [turn for turn in turns if turn.role != "assistant"]
    attrs = {**item.attrs, SAID: "\n".join(turn.content for turn in said)}
    if (importance := given_importance(turns)) is not None:
        attrs[GIVEN] = importance
    return replace(item, attrs=attrs)


def exchanges_of(turns: Sequence[Turn]) -> list[tuple[Turn, ...]]:
    """The exchanges that writing these whole sessions makes, in order."""
    found: list[tuple[Turn, ...]] = []
    for turn in turns:
        if turn.is_empty:
            continue
        last = found[-1] if found else ()
        if last and last[-1].session_id == turn.session_id and not _begins(last, turn):
            found[-1] = (*last, turn)
        else:
            found.append((turn,))
    return found


def _begins(exchange: Sequence[Turn], turn: Turn) -> bool:
    """Whether a turn of the same session opens a new exchange.

    Someone among peers has nobody whose turn it is to reply, and memories of a pool are one another's neighbours by
    chance alone; there each turn is an exchange.
    """
    if turn.role == "assistant":
        return False
    last = exchange[-1]
    alone = turn.role == "peer" or turn.session_id == POOL_SESSION or last.role != turn.role
    return alone or len(exchange) >= MOST_TURNS
