"""Writing a run file: one transaction per cell, so that a kill at any moment loses nothing that was finished."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mnemoscope.core.errors import RunFileError
from mnemoscope.core.identity import canonical_json
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.runfile import codec, records
from mnemoscope.runfile.asked import AskedJudge
from mnemoscope.runfile.content import content_hash
from mnemoscope.runfile.records import CellRecord, LaneRecord, Manifest, Piece, Pieces, PlannedScenario
from mnemoscope.runfile.rows import CellKey, LaneKey, RunStatus, Said, SystemRow
from mnemoscope.runfile.schema import MIGRATIONS, apply_migrations, check_header
from mnemoscope.scenarios.records import Scenario

__all__ = ["RunFile"]

_FAILED = "(SELECT cell_id FROM cell WHERE status = 'error')"
_CELL_ID = "SELECT cell_id FROM cell WHERE system = ? AND scenario_id = ? AND probe_id = ? AND replicate = ?"
_VERDICT_COLUMNS = "cell_id, metric, subject, judge_key, label, score, status, prompt_sha, raw, quote, agreement, flags"


class RunFile:
    """A run file, opened for writing. Make one with `create` or `resume`; several processes may hold one each."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._pieces = Pieces()
        self._stored: set[str] = set()

    @classmethod
    def create(
        cls, path: Path, manifest: Manifest, systems: Sequence[SystemRow], scenarios: Iterable[PlannedScenario]
    ) -> RunFile:
        """Make a new run file with everything that is known before the first cell.

        The file appears under its name only when it is whole.

        Raises:
            RunFileError: The name is taken, or the folder cannot be written.
        """
        if path.exists():
            raise RunFileError(
                f"{path} exists and was not touched; add --resume to go on with it, or give another --out"
            )
        draft = path.with_name(path.name + ".new")
        try:
            _remove(draft)
            db = sqlite3.connect(draft, isolation_level=None)
            try:
                apply_migrations(db, MIGRATIONS)
                with _transaction(db):
                    records.write_plan(db, manifest, systems, scenarios)
            finally:
                db.close()
            _remove(path)  # a log that a killed run left would be played into the new file
            draft.replace(path)
        except (OSError, sqlite3.OperationalError) as error:
            _remove(draft)
            raise RunFileError(f"output {path} cannot be written: {error}") from None
        except BaseException:  # scenarios are still being read while the plan is written
            _remove(draft)
            raise
        return cls.resume(path)

    @classmethod
    def resume(cls, path: Path) -> RunFile:
        """Open an existing run file for writing, checked and at the present schema.

        Raises:
            RunFileError: The file is missing, foreign, damaged or newer.
        """
        check_header(path)
        try:
            db = sqlite3.connect(path, isolation_level=None, timeout=60)
            for pragma in ("busy_timeout=60000", "synchronous=NORMAL", "foreign_keys=ON", "cache_size=-16000"):
                db.execute(f"PRAGMA {pragma}")
            db.execute("PRAGMA journal_mode=WAL")
            apply_migrations(db, MIGRATIONS)
        except sqlite3.Error as error:
            raise RunFileError(f"run file {path} cannot be opened: {error}") from None
        return cls(path, db)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    # -- what is there -------------------------------------------------------------------------------------------

    def setting(self, key: str) -> Any:
        """One value of the file's manifest."""
        [(value,)] = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,))
        return json.loads(value)

    def scenario(self, scenario_id: str) -> Scenario:
        """One scenario as planned."""
        [(body,)] = self._db.execute("SELECT body FROM scenario WHERE scenario_id = ?", (scenario_id,))
        return Scenario.model_validate_json(zlib.decompress(body))

    def turn_counts(self) -> dict[str, int]:
        """Scenario id to length of its history."""
        return dict(self._db.execute("SELECT scenario_id, turns FROM scenario"))

    def asked(self) -> dict[str, tuple[str, ...]]:
        """Scenario id to the probes that are asked."""
        found: dict[str, list[str]] = {}
        for scenario_id, probe_id in self._db.execute("SELECT scenario_id, probe_id FROM probe ORDER BY 1, position"):
            found.setdefault(scenario_id, []).append(probe_id)
        return {key: tuple(ids) for key, ids in found.items()}

    def finished_cells(self) -> set[CellKey]:
        """Keys of the cells that have an outcome."""
        return set(map(CellKey._make, self._db.execute("SELECT system, scenario_id, probe_id, replicate FROM cell")))

    def finished_lanes(self) -> set[LaneKey]:
        """Keys of the lanes that have come to their end."""
        rows = self._db.execute("SELECT scenario_id, memory, system, replicate FROM lane")
        return set(map(LaneKey._make, rows))

    def said(self, key: CellKey) -> Said | None:
        """What a stored cell said; None where the cell is not there."""
        row = self._db.execute(
            "SELECT status, reply FROM cell WHERE system = ? AND scenario_id = ? AND probe_id = ? AND replicate = ?",
            key,
        ).fetchone()
        return None if row is None else Said(row[0], json.loads(row[1])["text"])

    def content_hash(self) -> str:
        """See `RunReader.content_hash`."""
        return content_hash(self._db)

    # -- what is added -------------------------------------------------------------------------------------------

    def commit_cell(self, cell: CellRecord, *, replace: bool = False) -> None:
        """Store a cell with its verdicts, losses and spans in one transaction; a cell that is there is left as it is.

        Args:
            cell: What to store.
            replace: Put it in the place of an earlier outcome.
        """
        retrieval = cell.reply.retrieval
        pieces = self._pieces.of(retrieval.items) if retrieval else []
        packed = records.packed_retrieval(retrieval, pieces) if retrieval else None
        row = records.cell_row(cell)
        verdicts = [records.verdict_row(verdict) for verdict in cell.verdicts]
        spans = codec.spans_packed(cell.spans) if cell.spans else None
        with self._transaction(pieces):
            if replace:
                self._forget(cell.key)
            cursor = self._db.execute(
                "INSERT INTO cell (system, scenario_id, probe_id, replicate, status, error, error_cause, reply, plan, "
                "usage, cache_hits, given, context_tokens, ms, retrieval) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
                "ON CONFLICT DO NOTHING",
                (*row, packed),
            )
            if not cursor.rowcount:
                return
            number = cursor.lastrowid
            self._add_verdicts(number, verdicts, cell.judging)
            self._db.executemany(
                "INSERT INTO loss VALUES (?,?,?,?)",
                [(number, loss.fact_id, loss.stage, canonical_json(dict(loss.routes))) for loss in cell.losses],
            )
            if spans is not None:
                self._db.execute("INSERT INTO span VALUES (?,?)", (number, spans))

    def add_verdicts(self, key: CellKey, verdicts: Sequence[Verdict], judging: Mapping[str, Usage]) -> None:
        """Add what a judge said of a stored cell in one transaction; what it said before of these metrics gives way.

        Args:
            key: The cell; nothing is done where it is not stored.
            verdicts: All that the judge says of it.
            judging: Name of the judge to what it cost, added to what it cost before.
        """
        with self._transaction():
            found = self._db.execute(_CELL_ID, key).fetchone()
            if found is None:
                return
            gone = {(found[0], verdict.metric, verdict.judge_key) for verdict in verdicts}
            self._db.executemany("DELETE FROM verdict WHERE cell_id = ? AND metric = ? AND judge_key = ?", sorted(gone))
            self._add_verdicts(found[0], [records.verdict_row(verdict) for verdict in verdicts], judging)

    def add_asked_judges(self, judges: Iterable[AskedJudge]) -> None:
        """Say who is about to judge, before the first verdict: how they were asked last is what counts."""
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO asked_judge VALUES (?,?,?,?)", judges)

    def forget_failures(self) -> None:
        """Drop the failed cells and lanes, so that they are open again.

        Where replies are written to the memory, whatever came after a failed one would be different had it not
        failed. So there the whole lane is opened again.
        """
        with self._transaction():
            if self.setting("config").get("write_probes"):
                self._forget_lanes_with_failures()
            for table in ("verdict", "judging", "loss", "span", "cell"):
                self._db.execute(f"DELETE FROM {table} WHERE cell_id IN {_FAILED}")  # noqa: S608
            self._db.execute("DELETE FROM lane WHERE status = 'failed'")

    def commit_lane(self, lane: LaneRecord) -> None:
        """Store a lane's end with the memories it holds in one transaction; a lane that is there is left as it is."""
        pieces = self._pieces.of(lane.items)
        refs = [[item.id, piece.key] for item, piece in zip(lane.items, pieces, strict=True)]
        row = records.lane_row(lane)
        with self._transaction(pieces):
            marks = ",".join("?" * len(row))
            cursor = self._db.execute(f"INSERT INTO lane VALUES ({marks}) ON CONFLICT DO NOTHING", row)  # noqa: S608
            if cursor.rowcount and lane.stats:
                self._db.execute("INSERT INTO item VALUES (?,?,?,?,?)", (*lane.key, codec.pack(refs)))

    def set_status(self, status: RunStatus, *, finished_at: datetime | None, add_seconds: float = 0.0) -> None:
        """Say how far the run has come."""
        with self._transaction():
            values = {
                "status": status,
                "finished_at": None if finished_at is None else finished_at.isoformat(),
                "wall_seconds": round(self.setting("wall_seconds") + add_seconds, 3),
            }
            self._db.executemany(
                "UPDATE meta SET value = ? WHERE key = ?", [(canonical_json(v), k) for k, v in values.items()]
            )

    def settle(self) -> None:
        """Fold the write-ahead log into the file, so that it is one file that can be copied and mailed."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try:
            self._db.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError:
            # Someone is reading it; the log is empty by now, and the last to close removes it.
            return

    # -- inside --------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, pieces: Sequence[Piece] = ()) -> Iterator[None]:
        new = [piece for piece in pieces if piece.key not in self._stored]
        try:
            with _transaction(self._db):
                if new:
                    self._db.executemany("INSERT INTO piece VALUES (?,?,?) ON CONFLICT DO NOTHING", new)
                yield
        except sqlite3.OperationalError as error:
            raise RunFileError(f"run file {self.path} cannot be written: {error}; what was finished is kept") from None
        self._stored.update(piece.key for piece in new)

    def _forget_lanes_with_failures(self) -> None:
        failed = self._db.execute("SELECT DISTINCT system, scenario_id, replicate FROM cell WHERE status = 'error'")
        for lane in failed.fetchall():
            where = "system = ? AND scenario_id = ? AND replicate = ?"
            cells = f"(SELECT cell_id FROM cell WHERE {where})"  # noqa: S608
            for table in ("verdict", "judging", "loss", "span", "cell"):
                self._db.execute(f"DELETE FROM {table} WHERE cell_id IN {cells}", lane)  # noqa: S608
            for table in ("lane", "item"):
                self._db.execute(f"DELETE FROM {table} WHERE {where}", lane)  # noqa: S608

    def _add_verdicts(
        self, cell_id: int | None, rows: Sequence[tuple[object, ...]], judging: Mapping[str, Usage]
    ) -> None:
        self._db.executemany(
            f"INSERT INTO verdict ({_VERDICT_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608
            [(cell_id, *row) for row in rows],
        )
        for judge, usage in judging.items():
            spent = self._db.execute(
                "SELECT usage, cache_hits FROM judging WHERE cell_id = ? AND judge = ?", (cell_id, judge)
            ).fetchone()
            total = usage + codec.usage_from(*spent) if spent else usage
            self._db.execute(
                "INSERT OR REPLACE INTO judging VALUES (?,?,?,?)",
                (cell_id, judge, codec.usage_text(total), total.cache_hits),
            )

    def _forget(self, key: CellKey) -> None:
        found = self._db.execute(_CELL_ID, key).fetchone()
        for table in ("verdict", "judging", "loss", "span", "cell") if found else ():
            self._db.execute(f"DELETE FROM {table} WHERE cell_id = ?", found)  # noqa: S608


def _remove(path: Path) -> None:
    """Remove a database and whatever SQLite may have left beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:  # a full disk has rolled back already
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
