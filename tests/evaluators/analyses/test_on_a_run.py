"""Every analysis through the command line, on a real run of the bundled scenarios."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.cli import main
from mnemoscope.evaluators.analyses.registry import ANALYSES
from mnemoscope.offline import QUIET

pytestmark = pytest.mark.slow
SYSTEMS = ("bm25@slots", "oracle@slots", "none@slots", "bm25@oracle")


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("analyses")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUIET.items():
            patch.setenv(name, value)
        patch.setenv("MNEMOSCOPE_CACHE", str(folder / "cache"))
        systems = [part for name in SYSTEMS for part in ("--system", name)]
        out = folder / "run.db"
        assert main(["run", "--scenario", "demo", "--limit", "6", "--workers", "1", "--out", str(out), *systems]) == 0
        yield out


def analysed(run_file: Path, name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    def never(constant: str) -> None:
        raise AssertionError(f"{constant} in the output")

    capsys.readouterr()
    assert main(["compare", str(run_file), "--analysis", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=never)["analyses"]
    return {one["analysis"]: one for one in found}


def test_each_has_rows_or_says_what_is_missing(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = analysed(run_file, "all", capsys)
    assert sorted(found) == sorted(ANALYSES.names())
    for name, one in found.items():
        assert bool(one["rows"]) is (one["missing"] is None), name
        shares = [column["name"] for column in one["columns"] if column["kind"] == "share"]
        for row in one["rows"]:
            assert row.keys() == {column["name"] for column in one["columns"]}, name
            assert all(isinstance(row[share], float | int | None) for share in shares), name

    for row in found["ceiling"]["rows"]:
        parts = (row["mean"], row["ceiling"], row["representation"], row["retrieval"])
        assert sum(parts) == pytest.approx(1.0)
    for row in found["repair"]["rows"]:
        assert row["facts"] == row["lost"] + row["unchanged"] + row["interference"]
        moved = ("now_kept", "now_not_planned", "now_not_said", "now_wrong", "still")
        assert sum(row[key] for key in moved) == row["lost"]
    repaired = {(row["system"], row["repaired"]) for row in found["repair"]["rows"]}
    assert {("bm25@slots", "retrieval"), ("bm25@slots", "planning"), ("none@slots", "retrieval")} == repaired
    gap = {row["system"]: row for row in found["gap"]["rows"]}
    assert gap["none@slots"]["retrieved"] == 0 < gap["oracle@slots"]["retrieved"]


def test_the_table_is_printed_too(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["compare", str(run_file), "--analysis", "repair", "--analysis", "tournament"]) == 0
    out = capsys.readouterr().out
    assert "interference" in out and "retrieval" in out
    assert "tournament: no two systems have three-axis verdicts" in out
