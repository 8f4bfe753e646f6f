"""kill -9 at any moment, in a cell, in the ingest, inside a commit; after a resume the content is the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.runfile import open_run

SMALL = (
    *("--scenario", "demo", "--embedder", "hash(dim=64)", "--limit", "14"),
    *("--architecture", "bm25", "--architecture", "recent(n=4)", "--architecture", "dense"),
)
DRIVER = """
import os, signal, sys
from contextlib import contextmanager

kind, left = sys.argv[1], int(sys.argv[2])


def count():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)


if kind == "ingest":
    from mnemoscope.graphs.compiled import GraphBackend

    write = GraphBackend.write

    async def dying_write(self, turn):
        count()
        return await write(self, turn)

    GraphBackend.write = dying_write
elif kind == "commit":
    from mnemoscope.runfile import writer

    transaction = writer._transaction

    @contextmanager
    def dying_transaction(db):
        with transaction(db):
            yield
            count()

    writer._transaction = dying_transaction
elif kind == "cell":
    from mnemoscope.runfile.writer import RunFile

    commit = RunFile.commit_cell

    def dying_commit(self, cell, *, replace=False):
        commit(self, cell, replace=replace)
        count()

    RunFile.commit_cell = dying_commit

from mnemoscope.cli import main

sys.exit(main(sys.argv[3:]))
"""


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    path = tmp_path / "driver.py"
    path.write_text(DRIVER, encoding="utf-8")
    return path


def start(driver: Path, kind: str, count: int, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(driver), kind, str(count), "run", *args, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed(driver: Path, kind: str, count: int, *args: str) -> None:
    """Run until the driver kills itself."""
    process = start(driver, kind, count, *args)
    _, stderr = process.communicate(timeout=900)
    assert process.returncode == -signal.SIGKILL, stderr


@pytest.fixture
def finished(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, object]]:
    """Run to the end, in this process."""

    def run(*args: str) -> dict[str, object]:
        assert main(["run", *args, "--json"]) == 0
        document: dict[str, object] = json.loads(capsys.readouterr().out)
        return document

    return run


def cells(path: Path) -> int:
    if not path.exists():
        return 0
    with open_run(path) as run:
        return sum(1 for _ in run.cells())


def same_content(here: Path, there: Path) -> None:
    """Cell for cell, so that a difference says where it is."""
    with open_run(here) as a, open_run(there) as b:
        for one, other in zip(a.cells(), b.cells(), strict=True):
            assert one.key == other.key
            assert (one.status, one.usage, a.reply_of(one)) == (other.status, other.usage, b.reply_of(other))
            assert (a.verdicts_of(one), a.losses_of(one)) == (b.verdicts_of(other), b.losses_of(other))
        assert [(lane.key, a.items_of(lane)) for lane in a.lanes()] == [
            (lane.key, b.items_of(lane)) for lane in b.lanes()
        ]
        assert a.content_hash() == b.content_hash()


def test_killed_in_the_ingest_and_inside_a_commit(
    driver: Path, finished: Callable[..., dict[str, object]], tmp_path: Path
) -> None:
    out = tmp_path / "run.db"
    settings = (*SMALL, "--workers", "1", "--resume", "--out", str(out))
    killed(driver, "ingest", 150, *settings)
    first = cells(out)
    killed(driver, "commit", 9, *settings)
    assert cells(out) > first
    outcome = finished(*settings)
    assert outcome["status"] == "complete"
    finished(*SMALL, "--workers", "1", "--out", str(tmp_path / "reference.db"))
    same_content(out, tmp_path / "reference.db")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")
def test_workers_do_not_outlive_a_killed_run_and_the_rest_is_done_later(
    driver: Path, finished: Callable[..., dict[str, object]], tmp_path: Path
) -> None:
    out = tmp_path / "run.db"
    settings = (*SMALL, "--workers", "2", "--out", str(out))
    process = start(driver, "never", 0, *settings)
    try:
        limit = time.monotonic() + 120
        while cells(out) < 5 and time.monotonic() < limit:
            time.sleep(0.02)
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        process.kill()
    finally:
        process.kill()
        process.communicate()
    assert len(workers) == 2
    while any(alive(int(worker)) for worker in workers):
        assert time.monotonic() < limit, "a worker outlived its run"
        time.sleep(0.02)
    stored = cells(out)
    assert 5 <= stored < 42
    outcome = finished(*SMALL, "--workers", "1", "--out", str(out), "--resume")
    assert outcome["done_now"] == 42 - stored
    finished(*SMALL, "--workers", "1", "--out", str(tmp_path / "reference.db"))
    same_content(out, tmp_path / "reference.db")


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.data
def test_locomo_survives_five_kills(
    driver: Path, finished: Callable[..., dict[str, object]], tmp_path: Path, benchmark_data: Path
) -> None:
    rng = random.Random(20240501)
    out = tmp_path / "run.db"
    base = ("--scenario", f"locomo:{benchmark_data / 'locomo10.json'}", "--system", "bm25@baseline")
    settings = (*base, "--workers", "1", "--resume", "--out", str(out))
    moments = sorted(rng.sample(range(199, 1788), 3))
    before = 0
    for moment in moments:
        killed(driver, "cell", moment - before - 1, *settings)
        before = cells(out)
        assert before == moment
    killed(driver, "commit", rng.randrange(2, 40), *settings)
    assert cells(out) >= before
    killed(driver, "ingest", rng.randrange(50, 400), *settings)
    outcome = finished(*settings)
    assert outcome["cells"] == {"expected": 1986, "stored": 1986, "failed": 0}
    workers = str(min(8, 2 * (os.cpu_count() or 1)))
    finished(*base, "--workers", workers, "--out", str(tmp_path / "b.db"))
    same_content(out, tmp_path / "b.db")
