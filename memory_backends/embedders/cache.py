"""The on-disk cache before an embedder: content-addressed, shared by processes, never trusted blindly."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from mnemoscope.core.errors import EmbedderMismatchError
from mnemoscope.core.ports import Embedder, Vectors

__all__ = ["CachedEmbedder", "VectorCache", "default_cache_dir"]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_SLICE = 256
"""Texts embedded between two commits: what a kill can cost."""
_LOOKUP = 500
_KEPT = 16_384
"""Vectors kept in memory (24 MB of 384 dimensions)."""
_WAIT_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS embedders (id TEXT PRIMARY KEY, dim INTEGER NOT NULL);
"""


def default_cache_dir() -> Path:
    """`MNEMOSCOPE_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("MNEMOSCOPE_CACHE")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("mnemoscope", appauthor=False))


class CacheCounts(NamedTuple):
    """Texts since the embedder was opened: answered from the cache, and computed."""

    hits: int
    computed: int


class VectorCache:
    """Vectors by key in one SQLite file (WAL), safe with several processes and after kill -9.

    Each row carries its length and a checksum bound to its key; a row that does not match is a miss. A damaged file
    is moved aside with a warning and a new one begun. Where nothing can be written, the cache is off, which is
    logged once.

    Args:
        path: The database file; its folder is made where needed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._off = False

    def get(self, keys: Sequence[bytes], dim: int | None) -> dict[bytes, Vectors]:
        """Known vectors of these keys, of `dim` dimensions where it is given."""
        return self._try(lambda db: _select(db, keys, dim)) or {}

    def put(self, rows: Mapping[bytes, Vectors]) -> None:
        """Keep vectors; one commit."""
        entries = [(key, blob, _crc(key, blob)) for key, blob in ((k, _blob(v)) for k, v in rows.items())]
        self._try(lambda db: db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", entries))

    def dim_of(self, embedder_id: str) -> int | None:
        """The dimension noted for an embedder."""
        found = self._try(lambda db: db.execute("SELECT dim FROM embedders WHERE id = ?", (embedder_id,)).fetchone())
        return int(found[0]) if found else None

    def note_dim(self, embedder_id: str, dim: int) -> None:
        """Remember the dimension of an embedder."""
        self._try(lambda db: db.execute("INSERT OR IGNORE INTO embedders VALUES (?, ?)", (embedder_id, dim)))

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        with self._lock:
            if self._off:
                return None
            try:
                return self._run(work)
            except sqlite3.OperationalError as error:
                self._give_up(error)
                return None
            except sqlite3.DatabaseError as error:
                self._set_aside(error)
            try:
                return self._run(work)
            except sqlite3.Error as error:
                self._give_up(error)
                return None

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._opened() as db:
            return work(db)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None or self._process != os.getpid():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise sqlite3.OperationalError(str(error)) from error
            db = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=NORMAL")
                db.executescript(_SCHEMA)
            except sqlite3.Error:
                db.close()
                raise
            self._connection, self._process = db, os.getpid()
        return self._connection

    def _give_up(self, error: sqlite3.Error) -> None:
        if "locked" in str(error) or "busy" in str(error):
            _LOG.warning("the embedding cache %s is busy; going on without it for this batch", self.path)
            return
        self._off = True
        self.close()
        _LOG.warning("the embedding cache %s cannot be used (%s); vectors are kept in memory only", self.path, error)

    def _set_aside(self, error: sqlite3.Error) -> None:
        self.close()
        if _is_whole(self.path):  # another process has replaced it meanwhile
            return
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        for suffix in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).replace(f"{aside}{suffix}")
        _LOG.warning("the embedding cache is damaged (%s); it was moved to %s and a new one begun", error, aside)


class CachedEmbedder:
    """An embedder that never computes the same text twice: memory first, then disk, then the model.

    Keys are the sha256 of embedder id, purpose and text. Concurrent calls are safe; new vectors are committed every
    256 texts.

    Args:
        inner: Computes what is missing.
        path: The database file.
    """

    def __init__(self, inner: Embedder, path: Path) -> None:
        self.inner = inner
        self._cache = VectorCache(path)
        self._recent: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._dim: int | None = None
        self._hits = self._computed = 0

    @property
    def id(self) -> str:
        """The inner embedder's id."""
        return self.inner.id

    @property
    def dim(self) -> int:
        """Length of every vector: as noted in the cache, else as the inner embedder says."""
        if self._dim is None:
            self._dim = self._cache.dim_of(self.id)
        if self._dim is None:
            self._learn(self.inner.dim)
        assert self._dim is not None
        return self._dim

    @property
    def counts(self) -> CacheCounts:
        """How many texts were found and how many computed; blank texts and repeats within a call are neither."""
        return CacheCounts(self._hits, self._computed)

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """Rows of unit length, shape `(len(texts), dim)`; a blank text gives a zero row.

        Raises:
            EmbedderMismatchError: The embedder now gives another number of dimensions than it did before.
        """
        keys = [_key(self.id, purpose, text) if text.strip() else None for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if key is not None}
        found = self._known(wanted)
        missing = [key for key in wanted if key not in found]
        self._hits += len(found)
        for start in range(0, len(missing), _SLICE):
            some = missing[start : start + _SLICE]
            rows = await self.inner.embed([wanted[key] for key in some], purpose)
            self._learn(rows.shape[1])
            new = dict(zip(some, rows, strict=True))
            self._cache.put(new)
            self._remember(new)
            found.update(new)
            self._computed += len(some)
        blank = np.zeros(self.dim, dtype=np.float32)
        return np.stack([blank if key is None else found[key] for key in keys]) if keys else blank[None][:0]

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """The inner embedder's share of unknown tokens."""
        return self.inner.unknown_share(texts)

    def close(self) -> None:
        """Close the database."""
        self._cache.close()

    def _known(self, wanted: Mapping[bytes, str]) -> dict[bytes, Vectors]:
        found: dict[bytes, Vectors] = {}
        with self._lock:
            for key in wanted:
                if (row := self._recent.get(key)) is not None:
                    self._recent.move_to_end(key)
                    found[key] = row
        absent = [key for key in wanted if key not in found]
        if absent:
            stored = self._cache.get(absent, self._dim or self._cache.dim_of(self.id))
            self._remember(stored)
            found.update(stored)
        return found

    def _remember(self, rows: Mapping[bytes, Vectors]) -> None:
        with self._lock:
            for key, row in rows.items():
                row.flags.writeable = False
                self._recent[key] = row
                self._recent.move_to_end(key)
            while len(self._recent) > _KEPT:
                self._recent.popitem(last=False)

    def _learn(self, dim: int) -> None:
        known = self._dim or self._cache.dim_of(self.id)
        if known is None:
            self._cache.note_dim(self.id, dim)
        elif known != dim:
            raise EmbedderMismatchError(stored_id=self.id, stored_dim=known, given_id=self.id, given_dim=dim)
        self._dim = dim


def _is_whole(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.Error:
        return False


def _key(embedder_id: str, purpose: str, text: str) -> bytes:
    return hashlib.sha256(f"{embedder_id}\0{purpose}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _blob(vector: Vectors) -> bytes:
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def _crc(key: bytes, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(key))


def _select(db: sqlite3.Connection, keys: Sequence[bytes], dim: int | None) -> dict[bytes, Vectors]:
    found: dict[bytes, Vectors] = {}
    for start in range(0, len(keys), _LOOKUP):
        some = keys[start : start + _LOOKUP]
        marks = ",".join("?" * len(some))
        query = f"SELECT key, vector, crc FROM vectors WHERE key IN ({marks})"  # noqa: S608 - marks only
        for key, blob, crc in db.execute(query, some):
            whole = isinstance(blob, bytes) and len(blob) % 4 == 0 and _crc(key, blob) == crc
            if whole and (dim is None or len(blob) == 4 * dim):
                found[key] = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    return found
