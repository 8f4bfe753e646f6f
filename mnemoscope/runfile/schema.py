"""The run file's tables as numbered migrations, and what is checked before a file is touched."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mnemoscope.core.errors import RunFileError

__all__ = [
    "APPLICATION_ID",
    "MIGRATIONS",
    "Migration",
    "apply_migrations",
    "check_header",
    "connect_read_only",
    "latest_version",
]

APPLICATION_ID = 0x6D6E656D
"""`mnem` in ASCII, at byte 68 of the file: how a run file is told from any other SQLite file."""
_MAGIC = b"SQLite format 3\x00"
_VERSION_AT, _APPLICATION_AT, _HEADER = 60, 68, 100


class Migration(NamedTuple):
    """One step from the schema before it; never changed once released."""

    number: int
    name: str
    script: str


_FIRST = """
CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE system (
    name TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, memory TEXT NOT NULL, profile TEXT NOT NULL,
    evidence_class TEXT NOT NULL, mode TEXT NOT NULL, privileged INTEGER NOT NULL, capabilities TEXT NOT NULL,
    summary TEXT NOT NULL, profile_summary TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE scenario (
    scenario_id TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, cluster TEXT NOT NULL, benchmark TEXT NOT NULL,
    source_spec TEXT NOT NULL, turns INTEGER NOT NULL, card TEXT NOT NULL, sha256 TEXT NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE TABLE probe (
    scenario_id TEXT NOT NULL REFERENCES scenario, probe_id TEXT NOT NULL, position INTEGER NOT NULL,
    style TEXT NOT NULL, strata TEXT NOT NULL, gold_facts INTEGER NOT NULL, PRIMARY KEY (scenario_id, probe_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE piece (key TEXT PRIMARY KEY, tokens INTEGER NOT NULL, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE lane (
    scenario_id TEXT NOT NULL REFERENCES scenario, memory TEXT NOT NULL, status TEXT NOT NULL, error TEXT,
    error_cause TEXT, written INTEGER NOT NULL, covered INTEGER NOT NULL, forgotten INTEGER NOT NULL,
    deferred INTEGER NOT NULL, dropped TEXT NOT NULL, skipped TEXT NOT NULL, unknown_share REAL, stats TEXT,
    usage TEXT NOT NULL, cache_hits INTEGER NOT NULL, ingest_ms REAL NOT NULL, node_ms TEXT NOT NULL,
    PRIMARY KEY (scenario_id, memory)
) STRICT, WITHOUT ROWID;
CREATE TABLE item (
    scenario_id TEXT NOT NULL, memory TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (scenario_id, memory)
) STRICT;
CREATE TABLE cell (
    cell_id INTEGER PRIMARY KEY, system TEXT NOT NULL REFERENCES system, scenario_id TEXT NOT NULL,
    probe_id TEXT NOT NULL, replicate INTEGER NOT NULL, status TEXT NOT NULL, error TEXT, error_cause TEXT,
    reply TEXT NOT NULL, plan TEXT, retrieval BLOB, given INTEGER NOT NULL, context_tokens INTEGER NOT NULL,
    usage TEXT NOT NULL, cache_hits INTEGER NOT NULL, ms REAL NOT NULL,
    UNIQUE (system, scenario_id, probe_id, replicate),
    FOREIGN KEY (scenario_id, probe_id) REFERENCES probe
) STRICT;
CREATE TABLE verdict (
    cell_id INTEGER NOT NULL REFERENCES cell, metric TEXT NOT NULL, subject TEXT NOT NULL, judge_key TEXT NOT NULL,
    label TEXT NOT NULL, score REAL, status TEXT NOT NULL, prompt_sha TEXT NOT NULL, raw TEXT NOT NULL,
    quote TEXT NOT NULL, PRIMARY KEY (cell_id, metric, subject, judge_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE loss (
    cell_id INTEGER NOT NULL REFERENCES cell, fact_id TEXT NOT NULL, stage TEXT NOT NULL, routes TEXT NOT NULL,
    PRIMARY KEY (cell_id, fact_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE span (cell_id INTEGER PRIMARY KEY REFERENCES cell, body BLOB NOT NULL) STRICT;
"""

_OWN_LANES = """
ALTER TABLE lane RENAME TO shared_lane;
CREATE TABLE lane (
    scenario_id TEXT NOT NULL REFERENCES scenario, memory TEXT NOT NULL, system TEXT NOT NULL,
    replicate INTEGER NOT NULL, status TEXT NOT NULL, error TEXT, error_cause TEXT, written INTEGER NOT NULL,
    covered INTEGER NOT NULL, forgotten INTEGER NOT NULL, deferred INTEGER NOT NULL, dropped TEXT NOT NULL,
    skipped TEXT NOT NULL, unknown_share REAL, stats TEXT, usage TEXT NOT NULL, cache_hits INTEGER NOT NULL,
    ingest_ms REAL NOT NULL, node_ms TEXT NOT NULL, PRIMARY KEY (scenario_id, memory, system, replicate)
) STRICT, WITHOUT ROWID;
INSERT INTO lane SELECT scenario_id, memory, '', 0, status, error, error_cause, written, covered, forgotten, deferred,
    dropped, skipped, unknown_share, stats, usage, cache_hits, ingest_ms, node_ms FROM shared_lane;
DROP TABLE shared_lane;
ALTER TABLE item RENAME TO shared_item;
CREATE TABLE item (
    scenario_id TEXT NOT NULL, memory TEXT NOT NULL, system TEXT NOT NULL, replicate INTEGER NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (scenario_id, memory, system, replicate)
) STRICT;
INSERT INTO item SELECT scenario_id, memory, '', 0, body FROM shared_item;
DROP TABLE shared_item;
"""

_JUDGING = """
ALTER TABLE verdict ADD COLUMN agreement REAL;
ALTER TABLE verdict ADD COLUMN flags TEXT NOT NULL DEFAULT '[]';
CREATE TABLE judging (
    cell_id INTEGER NOT NULL REFERENCES cell, judge TEXT NOT NULL, usage TEXT NOT NULL, cache_hits INTEGER NOT NULL,
    PRIMARY KEY (cell_id, judge)
) STRICT, WITHOUT ROWID;
"""

_ASKED_JUDGES = """
CREATE TABLE asked_judge (
    metric TEXT NOT NULL, judge_key TEXT NOT NULL, judge TEXT NOT NULL, model TEXT, PRIMARY KEY (metric, judge_key)
) STRICT, WITHOUT ROWID;
"""

MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "runs, cells and verdicts", _FIRST),
    Migration(2, "a lane of its own for a system", _OWN_LANES),
    Migration(3, "how sure a judge is, and what judging costs", _JUDGING),
    Migration(4, "judges that were asked after the run", _ASKED_JUDGES),
)


def latest_version(migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """The schema version that this program writes."""
    return migrations[-1].number


def check_header(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Look at the first bytes of a file without opening it as a database.

    Returns:
        The schema version.

    Raises:
        RunFileError: The file is missing, unreadable, foreign, cut short, or newer than this program.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        raise RunFileError(f"there is no run file at {path}; make one with mnemoscope run --out {path}") from None
    except OSError as error:
        raise RunFileError(f"run file {path} cannot be read: {error.strerror or error}") from None
    if not header.startswith(_MAGIC):
        what = "is empty" if not header else "is not a run file (it is not an SQLite database)"
        raise RunFileError(f"{path} {what}; give a file that mnemoscope run made, or another --out")
    if len(header) < _HEADER:
        raise RunFileError(f"run file {path} is damaged: it ends after {len(header)} bytes")
    (version,) = struct.unpack_from(">I", header, _VERSION_AT)
    (application,) = struct.unpack_from(">I", header, _APPLICATION_AT)
    if application != APPLICATION_ID:
        raise RunFileError(f"{path} is an SQLite database of another program, not a run file; nothing was changed")
    latest = latest_version(migrations)
    if version > latest:
        raise RunFileError(
            f"run file {path} has schema version {version}, this mnemoscope knows versions up to {latest}; "
            "upgrade mnemoscope to read it; nothing was changed"
        )
    return int(version)


def apply_migrations(db: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring a database to the latest version; each step is one transaction and is recorded in `migration`."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    for step in migrations:
        if step.number <= version:
            continue
        name = step.name.replace("'", "''")
        record = f"INSERT INTO migration VALUES ({step.number}, '{name}')"  # noqa: S608
        stamp = f"PRAGMA application_id = {APPLICATION_ID};PRAGMA user_version = {step.number}"
        db.executescript(f"BEGIN IMMEDIATE;{step.script};{record};{stamp};COMMIT;")


def connect_read_only(file: Path) -> sqlite3.Connection:
    """Connect so that nothing can be written, also in a folder that cannot be.

    Raises:
        sqlite3.Error: The file cannot be opened or is damaged.
    """
    uri = file.resolve().as_uri()
    db = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=30, isolation_level=None)
    try:
        db.execute("SELECT count(*) FROM meta").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        if file.with_name(file.name + "-wal").exists() or "malformed" in str(error):
            raise
        # A finished file in a folder that cannot be written: no log can exist, so none is needed.
        db = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, isolation_level=None)
    return db
