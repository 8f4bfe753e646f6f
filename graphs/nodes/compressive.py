"""Nodes of a memory that is one short text: a session is written down, then everything is put together anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from langgraph.runtime import Runtime

from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.compressive import (
    ENTRY,
    Recalled,
    entries_of,
    in_order,
    part_of,
    replace_entries,
    session_items,
    talks_so_far,
    talks_text,
    unkept,
)
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.compress import COMPRESS, About, Compressed, Compressing
from mnemoscope.graphs.contracts.extract_facts import Fact
from mnemoscope.graphs.contracts.session_memory import SESSION_MEMORY
from mnemoscope.graphs.nodes.facts import UNREADABLE, drawn_from, from_pool, left_out
from mnemoscope.graphs.nodes.read import fit_latest
from mnemoscope.graphs.state import MemoryContext, ReadState, WriteState

__all__ = [
    "LEFT_OUT",
    "CompressMemory",
    "CompressiveState",
    "Recompress",
    "WriteSession",
    "cut_events",
    "inject",
    "nothing_recalled",
]

Recompress = Literal["full", "incremental"]
LEFT_OUT = "left out by compression"


class CompressiveState(WriteState, total=False):
    """One run of the WRITE graph."""

    recalled: tuple[Recalled, ...]
    """What the session that is over leaves behind."""


class WriteSession:
    """Node `summarise`: events of the session that is over, and what it tells about people and assistant.

    Memories that a probe brings along are events as they stand. Turns that nothing is kept of are dropped.

    Args:
        mode: Whether a model is asked, once per session.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: CompressiveState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ended`; sets `recalled`, `dropped` and `parse_failures`."""
        brought = [one for turn in state["ended"] if (one := from_pool((turn,))) is not None]
        given = {turn.turn_id for one in brought for turn in one.turns}
        spoken = tuple(turn for turn in state["ended"] if turn.turn_id not in given)
        recalled = [Recalled("event", one) for one in brought]
        if not spoken:
            return {"recalled": tuple(recalled)}
        answer = await ask(SESSION_MEMORY, spoken, self._mode, runtime.context.ports.model)
        if answer.value is None:
            dropped = dict.fromkeys((turn.turn_id for turn in spoken), UNREADABLE)
        else:
            told: Sequence[tuple[About, Sequence[Fact]]] = (
                ("user", answer.value.user), ("bot", answer.value.bot), ("event", answer.value.events)
            )  # fmt: skip
            found = [Recalled(about, one) for about, facts in told for one in drawn_from(facts, spoken)]
            dropped = left_out(spoken, [source for one in found for source in one.drawn.sources])
            recalled += found
        return {"recalled": tuple(recalled), "dropped": dropped, "parse_failures": answer.parse_failures}


class CompressMemory:
    """Node `compress`: puts everything that was left behind together anew, and stores what has changed.

    The memory is a set of entries; one that stays as it is stays the same item, one that is left out becomes a
    tombstone. An answer that cannot be read, or holds nothing at all, leaves the memory as it was.

    Args:
        tokens: The longest memory, in estimated tokens.
        recompress: `full` works on all sessions, which are kept beside it; `incremental` on the memory before and the
            new session, and keeps nothing else.
        mode: Whether a model is asked.
    """

    def __init__(self, tokens: int, recompress: Recompress, mode: Mode) -> None:
        self._tokens, self._recompress, self._mode = tokens, recompress, mode

    async def __call__(self, state: CompressiveState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `recalled` and `ended`; sets `added`, `updated`, `invalidated`, `dropped` and `parse_failures`."""
        store, ended = runtime.context.store, state["ended"]
        full = self._recompress == "full"
        new = session_items(state["recalled"], store)
        entries = list(store.items(ENTRY))
        notes = [*([item for item in store.items() if item.kind != ENTRY] if full else in_order(entries)), *new]
        talks = talks_so_far(entries, ended)
        given = Compressing(tuple(map(part_of, notes)), self._tokens, talks_text(talks))
        answer = await ask(COMPRESS, given, self._mode, runtime.context.ports.model)
        kept = new if full else []
        store.put(kept)
        added = [item.id for item in kept]
        if answer.value is None or answer.value == Compressed((), (), ""):
            gone = {} if full else unkept(new, (), UNREADABLE)
            return {"added": tuple(added), "dropped": gone, "parse_failures": max(1, answer.parse_failures)}
        wanted = entries_of(answer.value, notes, ended, talks)
        changes = replace_entries(entries, wanted, store, ended)
        return {
            "added": (*added, *changes.added),
            "updated": changes.updated,
            "invalidated": changes.invalidated,
            "dropped": {}
            if full
            else unkept(new, [store.get(i) for i in (*changes.added, *changes.updated)], LEFT_OUT),
            "parse_failures": answer.parse_failures,
        }


def nothing_recalled(state: CompressiveState) -> bool:
    """The session left nothing behind: the memory stays as it is."""
    return not state.get("recalled")


async def inject(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `inject`: the whole memory as it stood at `now`: who people are, how they deal with each other, events."""
    now = state.get("now")
    held = runtime.context.store.held(now, ENTRY)
    known = [item for item in held if now is None or item.valid_from is None or item.valid_from <= now]
    return {"found": tuple(item.ranked(rank, None) for rank, item in enumerate(in_order(known), start=1))}


async def cut_events(state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `cut`: a token budget cuts the oldest events off first, and the profile last; `k` does not apply."""
    found = state["found"]
    head = sum(item.attrs["about"] != "event" for item in found)
    return {"retrieval": fit_latest(found, state["budget"], head=head)}
