"""Nodes that keep a summary of the session that is over: as the data has it, by a model, or by choosing sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.core.language.display import conversation_time
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import LanguageModel, Message
from mnemoscope.core.structured import read_structured
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.extracts import Passage, central, count_words, cut_at_sentence, extract
from mnemoscope.graphs.nodes.write import ends_session
from mnemoscope.graphs.provenance import last_time
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.scenarios.records import Turn

__all__ = [
    "DEFAULT_WORDS",
    "GIVEN_SUMMARY",
    "ObserveSession",
    "Retire",
    "Summarise",
    "nothing_ended",
    "summary_calls",
    "summary_text",
    "without_model",
]

GIVEN_SUMMARY = "session_summary"
"""Key of `Turn.meta` of a session's last turn: the summary that came with the data."""
DEFAULT_WORDS = 150
"""MemUse's summaries are at most this long."""

_SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
_INSTRUCTION = (
    "You keep notes for an assistant. Summarise the conversation below in at most {words} words, in its own language: "
    "what the user told about themselves, their plans, feelings and requests, with names, numbers and dates. Write "
    'nothing that is not in it. Reply as JSON: {{"summary": "…"}}.'
)


class ObserveSession:
    """Node `observe`: holds a session's turns back until it is over."""

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event` and `buffer`; sets `buffer`, `waiting` and `ended`."""
        event, held = state["event"], state["buffer"]
        turn = event.turn
        if turn is None:
            over = held if held and ends_session(event, held) else ()
            return {"ended": over, "buffer": () if over else held, "waiting": () if over else state["waiting"]}
        if turn.is_empty:
            return {"dropped": {turn.turn_id: "empty"}, "ended": ()}
        over = held if held and held[-1].session_id != turn.session_id else ()
        kept = (turn,) if over else (*held, turn)
        return {"ended": over, "buffer": kept, "waiting": tuple(one.turn_id for one in kept)}


class Summarise:
    """Node `summarise`: one item for the session that is over, added to the drafts.

    Args:
        words: The longest summary, in words; two characters of an unspaced script count as one.
        mode: `llm` asks the model where the data brings no summary; a reply that cannot be read is counted and
            replaced by chosen sentences. `heuristic` never asks.
    """

    def __init__(self, words: int = DEFAULT_WORDS, mode: Mode = "heuristic") -> None:
        self._words, self._mode = words, mode

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ended` and `drafts`; sets `drafts`, and what a model cost."""
        turns, drafts = state["ended"], state.get("drafts", ())
        if not turns:
            return {"drafts": drafts}
        text, origin, usage, failures = turns[-1].meta.get(GIVEN_SUMMARY, "").strip(), "given", Usage(), 0
        if not text and self._mode == "llm":
            text, usage = await self._asked(turns, runtime.context.ports.model)
            origin, failures = "model", int(not text)
        cited: frozenset[TurnId] = frozenset()
        if not text:
            origin = "chosen sentences"
            text, cited = summary_text(turns, self._words)
        return {
            "drafts": (*drafts, _summary_item(turns, text, origin, cited)),
            "usage": usage,
            "parse_failures": failures,
        }

    async def _asked(self, turns: Sequence[Turn], model: LanguageModel | None) -> tuple[str, Usage]:
        if model is None:
            raise without_model("summary")
        completion = await model.complete(
            [Message("system", _INSTRUCTION.format(words=self._words)), Message("user", _transcript(turns))],
            phase="summarise",
            schema=_SCHEMA,
            max_tokens=4 * self._words,
        )
        value = read_structured(completion.text, _SCHEMA).value
        text = str(value["summary"]).strip() if value else ""
        return cut_at_sentence(text, self._words, count_words), completion.usage


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
        old = [item for item in store.items() if item.kind == "summary" and item.id != newest]
        at = last_time(state["ended"])
        for item in old:
            store.invalidate(item.id, at=at)
        gone = {source.turn_id: "policy" for item in old for source in item.sources} if self._lets_go else {}
        return {"invalidated": tuple(item.id for item in old), "dropped": gone}


def nothing_ended(state: WriteState) -> bool:
    """No session is over: the rest of the WRITE graph has nothing to do."""
    return not state.get("ended")


def summary_text(turns: Sequence[Turn], words: int) -> tuple[str, frozenset[TurnId]]:
    """The sentences of a session that speak most of what it speaks of, and the turns that they stand in."""
    passages = [Passage(t.content, f"{t.speaker}: ", (Source(t.turn_id, "cited"),)) for t in turns]
    text, used = extract(passages, central([turn.content for turn in turns]), words, count_words)
    return text, frozenset(source.turn_id for passage in used for source in passage.sources)


def summary_calls(words: int = DEFAULT_WORDS) -> Callable[[Sequence[Turn]], Usage]:
    """An estimate of what summaries by a model cost: one call per session that brings none."""

    def asks(turns: Sequence[Turn]) -> Usage:
        total = Usage()
        for session in _sessions(turns):
            if not session[-1].meta.get(GIVEN_SUMMARY, "").strip():
                prompt = estimate_tokens((_INSTRUCTION, _transcript(session)))
                total = total + Usage({"summarise": 1}, prompt_tokens=prompt, completion_tokens=2 * words)
        return total

    return asks


def without_model(name: str) -> ConfigError:
    """The error of an architecture that asks a model and has none."""
    return ConfigError(f"{name}(mode=llm) asks a model and there is none; add --memory-model or --model")


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


def _transcript(turns: Sequence[Turn]) -> str:
    lines = [f"{turn.speaker}: {turn.content}" for turn in turns]
    return "\n".join([f"Conversation of {conversation_time(turns[0].at)}", *lines])


def _sessions(turns: Sequence[Turn]) -> list[list[Turn]]:
    found: list[list[Turn]] = []
    for turn in turns:
        if turn.is_empty:
            continue
        if found and found[-1][-1].session_id == turn.session_id:
            found[-1].append(turn)
        else:
            found.append([turn])
    return found
