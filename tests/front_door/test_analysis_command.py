"""`compare --analysis` from end to end: every analysis answers a run of the bundled scenarios, or says why it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mnemoscope.cli import main
from mnemoscope.config import RunConfig
from mnemoscope.engine import RunOutcome
from mnemoscope.evaluators.analyses import ANALYSES

Configure = Callable[..., RunConfig]
DoRun = Callable[[RunConfig], RunOutcome]


@pytest.fixture
def run_file(config: Configure, do_run: DoRun) -> Path:
    """The bundled scenarios, without memory and with the right one."""
    return do_run(config(scenarios=("demo",), architectures=("none", "oracle"), profiles=("slots",))).path


def analysed(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    def no_constant(name: str) -> NoReturn:
        raise AssertionError(f"{name} is no JSON")

    assert main(["compare", str(path), "--analysis", "all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=no_constant)["analyses"]
    return {entry["analysis"]: entry for entry in found}


def test_every_analysis_answers_or_says_why_not(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = analysed(run_file, capsys)
    assert set(found) == set(ANALYSES.names())
    for name, entry in found.items():
        assert bool(entry["rows"]) != bool(entry["missing"]), name
        columns = [column["name"] for column in entry["columns"]]
        shares = {column["name"] for column in entry["columns"] if column["kind"] == "share"}
        for row in entry["rows"]:
            assert list(row) == columns, name
            assert all(0 <= row[share] <= 1 for share in shares if row[share] is not None), (name, row)
    timing = {row["system"]: row for row in found["timing"]["rows"]}
    assert list(timing)[-4:] == ["never", "refuse", "always", "dump"]
    assert timing["oracle@slots"]["on_time"] > timing["none@slots"]["on_time"] == timing["never"]["on_time"]
    right = {row["system"]: row["recall"] for row in found["corrections"]["rows"]}
    assert right["oracle@slots"] > right["none@slots"]
    smc = next(row for row in found["policies"]["rows"] if row["metric"] == "smc")
    assert "oracle" not in smc["which"], "selection is what no policy passes"


def test_terminal_and_json_show_the_same_rows(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file), "--analysis", "corrections"]) == 0
    shown = capsys.readouterr().out
    row = next(row for row in analysed(run_file, capsys)["corrections"]["rows"] if row["system"] == "oracle@slots")
    line = next(line for line in shown.splitlines() if line.startswith("oracle@slots") and f"{row['premises']}" in line)
    assert f"{row['recall'] * 100:.1f}" in shown and line
