"""The engine: the same content whatever the order, the workers and the crashes; failures are rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.agents.writers.extractive import ExtractiveWriter
from mnemoscope.config import RunConfig, load_config
from mnemoscope.core.errors import BudgetStop, ConfigError, DataError, RunFileError
from mnemoscope.core.ports import Draft, WritingTask
from mnemoscope.engine import NoProgress, RunOutcome, Stop
from mnemoscope.engine import run as run_engine
from mnemoscope.engine.grid import Lane, bundles
from mnemoscope.engine.pool import run_in_workers
from mnemoscope.runfile import RunFile, open_run
from mnemoscope.runfile.lock import exclusive
from mnemoscope.runfile.records import CellRecord
from mnemoscope.runfile.rows import CellKey

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]

SMALL = {"scenarios": ("demo",), "architectures": ("bm25", "recent(n=4)", "dense"), "limit": 14}
TINY = {"scenarios": ("demo",), "architectures": ("bm25",), "limit": 3}

PLUGIN = '''
"""Architectures that misbehave."""
from dataclasses import replace
from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.architecture import Architecture, read_graph
from mnemoscope.graphs.architectures._windowed import keep_windows, plain_store
from mnemoscope.graphs.architectures.full_context import take_all
from mnemoscope.graphs.nodes.read import cut
from mnemoscope.memory_backends.record import Capabilities, MemoryItem, Source


async def scribble(state, runtime):
    store = runtime.context.store
    first = next(iter(store.items()))
    store.put([replace(first, id=ItemId(f"note-{len(store)}"))])
    return {}


async def fall_over(state, runtime):
    if "cat" in state["query"].text:
        raise ZeroDivisionError("no cats here")
    return {"found": ()}


def _made(name, *nodes):
    return Architecture(
        name=name, summary="-", capabilities=Capabilities(), write=keep_windows(),
        read=read_graph({f"n{i}": node for i, node in enumerate(nodes)}), new_store=plain_store,
    )


def Impure():
    return _made(f"{__file__}:Impure", scribble, take_all, cut)


def Fragile():
    return _made(f"{__file__}:Fragile", fall_over, cut)
'''


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The content of the small run, uninterrupted."""
    out = tmp_path_factory.mktemp("reference") / "run.db"
    settings = load_config(None, {**SMALL, "embedder": "hash(dim=64)", "workers": 1, "cache": "none", "out": out})
    return run_engine(settings, resume=False, progress=NoProgress(), stop=Stop()).content_hash


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "misbehaving.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


@pytest.mark.parametrize("seed", range(3))
def test_a_crash_at_any_cell_and_a_resume_give_the_same_content(
    config: Configure, do_run: DoRun, reference: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    settings = config(**SMALL)
    commit, left = RunFile.commit_cell, 0

    def dying(self: RunFile, cell: CellRecord, *, replace: bool = False) -> None:
        nonlocal left
        left -= 1
        if left < 0 and rng.random() < 0.5:
            raise Killed  # the cell was answered and never stored
        commit(self, cell, replace=replace)
        if left < 0:
            raise Killed  # the cell was stored and nobody heard of it

    monkeypatch.setattr(RunFile, "commit_cell", dying)
    stored = 0
    for _ in range(2):
        left = rng.randrange(2, 12)
        with pytest.raises(Killed):
            do_run(settings, resume=True)
        with open_run(settings.out or "") as run:
            assert (run.meta.status, run.is_complete) == ("running", False)
            now = sum(1 for _ in run.cells())
            assert now > stored
            stored = now
    monkeypatch.setattr(RunFile, "commit_cell", commit)
    outcome = do_run(settings, resume=True)
    assert (outcome.status, outcome.stored, outcome.done_now) == ("complete", 42, 42 - stored)
    assert outcome.content_hash == reference


def test_a_run_that_is_complete_has_nothing_left_to_do(config: Configure, do_run: DoRun) -> None:
    first = do_run(config(**TINY))
    again = do_run(config(**TINY), resume=True)
    assert (again.done_now, again.content_hash, again.stored) == (0, first.content_hash, first.stored)


def test_two_workers_find_what_one_finds(config: Configure, do_run: DoRun, reference: str) -> None:
    assert do_run(config(**SMALL, workers=2)).content_hash == reference


def test_concurrency_changes_nothing(config: Configure, do_run: DoRun, reference: str) -> None:
    assert do_run(config(**SMALL, concurrency=1)).content_hash == reference


def test_the_seed_is_part_of_the_content(config: Configure, do_run: DoRun, reference: str) -> None:
    assert do_run(config(**SMALL, seed=1)).content_hash != reference


def test_asking_fewer_systems_changes_no_answer(config: Configure, do_run: DoRun, tmp_path: Path) -> None:
    def said(name: str, *architectures: str) -> dict[CellKey, object]:
        settings = config(**{**SMALL, "architectures": architectures}, out=tmp_path / name)
        do_run(settings)
        with open_run(tmp_path / name) as run:
            return {c.key: (run.reply_of(c), run.verdicts_of(c)) for c in run.cells(system="bm25@baseline")}

    alone = said("alone.db", "bm25")
    assert len(alone) == 14
    assert alone == said("together.db", "recent(n=4)", "bm25", "oracle")


@pytest.mark.parametrize("system", ["hybrid@slots", "memgpt-style(read=agentic)@own"])
def test_asking_in_another_order_or_not_at_all_changes_no_answer(
    config: Configure, do_run: DoRun, tmp_path: Path, system: str
) -> None:
    def said(name: str, **settings: object) -> dict[CellKey, object]:
        do_run(config(scenarios=("demo",), systems=(system,), **settings, out=tmp_path / name))
        with open_run(tmp_path / name) as run:
            return {c.key: run.reply_of(c) for c in run.cells()}

    everything, some = said("all.db"), said("some.db", limit=9, seed=0)
    assert len(some) == 9
    assert some.items() <= everything.items()


def test_systems_that_share_a_memory_share_its_ingest(config: Configure, do_run: DoRun) -> None:
    outcome = do_run(
        config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline", "slots", "all"), limit=12)
    )
    with open_run(outcome.path) as run:
        assert len(run.lanes()) == len(run.scenarios()) == 6
        assert {lane.status for lane in run.lanes()} == {"done"}
        for lane in run.lanes():
            assert lane.written == lane.covered + sum(lane.dropped.values()) > 0
            assert len(run.items_of(lane)) == lane.covered


def test_no_memory_holds_anything_from_after_the_cut(config: Configure, do_run: DoRun) -> None:
    outcome = do_run(
        config(scenarios=("demo",), architectures=("full-context", "hybrid", "oracle", "recent(n=3)"), limit=16)
    )
    checked = 0
    with open_run(outcome.path) as run:
        for row in run.cells():
            scenario = run.scenario(row.scenario_id)
            index = {turn.turn_id: turn.index for turn in scenario.turns}
            cut = next(p.cut.seq for p in scenario.probes if p.probe_id == row.probe_id)
            retrieval = run.reply_of(row).retrieval
            assert retrieval is not None
            for ref in retrieval.ranking:
                assert all(index.get(s.turn_id, -1) < cut for s in ref.sources)
            checked += cut < len(scenario.turns)
    assert checked > 20


def test_a_failing_cell_is_a_row_with_its_cause_and_the_others_go_on(
    config: Configure, do_run: DoRun, plugin: Path, make_locomo: Callable[..., Path]
) -> None:
    fragile = f"{plugin}:Fragile"
    outcome = do_run(config(scenarios=(f"locomo:{make_locomo()}",), systems=(f"{fragile}@baseline", "bm25@baseline")))
    assert (outcome.status, outcome.stored, outcome.failed) == ("complete", 20, 2)
    assert outcome.failed_share == 0.1
    with open_run(outcome.path) as run:
        failed = [row for row in run.cells() if row.status == "error"]
        assert [row.system for row in failed] == [f"{fragile}@baseline"] * 2
        for row in failed:
            assert row.error is not None
            assert "ZeroDivisionError: no cats here" in row.error
            assert row.error_cause == "memory-retrieve"
            assert {v.status for v in run.verdicts_of(row)} == {"error"}
    assert any(text.startswith("failed cells: 2 of 20 (memory-retrieve 2)") for text in outcome.warnings)


def test_a_memory_that_a_probe_changes_is_caught(
    config: Configure, do_run: DoRun, plugin: Path, make_locomo: Callable[..., Path]
) -> None:
    outcome = do_run(
        config(scenarios=(f"locomo:{make_locomo()}",), systems=(f"{plugin}:Impure@baseline", "bm25@baseline"))
    )
    assert (outcome.stored, outcome.failed) == (20, 10)
    with open_run(outcome.path) as run:
        assert {row.error_cause for row in run.cells() if row.status == "error"} == {"memory-retrieve"}
        broken = [lane for lane in run.lanes() if lane.status == "failed"]
        assert len(broken) == 2
        assert "a probe changed the memory" in (broken[0].error or "")


def test_a_stop_finishes_what_is_in_flight_and_resume_goes_on(
    config: Configure, do_run: DoRun, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, commit = Stop(), RunFile.commit_cell

    def stopping(self: RunFile, cell: CellRecord, *, replace: bool = False) -> None:
        commit(self, cell, replace=replace)
        stop.request("interrupt")

    monkeypatch.setattr(RunFile, "commit_cell", stopping)
    outcome = do_run(config(**SMALL), stop=stop)
    assert (outcome.status, outcome.reason) == ("interrupted", "interrupt")
    assert 0 < outcome.stored < 42
    assert any(text.startswith("partial:") for text in outcome.warnings)
    monkeypatch.undo()
    assert do_run(config(**SMALL), resume=True).content_hash == reference


def test_a_spent_budget_stops_cleanly_and_resume_goes_on(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = config(**SMALL)
    write, calls = ExtractiveWriter.write, 0

    async def costly(self: ExtractiveWriter, task: WritingTask) -> Draft:
        nonlocal calls
        calls += 1
        if calls > 10:
            raise BudgetStop("10 calls were allowed")
        return await write(self, task)

    monkeypatch.setattr(ExtractiveWriter, "write", costly)
    outcome = do_run(settings)
    assert (outcome.status, outcome.reason, outcome.failed) == ("stopped", "budget", 0)
    assert 0 < outcome.stored <= 10
    monkeypatch.undo()
    again = do_run(settings, resume=True)
    assert (again.status, again.stored, again.failed) == ("complete", 42, 0)


def test_an_embedded_vector_store_finds_what_the_exact_one_finds(
    config: Configure, do_run: DoRun, tmp_path: Path
) -> None:
    def said(name: str, store: str) -> dict[CellKey, str]:
        out = tmp_path / name
        do_run(config(scenarios=("demo",), architectures=("dense",), limit=5, vector_store=store, workers=1, out=out))
        with open_run(out) as run:
            assert {row.status for row in run.cells()} == {"ok"}
            return {row.key: run.reply_of(row).visible_text for row in run.cells()}

    folder = tmp_path / "vectors"
    assert said("exact.db", "exact") == said("qdrant.db", f"qdrant:{folder}")
    assert list(folder.iterdir()) == []


def test_an_existing_output_needs_resume(config: Configure, do_run: DoRun) -> None:
    do_run(config(**TINY))
    with pytest.raises(RunFileError, match="--resume"):
        do_run(config(**TINY))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 4}, "k was 10, is 4"),
        ({"seed": 3}, "seed was 0, is 3"),
        ({"architectures": ("recent",)}, "systems was"),
        ({"embedder": "hash(dim=32)"}, "embedder was"),
    ],
)
def test_other_settings_cannot_resume(
    config: Configure, do_run: DoRun, change: dict[str, object], message: str
) -> None:
    outcome = do_run(config(**TINY))
    before = outcome.path.read_bytes()
    with pytest.raises(RunFileError, match=message):
        do_run(config(**{**TINY, **change}), resume=True)
    assert outcome.path.read_bytes() == before


def test_other_data_cannot_resume(config: Configure, do_run: DoRun, make_locomo: Callable[..., Path]) -> None:
    settings = config(scenarios=(f"locomo:{make_locomo()}",), architectures=("bm25",))
    before = do_run(settings).path.read_bytes()
    make_locomo(hidden="changed")
    with pytest.raises(RunFileError, match="data of scenario"):
        do_run(settings, resume=True)
    assert settings.out is not None
    assert settings.out.read_bytes() == before


def test_a_second_run_on_the_same_file_is_refused(config: Configure, do_run: DoRun) -> None:
    outcome = do_run(config(**TINY))
    before = outcome.path.read_bytes()
    with exclusive(outcome.path), pytest.raises(RunFileError, match="another run"):
        do_run(config(**TINY), resume=True)
    assert outcome.path.read_bytes() == before


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"scenarios": ()}, ConfigError, "--scenario demo"),
        ({"scenarios": ("demo",), "architectures": ("dens",)}, ConfigError, "nearest: dense"),
        ({"scenarios": ("demo",), "profiles": ("baselin",)}, ConfigError, "baseline"),
        ({"scenarios": ("demo",), "architectures": ("dense(windw=3)",)}, ConfigError, "windw"),
        ({"scenarios": ("demo",), "architectures": ("pool",)}, ConfigError, "brings none"),
        ({"scenarios": ("locomo:nowhere.json",)}, DataError, r"nowhere\.json"),
        ({"scenarios": ("demo",), "embedder": "minilmm"}, ConfigError, "minilm"),
        ({"scenarios": ("demo",), "architectures": ("bm25",), "embedder": "minilmm"}, ConfigError, "minilm"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_written(
    config: Configure, do_run: DoRun, settings: dict[str, object], error: type[Exception], message: str
) -> None:
    asked = config(**{"architectures": ("dense",), **settings})
    with pytest.raises(error, match=message):
        do_run(asked)
    assert asked.out is not None
    assert not list(asked.out.parent.glob("run.db*"))


def test_a_style_that_nobody_asks_in_is_refused(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path]
) -> None:
    with pytest.raises(ConfigError, match="no probe of style composed"):
        do_run(config(scenarios=(f"locomo:{make_locomo()}",), architectures=("bm25",), probes=("composed",)))


def test_one_scenario_set_twice_is_refused(config: Configure, do_run: DoRun, make_locomo: Callable[..., Path]) -> None:
    specs = (f"locomo:{make_locomo('a.json')}", f"locomo:{make_locomo('b.json')}")
    with pytest.raises(DataError, match="conv-1"):
        do_run(config(scenarios=specs, architectures=("bm25",)))


def test_pools_are_given_as_they_stand_or_as_turns(
    config: Configure, do_run: DoRun, make_stratmem: Callable[..., Path]
) -> None:
    spec = f"stratmem:{make_stratmem()}"
    outcome = do_run(config(scenarios=(spec,), systems=("pool@all", "bm25@top-k(2)", "pool@oracle")))
    assert (outcome.stored, outcome.failed) == (9, 0)
    with open_run(outcome.path) as run:
        lanes = {lane.memory: lane for lane in run.lanes() if lane.scenario_id == run.lanes()[0].scenario_id}
        assert lanes["bm25"].written == 5
        assert lanes["pool"].written == 0
        assert {row.given for row in run.cells(system="pool@all")} == {5}
        plan_scores = [v.score for v in run.verdict_rows("smc(of=plan)") if v.system == "pool@oracle"]
        assert plan_scores == [1.0] * 3
        assert [s.privileged for s in run.systems()] == [False, False, True]


def test_a_worker_that_dies_costs_its_lane_only(
    config: Configure, do_run: DoRun, tmp_path: Path, make_locomo: Callable[..., Path]
) -> None:
    deadly = tmp_path / "deadly.py"
    deadly.write_text(
        PLUGIN
        + """
import os


async def die(state, runtime):
    if "kiln" in str(state["event"]):
        os.kill(os.getpid(), 9)
    return {}


def Deadly():
    from mnemoscope.graphs.architecture import write_graph
    made = _made(f"{__file__}:Deadly", take_all, cut)
    return replace(made, write=write_graph({"die": die}))
""",
        encoding="utf-8",
    )
    outcome = do_run(
        config(
            scenarios=(f"locomo:{make_locomo(conversations=1)}",),
            systems=(f"{deadly}:Deadly@baseline", "bm25@baseline"),
            workers=2,
        )
    )
    assert (outcome.stored, outcome.failed) == (10, 5)
    with open_run(outcome.path) as run:
        assert {row.error_cause for row in run.cells() if row.status == "error"} == {"WorkerLostError"}
        assert {v.label for v in run.verdict_rows() if v.status == "error"} == {"answer-error:WorkerLostError"}
        assert {lane.status for lane in run.lanes() if lane.memory == "bm25"} == {"done"}


def test_workers_that_cannot_start_end_the_run(config: Configure, tmp_path: Path) -> None:
    lane = Lane("s", "bm25", (("bm25@baseline", "baseline"),), (CellKey("bm25@baseline", "s", "p", 0),))
    with pytest.raises(RunFileError, match="there is no run file"):
        run_in_workers(
            config(scenarios=("demo",)),
            tmp_path / "missing.db",
            bundles([lane], {"s": 3}, 1),
            workers=1,
            concurrency=1,
            ahead=2,
            stop=Stop(),
            cell=lambda failed: None,
            lost=lambda lane, why: None,
        )


def test_the_heaviest_work_comes_first_and_nobody_is_left_idle() -> None:
    lanes = [Lane(f"s{i}", memory, (), ()) for i in range(3) for memory in ("a", "b")]
    turns = {"s0": 5, "s1": 50, "s2": 20}
    assert [b.lanes[0].scenario_id for b in bundles(lanes, turns, 1)] == ["s1", "s2", "s0"]
    assert [len(b.lanes) for b in bundles(lanes, turns, 1)] == [2, 2, 2]
    assert [len(b.lanes) for b in bundles(lanes, turns, 4)] == [1] * 6
