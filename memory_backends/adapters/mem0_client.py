"""One `mem0ai` memory in this process: adding, searching, its message buffer."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from mnemoscope.core.ports import Embedder, Vectors
from mnemoscope.memory_backends.adapters.mem0_calls import Ask, Mem0Calls, PastMem0Error
from mnemoscope.memory_backends.adapters.mem0_package import load_mem0, observed_on
from mnemoscope.memory_backends.store import Hit

__all__ = ["Mem0Client", "Memory", "Said"]

T = TypeVar("T")
_USER = "user"
"""Each client has a memory of its own and one user in it, so that no two scopes can meet by their names."""
_SCOPE = {"user_id": _USER}
_ALWAYS = datetime.min.replace(tzinfo=UTC).timestamp()
_UNDATED = "unknown"


@dataclass(frozen=True, slots=True)
class Said:
    """One message as the package takes it."""

    role: Literal["user", "assistant"]
    text: str
    """With the speaker's name: the package drops names from its prompt."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as the package stored it."""

    id: str
    """The package's own, random."""
    text: str
    vector: Vectors
    """Shape `(dim,)`."""


class Mem0Client:
    """A memory of the package: Qdrant and SQLite in this process, nothing on disk, no network.

    Its calls run in a thread, one at a time. A failure of the embedder or the model leaves it as it was and is raised
    as it is; the package would take it for an answer without memories.

    Args:
        dim: Length of the vectors.
    """

    def __init__(self, dim: int) -> None:
        self._lock = threading.Lock()
        self._mem0 = _new_memory(dim)

    async def keep(self, said: Said, at: datetime | None, embedder: Embedder) -> Memory:
        """Store one message as it is (`infer=False`).

        Args:
            said: The message.
            at: When it was said.
            embedder: Embeds it.
        """
        row = (await embedder.embed([said.text], "document"))[0]
        calls = Mem0Calls({said.text: row})
        (memory,) = await self._in_thread(lambda: self._add([said], at, calls), calls)
        return memory

    async def draw(self, said: Sequence[Said], at: datetime | None, embedder: Embedder, ask: Ask) -> tuple[Memory, ...]:
        """Have the package extract memories from messages (`infer=True`); one that it knows by heart is no new one.

        Args:
            said: The messages of one call.
            at: When they were said; the prompt's observation date.
            embedder: Embeds the messages, and what comes of them.
            ask: Answers the package's prompt.
        """
        calls = Mem0Calls(embedder=embedder, ask=ask, loop=asyncio.get_running_loop())

        def work() -> tuple[Memory, ...]:
            with observed_on(_UNDATED if at is None else at.date().isoformat()):
                added = self._add(said, at, calls, infer=True)
            self._number_messages()
            return added

        return await self._in_thread(work, calls)

    async def search(self, text: str, k: int, now: datetime | None, embedder: Embedder) -> list[Hit]:
        """The package's ids and scores of the `k` best memories that were known at `now`, by its own ranking."""
        calls = Mem0Calls(embedder=embedder, loop=asyncio.get_running_loop())
        known = {} if now is None else {"known_from": {"lte": now.timestamp()}}

        def work() -> list[Hit]:
            found = self._mem0.search(text, top_k=k, filters={**_SCOPE, **known})
            return [(entry["id"], float(entry["score"])) for entry in found["results"]]

        return await self._in_thread(work, calls)

    def put_back(self, text: str, vector: Vectors, at: datetime | None) -> str:
        """Store a memory of a snapshot again, as it was; returns the package's new id of it."""
        calls = Mem0Calls({text: vector})
        return self._alone(lambda: self._add([Said("user", text)], at, calls)[0].id, calls)

    @property
    def messages(self) -> list[list[str]]:
        """The package's buffer of recent messages, oldest row first: number of the call, role, text."""
        rows = self._mem0.db.connection.execute("SELECT created_at, role, content FROM messages ORDER BY rowid")
        return [list(row) for row in rows]

    def put_back_messages(self, messages: Sequence[Sequence[str]]) -> None:
        """Fill an empty buffer with what `messages` gave."""
        scope = f"user_id={_USER}"
        rows = [(f"m{place}", scope, *message) for place, message in enumerate(messages)]
        with self._mem0.db.connection as connection:
            connection.executemany(
                "INSERT INTO messages (id, session_scope, created_at, role, content) VALUES (?, ?, ?, ?, ?)", rows
            )

    def close(self) -> None:
        """Release the package's stores."""
        with self._lock:
            self._mem0.vector_store.client.close()
            self._mem0.close()

    def _add(
        self, said: Sequence[Said], at: datetime | None, calls: Mem0Calls, *, infer: bool = False
    ) -> tuple[Memory, ...]:
        stamps = {"known_from": _ALWAYS} if at is None else {"known_from": at.timestamp(), "created_at": at.isoformat()}
        messages = [{"role": each.role, "content": each.text} for each in said]
        results = self._mem0.add(messages, user_id=_USER, metadata=stamps, infer=infer)["results"]
        return tuple(Memory(entry["id"], entry["memory"], calls.rows[entry["memory"]]) for entry in results)

    def _number_messages(self) -> None:
        """Give the rows that the last call wrote its number in place of the wall clock, their order as it was."""
        with self._mem0.db.connection as connection:
            (last,) = connection.execute("SELECT MAX(created_at) FROM messages WHERE created_at < '1'").fetchone()
            number = f"{int(last or 0) + 1:012d}"
            connection.execute("UPDATE messages SET created_at = ? WHERE created_at >= '1'", (number,))

    async def _in_thread(self, work: Callable[[], T], calls: Mem0Calls) -> T:
        return await asyncio.to_thread(self._alone, work, calls)

    def _alone(self, work: Callable[[], T], calls: Mem0Calls) -> T:
        with self._lock:
            self._mem0.embedding_model = self._mem0.llm = calls
            try:
                return work()
            except PastMem0Error as past:
                raise past.error from None


def _new_memory(dim: int) -> Any:
    main = load_mem0()
    from qdrant_client import QdrantClient

    # the validators want known providers and a path: both providers are replaced by every call, and a client that is
    # given is used in place of the path
    provider = {"provider": "openai", "config": {"api_key": "unused"}}
    store = {
        "collection_name": "memories",
        "embedding_model_dims": dim,
        "path": "unused",
        "client": QdrantClient(":memory:"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = main.Memory(
            main.MemoryConfig(
                vector_store={"provider": "qdrant", "config": store},
                llm=provider,
                embedder=provider,
                history_db_path=":memory:",
            )
        )
    # "tried and not found": with fastembed installed it would fetch a model from a hub
    memory.vector_store._bm25_encoder = False
    return memory
