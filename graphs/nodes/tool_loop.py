"""Nodes of an agent that keeps its own memory: it decides, tools are run, and at the end all of it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.desk import Desk, Result
from mnemoscope.graphs.contracts.remember import REMEMBER
from mnemoscope.graphs.contracts.tool_calls import APPEND, REPLACE, Call, Step
from mnemoscope.graphs.core_memory import LABEL, SPEAKER, Block, Line, RefusedEditError
from mnemoscope.graphs.nodes.facts import document_vectors
from mnemoscope.graphs.nodes.message_queue import QueueState, message_id, passage_id
from mnemoscope.graphs.nodes.tool_search import SEARCHES, search
from mnemoscope.graphs.provenance import SUPPORTED, containment, free_ids, is_stored, made_from
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.item_store import united_sources
from mnemoscope.memory_backends.record import MemoryItem, Provenance, Source
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["Agent", "Send", "goes_on", "run_tools"]

DONE = "done"


class Agent:
    """Node `agent`: decides which tools are called.

    Args:
        mode: Whether a model is asked, once per step. A reply that cannot be read is counted and ends the loop.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: QueueState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `desk` and `steps`; sets `step`, `steps` and `parse_failures`."""
        answer = await ask(REMEMBER, state["desk"], self._mode, runtime.context.ports.model)
        return {
            "step": answer.value or Step(),
            "steps": state["steps"] + 1,
            "parse_failures": answer.parse_failures,
        }


def goes_on(step: Step, failed: bool, steps: int, most: int) -> bool:
    """Whether the agent has another step: it wants one, or a call failed and it must learn of it.

    Args:
        step: The last one.
        failed: One of its calls did.
        steps: Taken so far.
        most: Steps of one loop.
    """
    return steps < most and (step.heartbeat or failed)


async def run_tools(state: QueueState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
    """Node `tools`: runs the calls of a step on what is before the agent; nothing is stored yet."""
    desk, passages = state["desk"], state["passages"]
    given = desk
    results: list[Result] = []
    for call in state["step"].calls:
        if call.problem:
            result = Result(call.tool, f"error: {call.problem}", failed=True)
        elif call.tool in SEARCHES:
            result = await search(call, runtime, None, passages)
        elif call.tool in (APPEND.name, REPLACE.name):
            desk, result = _edited(call, desk, given)
        else:
            passages = (*passages, _passage(call, desk, given))
            result = Result(call.tool, DONE)
        results.append(result)
    return {
        "desk": replace(desk, results=(*given.results, *results)),
        "passages": passages,
        "failed": any(result.failed for result in results),
    }


def _edited(call: Call, desk: Desk, given: Desk) -> tuple[Desk, Result]:
    label = call.texts["label"].strip()
    block = desk.block(label)
    if block is None:
        known = ", ".join(one.label for one in desk.blocks)
        return desk, Result(call.tool, f"error: there is no block {label!r}; there are {known}", failed=True)
    try:
        return desk.with_block(_change(call, block, given)), Result(call.tool, DONE)
    except RefusedEditError as refusal:
        return desk, Result(call.tool, f"error: {refusal}", failed=True)


def _change(call: Call, block: Block, given: Desk) -> Block:
    if call.tool == REPLACE.name:
        new = call.texts["new"]
        return block.replaced(call.texts["old"], new, _sources(new, call, given) if new.strip() else ())
    # one line per line, so that each can be edited and moved by itself
    for text in filter(str.strip, call.texts["content"].splitlines()):
        block = block.appended(Line(text.strip(), _sources(text, call, given), given.messages[-1].speaker))
    return block


def _passage(call: Call, desk: Desk, given: Desk) -> MemoryItem:
    """A passage; a line of core memory that is stored away word for word keeps its turns and its time."""
    text, turn = call.texts["content"].strip(), given.messages[-1]
    item_id = passage_id(text)
    line = next((line for block in desk.blocks for line in block.lines if line.text == text), None)
    old = line.stored if line is not None else None
    if line is not None and old is not None and old.text == text:
        attrs = {key: value for key, value in old.attrs.items() if key != LABEL}
        return replace(
            old, id=item_id, kind="passage", text=text, sources=line.sources, version=1, supersedes=None, attrs=attrs
        )
    sources = line.sources if line is not None else _sources(text, call, given)
    return made_from(
        (turn,), item_id=item_id, kind="passage", text=text, sources=sources, attrs={SPEAKER: turn.speaker}
    )


def _sources(text: str, call: Call, desk: Desk) -> tuple[Source, ...]:
    """The turns behind what the call cites; without that, the new message, and what searches of the loop showed.

    A text that says next to nothing of what these say has sources of method `unknown`: it may be invented.
    """
    newest = len(desk.messages)
    numbers = call.cited or (newest, *range(newest + 1, desk.offers + 1))
    named = {number: desk.offered(number) for number in numbers}
    methods: dict[TurnId, Provenance] = {}
    for number, offered in named.items():
        for turn_id in offered.turns:
            methods.setdefault(turn_id, "cited" if call.cited or number == newest else "batch")
    if containment(text, [offered.text for offered in named.values()]) < SUPPORTED:
        methods = dict.fromkeys(methods, "unknown")
    return tuple(Source(turn_id, method, 1 / len(methods)) for turn_id, method in methods.items())


class Send:
    """Node `send`: the turn is over. The message, passages, edits and summary are stored, all of them or none.

    Args:
        dedup: A passage that is stored already, word for word, gives its turns to that one.
    """

    def __init__(self, *, dedup: bool) -> None:
        self._dedup = dedup

    async def __call__(self, state: QueueState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `event`, `desk`, `held`, `passages` and `summary`; sets `added`, `updated` and `invalidated`."""
        store, turn = runtime.context.store, state["event"].turn
        if turn is None:
            raise BackendError("there is no message", phase="write")
        desk, held = state.get("desk"), state.get("held", ())
        passages, again = self._told_apart(state["passages"], store)
        lines = [(block.label, line) for block in desk.blocks for line in block.lines] if desk else []
        new = [(label, line) for label, line in lines if line.stored is None]
        other = [(line, line.stored) for _, line in lines if line.stored and line.stored.text != line.text]
        # all that an endpoint answers comes before the first change: a run that fails is repeated as a whole
        texts = [item.text for item in passages] + [line.text for _, line in new] + [line.text for line, _ in other]
        rows = list(await document_vectors(texts, runtime)) if texts else []
        fresh = [_placed(item, store) for item in (*passages, *_line_items(new, turn, store))]
        unseen = [item for item in (_message(turn), state.get("summary")) if item is not None]
        added = _put(fresh, rows[: len(fresh)], unseen, runtime)
        updated = [store.amend(item.id, sources=item.sources).id for item in again]
        for (line, old), row in zip(other, rows[len(fresh) :], strict=True):
            sources, at = line.sources, turn.at
            updated.append(store.update(old.id, text=line.text, sources=sources, at=at, vector=row, seq=turn.index).id)
        standing = {line.stored.id for _, line in lines if line.stored}
        if desk and desk.summary:
            standing.add(desk.summary.id)
        gone = [item.id for item in held if item.id not in standing]
        for item_id in gone:
            store.invalidate(item_id, at=turn.at)
        return {"added": tuple(added), "updated": tuple(updated), "invalidated": tuple(gone)}

    def _told_apart(
        self, passages: Sequence[MemoryItem], store: MemoryStore
    ) -> tuple[list[MemoryItem], list[MemoryItem]]:
        """Passages to be stored, and those that are stored already."""
        if not self._dedup:
            ids = free_ids([item.id for item in passages], store)
            return [replace(item, id=item_id) for item, item_id in zip(passages, ids, strict=True)], []
        once: dict[ItemId, MemoryItem] = {}
        for item in passages:
            same = once.get(item.id)
            once[item.id] = item if same is None else replace(same, sources=united_sources(same.sources, item.sources))
        return (
            [item for item in once.values() if not is_stored(item.id, store)],
            [item for item in once.values() if is_stored(item.id, store)],
        )


def _put(
    found: Sequence[MemoryItem],
    rows: Sequence[np.ndarray],
    unseen: Sequence[MemoryItem],
    runtime: Runtime[MemoryContext],
) -> list[ItemId]:
    """Store items with their vectors, and others that no vector search looks for."""
    embedder = runtime.context.ports.embedder
    if embedder is None:
        raise BackendError("there is no embedder", phase="write")
    items = [*unseen, *found]
    vectors = np.zeros((len(items), embedder.dim), dtype=np.float32)
    if rows:
        vectors[len(unseen) :] = rows
    runtime.context.store.put(items, vectors)
    return [item.id for item in items]


def _placed(item: MemoryItem, store: MemoryStore) -> MemoryItem:
    """The item with the place of its earliest message; a new message is not stored yet."""
    ids = [message_id(source.turn_id) for source in item.sources]
    return replace(item, seq_from=min([item.seq_from, *(store.get(i).seq_from for i in ids if is_stored(i, store))]))


def _message(turn: Turn) -> MemoryItem | None:
    """A message of recall memory; a memory that a probe brought along is none."""
    if turn.session_id == POOL_SESSION:
        return None
    return made_from(
        (turn,),
        item_id=message_id(turn.turn_id),
        kind="message",
        text=unit_text(turn),
        sources=(Source(turn.turn_id, "verbatim"),),
        attrs={SPEAKER: turn.speaker},
    )


def _line_items(lines: Sequence[tuple[str, Line]], turn: Turn, store: MemoryStore) -> list[MemoryItem]:
    ids = free_ids([f"core-{turn.turn_id}"] * len(lines), store)
    return [
        made_from(
            (turn,),
            item_id=item_id,
            kind="core_block",
            text=line.text,
            sources=line.sources,
            attrs={SPEAKER: line.speaker, LABEL: label},
        )
        for item_id, (label, line) in zip(ids, lines, strict=True)
    ]
