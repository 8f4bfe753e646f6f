"""The run file: what goes in comes out, foreign and damaged files stay as they are, one writer at a time."""

from __future__ import annotations

import os
import random
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemoscope.config import RunConfig
from mnemoscope.core.errors import RunFileError
from mnemoscope.core.identity import ItemId, ProbeId, ScenarioId, TurnId
from mnemoscope.core.ports import Span
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.plan import Conflict, ResponsePlan, Slot
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.memory_backends.record import Capabilities, MemoryItem, Query, Retrieval, Source, Stats
from mnemoscope.runfile import RunFile, open_run
from mnemoscope.runfile.lock import exclusive
from mnemoscope.runfile.reader import RunReader
from mnemoscope.runfile.records import CellRecord, LaneRecord, LossRecord, Manifest, PlannedScenario
from mnemoscope.runfile.rows import CellKey, LaneKey, SystemRow
from mnemoscope.runfile.schema import APPLICATION_ID, MIGRATIONS, Migration, apply_migrations, latest_version
from mnemoscope.scenarios.records import Card, Cut, Gold, GoldFact, Participant, Probe, Scenario

AT = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)


def scenario() -> Scenario:
    probes = tuple(
        Probe(
            probe_id=ProbeId(f"p{i}"),
            style="question",
            speaker="asker",
            text="Which cat? 猫 🐈",
            cut=Cut(seq=0, turn_id=None),
            now=AT,
        )
        for i in range(3)
    )
    gold = Gold(strata=("single-hop",), facts=(GoldFact(fact_id="f", text="The cat is Pixel."),))
    return Scenario(
        scenario_id=ScenarioId("s"),
        benchmark="b",
        cluster="c",
        participants=(Participant(name="Mira", role="peer"),),
        sessions=(),
        probes=probes,
        gold_by_probe={p.probe_id: gold for p in probes},
        card=Card(benchmark="b", source="-", licence="-", annotation="-"),
    )


SYSTEM = SystemRow("bm25@baseline", 0, "bm25", "baseline", "package", "", False, Capabilities(), "words", "plain")


def item(name: str, text: str, rank: int | None = None, score: float | None = None) -> MemoryItem:
    return MemoryItem(
        ItemId(name),
        "turn",
        text,
        (Source(TurnId(name), "verbatim"),),
        AT,
        attrs={"speaker": "Mira"},
        rank=rank,
        score=score,
    )


def cell(probe: str = "p0", text: str = "Pixel 猫", *, ms: float = 3.0, hits: int = 0) -> CellRecord:
    retrieval = Retrieval(
        items=(item("t1", "My cat is Pixel.", 1, 2.5), item("t2", "ok", 2, 0.1234564)),
        given=1,
        rendered="My cat is Pixel.",
        context_tokens=5,
        usage=Usage(embedded_texts=1, cache_hits=hits),
    )
    plan = ResponsePlan(
        "top-k(1)",
        (Slot("s1", ItemId("t1"), "must"),),
        ("correct", "guide"),
        (Conflict("a dog", "a cat", ItemId("t1")),),
    )
    return CellRecord(
        key=CellKey("bm25@baseline", "s", probe, 0),
        reply=Reply(
            text,
            HiddenTrace((Query("cat", "asker", pool_ids=(ItemId("x"),)),), ("draft", text), "thought", True),
            retrieval,
            plan,
            {"s1": True},
            Usage({"respond": 1}, 10, 2, 1, hits),
        ),
        ms=ms,
        verdicts=(
            Verdict("recall@10", "reply", "hit", 1 / 3, quote="Pixel"),
            Verdict("smc", "reply", "", float("nan")),
        ),
        losses=(LossRecord("f", "kept", {"said": True, "planned": None}),),
        spans=(Span("retrieve", ms, 4, "found", Usage(embedded_texts=1)),),
    )


def lane() -> LaneRecord:
    stats = Stats({"turn": 2}, 1, 99, 3, 2, 0, {"policy": 1}, 0, 0, Usage(embedded_texts=2), 1.0, {"verbatim": 2})
    items = (item("t1", "My cat is Pixel."), item("t2", "ok"))
    return LaneRecord(
        LaneKey("s", "bm25"), "done", 3, {"empty": 1}, stats, items, Usage(embedded_texts=2), 12.5, {"w": 1.0}
    )


def make(path: Path) -> RunFile:
    manifest = Manifest(RunConfig(), "0.1.0", AT, {"system": "x"}, {"numpy": "2"}, {"writer": "w"})
    return RunFile.create(path, manifest, (SYSTEM,), (PlannedScenario(scenario(), "b:file", ("p0", "p2")),))


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RunFile]:
    with make(tmp_path / "run.db") as made:
        yield made


def test_what_goes_in_comes_out(file: RunFile) -> None:
    file.commit_cell(cell())
    file.commit_lane(lane())
    with open_run(file.path) as run:
        (row,) = run.cells()
        assert (row.key, row.status, row.given, row.context_tokens) == (cell().key, "ok", 1, 5)
        assert row.usage == Usage({"respond": 1}, 10, 2, 1)
        assert run.cell(row.key) == row
        assert run.cell(row.key._replace(probe_id="p2")) is None
        reply = run.reply_of(row)
        assert reply.visible_text == "Pixel 猫"
        assert reply.plan == cell().reply.plan
        assert (reply.queries, reply.drafts, reply.fallback, reply.realised) == (
            cell().reply.hidden_trace.queries,
            ("draft", "Pixel 猫"),
            True,
            {"s1": True},
        )
        assert reply.retrieval is not None
        assert reply.retrieval.given == (item("t1", "My cat is Pixel.", 1, 2.5),)
        assert [(r.item_id, r.rank, r.score) for r in reply.retrieval.ranking] == [("t1", 1, 2.5), ("t2", 2, 0.123456)]
        assert reply.retrieval.ranking[1].sources == (Source(TurnId("t2"), "verbatim"),)
        recall, smc = run.verdicts_of(row)
        assert (recall.score, recall.quote) == (0.333333, "Pixel")
        assert (smc.score, smc.status) == (None, "error")
        assert [v[4:6] for v in run.verdict_rows("recall@10")] == [("recall@10", "reply")]
        assert [loss.routes for loss in run.losses()] == [{"said": True, "planned": None}]
        assert run.losses_of(row) == tuple(run.losses())
        assert [span.name for span in run.spans_of(row)] == ["retrieve"]
        (stored,) = run.lanes()
        assert (stored.written, stored.covered, stored.dropped, stored.skipped) == (3, 2, {"policy": 1}, {"empty": 1})
        assert stored.stats == lane().stats
        assert run.items_of(stored) == lane().items
        assert run.systems() == (SYSTEM,)
        assert run.scenario("s") == scenario()
        assert [(p.probe_id, p.strata, p.gold_facts) for p in run.probes()] == [
            ("p0", ("single-hop",), 1),
            ("p2", ("single-hop",), 1),
        ]
        assert (run.expected_cells, run.is_complete) == (2, False)


def test_a_cell_is_stored_once_and_a_later_outcome_needs_to_say_that_it_replaces(file: RunFile) -> None:
    file.commit_cell(cell(text="first"))
    file.commit_cell(cell(text="second"))
    with open_run(file.path) as run:
        assert [run.reply_of(row).visible_text for row in run.cells()] == ["first"]
        assert sum(1 for _ in run.verdict_rows()) == 2
    file.commit_cell(cell(text="third"), replace=True)
    with open_run(file.path) as run:
        assert [run.reply_of(row).visible_text for row in run.cells()] == ["third"]
        assert sum(1 for _ in run.verdict_rows()) == 2


def test_the_content_hash_is_blind_to_order_time_and_caches_and_sees_every_word(tmp_path: Path) -> None:
    def content(name: str, *cells: CellRecord) -> str:
        with make(tmp_path / name) as made:
            for one in cells:
                made.commit_cell(one)
            return made.content_hash()

    here = content("a.db", cell("p0"), cell("p2"))
    assert here == content("b.db", cell("p2", ms=99.0, hits=7), cell("p0", hits=1))
    assert here != content("c.db", cell("p0"), cell("p2", "Pixel 貓"))
    assert here != content("d.db", cell("p0"))


def test_a_failed_transaction_leaves_nothing_behind(file: RunFile) -> None:
    twice = cell()
    broken = CellRecord(twice.key, twice.reply, 1.0, (twice.verdicts[0], twice.verdicts[0]))
    with pytest.raises(sqlite3.IntegrityError):
        file.commit_cell(broken)
    with open_run(file.path) as run:
        assert list(run.cells()) == []
    file.commit_cell(twice)
    with open_run(file.path) as run:
        assert run.reply_of(next(run.cells())).retrieval is not None


def test_a_full_disk_keeps_what_was_finished(file: RunFile) -> None:
    file.commit_cell(cell("p0"))
    (pages,) = file._db.execute("PRAGMA page_count").fetchone()
    file._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(RunFileError, match="cannot be written: database or disk is full; what was finished is kept"):
        file.commit_cell(cell("p2", "".join(map(chr, range(0x4E00, 0x9000)))))
    with open_run(file.path) as run:
        assert [row.probe_id for row in run.cells()] == ["p0"]
    file._db.execute("PRAGMA max_page_count = 1000000")
    file.commit_cell(cell("p2"))
    with open_run(file.path) as run:
        assert run.is_complete


def test_a_settled_run_is_one_file_that_can_be_read_where_nothing_can_be_written(file: RunFile, tmp_path: Path) -> None:
    file.commit_cell(cell())
    file.set_status("complete", finished_at=AT, add_seconds=1.5)
    file.settle()
    file.close()
    assert sorted(p.name for p in tmp_path.glob("run.db*")) == ["run.db"]
    with open_run(tmp_path / "run.db") as run:
        assert (run.meta.status, run.meta.finished_at, run.meta.wall_seconds) == ("complete", AT, 1.5)


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(b"mine")
    with pytest.raises(RunFileError, match="--resume"):
        make(path)
    assert path.read_bytes() == b"mine"


def test_a_log_that_a_killed_run_left_is_not_played_into_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with make(path) as old:
        old.commit_cell(cell("p0"))
        old.commit_cell(cell("p2"))
        log = path.with_name("run.db-wal").read_bytes()
    path.unlink()
    for ending in ("-wal", "-journal"):
        path.with_name(f"run.db{ending}").write_bytes(log)
    make(path).close()
    with open_run(path) as run:
        assert list(run.cells()) == []


def test_failures_are_forgotten_with_all_that_hangs_on_them(file: RunFile) -> None:
    file.commit_cell(replace(cell("p0"), reply=replace(cell().reply, status="error", error="timeout: down")))
    file.commit_cell(cell("p2"))
    file.commit_lane(replace(lane(), status="failed", stats=None, items=()))
    file.forget_failures()
    assert (file.finished_lanes(), [key.probe_id for key in file.finished_cells()]) == (set(), ["p2"])
    for table in ("verdict", "loss", "span"):
        assert file._db.execute(f"SELECT count(DISTINCT cell_id) FROM {table}").fetchone() == (1,)
    file.commit_lane(lane())
    file.commit_cell(cell("p0"))
    assert (len(file.finished_lanes()), len(file.finished_cells())) == (1, 2)


def test_what_an_ingest_took_is_content_and_its_cache_hits_are_not(tmp_path: Path) -> None:
    def content(name: str, usage: Usage) -> str:
        with make(tmp_path / name) as made:
            made.commit_lane(replace(lane(), usage=usage))
            return made.content_hash()

    here = content("a.db", Usage({"extract": 1}, 20))
    assert here == content("b.db", Usage({"extract": 1}, 20, cache_hits=4))
    assert here != content("c.db", Usage({"extract": 2}, 20))


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()


def newer(path: Path) -> None:
    make(path).close()
    data = bytearray(path.read_bytes())
    data[60:64] = struct.pack(">I", latest_version() + 1)
    path.write_bytes(bytes(data))


def cut_short(path: Path) -> None:
    make(path).close()
    path.write_bytes(path.read_bytes()[:70])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_text("{}\n" * 50, encoding="utf-8"), "is not a run file"),
        (foreign, "another program"),
        (newer, "upgrade mnemoscope"),
        (cut_short, "damaged"),
        (lambda path: None, "there is no run file"),
        (lambda path: path.mkdir(), "cannot be read"),
    ],
    ids=["empty", "text", "foreign", "newer", "cut", "missing", "folder"],
)
def test_what_is_no_run_file_of_ours_is_refused_and_left_as_it_was(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "run.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    for opener in (open_run, RunFile.resume):
        with pytest.raises(RunFileError, match=message):
            opener(path)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_damage_inside_is_found_and_said(file: RunFile) -> None:
    for probe in ("p0", "p2"):
        file.commit_cell(cell(probe, "x" * 9000))
    file.settle()
    file.close()
    data = bytearray(file.path.read_bytes())
    rng = random.Random(5)
    for place in range(4096, len(data), 512):
        data[place] = rng.randrange(256)
    file.path.write_bytes(bytes(data))
    before = file.path.read_bytes()
    with pytest.raises(RunFileError, match=r"damaged|cannot be opened"), open_run(file.path) as run:
        run.check()
    assert file.path.read_bytes() == before


@pytest.mark.parametrize(
    ("spoil", "read"),
    [
        ("UPDATE cell SET usage = '{}'", lambda run: list(run.cells())),
        ("UPDATE cell SET reply = ''", lambda run: run.reply_of(next(run.cells()))),
        ("UPDATE cell SET plan = '{'", lambda run: run.reply_of(next(run.cells()))),
        ("UPDATE cell SET retrieval = x'0011'", lambda run: run.reply_of(next(run.cells()))),
        ("UPDATE probe SET strata = 'x'", lambda run: run.probes()),
        ("UPDATE scenario SET body = x'00'", lambda run: run.scenario(run.scenarios()[0].scenario_id)),
        ("UPDATE system SET capabilities = '{\"x\":1}'", lambda run: run.systems()),
    ],
    ids=["usage", "reply", "plan", "retrieval", "strata", "scenario", "capabilities"],
)
def test_a_value_that_cannot_be_read_back_is_damage(
    file: RunFile, spoil: str, read: Callable[[RunReader], object]
) -> None:
    file.commit_cell(cell("p0", "said"))
    file.settle()
    file.close()
    with closing(sqlite3.connect(file.path)) as db, db:
        db.execute(spoil)
    with open_run(file.path) as run, pytest.raises(RunFileError, match="damaged: a stored value cannot be read"):
        read(run)


def test_a_reading_given_up_says_nothing_after_the_file_is_closed(
    file: RunFile, capsys: pytest.CaptureFixture[str]
) -> None:
    for probe in ("p0", "p2"):
        file.commit_cell(cell(probe, "said"))
    file.settle()
    file.close()
    with open_run(file.path) as run:
        cells = run.cells()
        next(cells)
    cells.close()
    assert capsys.readouterr().err == ""


def test_migrations_run_once_in_order_and_are_recorded(tmp_path: Path) -> None:
    steps = (*MIGRATIONS, Migration(latest_version() + 1, "it's new", "CREATE TABLE extra (x INTEGER) STRICT"))
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    apply_migrations(db)
    apply_migrations(db, steps)
    apply_migrations(db, steps)
    assert db.execute("SELECT number, name FROM migration ORDER BY 1").fetchall() == [(s.number, s.name) for s in steps]
    assert db.execute("PRAGMA user_version").fetchone() == (latest_version() + 1,)
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    db.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    broken = Migration(latest_version() + 1, "broken", "CREATE TABLE extra (x INTEGER); CREATE TABLE cell (y)")
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    apply_migrations(db)
    with pytest.raises(sqlite3.OperationalError):
        apply_migrations(db, (*MIGRATIONS, broken))
    if db.in_transaction:
        db.execute("ROLLBACK")
    assert db.execute("PRAGMA user_version").fetchone() == (latest_version(),)
    assert db.execute("SELECT name FROM sqlite_master WHERE name = 'extra'").fetchall() == []
    db.close()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with exclusive(path), pytest.raises(RunFileError, match="another run"), exclusive(path):
        pass
    with exclusive(path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_lock_left_by_a_dead_run_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "run.db.lock").write_bytes(b"")
    with exclusive(tmp_path / "run.db"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    with pytest.raises(RunFileError, match="cannot be written"), exclusive(folder / "run.db"):
        pass
