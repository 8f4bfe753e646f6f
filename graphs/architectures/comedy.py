"""`comedy-style`: one short text about a person, written anew after every session; nothing is searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import cast

from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, Mode, asks_nothing, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import plain_store
from mnemoscope.graphs.contracts.asking import planned_call
from mnemoscope.graphs.contracts.compress import COMPRESS
from mnemoscope.graphs.contracts.session_memory import SESSION_MEMORY
from mnemoscope.graphs.handing_over import text_of
from mnemoscope.graphs.nodes.compressive import (
    CompressiveState,
    CompressMemory,
    Recompress,
    WriteSession,
    cut_events,
    inject,
    nothing_recalled,
)
from mnemoscope.graphs.nodes.summaries import ObserveSession, nothing_ended
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.scenarios.records import Turn

__all__ = ["comedy_style"]

DEFAULT_TOKENS, MOST_TOKENS = 512, 8_000
_A_NOTE = "1. (event, 8 May 2023) One dated sentence about what somebody did or planned.\n"
_NOTES_PER_SESSION = 6
"""What a session usually leaves behind; for estimates."""


def comedy_style(tokens: int = DEFAULT_TOKENS, recompress: str = "full", mode: str = "heuristic") -> Architecture:
    """COMEDY (arXiv 2402.11975), written anew: session memories, compressed into one memory that is handed over whole.

    After every session its events and portraits of user and assistant are written down; then all of them are
    compressed into events, a profile of the user and a sentence on the relationship, which replace the memory before.
    There is no retrieval: a read hands the memory over as it stands.

    Differences from the source: statements name their turns, and every entry of the memory names those of the notes
    that it was made from (the original keeps no trace, and the union of all turns would make recall 1 by
    construction); what is left out of the memory stays as a tombstone; the profile takes nothing from the assistant's
    turns; the cap is 512 estimated tokens (the original is bounded by its window of 2,048), and what exceeds it is cut
    at a sentence's end; an empty answer never erases the memory. The original's 7B and 13B models were trained for the
    three tasks; here any model is prompted. In `heuristic` mode clauses about slots of people's lives are the
    portraits, three central clauses a session the events, counts the relationship: a check of the plumbing.

    Args:
        tokens: The longest memory, in estimated tokens, 1 to 8,000.
        recompress: `full`, from all session memories, as the source; `incremental`, from the memory before and the
            new session only: linear in sessions, and it drifts.
        mode: `heuristic` or `llm`.
    """
    longest = whole("tokens", tokens, 1, MOST_TOKENS)
    way = cast("Recompress", one_of("recompress", recompress, ("full", "incremental")))
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    return Architecture(
        name=named(
            "comedy-style",
            {"tokens": longest, "recompress": way, "mode": how},
            {"tokens": DEFAULT_TOKENS, "recompress": "full", "mode": "heuristic"},
        ),
        summary="one short text of events, profile and relationship, written anew after each session",
        capabilities=Capabilities(
            needs_flush=True,
            blob_context=True,
            keeps_turns=False,
            ranks=False,
            selective=True,
            finest_provenance="cited",
        ),
        write=write_graph(
            {
                "observe": ObserveSession(),
                "summarise": WriteSession(how),
                "compress": CompressMemory(longest, way, how),
            },
            state=CompressiveState,
            skip_after={"observe": nothing_ended, "summarise": nothing_recalled},
        ),
        read=read_graph({"inject": inject, "cut": cut_events}),
        new_store=plain_store,
        asks=_calls(longest, way) if how == "llm" else asks_nothing,
        hands_over=text_of(longest),
        family="summary",
        loses="all that does not fit into one short text: most details, whatever is asked",
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
    )


def _calls(tokens: int, recompress: Recompress) -> Callable[[Sequence[Turn]], Usage]:
    """Two calls per session; the second reads all sessions so far, or the memory before and the new one."""

    def asks(turns: Sequence[Turn]) -> Usage:
        total, notes = Usage(), ""
        spoken = [turn for turn in turns if not turn.is_empty]
        for _, session in groupby(spoken, key=lambda turn: turn.session_id):
            new = _A_NOTE * _NOTES_PER_SESSION
            notes = notes + new if recompress == "full" else "x" * 4 * tokens + new
            total = total + planned_call(SESSION_MEMORY, SESSION_MEMORY.show(tuple(session)))
            total = total + planned_call(COMPRESS, notes)
        return total

    return asks
