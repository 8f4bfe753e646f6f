"""Probes that are written back: a memory per system and replicate, whose content no crash and no order can change."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from mnemoscope.comparison import compare_runs
from mnemoscope.comparison.material import RunMaterial
from mnemoscope.comparison.merging import open_runs, settings_of
from mnemoscope.config import RunConfig
from mnemoscope.engine import RunOutcome, Stop
from mnemoscope.engine.writeback import exchange, session_in_progress
from mnemoscope.runfile import RunFile, open_run
from mnemoscope.runfile.records import CellRecord
from mnemoscope.runfile.rows import CellKey, LaneKey, Said
from mnemoscope.runfile.schema import MIGRATIONS, apply_migrations
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario, seen_id
from mnemoscope.scenarios.replay import ForkAt, HistoryEnd, SessionEnd, SkipTurn, WriteTurn, replay

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]
SMALL = {"scenarios": ("demo",), "architectures": ("bm25", "summary"), "limit": 12, "write_probes": True}

FORGETFUL = '''
"""An architecture that fails at one question as long as a file is there."""
from pathlib import Path
from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import keep_windows, plain_store
from mnemoscope.graphs.architectures.full_context import take_all
from mnemoscope.graphs.nodes.read import cut
from mnemoscope.memory_backends.record import Capabilities

DOWN = Path(__file__).with_name("down")


async def maybe_fail(state, runtime):
    if DOWN.exists() and "street" in state["query"].text:
        raise ZeroDivisionError("down")
    return {}


def Flaky():
    return Architecture(
        name=f"{__file__}:Flaky", summary="-", capabilities=Capabilities(ranks=False), write=keep_windows(),
        read=read_graph({"maybe": maybe_fail, "all": take_all, "cut": cut}), new_store=plain_store,
    )
'''


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it."""


def demo() -> list[Scenario]:
    return list(open_source("demo"))


def sources_of(path: Path, system: str, replicate: int = 0) -> dict[str, list[str]]:
    """Scenario to the turns that its memory holds in the end, in order of writing."""
    with open_run(path) as run:
        row = next(one for one in run.systems() if one.name == system)
        found = {}
        for scenario in run.scenarios():
            key = run.lane_of(CellKey(system, scenario.scenario_id, "", replicate), row.memory)
            held = chain.from_iterable(item.sources for item in run.items_of(key))
            found[scenario.scenario_id] = list(dict.fromkeys(str(source.turn_id) for source in held))
        return found


def test_what_was_asked_and_said_is_in_the_memory_of_the_system_that_said_it(config: Configure, do_run: DoRun) -> None:
    settings = config(**SMALL, replicates=2)
    assert do_run(settings).failed == 0
    assert settings.out is not None
    with open_run(settings.out) as run:
        lanes = {lane.key: lane for lane in run.lanes()}
        names = {(s.memory, s.name) for s in run.systems()}
        scenarios = {s.scenario_id for s in run.scenarios()}
        assert lanes.keys() == {LaneKey(s, m, name, r) for s in scenarios for m, name in names for r in (0, 1)}
        asked = {(p.scenario_id, p.probe_id) for p in run.probes()}
        for scenario_id in scenarios:
            turns = sum(not turn.is_empty for turn in run.scenario(scenario_id).turns)
            for key in (k for k in lanes if k.scenario_id == scenario_id):
                said = [run.reply_of(c) for c in run.cells(key.system, scenario_id) if c.replicate == key.replicate]
                replies = sum(bool(one.visible_text.strip()) for one in said)
                pools = len({i.item_id for p in run.scenario(scenario_id).probes if p.pool for i in p.pool.items})
                assert lanes[key].written == turns + pools + len(said) + replies
    for scenario_id, held in sources_of(settings.out, "bm25@baseline", 1).items():
        assert {f"{seen_id(p)}-utterance" for s, p in asked if s == scenario_id} <= set(held)


def test_a_later_probe_finds_what_earlier_ones_left(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    data = f"locomo:{make_locomo(conversations=1)}"
    shared = {"scenarios": (data,), "architectures": ("full-context",), "k": None}
    found = []
    for written in (False, True):
        out = tmp_path / f"{written}.db"
        do_run(config(**shared, write_probes=written, out=out))
        with open_run(out) as run:
            given = [[str(s.turn_id) for i in run.ranking_of(cell) for s in i.sources] for cell in run.cells()]
        found.append([sum(name.startswith("p-") for name in names) for names in given])
    assert found == [[0, 0, 0, 0, 0], [0, 2, 4, 6, 8]]


@pytest.mark.parametrize("seed", range(2))
def test_a_kill_at_any_cell_and_a_resume_give_the_same_memory(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    reference = do_run(config(**SMALL, out=tmp_path / "whole.db"))
    rng, commit, left = random.Random(seed), RunFile.commit_cell, 0

    def dying(self: RunFile, cell: CellRecord, *, replace: bool = False) -> None:
        nonlocal left
        left -= 1
        if left < 0 and rng.random() < 0.5:
            raise Killed
        commit(self, cell, replace=replace)
        if left < 0:
            raise Killed

    settings = config(**SMALL)
    monkeypatch.setattr(RunFile, "commit_cell", dying)
    for _ in range(3):
        left = rng.randrange(1, 7)
        with pytest.raises(Killed):
            do_run(settings, resume=True)
    monkeypatch.setattr(RunFile, "commit_cell", commit)
    outcome = do_run(settings, resume=True)
    assert 0 < outcome.done_now < reference.done_now
    assert (outcome.status, outcome.content_hash) == ("complete", reference.content_hash)
    assert sources_of(settings.out or Path(), "bm25@baseline") == sources_of(tmp_path / "whole.db", "bm25@baseline")


def test_a_stop_between_two_probes_leaves_the_lane_open(config: Configure, do_run: DoRun, tmp_path: Path) -> None:
    reference = do_run(config(**SMALL, out=tmp_path / "whole.db"))
    stop, settings = Stop(), config(**SMALL)
    commit = RunFile.commit_cell

    def stopping(self: RunFile, cell: CellRecord, *, replace: bool = False) -> None:
        commit(self, cell, replace=replace)
        stop.request("interrupt")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFile, "commit_cell", stopping)
        assert do_run(settings, stop=stop).done_now == 1
    assert do_run(settings, resume=True).content_hash == reference.content_hash


def test_workers_change_nothing(config: Configure, do_run: DoRun, tmp_path: Path) -> None:
    one = do_run(config(**SMALL, out=tmp_path / "one.db"))
    two = do_run(config(**SMALL, out=tmp_path / "two.db", workers=2, concurrency=4))
    assert one.content_hash == two.content_hash


def test_a_failed_reply_is_not_written_and_a_retry_redoes_the_lane(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    plugin = tmp_path / "flaky.py"
    plugin.write_text(FORGETFUL, encoding="utf-8")
    shared = {
        "scenarios": (f"locomo:{make_locomo(conversations=1)}",),
        "architectures": (f"{plugin}:Flaky",),
        "write_probes": True,
    }
    whole = do_run(config(**shared, out=tmp_path / "whole.db"))
    down = tmp_path / "down"
    down.touch()
    settings = config(**shared)
    failed = do_run(settings)
    assert (failed.stored, failed.failed) == (5, 1)
    with open_run(settings.out or "") as run:
        (lane,) = run.lanes()
        assert (lane.status, lane.skipped["failed reply"]) == ("done", 2)
        [(system, probe)] = [(c.system, c.probe_id) for c in run.cells() if c.status == "error"]
    held = sources_of(settings.out or Path(), system)
    assert not [name for name in held["conv-1"] if name.startswith(seen_id(probe))]
    down.unlink()
    again = do_run(settings, resume=True)
    assert (again.failed, again.done_now) == (0, 5)  # replies after the failed one knew nothing of it
    assert again.content_hash == whole.content_hash


def test_mid_session_the_exchange_joins_the_session_and_later_turns_move_on(config: Configure, do_run: DoRun) -> None:
    settings = config(scenarios=("demo",), architectures=("full-context",), write_probes=True, k=None)
    assert do_run(settings).failed == 0
    with open_run(settings.out or "") as run:
        without_pools = [
            row for row in run.scenarios() if not any(p.pool for p in run.scenario(row.scenario_id).probes)
        ]
        assert len(without_pools) >= 3
        for scenario in without_pools:
            items = run.items_of(
                run.lane_of(CellKey("full-context@baseline", scenario.scenario_id, "", 0), "full-context")
            )
            assert [item.seq_from for item in items] == sorted(item.seq_from for item in items)
            assert len({item.seq_from for item in items}) == len(items)


def test_the_session_of_an_exchange() -> None:
    for scenario in demo():
        events = list(replay(scenario, pool_as_turns=True))
        at_end = False
        for place, event in enumerate(events):
            at_end = at_end or isinstance(event, HistoryEnd)
            if not isinstance(event, ForkAt):
                continue
            session, probe = session_in_progress(events, place), event.probes[0]
            made = list(exchange(scenario, probe, Said("ok", "Yes."), earlier=4, session=session, at_end=at_end))
            turns = [one.turn for one in made if isinstance(one, WriteTurn)]
            assert [turn.role for turn in turns] == ["user", "assistant"]
            assert [turn.meta["written_back"] for turn in turns] == ["utterance", "reply"]
            assert [turn.index for turn in turns] == [probe.cut.seq + 4, probe.cut.seq + 5]
            assert {turn.at for turn in turns} == {probe.now}
            known = scenario.turns[: probe.cut.seq]
            if session is not None:
                assert len(made) == 2
                assert {turn.session_id for turn in turns} == {session} == {known[-1].session_id}
            else:
                assert isinstance(made[2], HistoryEnd if at_end else SessionEnd)
            failed = list(exchange(scenario, probe, Said("error", ""), earlier=0, session=session, at_end=at_end))
            assert [(type(one), one.reason) for one in failed if isinstance(one, SkipTurn)] == [
                (SkipTurn, "failed reply")
            ] * 2
            assert len(failed) == 2


def test_with_and_without_are_rows_of_their_own_and_the_choice_of_probes_is_a_condition(
    config: Configure, do_run: DoRun, tmp_path: Path
) -> None:
    base = {"scenarios": ("demo",), "architectures": ("bm25",)}
    runs = {
        "pure": config(**base, limit=4, out=tmp_path / "pure.db"),
        "written": config(**base, limit=4, write_probes=True, out=tmp_path / "written.db"),
        "other": config(**base, limit=6, seed=0, write_probes=True, out=tmp_path / "other.db"),
    }
    for settings in runs.values():
        do_run(settings)
    with open_runs([tmp_path / "pure.db", tmp_path / "written.db", tmp_path / "other.db"]) as merged:
        assert len({row.name for row in merged.systems()}) == 3
        assert any("write_probes is true, in pure false" in note for note in merged.notes)
        assert [settings_of(m.run)["write_probes"] for m in merged.members] == ["false", "true", "true"]
        assert ["limit" in settings_of(m.run) for m in merged.members] == [False, True, True]
    result = compare_runs([tmp_path / "pure.db", tmp_path / "written.db"])
    assert [view.settings["write_probes"] for view in result.systems] == ["false", "true"]
    ingest = {cost.system: cost.ingest_ms for cost in result.costs}
    assert all(ms > 0 for ms in ingest.values())


def test_each_memory_that_is_written_back_to_costs_what_it_took_itself(
    config: Configure, do_run: DoRun, tmp_path: Path
) -> None:
    settings = {"scenarios": ("demo",), "architectures": ("dense",), "profiles": ("baseline", "slots"), "limit": 4}
    for write_probes in (False, True):
        out = tmp_path / f"{write_probes}.db"
        do_run(config(**settings, embedder="hash(dim=64)", write_probes=write_probes, out=out))
        with open_runs([out]) as runs:
            taken = {name: usage.embedded_texts for name, usage in RunMaterial(runs).ingest().items()}
            every = sum(lane.usage.embedded_texts for _, lane in runs.lanes())
        assert set(taken) == {"dense@baseline", "dense@slots"}
        if write_probes:
            assert sum(taken.values()) == every and all(taken.values())
        else:
            assert set(taken.values()) == {every}, "one memory, which both systems share"


def test_a_run_file_from_before_keeps_its_lanes(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    apply_migrations(db, MIGRATIONS[:1])
    db.execute("INSERT INTO scenario VALUES ('s', 0, 'c', 'b', 'x', 1, '{}', '', x'00')")
    db.execute(
        "INSERT INTO lane VALUES ('s', 'bm25', 'done', NULL, NULL, 3, 2, 0, 0, '{\"policy\":1}', '{}', NULL, NULL, "
        "'{}', 0, 1.5, '{}')"
    )
    db.execute("INSERT INTO item VALUES ('s', 'bm25', x'01')")
    apply_migrations(db)
    lane = db.execute("SELECT scenario_id, memory, system, replicate, written, ingest_ms FROM lane").fetchall()
    assert lane == [("s", "bm25", "", 0, 3, 1.5)]
    assert db.execute("SELECT * FROM item").fetchall() == [("s", "bm25", "", 0, b"\x01")]
    assert {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}.isdisjoint(
        {"shared_lane", "shared_item"}
    )
