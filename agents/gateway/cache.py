"""Replies that were paid for once: an SQLite file that several processes share and that survives being killed."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import canonical_json, sha256_of

__all__ = ["FILE_NAME", "ReplyCache"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
FILE_NAME = "replies.sqlite"
_APPLICATION = 0x6D6E656D
_VERSION = 1
_BUSY_SECONDS = 30.0
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (key TEXT PRIMARY KEY, body TEXT NOT NULL, sha TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trait (endpoint TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
"""


class ReplyCache:
    """Replies by the hash of the whole request, and what was learned about endpoints.

    A damaged file is moved aside with a warning and begun anew; a damaged row counts as absent. Where the disk
    refuses a write, work goes on without the cache and says so.

    Args:
        folder: Holds `replies.sqlite`; made where it is missing.

    Raises:
        ConfigError: The folder cannot be used, or the file belongs to another program or a newer version.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection] = []
        self._owner = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot use the cache folder {folder}: {error.strerror}; name another one") from error
        self._guarded(lambda connection: None)

    def get(self, key: str) -> Mapping[str, object] | None:
        """The stored reply, or None."""
        row = self._guarded(
            lambda connection: connection.execute("SELECT body, sha FROM reply WHERE key = ?", (key,)).fetchone()
        )
        if row is None:
            return None
        body, sha = row
        if isinstance(body, str) and sha256_of(body) == sha:
            return _object(body)
        logger.warning("a cached reply in %s is damaged and is asked for again", self.path)
        self._guarded(lambda connection: connection.execute("DELETE FROM reply WHERE key = ?", (key,)))
        return None

    def put(self, key: str, reply: Mapping[str, object]) -> Mapping[str, object]:
        """Store a reply unless one is there; gives back what is stored, so that all callers see the same reply."""
        body = canonical_json(dict(reply))
        self._guarded(
            lambda connection: connection.execute(
                "INSERT OR IGNORE INTO reply VALUES (?, ?, ?)", (key, body, sha256_of(body))
            )
        )
        return self.get(key) or reply

    def traits(self, endpoint: str) -> Mapping[str, object]:
        """What was learned about an endpoint; empty where nothing was."""
        row = self._guarded(
            lambda connection: connection.execute("SELECT body FROM trait WHERE endpoint = ?", (endpoint,)).fetchone()
        )
        return _object(row[0]) or {} if row else {}

    def learn(self, endpoint: str, traits: Mapping[str, object]) -> None:
        """Remember what an endpoint can and cannot do."""
        self._guarded(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO trait VALUES (?, ?)", (endpoint, canonical_json(dict(traits)))
            )
        )

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._drop()

    def _guarded(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        with self._lock:
            for heal in (self._drop, self._move_aside, None):
                try:
                    return action(self._open())
                except sqlite3.DatabaseError as error:
                    if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE:
                        if heal is None:
                            raise ConfigError(f"the cache {self.path} is damaged: remove it") from error
                        heal()
                        continue
                    if self._connection is None:
                        raise ConfigError(f"cannot open the cache {self.path}: {error}") from error
                    logger.warning("the cache %s is left out: %s", self.path, error)
                    return None
        return None

    def _open(self) -> sqlite3.Connection:
        """The connection of this process: one that was inherited over a fork is neither used nor closed."""
        if self._connection is not None:
            if self._owner == os.getpid():
                return self._connection
            self._inherited.append(self._connection)
            self._connection = None
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._owner = connection, os.getpid()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and (application or tables):
            raise ConfigError(f"{self.path} is not a cache of this program; name another folder")
        if version > _VERSION:
            raise ConfigError(f"{self.path} was written by a newer version; name another folder, or upgrade")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if version < _VERSION:
            connection.execute("BEGIN IMMEDIATE")
            for statement in filter(str.strip, _SCHEMA.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute("COMMIT")

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._owner == os.getpid():
            connection.close()

    def _move_aside(self) -> None:
        self._drop()
        number = 1
        while (aside := self.path.with_name(f"{FILE_NAME}.damaged-{number}")).exists():
            number += 1
        try:
            self.path.rename(aside)
        except FileNotFoundError:
            return
        for ending in ("-wal", "-shm"):
            self.path.with_name(FILE_NAME + ending).unlink(missing_ok=True)
        logger.warning("the cache %s was damaged; it was moved to %s and begun anew", self.path, aside.name)


def _object(body: str) -> Mapping[str, object] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
