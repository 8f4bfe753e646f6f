"""Judging stored replies again: judges beside each other, going on after a stop, and what a failing judge leaves."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison.comparing import compare_runs
from mnemoscope.comparison.summary import Figure
from mnemoscope.config import RunConfig
from mnemoscope.engine import NoProgress, RunOutcome, Stop
from mnemoscope.engine.scoring import ScoreOutcome
from mnemoscope.engine.scoring import score as judge_run
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.verdict import NOT_JUDGED, Verdict
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.runfile import RunFile, open_run
from mnemoscope.runfile.records import CellRecord
from tests.agents.endpoint_stub import Answer, EndpointStub, always, chat, error

Configure = Callable[..., RunConfig]
DoRun = Callable[[RunConfig], RunOutcome]
SAYS_NO = {"reason": "it is not there", "quote": "", "verdict": "no"}
SAYS_YES = {"reason": "it is there", "quote": "kiln", "verdict": "yes"}


@pytest.fixture
def run_file(config: Configure, do_run: DoRun) -> Path:
    return do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",), limit=20)).path


@pytest.fixture
def endpoint() -> Iterator[Callable[[Callable[[dict, int], Answer]], EndpointStub]]:
    running: list[object] = []

    def start(behaviour: Callable[[dict, int], Answer]) -> EndpointStub:
        stub = EndpointStub(behaviour)
        context = stub.running()
        context.__enter__()
        running.append(context)
        return stub

    yield start
    for context in running:
        context.__exit__(None, None, None)  # type: ignore[attr-defined]


def score(path: Path, judge: str, **asked: object) -> ScoreOutcome:
    return asyncio.run(judge_run(path, judge, **asked))  # type: ignore[arg-type]


def model_of(stub: EndpointStub) -> str:
    return f"openai(model=tiny,base_url={stub.url},retries=0)"


def verdicts(path: Path, metric: str) -> dict[str, set[str]]:
    """Judge key to the statuses of its verdicts."""
    found: dict[str, set[str]] = {}
    with open_run(path) as run:
        for row in run.verdict_rows(metric):
            found.setdefault(row.judge_key, set()).add(row.status)
    return found


def test_another_judge_stands_beside_the_first(
    run_file: Path, endpoint: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    stub = endpoint(always(chat(json.dumps(SAYS_YES))))
    before = verdicts(run_file, "answer")
    arguments = ["score", str(run_file), "--judge", "llm", "--judge-model", model_of(stub), "--metric", "answer"]
    assert main([*arguments, "--cache", "none", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["judge"], said["metrics"], said["failed"]) == ("llm", ["answer"], 0)
    after = verdicts(run_file, "answer")
    assert set(after) > set(before), "the first judge's verdicts stay"
    (new,) = set(after) - set(before)
    assert new.startswith("llm(task=answer")
    found = compare_runs([run_file], metrics=["answer"])
    assert len({figure.judge_key for figure in found.metrics}) == 2
    assert any("several judges" in warning for warning in found.warnings)
    with open_run(run_file) as run:
        spent = run.judging()
    assert spent["bm25@baseline", "llm"].calls_by_phase == {"judge": len(stub.bodies)}
    asked = len(stub.bodies)
    assert main([*arguments, "--cache", "none"]) == 0
    assert len(stub.bodies) == asked, "what is judged is not asked again"
    assert main([*arguments, "--cache", "none", "--again"]) == 0
    assert len(stub.bodies) == 2 * asked


def test_a_judge_that_is_down_leaves_errors_and_a_failed_exit(
    run_file: Path, endpoint: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    down = endpoint(always(error(500, "overloaded")))
    arguments = ["--judge", "llm", "--judge-model", model_of(down), "--metric", "answer", "--cache", "none"]
    assert main(["score", str(run_file), *arguments]) == 1, "a script must see that nothing was judged"
    assert "judgements failed (100.0%): server" in capsys.readouterr().err
    assert main(["score", str(run_file), *arguments, "--max-judge-failed", "1"]) == 0
    statuses = verdicts(run_file, "answer")
    (key,) = [key for key in statuses if key.startswith("llm")]
    assert statuses[key] == {"error"}
    figure = next(
        f for f in compare_runs([run_file], metrics=["answer"]).metrics if f.judge_key == key and f.stratum == "all"
    )
    assert (figure.value, figure.n_scored, figure.strict) == (None, 0, 0.0), "a failure is never a no"
    assert figure.n_error == {"judge-error:server": figure.n_expected}


def test_what_failed_is_asked_again_even_where_its_siblings_did_not(run_file: Path, endpoint: Callable) -> None:
    is_lame = True

    def behaviour(body: dict, number: int) -> Answer:
        falls = is_lame and crc32(body["messages"][-1]["content"].encode()) % 2
        return error(500, "overloaded") if falls else chat(json.dumps(SAYS_NO))

    stub = endpoint(behaviour)
    asked = {"metrics": ("integration",), "judge_model": model_of(stub), "cache": "none"}
    first = score(run_file, "llm", progress=NoProgress(), stop=Stop(), **asked)  # type: ignore[arg-type]
    assert 0 < first.judgements.n_failed < first.judgements.asked
    with open_run(run_file) as run:
        by_cell = [{v.status for v in run.verdicts_of(c) if v.judge_key.startswith("llm")} for c in run.cells()]
    assert {"error", "scored"} in by_cell, "of one cell's facts one was judged"
    is_lame = False
    rest = score(run_file, "llm", progress=NoProgress(), stop=Stop(), **asked)  # type: ignore[arg-type]
    assert 0 < rest.judged_now < first.judged_now
    assert rest.judgements.failed == {}
    (key,) = [key for key in verdicts(run_file, "integration") if key.startswith("llm")]
    assert verdicts(run_file, "integration")[key] == {"scored"}
    done = score(run_file, "llm", progress=NoProgress(), stop=Stop(), **asked)  # type: ignore[arg-type]
    assert done.judged_now == 0


def test_another_metric_does_not_ask_for_the_first_one_again(run_file: Path, endpoint: Callable) -> None:
    stub = endpoint(always(chat(json.dumps(SAYS_NO))))
    asked = {"judge_model": model_of(stub), "cache": "none", "progress": NoProgress()}
    score(run_file, "llm", metrics=("integration",), stop=Stop(), **asked)  # type: ignore[arg-type]
    before = len(stub.bodies)
    outcome = score(run_file, "llm", metrics=("integration", "answer"), stop=Stop(), **asked)  # type: ignore[arg-type]
    assert outcome.judged_now > 0
    said = [json.dumps(body["messages"]) for body in stub.bodies]
    assert said[before:] and not set(said[:before]) & set(said[before:])


def test_a_cell_without_a_reply_stays_in_the_denominator_of_a_new_metric(run_file: Path, endpoint: Callable) -> None:
    with open_run(run_file) as run:
        styles = {(probe.scenario_id, probe.probe_id): probe.style for probe in run.probes()}
        cell = next(c for c in run.cells() if styles[c.scenario_id, c.probe_id] == "implicit")
    reply = Reply("", HiddenTrace(), None, None, status="error", error="EndpointError: timeout")
    with RunFile.resume(run_file) as file:
        failed = [Verdict("integration", "reply", "answer-error:EndpointError", None, "error")]
        file.commit_cell(CellRecord(cell.key, reply, 1.0, failed, error_cause="timeout"), replace=True)
    stub = endpoint(always(chat(json.dumps({"reason": "", "faithfulness": 1, "relevance": 1, "engagement": 1}))))
    asked = {"metrics": ("relevance",), "judge_model": model_of(stub), "cache": "none", "progress": NoProgress()}
    score(run_file, "llm", stop=Stop(), **asked)  # type: ignore[arg-type]
    implicit = sum(style == "implicit" for style in styles.values())
    found = compare_runs([run_file], metrics=["relevance"]).metrics
    (figure,) = {(f.n_expected, tuple(f.n_error.items())) for f in found if f.stratum == "all"}
    assert figure == (implicit, (("timeout", 1),))
    assert score(run_file, "llm", stop=Stop(), **asked).judged_now == 0  # type: ignore[arg-type]


def test_the_offline_judge_again_changes_no_verdict(run_file: Path) -> None:
    with open_run(run_file) as run:
        before = run.content_hash()
    outcome = score(run_file, "offline", again=True, progress=NoProgress(), stop=Stop())
    assert outcome.judged_now == outcome.cells > 0
    with open_run(run_file) as run:
        assert run.content_hash() == before


@pytest.fixture
def stop_early(monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Is requested while the second cell is judged."""
    stop, judged = Stop(), 0
    evaluate = Evaluator.evaluate

    async def stopping(self: Evaluator, case: object) -> object:
        nonlocal judged
        judged += 1
        if judged == 2:
            stop.request("interrupt")
        return await evaluate(self, case)  # type: ignore[arg-type]

    monkeypatch.setattr(Evaluator, "evaluate", stopping)
    return stop


@pytest.mark.parametrize("metric", ["integration", "relevance"])
def test_what_a_judge_has_not_seen_is_counted_and_said(
    run_file: Path, stop_early: Stop, endpoint: Callable, capsys: pytest.CaptureFixture[str], metric: str
) -> None:
    """`relevance` is new to the file, so that no other judge's verdicts tell where it applies."""
    answer = SAYS_NO if metric == "integration" else {"reason": "", "faithfulness": 1, "relevance": 1, "engagement": 1}
    stub = endpoint(always(chat(json.dumps(answer))))
    asked = {"metrics": (metric,), "judge_model": model_of(stub), "cache": "none", "concurrency": 1}
    score(run_file, "llm", progress=NoProgress(), stop=stop_early, **asked)  # type: ignore[arg-type]

    def of_llm() -> tuple[Figure, tuple[str, ...]]:
        found = compare_runs([run_file], metrics=[metric])
        (figure,) = (f for f in found.metrics if f.judge_key.startswith("llm") and f.stratum == "all")
        return figure, tuple(warning for warning in found.warnings if warning.startswith("half judged"))

    half, (warning,) = of_llm()
    left = half.n_excluded[NOT_JUDGED]
    assert half.n_scored and left and not half.n_failed
    _, _, command = warning.partition("until you run mnemoscope ")
    assert f"llm has not judged {metric} in {left:,} cells" in warning
    assert main([*shlex.split(command), "--cache", "none"]) == 0
    capsys.readouterr()
    whole, warnings = of_llm()
    assert not warnings and NOT_JUDGED not in whole.n_excluded
    assert (whole.n_expected, whole.n_scored) == (half.n_expected, half.n_scored + left)
    by_rule = [f for f in compare_runs([run_file], metrics=[metric]).metrics if f.stratum == "all"]
    assert {f.n_expected for f in by_rule} == {whole.n_expected}, "all judges' figures are over the same cells"


def test_a_stop_keeps_what_was_judged_and_the_rest_follows(
    run_file: Path, stop_early: Stop, endpoint: Callable
) -> None:
    stub = endpoint(always(chat(json.dumps(SAYS_YES))))
    asked = {"metrics": ("answer",), "judge_model": model_of(stub), "cache": "none", "concurrency": 1}
    first = score(run_file, "llm", progress=NoProgress(), stop=stop_early, **asked)  # type: ignore[arg-type]
    assert (first.judged_now, first.reason) == (2, "interrupt")
    rest = score(run_file, "llm", progress=NoProgress(), stop=Stop(), **asked)  # type: ignore[arg-type]
    assert rest.reason is None
    assert 0 < rest.judged_now < rest.cells
    again = score(run_file, "llm", progress=NoProgress(), stop=Stop(), **asked)  # type: ignore[arg-type]
    assert again.judged_now == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--judge", "ofline"], "offline"),
        (["--judge", "offline", "--metric", "recall@10"], "asks no judge"),
        (["--judge", "offline", "--metric", "miq"], "does not judge quality"),
        (["--judge", "llm"], "--judge-model"),
    ],
)
def test_what_cannot_be_judged_ends_with_2_and_says_what_to_do(
    run_file: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(run_file), *arguments]) == 2
    assert said in capsys.readouterr().err
