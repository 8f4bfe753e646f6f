"""The command line: exit codes, messages, what goes to which stream, and that help is quick."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mnemoscope.cli import COMMANDS, main
from mnemoscope.cli.failure import exit_code, report_failure
from mnemoscope.cli.progress import LineProgress
from mnemoscope.core.errors import BudgetStop, ConfigError, DataError, EndpointError, MnemoscopeError, RunFileError
from mnemoscope.runfile import open_run

SECRET = "sk-test-NOTREAL-4f9c1d7b2a"
SMALL = ("--scenario", "demo", "--embedder", "hash(dim=64)", "--workers", "1", "--limit", "6", "--architecture", "bm25")


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def do(*args: object) -> Said:
        code = main([str(argument) for argument in args])
        return Said(code, *capsys.readouterr())

    return do


def test_a_run_says_what_it_did_and_prints_one_hash(call: Callable[..., Said], tmp_path: Path) -> None:
    said = call("run", *SMALL, "--out", tmp_path / "run.db")
    assert said.code == 0
    with open_run(tmp_path / "run.db") as run:
        assert f"content {run.content_hash()}\n" in said.out
        assert run.config.limit == 6
    assert "6 of 6 cells" in said.out
    assert "6/6 cells (100%)" in said.err


def test_json_is_all_there_is_on_standard_output(call: Callable[..., Said], tmp_path: Path) -> None:
    said = call("run", *SMALL, "--out", tmp_path / "run.db", "--json")
    document = json.loads(said.out)
    assert document["cells"] == {"expected": 6, "stored": 6, "failed": 0}
    assert document["status"] == "complete"
    assert len(document["content_hash"]) == 64


def test_a_configuration_file_is_read_and_options_win(call: Callable[..., Said], tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'scenarios = ["demo"]\nsystems = ["bm25@baseline"]\nlimit = 3\nk = 2\nworkers = 1\n', encoding="utf-8"
    )
    assert call("run", file, "--k", 4, "--out", tmp_path / "run.db").code == 0
    with open_run(tmp_path / "run.db") as run:
        assert (run.config.k, run.config.limit, run.expected_cells) == (4, 3, 3)


def test_a_resume_needs_no_settings(call: Callable[..., Said], tmp_path: Path) -> None:
    out = tmp_path / "run.db"
    first = json.loads(call("run", *SMALL, "--out", out, "--json").out)
    again = call("run", "--resume", "--out", out, "--json")
    assert again.code == 0
    assert json.loads(again.out)["content_hash"] == first["content_hash"]
    changed = call("run", "--resume", "--k", 3, "--out", out)
    assert changed.code == 2
    assert "k was 10, is 3" in changed.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run",), "--out RUN.db"),
        (("run", "--out", "run.db"), "--scenario demo"),
        (("run", "--scenario", "demo", "--architecture", "bm52", "--out", "run.db"), "nearest: bm25"),
        (("run", "--scenario", "demo", "--system", "bm25", "--out", "run.db"), "bm25@baseline"),
        (("run", "--scenario", "locomo:absent.json", "--out", "run.db"), "absent.json"),
        (("run", "--scenario", "demo", "--out", "no/such/folder/run.db"), "there is no folder"),
        (("run", "absent.toml", "--out", "run.db"), "absent.toml does not exist"),
        (("run", "--scenario", "demo", "--k", "0", "--out", "run.db"), "--k"),
        (("run", "--scenario", "demo", "--k", "many", "--out", "run.db"), "valid integer"),
        (("run", "--scenario", "demo", "--judge", "gpt", "--out", "run.db"), "unknown judge"),
        (("rum",), "run"),
        (("run", "--no-such-option"), "no-such-option"),
    ],
)
def test_what_the_user_can_mend_is_one_message_and_exit_code_2(
    call: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = call(*args)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert said.out == ""
    assert [p.name for p in tmp_path.iterdir() if p.name != "cache"] == []


def test_a_file_of_another_benchmark_is_refused(
    call: Callable[..., Said], tmp_path: Path, make_stratmem: Callable[..., Path]
) -> None:
    said = call("run", "--scenario", f"locomo:{make_stratmem()}", "--out", tmp_path / "run.db")
    assert (said.code, said.err.count("error:")) == (2, 1)
    assert "stratmem.json" in said.err
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\x00" + b"\x00" * 200])
def test_an_existing_file_is_left_alone(call: Callable[..., Said], tmp_path: Path, content: bytes) -> None:
    out = tmp_path / "run.db"
    out.write_bytes(content)
    for more in ((), ("--resume",)):
        said = call("run", *SMALL, "--out", out, *more)
        assert (said.code, said.err.count("error:")) == (2, 1)
        assert out.read_bytes() == content


def test_failed_cells_above_the_limit_are_exit_code_1(call: Callable[..., Said], tmp_path: Path) -> None:
    plugin = tmp_path / "writer.py"
    plugin.write_text(
        """
from mnemoscope.agents.profiles import Profile
from mnemoscope.graphs.assistant import AssistantNodes
from mnemoscope.graphs.plan import ResponsePlan

class Moody:
    name = "moody"
    async def plan(self, task):
        if len(task.utterance) % 2:
            raise RuntimeError("not today")
        return ResponsePlan("moody")

MOODY = Profile(f"{__file__}:MOODY", AssistantNodes(plan_response=f"{__file__}:Moody"))
""",
        encoding="utf-8",
    )
    settings = ("run", *SMALL, "--profile", f"{plugin}:MOODY", "--out")
    said = call(*settings, tmp_path / "a.db", "--json")
    cells = json.loads(said.out)["cells"]
    assert 0 < cells["failed"] < cells["stored"] == 6
    assert said.code == 1
    assert "failed cells" in said.err
    assert call(*settings, tmp_path / "b.db", "--max-failed", "0.99").code == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (DataError("x", file="f"), 2),
        (RunFileError("x"), 2),
        (BudgetStop("x"), 3),
        (MnemoscopeError("x"), 1),
        (EndpointError("x", cause="timeout"), 1),
        (KeyboardInterrupt(), 130),
        (ValueError("x"), 1),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def fail_with_a_secret() -> None:
    local_value = f"key {SECRET}"
    raise ValueError(f"it broke: Authorization: Bearer {local_value.split()[1]}")


@pytest.mark.parametrize("debug", [False, True])
def test_nothing_secret_and_no_local_variable_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    try:
        fail_with_a_secret()
    except ValueError as error:
        assert report_failure(error, debug=debug) == 1
    said = capsys.readouterr().err
    assert SECRET not in said
    assert "it broke" in said
    assert ("Traceback" in said) == debug
    assert "local_value =" not in said.replace('local_value = f"key {SECRET}"', "")


def test_a_key_in_the_settings_reaches_no_file_and_no_message(
    call: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.chdir(tmp_path)
    url = f"http://user:{SECRET}@127.0.0.1:9/v1?key={SECRET}"
    model = f"openai(model=tiny,base_url={url},retries=0,timeout=1)"
    said = call(
        "run", *SMALL, "--limit", 2, "--model", model, "--out", tmp_path / "run.db", "--debug", "--cache", "cache"
    )
    assert said.code == 1
    assert SECRET not in said.out + said.err
    with open_run(tmp_path / "run.db") as run:
        assert [row.status for row in run.cells()] == ["error"] * 2
        assert run.config.model is not None
        assert "127.0.0.1:9/v1" in run.config.model
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file


def test_help_is_quick_and_loads_no_framework() -> None:
    code = (
        "import sys; from mnemoscope.cli import main; main(['--help']); "
        "print(sorted({'langgraph','onnxruntime','numpy','pydantic','nltk'} & set(sys.modules)))"
    )
    best = 9.0
    for _ in range(3):
        started = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        best = min(best, time.perf_counter() - started)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(command in done.stdout for command in COMMANDS)
    assert best < 3.0  # 0.6 s on a quiet machine


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_explains_itself(call: Callable[..., Said], command: str) -> None:
    said = call(command, "--help")
    assert said.code == 0
    assert "Usage: mnemoscope " + command in " ".join(said.out.split())


def test_the_version_is_printed(call: Callable[..., Said]) -> None:
    assert call("--version") == Said(0, "mnemoscope 0.1.0\n", "")


def test_the_demo_shows_a_table_and_writes_a_report(
    call: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemoscope.config.DEFAULT_ARCHITECTURES", ("none", "bm25", "oracle"))
    monkeypatch.setattr("mnemoscope.cli.demo.PROFILES", ("baseline",))
    said = call("demo", "--out", tmp_path / "demo", "--workers", 1)
    assert said.code == 0
    for name in ("none@baseline", "bm25@baseline", "oracle@baseline"):
        assert name in said.out
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
    again = call("demo", "--out", tmp_path / "demo", "--workers", 1, "--json")
    document = json.loads(again.out)
    assert (document["done_now"], document["cells"]["failed"]) == (document["cells"]["expected"], 0)  # made anew
    assert {s["system"] if isinstance(s, dict) and "system" in s else str(s) for s in document["comparison"]["systems"]}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_cleanly_and_resume_goes_on(
    call: Callable[..., Said], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "run.db"
    settings = ("--scenario", "demo", "--embedder", "hash(dim=64)", "--workers", "1", "--architecture", "full-context")
    command = [
        sys.executable,
        "-m",
        "mnemoscope",
        "run",
        *settings,
        "--limit",
        "20",
        "--replicates",
        "8",
        "--out",
        str(out),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_cells(out, 5)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == code
    assert f'mnemoscope run --resume --out "{out}"' in stdout
    assert "Traceback" not in stderr
    with open_run(out) as run:
        before = sum(1 for _ in run.cells())
        assert (run.meta.status, 5 <= before < run.expected_cells) == ("interrupted", True)
    after = json.loads(call("run", "--resume", "--out", out, "--workers", 1, "--json").out)
    assert after["status"] == "complete"
    assert after["done_now"] == after["cells"]["expected"] - before


def wait_for_cells(out: Path, number: int, seconds: float = 120.0) -> None:
    """Wait until a run has stored so many cells."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if out.exists():
            with open_run(out) as run:
                if sum(1 for _ in run.cells()) >= number:
                    return
        time.sleep(0.05)
    raise AssertionError(f"no {number} cells in {out} after {seconds} s")


def test_plain_progress_says_rate_time_left_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    progress = LineProgress()
    progress.begin(10, 4)
    for failed in (False, True):
        progress.cell(failed=failed)
    progress.end()
    first, last = capsys.readouterr().err.splitlines()
    assert first == "10 cells, 4 of them done before"
    assert last.startswith("6/10 cells (60%), ")
    assert last.endswith(" left, 1 failed")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals here")
def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "mnemoscope", "run", *SMALL, "--out", str(tmp_path / "run.db")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert "6/6" in seen.decode()
    assert "━" in seen.decode()
