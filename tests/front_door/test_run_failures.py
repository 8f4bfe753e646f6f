"""What fails in a run: it is judged, counted, said, and tried again by a resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.agents.writers.extractive import ExtractiveWriter
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import EndpointError, OtherRunError
from mnemoscope.core.ports import Draft, Vectors, WritingTask
from mnemoscope.engine import RunOutcome, lane, manifest
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.compiled import GraphBackend
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.runfile import RunFile, open_run
from mnemoscope.runfile.records import CellRecord

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]

SMALL = {"scenarios": ("demo",), "architectures": ("bm25", "dense"), "limit": 6}


def down() -> EndpointError:
    return EndpointError("the endpoint is down", cause="timeout", retryable=True)


def test_cells_of_a_failed_lane_have_an_error_for_every_metric_that_others_are_scored_by(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def falls_over(self: GraphBackend, turn: object) -> None:
        if self.architecture.name == "dense":
            raise ZeroDivisionError("no turns here")
        await write(self, turn)

    write: Any = GraphBackend.write
    monkeypatch.setattr(GraphBackend, "write", falls_over)
    monkeypatch.setattr(lane, "ingest", _ingest_quietly)
    outcome = do_run(config(**SMALL))
    assert (outcome.stored, outcome.failed) == (12, 6)
    with open_run(outcome.path) as run:
        scored = {(v.probe_id, v.metric) for v in run.verdict_rows() if v.status == "scored"}
        failed = {(v.probe_id, v.metric) for v in run.verdict_rows() if v.status == "error"}
        assert scored and scored <= failed
        labels = {v.label for v in run.verdict_rows() if v.system == "dense@baseline" and v.status == "error"}
        assert labels == {"answer-error:ZeroDivisionError"}
        assert {c.error_cause for c in run.cells(system="dense@baseline")} == {"ZeroDivisionError"}


async def _ingest_quietly(backend: MemoryBackend, event: Any, progress: Any) -> None:
    if hasattr(event, "turn"):
        await backend.write(event.turn)


def test_a_resume_tries_failed_cells_and_lanes_again(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reference = do_run(config(**SMALL, out=tmp_path / "reference.db")).content_hash

    async def fails(self: ExtractiveWriter, task: WritingTask) -> Draft:
        raise down()

    async def dies(self: GraphBackend, turn: object) -> None:
        if self.architecture.name == "dense":
            raise ZeroDivisionError
        return await write(self, turn)

    write: Any = GraphBackend.write
    with monkeypatch.context() as patch:
        patch.setattr(ExtractiveWriter, "write", fails)
        patch.setattr(GraphBackend, "write", dies)
        assert do_run(config(**SMALL)).failed == 12
    again = do_run(config(**SMALL), resume=True)
    assert (again.status, again.done_now, again.failed) == ("complete", 12, 0)
    assert again.content_hash == reference


def test_an_outage_costs_the_cells_that_were_asked_meanwhile_and_a_resume_brings_them_back(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = {"scenarios": ("demo",), "architectures": ("dense",)}
    embed, fork, last = HashEmbedder.embed, GraphBackend.fork, []

    async def watched(self: GraphBackend) -> MemoryBackend:
        last.append(list(self._memory.ledger.written)[-1])
        return await fork(self)

    with monkeypatch.context() as patch:
        patch.setattr(GraphBackend, "fork", watched)
        reference = do_run(config(**settings, out=tmp_path / "reference.db"))
    with open_run(reference.path) as run:
        (text,) = {t.text for s in run.scenarios() for t in run.scenario(s.scenario_id).turns if t.turn_id == last[0]}
    is_down = True

    async def flaky(self: HashEmbedder, texts: Sequence[str], purpose: Any) -> Vectors:
        if is_down and any(text in one for one in texts):
            raise down()
        return await embed(self, texts, purpose)

    async def healing(self: GraphBackend) -> MemoryBackend:
        nonlocal is_down
        try:
            return await fork(self)
        finally:
            is_down = False

    with monkeypatch.context() as patch:
        patch.setattr(HashEmbedder, "embed", flaky)
        patch.setattr(GraphBackend, "fork", healing)
        outcome = do_run(config(**settings))
    assert 0 < outcome.failed < outcome.stored == reference.stored
    with open_run(outcome.path) as run:
        assert {lane.status for lane in run.lanes()} == {"done"}
        failed = [cell for cell in run.cells() if cell.status == "error"]
        assert {cell.error_cause for cell in failed} == {"memory-fork"}
        assert all("timeout: the endpoint is down" in (cell.error or "") for cell in failed)
    assert do_run(config(**settings), resume=True).content_hash == reference.content_hash


def test_an_endpoint_that_stays_down_ends_the_lane(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dead(self: HashEmbedder, texts: Sequence[str], purpose: str) -> Vectors:
        raise down()

    monkeypatch.setattr(HashEmbedder, "embed", dead)
    outcome = do_run(config(**{**SMALL, "architectures": ("dense",)}))
    assert outcome.failed == outcome.stored == 6
    with open_run(outcome.path) as run:
        assert {lane.status for lane in run.lanes()} == {"failed"}
        assert all("endpoint is down" in (lane.error or "") for lane in run.lanes())


def test_an_attribution_that_fails_costs_nothing_but_itself_and_is_said(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(case: EvaluationCase, detector: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(lane, "attribute", fails)
    outcome = do_run(config(**SMALL))
    assert (outcome.stored, outcome.failed) == (12, 0)
    assert "failed judgements: 12 (attribution ZeroDivisionError 12)" in outcome.warnings


def test_a_cell_that_no_file_can_hold_is_a_failed_one(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def half(self: ExtractiveWriter, task: WritingTask) -> Draft:
        return Draft("half of an emoji: \ud83d")

    monkeypatch.setattr(ExtractiveWriter, "write", half)
    told: list[bool] = []
    finished = lane.LaneRunner.__init__

    def listening(self: Any, tools: Any, sink: Any, stop: Any, said: Callable[[bool], None], concurrency: int) -> None:
        finished(self, tools, sink, stop, lambda failed: (told.append(failed), said(failed))[1], concurrency)

    monkeypatch.setattr(lane.LaneRunner, "__init__", listening)
    outcome = do_run(config(**SMALL))
    assert (outcome.stored, outcome.failed, told) == (12, 12, [True] * 12)
    with open_run(outcome.path) as run:
        assert {cell.error_cause for cell in run.cells()} == {"UnicodeEncodeError"}
        assert {v.status for v in run.verdict_rows()} <= {"error", "not_applicable"}


def test_a_kill_while_a_lane_is_given_up_leaves_nothing_failed_for_good(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reference = do_run(config(**SMALL, out=tmp_path / "reference.db")).content_hash

    class Killed(BaseException):
        pass

    commit, write, left = RunFile.commit_cell, GraphBackend.write, 3

    def dying(self: RunFile, cell: CellRecord, *, replace: bool = False) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        commit(self, cell, replace=replace)

    async def dies(self: GraphBackend, turn: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(RunFile, "commit_cell", dying)
        patch.setattr(GraphBackend, "write", dies)
        with pytest.raises(Killed):
            do_run(config(**SMALL))
    assert write is GraphBackend.write
    assert do_run(config(**SMALL), resume=True).content_hash == reference


def test_changed_code_of_the_user_cannot_resume(config: Configure, do_run: DoRun, tmp_path: Path) -> None:
    own = tmp_path / "own_profile.py"
    own.write_text(
        "from mnemoscope.agents.profiles import open_profile\nfrom dataclasses import replace\n\n\n"
        "def Mine():\n    return replace(open_profile('baseline'), name=f'{__file__}:Mine')\n",
        encoding="utf-8",
    )
    settings = config(scenarios=("demo",), systems=(f"bm25@{own}:Mine",), limit=4)
    do_run(settings)
    assert do_run(settings, resume=True).done_now == 0
    own.write_text(own.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    with pytest.raises(OtherRunError, match=r"code of .*own_profile\.py"):
        do_run(settings, resume=True)


def test_another_version_of_a_package_that_decides_cannot_resume(
    config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_run(config(**SMALL))
    version = manifest.version
    monkeypatch.setattr(manifest, "version", lambda name: "0.0.1" if name == "networkx" else version(name))
    assert do_run(config(**SMALL), resume=True).done_now == 0
    monkeypatch.setattr(manifest, "version", lambda name: "0.0.1" if name == "onnxruntime" else version(name))
    with pytest.raises(OtherRunError, match=r"onnxruntime was .* is '0\.0\.1'"):
        do_run(config(**SMALL), resume=True)
