"""Nodes that keep a summary of the session that is over: as the data has it, by a model, or by choosing sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.core.language.sentences import split_sentences
from mnemoscope.core.language.tokens import lexical_tokens
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask, planned_call
from mnemoscope.graphs.contracts.rolling_summary import chosen_sentences, rolling_summary
from mnemoscope.graphs.nodes.write import ends_session
from mnemoscope.graphs.provenance import last_time
from mnemoscope.graphs.state import MemoryContext, WriteEvent, WriteState
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = [
    "DEFAULT_WORDS",
    "GIVEN_SUMMARY",
    "ObserveSession",
    "Retire",
    "Summarise",
    "nothing_ended",
    "session_summary",
    "summary_calls",
]

GIVEN_SUMMARY = "session_summary"
"""Key of `Turn.meta` of a session's last turn: the summary that came with the data."""
DEFAULT_WORDS = 150
"""MemUse's summaries are at most this long."""


class ObserveSession:
    """Node `observe`: holds a session's turns back until it is over.

    Memories that a probe brings along are held beside them until they are complete, and end no session.
    """

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event` and `buffer`; sets `buffer`, `waiting` and `ended`."""
        event, held = state["event"], state["buffer"]
        turn = event.turn
        if turn is not None and turn.is_empty:
            return {"dropped": {turn.turn_id: "empty"}, "ended": ()}
        over = tuple(one for one in held if _is_over(one, event))
        gone = {one.turn_id for one in over}
        kept = (*(one for one in held if one.turn_id not in gone), *((turn,) if turn else ()))
        return {"ended": over, "buffer": kept, "waiting": tuple(one.turn_id for one in kept)}


def _is_over(held: Turn, event: WriteEvent) -> bool:
    turn = event.turn
    if turn is None:
        return ends_session(event, (held,))
    return held.session_id != turn.session_id and turn.session_id != POOL_SESSION


class Summarise:
    """Node `summarise`: one item for the session that is over, added to the drafts.

    Args:
        words: The longest summary, in words; two characters of an unspaced script count as one.
        mode: `llm` asks the model where the data brings no summary; a reply that cannot be read is counted and
            replaced by chosen sentences. `heuristic` never asks.
    """

    def __init__(self, words: int = DEFAULT_WORDS, mode: Mode = "heuristic") -> None:
        self._words, self._mode = words, mode
        self._contract = rolling_summary(words)

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ended` and `drafts`; sets `drafts` and `parse_failures`."""
        turns, drafts = state["ended"], state.get("drafts", ())
        if not turns:
            return {"drafts": drafts}
        text, origin, failures = _given(turns), "given", 0
        if not text and self._mode == "llm":
            answer = await ask(self._contract, turns, "llm", runtime.context.ports.model)
            text, origin, failures = answer.value or "", "model", answer.parse_failures
        if not text:
            text, origin = chosen_sentences(turns, self._words), "chosen sentences"
        cited = _quoted(text, turns) if origin == "chosen sentences" else frozenset()
        return {"drafts": (*drafts, _summary_item(turns, text, origin, cited)), "parse_failures": failures}


class Retire:
    """Node `retire`: older summaries become tombstones when a new one is there.

    Args:
        lets_turns_go: Whether the turns behind them are dropped by policy too, because nothing else keeps them.
    """

    def __init__(self, *, lets_turns_go: bool) -> None:
        self._lets_go = lets_turns_go

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `added` and `ended`; sets `invalidated` and `dropped`."""
        store = runtime.context.store
        if not state["ended"]:
            return {"invalidated": ()}
        newest = state["added"][-1]
        old = [item for item in store.items("summary") if item.id != newest]
        at = last_time(state["ended"])
        for item in old:
            store.invalidate(item.id, at=at)
        gone = {source.turn_id: "policy" for item in old for source in item.sources} if self._lets_go else {}
        return {"invalidated": tuple(item.id for item in old), "dropped": gone}


def nothing_ended(state: WriteState) -> bool:
    """No session is over: the rest of the WRITE graph has nothing to do."""
    return not state.get("ended")


def _given(turns: Sequence[Turn]) -> str:
    """The summary that the data brings with a session; empty where there is none."""
    return turns[-1].meta.get(GIVEN_SUMMARY, "").strip()


def session_summary(turns: Sequence[Turn], words: int = DEFAULT_WORDS) -> str:
    """What `Summarise` keeps of a session without a model."""
    return _given(turns) or chosen_sentences(turns, words)


def summary_calls(words: int = DEFAULT_WORDS) -> Callable[[Sequence[Turn]], Usage]:
    """An estimate of what summaries by a model cost: one call per session that brings none."""

    def asks(turns: Sequence[Turn]) -> Usage:
        total, contract = Usage(), rolling_summary(words)
        spoken = [turn for turn in turns if not turn.is_empty]
        for _, session in groupby(spoken, key=lambda turn: turn.session_id):
            if not _given(together := tuple(session)):
                total = total + planned_call(contract, contract.show(together))
        return total

    return asks


def _quoted(text: str, turns: Sequence[Turn]) -> frozenset[TurnId]:
    """The turns that have a sentence of a text which was put together of sentences; repetitions count too."""
    leads = tuple(f"{turn.speaker}: " for turn in turns)
    lines = [line.removeprefix(next(filter(line.startswith, leads), "")) for line in text.splitlines()]
    taken = {_words_of(sentence) for line in lines for sentence in split_sentences(line)}
    return frozenset(
        turn.turn_id for turn in turns if any(_words_of(one) in taken for one in split_sentences(turn.content))
    )


def _words_of(sentence: str) -> str:
    return " ".join(lexical_tokens(sentence)) or sentence


def _summary_item(turns: Sequence[Turn], text: str, origin: str, cited: frozenset[TurnId]) -> MemoryItem:
    at = last_time(turns)
    return MemoryItem(
        id=ItemId(f"summary of {turns[0].session_id} ({turns[0].turn_id})"),
        kind="summary",
        text=text,
        sources=tuple(
            Source(turn.turn_id, "cited" if turn.turn_id in cited else "batch", 1 / len(turns)) for turn in turns
        ),
        observed_at=at,
        valid_from=at,
        seq_from=turns[0].index,
        seq_to=turns[-1].index,
        attrs={"session": str(turns[0].session_id), "origin": origin},
    )
