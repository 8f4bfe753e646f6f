"""The content of a run as one hash: what was found, and nothing of when, where or in which order."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib

__all__ = ["content_hash"]

_CELLS = """
SELECT cell_id, system, scenario_id, probe_id, replicate, status, error, error_cause, reply, plan, retrieval, usage
FROM cell ORDER BY system, scenario_id, probe_id, replicate
"""
_VERDICTS = """
SELECT metric, subject, judge_key, label, score, status, prompt_sha, raw, quote, agreement, flags
FROM verdict WHERE cell_id = ? ORDER BY metric, subject, judge_key
"""
_JUDGING = "SELECT judge, usage FROM judging WHERE cell_id = ? ORDER BY judge"
_LOSSES = "SELECT fact_id, stage, routes FROM loss WHERE cell_id = ? ORDER BY fact_id"
_LANES = """
SELECT l.scenario_id, l.memory, l.system, l.replicate, l.status, l.error, l.error_cause, l.written, l.covered,
l.forgotten, l.deferred, l.dropped, l.skipped, l.usage, i.body
FROM lane l LEFT JOIN item i USING (scenario_id, memory, system, replicate)
ORDER BY l.scenario_id, l.memory, l.system, l.replicate
"""


def content_hash(db: sqlite3.Connection) -> str:
    """Hash cells, replies, retrievals, plans, verdicts, losses, the usage of both, and the memories that were stored.

    Times, host, cache hits, spans and row numbers are left out; scores were rounded to 1e-6 when they were stored, and
    the stored JSON is canonical, so equal content gives equal bytes.

    Args:
        db: An open run file.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for cell_id, *row in db.execute(_CELLS):
        _feed(digest, "cell", row)
        for verdict in db.execute(_VERDICTS, (cell_id,)):
            _feed(digest, "verdict", verdict)
        for judging in db.execute(_JUDGING, (cell_id,)):
            _feed(digest, "judging", judging)
        for loss in db.execute(_LOSSES, (cell_id,)):
            _feed(digest, "loss", loss)
    for lane in db.execute(_LANES):
        _feed(digest, "lane", lane)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, kind: str, row: tuple[object, ...] | list[object]) -> None:
    # Lengths go in before values, so that no two rows can run into the same bytes.
    for value in (kind, *row):
        data = zlib.decompress(value) if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
