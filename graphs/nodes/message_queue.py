"""Nodes of a queue of messages under memory pressure: what comes in, a warning, a summary of what has to leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import accumulate

from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId, TurnId, sha256_of
from mnemoscope.core.language.sentences import split_sentences
from mnemoscope.core.language.tokens import content_tokens, estimate_tokens
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.desk import Desk
from mnemoscope.graphs.contracts.recursive_summary import RECURSIVE_SUMMARY, Leaving
from mnemoscope.graphs.contracts.remember import REMEMBER
from mnemoscope.graphs.contracts.tool_calls import Step
from mnemoscope.graphs.core_memory import blocks_of
from mnemoscope.graphs.provenance import free_ids, made_from
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = [
    "KEEPS",
    "Enqueue",
    "QueueState",
    "Summarise",
    "desk_of",
    "leaving",
    "message_id",
    "passage_id",
    "warn",
    "way_in",
]

WARN = 0.75
"""Share of the window from which the agent is warned."""
LEAVE = 0.75
"""Share of the queue's tokens that leaves it when the window overflows."""
KEEPS = 3
"""Newest messages that never leave the queue."""
QUOTED = 0.6
"""Share of a sentence's words in a message from which the sentence cites it."""
_FRAME = 12
"""Tokens of a message's time and name."""
_INSTRUCTION = estimate_tokens(REMEMBER.instruction)

_ALERT = (
    "The queue of messages is nearly full; the oldest will soon be replaced by a summary. Store now what of them is "
    "worth keeping word for word."
)


class QueueState(WriteState, total=False):
    """One run of the WRITE graph."""

    desk: Desk
    held: tuple[MemoryItem, ...]
    """The lines of core memory and the summary, as they are stored."""
    way: str
    """Where the run goes from `enqueue`, in words."""
    passages: tuple[MemoryItem, ...]
    """Made by this run; their ids are settled when they are stored."""
    summary: MemoryItem | None
    """Made by this run, to take the place of the stored one."""
    step: Step
    steps: int
    failed: bool
    """A call of the last step did."""


class Enqueue:
    """Node `enqueue`: puts a message into the queue, and says how full the window is with it.

    Args:
        window: Tokens of the agent's context: instruction, core memory, summary and queue.
        limit: Characters of a block of core memory.
    """

    def __init__(self, window: int, limit: int) -> None:
        self._window, self._limit = window, limit

    async def __call__(self, state: QueueState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event` and `buffer`; sets both anew, `desk`, `held`, `way` and `steps`, or `dropped`."""
        turn = state["event"].turn
        if turn is None or turn.is_empty:
            return {"way": "nothing came in", **({"dropped": {turn.turn_id: "empty"}} if turn else {})}
        if turn.session_id == POOL_SESSION:
            return {"way": "there is nothing to decide", "passages": (_brought(turn),)}
        messages = (*state["buffer"], turn)
        desk = desk_of(runtime.context.store, messages, self._window, self._limit)
        held = [line.stored for block in desk.blocks for line in block.lines if line.stored]
        return {
            "buffer": messages,
            "waiting": (),
            "desk": desk,
            "held": (*held, desk.summary) if desk.summary else tuple(held),
            "passages": (),
            "summary": None,
            "steps": 0,
            "way": self._way(desk),
        }

    def _way(self, desk: Desk) -> str:
        fixed = _INSTRUCTION + estimate_tokens(block.value for block in desk.blocks)
        fixed += estimate_tokens(desk.summary.text) if desk.summary else 0
        sizes = [_tokens(turn, desk.longest) for turn in desk.messages]
        if fixed + sum(sizes) > self._window and len(sizes) > KEEPS:
            return "the window overflows"
        if _is_reply(desk.messages[-1]):
            return "there is nothing to decide"
        # the agent is warned once: when it looks for the first time since the mark was passed
        seen = next((place for place in range(len(sizes) - 2, -1, -1) if not _is_reply(desk.messages[place])), -1)
        mark = WARN * self._window - fixed
        return "the mark is passed" if sum(sizes) > mark >= sum(sizes[: seen + 1]) else "somebody spoke"


async def way_in(state: QueueState) -> str:
    """Where a run goes from `enqueue`."""
    return state["way"]


async def warn(state: QueueState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `warn`: tells the agent that the queue is nearly full."""
    return {"desk": replace(state["desk"], alert=_ALERT)}


class Summarise:
    """Node `summarise`: the oldest messages leave the queue; one summary stands for them and for the earlier one.

    Args:
        mode: Whether a model is asked; a reply that cannot be read is counted and replaced by chosen sentences.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: QueueState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `desk`; sets `desk`, `buffer`, `summary` and `parse_failures`."""
        desk, store = state["desk"], runtime.context.store
        gone = leaving(desk.messages, desk.longest)
        given = Leaving(gone, desk.summary.text if desk.summary else "", desk.longest)
        answer = await ask(RECURSIVE_SUMMARY, given, self._mode, runtime.context.ports.model)
        text = answer.value or str(RECURSIVE_SUMMARY.rule(given)["summary"])
        summary = made_from(
            gone,
            item_id=free_ids([f"summary-{gone[-1].turn_id}"], store)[0],
            kind="summary",
            text=text,
            sources=_quoted(text, desk.summary, gone, store),
        )
        if desk.summary:
            summary = replace(summary, seq_from=min(summary.seq_from, desk.summary.seq_from))
        rest = desk.messages[len(gone) :]
        return {
            "desk": replace(desk, messages=rest, summary=summary),
            "buffer": rest,
            "summary": summary,
            "parse_failures": answer.parse_failures,
            "way": "there is nothing to decide" if _is_reply(rest[-1]) else "somebody spoke",
        }


def desk_of(
    store: MemoryStore,
    messages: tuple[Turn, ...],
    window: int,
    limit: int,
    now: datetime | None = None,
    question: str = "",
) -> Desk:
    """What an agent has before it: core memory and the summary as of a time, and what there is to search.

    A message is shown up to a quarter of the window, so that a single one never fills it.

    Args:
        store: The memory.
        messages: The queue.
        window: Tokens.
        limit: Characters of a block.
        now: None: all that is stored.
        question: What is asked, if anything.
    """
    return Desk(
        blocks=blocks_of(store.held(now, "core_block"), limit),
        messages=messages,
        longest=window,
        summary=next(iter(store.held(now, "summary")), None),
        recall=len(store.held(now, "message")),
        archival=len(store.held(now, "passage")),
        question=question,
    )


def leaving(messages: tuple[Turn, ...], longest: int) -> tuple[Turn, ...]:
    """The oldest messages that make up their share of the queue's tokens; the newest ones stay in any case."""
    sizes = [_tokens(turn, longest) for turn in messages]
    before = accumulate(sizes, initial=0)
    share = LEAVE * sum(sizes)
    return tuple(turn for turn, total in zip(messages[:-KEEPS], before, strict=False) if total < share)


def message_id(turn_id: TurnId) -> ItemId:
    """Id of a message in recall memory."""
    return ItemId(f"message-{turn_id}")


def passage_id(text: str) -> ItemId:
    """Id of a passage; the same words have the same."""
    return ItemId(f"passage-{sha256_of(text)[:16]}")


def _tokens(turn: Turn, longest: int) -> int:
    return _FRAME + min(_estimate(turn.content), longest // 4)


@lru_cache(maxsize=65_536)
def _estimate(text: str) -> int:
    return estimate_tokens(text)


def _is_reply(turn: Turn) -> bool:
    return turn.role == "assistant"


def _brought(turn: Turn) -> MemoryItem:
    """A memory that a probe brings along: a passage as it stands."""
    return made_from(
        (turn,),
        item_id=passage_id(turn.content),
        kind="passage",
        text=turn.content,
        sources=(Source(turn.turn_id, "verbatim"),),
    )


def _quoted(text: str, earlier: MemoryItem | None, gone: Sequence[Turn], store: MemoryStore) -> tuple[Source, ...]:
    """The messages that a summary's sentences repeat best; where all of it is in its own words, those that left now."""
    earlier_ids = [message_id(source.turn_id) for source in earlier.sources] if earlier else []
    said = {item.sources[0].turn_id: set(content_tokens(item.text)) for item in map(store.get, earlier_ids)}
    said |= {turn.turn_id: set(content_tokens(f"{turn.speaker} {turn.content}")) for turn in gone}
    cited: set[TurnId] = set()
    for words in (set(content_tokens(one)) for line in text.splitlines() for one in split_sentences(line)):
        common = {turn_id: len(words & own) for turn_id, own in said.items()}
        best = max(common.values(), default=0)
        cited |= {turn_id for turn_id, count in common.items() if count == best >= max(1, QUOTED * len(words))}
    if cited:
        return tuple(Source(turn_id, "cited", 1 / len(cited)) for turn_id in said if turn_id in cited)
    return tuple(Source(turn.turn_id, "batch", 1 / len(gone)) for turn in gone)
