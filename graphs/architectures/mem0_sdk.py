"""`mem0`: the `mem0ai` package itself, with this project's embedder and model and the conversation's clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError, ConfigError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Embedder, Message
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, asks_nothing, embeds_nothing, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import embeds_windows, nothing_ready
from mnemoscope.graphs.backend import Ports
from mnemoscope.graphs.contracts.asking import planned_call, reply_to
from mnemoscope.graphs.contracts.mem0_memories import MEM0_MEMORIES, PROMPT_TOKENS
from mnemoscope.graphs.nodes.facts import UNREADABLE
from mnemoscope.graphs.nodes.read import cut
from mnemoscope.graphs.nodes.write import ObserveWindows, window_text
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.provenance import cite, free_ids, made_from
from mnemoscope.graphs.state import MemoryContext, ReadState, WriteState
from mnemoscope.graphs.windows import windows_of
from mnemoscope.memory_backends.adapters.mem0_client import Memory, Said
from mnemoscope.memory_backends.adapters.mem0_package import as_mem0_reads
from mnemoscope.memory_backends.adapters.mem0_store import Mem0Store
from mnemoscope.memory_backends.record import Capabilities, MemoryItem, Provenance, Source
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["mem0"]

NOTHING = "nothing to remember"
_SIZES = {"turn": 1, "pair": 2, "session": 10_000}
"""Turns of one call into the package; a session is over long before the last."""
_PER_CALL = 2
"""Texts that one extracting call embeds, as an estimate: the messages as a query, and a memory."""


@dataclass(slots=True)
class _Extraction:
    """Answers the package's prompt for one batch, and keeps what it does not tell: what could not be read."""

    batch: tuple[Turn, ...]
    runtime: Runtime[MemoryContext]
    failures: int = 0
    texts: tuple[str, ...] | None = None
    """What the reply says is worth keeping; None where it cannot be read."""

    async def __call__(self, messages: Sequence[Message]) -> str:
        model = self.runtime.context.ports.model
        if model is None:
            raise ConfigError("mem0(infer=true) asks a model and there is none; add --memory-model or --model")
        reply = await reply_to(MEM0_MEMORIES, self.batch, messages, model)
        value = None if reply is None else as_mem0_reads(reply)
        if not isinstance(value, dict) or not isinstance(value.get("memory"), list):
            self.failures = 1
            return '{"memory": []}'
        reading = MEM0_MEMORIES.read(value, self.batch)
        self.failures, self.texts = reading.rejected, tuple(str(entry["text"]) for entry in reading.value)
        return json.dumps({"memory": reading.value}, ensure_ascii=False)


class KeepVerbatim:
    """Node `add` without a model: the package stores each turn as it was said."""

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ready`; sets `added`."""
        store, embedder = _parts(runtime)
        ((turn,),) = state["ready"]
        memory = await store.client.keep(_message(turn, window_text([turn])), turn.at, embedder)
        item = made_from(
            (turn,),
            item_id=free_ids([turn.turn_id], store)[0],
            kind="turn",
            text=memory.text,
            sources=[Source(turn.turn_id, "verbatim")],
            attrs={"speaker": turn.speaker},
        )
        store.mirror([item], [memory])
        return {"added": (item.id,)}


class Extract:
    """Node `add` with a model: the package extracts memories from a batch of turns.

    Args:
        provenance: How a memory names the turns of its batch.
    """

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance

    async def __call__(self, state: WriteState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ready`; sets `added`, `updated`, `dropped` and `parse_failures`."""
        store, embedder = _parts(runtime)
        (batch,) = state["ready"]
        extraction = _Extraction(batch, runtime)
        memories = await store.client.draw(
            [_message(turn, _said(turn)) for turn in batch], batch[-1].at, embedder, extraction
        )
        ids = free_ids([f"memory-{batch[0].turn_id}"] * len(memories), store)
        items = [self._item(batch, item_id, memory) for item_id, memory in zip(ids, memories, strict=True)]
        again = self._known_again(batch, extraction.texts or (), {memory.text for memory in memories}, store)
        store.mirror(items, memories)
        nothing = not items and not again
        why = UNREADABLE if extraction.failures else NOTHING
        return {
            "added": tuple(ids),
            "updated": again,
            "dropped": {turn.turn_id: why for turn in batch} if nothing else {},
            "parse_failures": extraction.failures,
        }

    def _item(self, batch: tuple[Turn, ...], item_id: ItemId, memory: Memory) -> MemoryItem:
        return made_from(
            batch, item_id=item_id, kind="fact", text=memory.text, sources=self._sources(batch, memory.text)
        )

    def _sources(self, batch: tuple[Turn, ...], text: str) -> tuple[Source, ...]:
        sources = cite(batch, (), text)
        return tuple(replace(s, method=self._provenance) if s.method == "batch" else s for s in sources)

    def _known_again(
        self, batch: tuple[Turn, ...], texts: Sequence[str], stored: set[str], store: Mem0Store
    ) -> tuple[ItemId, ...]:
        """What the package skipped as known word for word: the stored memories are given this batch as a source."""
        again = []
        for text in dict.fromkeys(texts):
            if text in stored:
                continue
            known = store.find(text)
            if known is None:
                ids = [turn.turn_id for turn in batch]
                raise BackendError(f"the package neither stored nor knows {text!r}", phase="write", turn_ids=ids)
            again.append(store.amend(known.id, sources=self._sources(batch, text)).id)
        return tuple(again)


class Search:
    """Node `search`: the package's own search.

    Args:
        k: Its `top_k`.
    """

    def __init__(self, k: int) -> None:
        self._k = k

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `query` and `now`; sets `found`."""
        store, embedder = _parts(runtime)
        return {"found": await store.search(state["query"].text, self._k, state.get("now"), embedder)}


def mem0(infer: bool = False, add_per: str = "pair", k: int = 200) -> Architecture:
    """The `mem0ai` package, version 2 (one extraction per call, memories are only ever added).

    It runs in this process: its Qdrant and SQLite hold everything in memory, its telemetry is off, and it embeds and
    asks through this project. The dates that its extractor is told are the conversation's. A memory that it skips as
    known word for word gives its turns to the stored one (the package forgets them); a reply that it cannot read, or
    would crash on, is counted and its turns are dropped with that reason (the package goes on as if nothing was said).

    Left out, because they fetch models from the network: the lexical score (fastembed) and entity links (spaCy). Its
    ranking is then the cosine, cut at the package's threshold of 0.1. Without a model it stores turns in the form that
    all architectures store them in, and so ranks them as `dense` does.

    Args:
        infer: Whether a model extracts memories; otherwise each turn is stored as it is.
        add_per: With `infer`, what one call takes in: a `turn`, a `pair` of turns or a `session`.
        k: Most memories that a search gives, 1 to 10,000. The package's default is 20; its published figures use 200.

    Raises:
        ConfigError: A value out of range, or `add_per` where nothing is extracted.
    """
    if not isinstance(infer, bool):
        raise ConfigError(f"infer is {infer!r}; it must be true or false")
    per, most = one_of("add_per", add_per, tuple(_SIZES)), whole("k", k, 1, 10_000)
    if not infer and per != "pair":
        raise ConfigError(f"add_per is {per!r} and nothing is extracted; add infer=true, or leave add_per out")
    size = _SIZES[per] if infer else 1
    provenance: Provenance = ("session" if per == "session" else "batch") if infer else "verbatim"
    return Architecture(
        name=named("mem0", {"infer": infer, "add_per": per, "k": most}, {"infer": False, "add_per": "pair", "k": 200}),
        summary="the mem0ai package, " + (f"extracting per {per}" if infer else "storing turns as they are"),
        capabilities=Capabilities(
            needs_flush=size > 1, needs_embedder=True, keeps_turns=not infer, finest_provenance=provenance
        ),
        write=write_graph(
            {"observe": ObserveWindows(size, 0), "add": Extract(provenance) if infer else KeepVerbatim()},
            skip_after={"observe": nothing_ready},
        ),
        read=read_graph({"search": Search(most), "cut": cut}),
        new_store=_new_store,
        embeds=embeds_nothing if infer else embeds_windows(1, 0),
        asks=_calls(size) if infer else asks_nothing,
        mode="llm" if infer else None,
        family="facts" if infer else "turns",
        loses="with `infer=true`, what no memory was drawn from, and which turn of a batch it came from",
    )


def _new_store(ports: Ports) -> MemoryStore:
    if ports.embedder is None:
        raise ConfigError("this architecture needs an embedder")
    return Mem0Store(ports.embedder)


def _parts(runtime: Runtime[MemoryContext]) -> tuple[Mem0Store, Embedder]:
    """The store, and the embedder that counts what is embedded."""
    return cast("Mem0Store", runtime.context.store), cast("Embedder", runtime.context.ports.embedder)


def _said(turn: Turn) -> str:
    """What a turn says, with the speaker's name, which the package would drop from its prompt."""
    return turn.content if turn.session_id == POOL_SESSION else f"{turn.speaker}: {turn.content}"


def _message(turn: Turn, text: str) -> Said:
    """A text of a turn as a message, in one of the two roles that the package reads."""
    # it hashes texts as UTF-8, which has no lone surrogates
    return Said("assistant" if turn.role == "assistant" else "user", text.encode(errors="replace").decode())


def _calls(size: int) -> Callable[[Sequence[Turn]], Usage]:
    def asks(turns: Sequence[Turn]) -> Usage:
        batches = windows_of(turns, size, 0)
        usage = Usage(prompt_tokens=PROMPT_TOKENS * len(batches), embedded_texts=_PER_CALL * len(batches))
        for batch in batches:
            usage = usage + planned_call(MEM0_MEMORIES, MEM0_MEMORIES.show(batch))
        return usage

    return asks
