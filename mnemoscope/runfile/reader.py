"""Reading a run file: typed rows for comparison, report and export. Nothing here writes."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mnemoscope.config import RunConfig
from mnemoscope.core.errors import RunFileError
from mnemoscope.core.ports import Span
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.runfile import codec
from mnemoscope.runfile.content import content_hash
from mnemoscope.runfile.counting import KEY_ORDER, CountingRows
from mnemoscope.runfile.damage import decoding, decoding_of
from mnemoscope.runfile.integrity import refuse_impossible_rows
from mnemoscope.runfile.rows import (
    CellKey,
    CellRow,
    LaneKey,
    LaneRow,
    LossRow,
    ProbeRow,
    RankedRef,
    RunMeta,
    ScenarioRow,
    StoredReply,
    StoredRetrieval,
    SystemRow,
    VerdictRow,
)
from mnemoscope.runfile.schema import MIGRATIONS, apply_migrations, check_header, connect_read_only, latest_version
from mnemoscope.scenarios.records import Card, Scenario

__all__ = ["RunReader", "open_run"]

_CELL = (
    "SELECT c.cell_id, c.system, c.scenario_id, c.probe_id, c.replicate, c.status, c.error, c.error_cause, "
    "c.given, c.context_tokens, c.usage, c.cache_hits, c.ms FROM cell c"
)
_VERDICT = (
    "SELECT c.system, c.scenario_id, c.probe_id, c.replicate, v.metric, v.subject, v.label, v.score, v.status, "
    "v.judge_key FROM cell c CROSS JOIN verdict v ON v.cell_id = c.cell_id"
)


def open_run(path: str | Path) -> RunReader:
    """Open a run file for reading; an older one is brought to the present schema first.

    Raises:
        RunFileError: The file is missing, foreign, damaged, or newer than this program; it stays as it was.

    Example:
        >>> with open_run("run.db") as run:  # doctest: +SKIP
        ...     print(run.is_complete, len(run.systems()))
    """
    file = Path(path)
    version = check_header(file)
    try:
        if version < latest_version():
            with sqlite3.connect(file, isolation_level=None, timeout=30) as db:
                apply_migrations(db, MIGRATIONS)
            db.close()
        db = connect_read_only(file)
    except sqlite3.Error as error:
        raise RunFileError(f"run file {file} cannot be opened: {error}") from None
    try:
        refuse_impossible_rows(db, file)
        return RunReader(file, db)
    except sqlite3.DatabaseError as error:
        db.close()
        raise RunFileError(f"run file {file} is damaged: {error}; nothing was changed") from None
    except BaseException:
        db.close()
        raise


class RunReader(CountingRows):
    """A run file, opened for reading. Rows come in an order that no execution can change."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._scenario = lru_cache(maxsize=8)(self._load_scenario)
        self._settings: dict[str, Any] = {key: json.loads(value) for key, value in self._rows("SELECT * FROM meta")}
        self.meta: RunMeta = self._meta()
        self.config: RunConfig = RunConfig.model_validate(self._settings["config"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def check(self) -> None:
        """Read the whole file once.

        Raises:
            RunFileError: It is damaged; nothing was changed.
        """
        found = [row[0] for row in self._rows("PRAGMA quick_check(3)")]
        if found != ["ok"]:
            raise RunFileError(f"run file {self.path} is damaged: {'; '.join(found)}; nothing was changed")

    # -- what was asked ------------------------------------------------------------------------------------------

    @decoding
    def systems(self) -> tuple[SystemRow, ...]:
        """The systems in the order asked for."""
        rows = self._rows(
            "SELECT name, position, memory, profile, evidence_class, mode, privileged, capabilities, summary, "
            "profile_summary FROM system ORDER BY position"
        )
        return tuple(SystemRow(*codec.decoded(r, {6: bool, 7: codec.capabilities_from})) for r in rows)

    @decoding
    def scenarios(self) -> tuple[ScenarioRow, ...]:
        """The scenarios in the order replayed."""
        rows = self._rows(
            "SELECT scenario_id, position, cluster, benchmark, source_spec, turns, card, sha256 FROM scenario "
            "ORDER BY position"
        )
        return tuple(ScenarioRow(*codec.decoded(r, {6: Card.model_validate_json})) for r in rows)

    def scenario(self, scenario_id: str) -> Scenario:
        """One scenario with history, probes and gold, as it was replayed; the last few are kept in memory.

        Raises:
            KeyError: The run has no such scenario.
        """
        return self._scenario(scenario_id)

    @decoding
    def probes(self) -> tuple[ProbeRow, ...]:
        """The probes that every system is asked, in order of scenario and probe."""
        rows = self._rows(
            "SELECT p.scenario_id, p.probe_id, p.position, p.style, s.cluster, s.benchmark, p.strata, p.gold_facts "
            "FROM probe p JOIN scenario s USING (scenario_id) ORDER BY s.position, p.position"
        )
        return tuple(ProbeRow(*codec.decoded(r, {6: lambda text: tuple(json.loads(text))})) for r in rows)

    # -- what came out -------------------------------------------------------------------------------------------

    @decoding
    def lanes(self) -> tuple[LaneRow, ...]:
        """The lanes that have come to an end, failed ones included."""
        rows = self._rows(
            "SELECT scenario_id, memory, system, replicate, status, error, error_cause, written, covered, forgotten, "
            "deferred, dropped, skipped, unknown_share, stats, usage, cache_hits, ingest_ms, node_ms FROM lane "
            "ORDER BY scenario_id, memory, system, replicate"
        )
        decoders: Mapping[int, Callable[[Any], object]] = {
            11: json.loads,
            12: json.loads,
            14: codec.or_none(codec.stats_from),
            18: json.loads,
        }
        return tuple(
            LaneRow(
                *[*codec.decoded(r, decoders)[:15], codec.usage_from(r[15], r[16]), *codec.decoded(r, decoders)[17:]]
            )
            for r in rows
        )

    def cells(self, system: str | None = None, scenario: str | None = None) -> Iterator[CellRow]:
        """Cells without their texts, ordered by key.

        Args:
            system: Only those of this system.
            scenario: Only those of this scenario id.
        """
        wanted = [("c.system", system), ("c.scenario_id", scenario)]
        where = " AND ".join(f"{column} = ?" for column, value in wanted if value is not None)
        query = _CELL + (f" WHERE {where}" if where else "") + KEY_ORDER
        for row in self._rows(query, [value for _, value in wanted if value is not None]):
            with decoding_of(self.path):
                found = _cell(row)
            yield found

    @decoding
    def cell(self, key: CellKey) -> CellRow | None:
        """One cell by its key; None where it is not there yet."""
        rows = self._rows(
            f"{_CELL} WHERE c.system = ? AND c.scenario_id = ? AND c.probe_id = ? AND c.replicate = ?", key
        )
        return next((_cell(row) for row in rows), None)

    @decoding
    def reply_of(self, cell: CellRow) -> StoredReply:
        """What a cell said, planned and retrieved, texts included."""
        [(reply, plan, retrieval)] = self._rows(
            "SELECT reply, plan, retrieval FROM cell WHERE cell_id = ?", (cell.cell_id,)
        )
        data = json.loads(reply)
        return StoredReply(
            visible_text=data["text"],
            queries=codec.queries_from(data["queries"]),
            drafts=tuple(data["drafts"]),
            reasoning=data["reasoning"],
            fallback=data["fallback"],
            realised=data["realised"],
            plan=None if plan is None else codec.plan_from(plan),
            retrieval=None if retrieval is None else self._retrieval(codec.unpack(retrieval)),
        )

    @decoding
    def ranking_of(self, cell: CellRow) -> tuple[MemoryItem, ...]:
        """The whole ranking behind a cell with its texts, best first; empty where nothing was retrieved."""
        [(packed,)] = self._rows("SELECT retrieval FROM cell WHERE cell_id = ?", (cell.cell_id,))
        ranking = [] if packed is None else codec.unpack(packed)["ranking"]
        pieces = self._pieces([key for _, key, _ in ranking])
        return tuple(
            codec.item_from(item_id, pieces[key][1], score, rank)
            for rank, (item_id, key, score) in enumerate(ranking, start=1)
        )

    def verdict_rows(self, metric: str | None = None) -> Iterator[VerdictRow]:
        """All verdicts in their narrow form, ordered by cell key, metric, subject and judge.

        Args:
            metric: Only those of this metric.
        """
        query = _VERDICT + (" AND v.metric = ?" if metric else "") + KEY_ORDER + ", v.metric, v.subject, v.judge_key"
        return map(VerdictRow._make, self._rows(query, (metric,) if metric else ()))

    @decoding
    def verdicts_of(self, cell: CellRow) -> tuple[Verdict, ...]:
        """The verdicts of one cell in full, ordered by metric, subject and judge."""
        rows = self._rows(
            "SELECT metric, subject, label, score, status, judge_key, prompt_sha, raw, quote, agreement, flags "
            "FROM verdict WHERE cell_id = ? ORDER BY metric, subject, judge_key",
            (cell.cell_id,),
        )
        return tuple(
            replace(Verdict(*first), agreement=agreement, flags=tuple(json.loads(flags)))
            for *first, agreement, flags in rows
        )

    def losses(self, system: str | None = None) -> Iterator[LossRow]:
        """Where gold facts went, ordered by cell key and fact.

        Args:
            system: Only those of this system.
        """
        query = (
            "SELECT c.system, c.scenario_id, c.probe_id, c.replicate, l.fact_id, l.stage, l.routes "
            "FROM cell c CROSS JOIN loss l ON l.cell_id = c.cell_id"
            + (" WHERE c.system = ?" if system else "")
            + KEY_ORDER
            + ", l.fact_id"
        )
        for row in self._rows(query, (system,) if system else ()):
            with decoding_of(self.path):
                found = LossRow(*codec.decoded(row, {6: json.loads}))
            yield found

    @decoding
    def losses_of(self, cell: CellRow) -> tuple[LossRow, ...]:
        """Where the gold facts of one cell went."""
        rows = self._rows("SELECT fact_id, stage, routes FROM loss WHERE cell_id = ? ORDER BY fact_id", (cell.cell_id,))
        return tuple(LossRow(*cell.key, fact, stage, json.loads(routes)) for fact, stage, routes in rows)

    @decoding
    def spans_of(self, cell: CellRow) -> tuple[Span, ...]:
        """The nodes that one cell ran through, in order."""
        rows = list(self._rows("SELECT body FROM span WHERE cell_id = ?", (cell.cell_id,)))
        return codec.spans_from(rows[0][0]) if rows else ()

    @decoding
    def items_of(self, lane: LaneRow | LaneKey) -> tuple[MemoryItem, ...]:
        """What a memory held at the history's end, tombstones included, in order of writing."""
        rows = list(
            self._rows(
                "SELECT body FROM item WHERE scenario_id = ? AND memory = ? AND system = ? AND replicate = ?",
                (lane.scenario_id, lane.memory, lane.system, lane.replicate),
            )
        )
        if not rows:
            return ()
        refs = codec.unpack(rows[0][0])
        pieces = self._pieces([key for _, key in refs])
        return tuple(codec.item_from(item_id, pieces[key][1]) for item_id, key in refs)

    def lane_of(self, cell: CellKey, memory: str) -> LaneKey:
        """The lane that a cell was asked in: its system's own where probes were written back, else the shared one.

        Args:
            cell: Names the cell, with its system's name in this file.
            memory: Of that system.
        """
        own = (cell.system, cell.replicate) if self.config.write_probes else ()
        return LaneKey(cell.scenario_id, memory, *own)

    # -- how far it has come -------------------------------------------------------------------------------------

    @property
    def expected_cells(self) -> int:
        """Cells of the whole grid: probes × systems × replicates."""
        [(probes,)] = self._rows("SELECT count(*) FROM probe")
        [(systems,)] = self._rows("SELECT count(*) FROM system")
        return int(probes) * int(systems) * self.meta.replicates

    @property
    def is_complete(self) -> bool:
        """Whether every cell has an outcome, failed ones included."""
        [(cells,)] = self._rows("SELECT count(*) FROM cell")
        return int(cells) == self.expected_cells

    @decoding
    def content_hash(self) -> str:
        """A hash of what was found: equal for equal content, whatever the order, the time, the host and the workers."""
        try:
            return content_hash(self._db)
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from None

    # -- inside --------------------------------------------------------------------------------------------------

    def _rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            # `yield from` would close the cursor of a reading that is given up, maybe after the file
            for row in self._db.execute(query, tuple(values)):  # noqa: UP028
                yield row
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from None

    def _damaged(self, error: sqlite3.DatabaseError) -> RunFileError:
        return RunFileError(f"run file {self.path} is damaged: {error}; nothing was changed")

    def _meta(self) -> RunMeta:
        try:
            s = self._settings
            return RunMeta(
                schema_version=latest_version(),
                version=s["version"],
                config_hash=s["config_hash"],
                status=s["status"],
                created_at=datetime.fromisoformat(s["created_at"]),
                finished_at=None if s["finished_at"] is None else datetime.fromisoformat(s["finished_at"]),
                wall_seconds=s["wall_seconds"],
                host=s["host"],
                packages=s["packages"],
                keys=s["keys"],
                replicates=s["config"]["replicates"],
            )
        except KeyError as error:
            raise RunFileError(f"run file {self.path} is damaged: it does not say its {error}") from None

    def _load_scenario(self, scenario_id: str) -> Scenario:
        rows = list(self._rows("SELECT body FROM scenario WHERE scenario_id = ?", (scenario_id,)))
        if not rows:
            raise KeyError(scenario_id)
        with decoding_of(self.path):
            return Scenario.model_validate_json(zlib.decompress(rows[0][0]))

    def _pieces(self, keys: Sequence[str]) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        unique = list(dict.fromkeys(keys))
        for start in range(0, len(unique), 500):
            part = unique[start : start + 500]
            marks = ",".join("?" * len(part))
            for key, tokens, body in self._rows(f"SELECT key, tokens, body FROM piece WHERE key IN ({marks})", part):  # noqa: S608
                found[key] = (tokens, body)
        return found

    def _retrieval(self, data: dict[str, Any]) -> StoredRetrieval:
        ranking = data["ranking"]
        pieces = self._pieces([key for _, key, _ in ranking])
        refs = []
        for rank, (item_id, key, score) in enumerate(ranking, start=1):
            tokens, body = pieces[key]
            sources = tuple(Source(*source) for source in json.loads(body)["sources"])
            refs.append(RankedRef(item_id, sources, tokens, score, rank))
        return StoredRetrieval(
            given=tuple(
                codec.item_from(item_id, pieces[key][1], score, rank)
                for rank, (item_id, key, score) in enumerate(ranking[: data["given"]], start=1)
            ),
            ranking=tuple(refs),
            context_tokens=data["context_tokens"],
            ranked=data["ranked"],
            truncated=data["truncated"],
            tied_at_cut=data["tied_at_cut"],
            blank_query=data["blank_query"],
            mutated=data["mutated"],
            answer=data["answer"],
            parse_failures=data.get("parse_failures", 0),
            usage=codec.usage_from(json.dumps(data["usage"])),
        )


def _cell(row: tuple[Any, ...]) -> CellRow:
    return CellRow(*[*row[:10], codec.usage_from(row[10], row[11]), row[12]])
