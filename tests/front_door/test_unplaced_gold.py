"""Gold that names no turns: what nobody can tell is said, through run, compare, report and export."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison import compare_runs
from mnemoscope.config import RunConfig
from mnemoscope.report import write_report
from tests.scenarios.test_memuse_loader import negative, positive

ORACLES = ("oracle@baseline", "bm25@oracle")
SYSTEMS = ("none@baseline", "bm25@baseline", *ORACLES)
REASON = "gold names no turns"


@pytest.fixture
def run_db(tmp_path: Path, config: Callable[..., RunConfig], do_run: Callable[..., object]) -> Path:
    data = tmp_path / "instances.jsonl"
    lines = (json.dumps(row, ensure_ascii=False) for row in (positive(), negative()))
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    do_run(config(scenarios=(f"memuse:{data}",), architectures=(), profiles=(), systems=SYSTEMS))
    return tmp_path / "run.db"


def test_an_oracle_is_left_out_where_gold_names_no_turns_and_only_there(run_db: Path) -> None:
    comparison = compare_runs([run_db])
    whole = [f for f in comparison.metrics if f.stratum == "all" and f.system in ORACLES]
    assert {f.metric for f in whole} >= {"direct-qa", "reference", "natural-integration", "unprompted-recall"}
    for figure in whole:
        if figure.metric in ("direct-qa", "reference", "natural-integration"):
            assert figure.value is figure.strict is None and not figure.n_failed
            assert figure.n_excluded == {REASON: figure.n_expected}
        if figure.metric == "unprompted-recall":
            assert figure.n_scored == figure.n_expected == 1, "where no memory is called for, none is the right one"
    assert [w for w in comparison.warnings if w.startswith("left out:")] == [
        f"left out: bm25@oracle, oracle@baseline in 3 of 4 cells, not asked and in no figure ({REASON})"
    ]


def test_the_funnel_adds_up_and_blames_no_store_that_holds_every_turn(run_db: Path) -> None:
    funnels = {funnel.system: funnel for funnel in compare_runs([run_db]).funnels}
    assert set(funnels) == set(SYSTEMS)
    for funnel in funnels.values():
        assert sum(funnel.stages.values()) == funnel.facts == 4
    assert funnels["none@baseline"].stages["not-stored"] == 4, "a memory without items stored nothing"
    assert funnels["bm25@baseline"].stages["not-stored"] == 0
    assert all(funnels[name].stages["unknown"] == 4 for name in ORACLES)


def test_compare_prints_what_is_unknown_and_why(run_db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_db)]) == 0
    table = capsys.readouterr().out
    head = next(line for line in table.splitlines() if "facts" in line and "unknown" in line)
    row = next(line for line in table[table.index(head) :].splitlines() if line.startswith("bm25@oracle"))
    assert row.split()[-3:] == ["4", "0", "4"]
    assert f"–: {REASON}" in table
    assert main(["compare", str(run_db), "--json"]) == 0
    systems = {s["system"]: s["losses"] for s in json.loads(capsys.readouterr().out)["systems"]}
    assert systems["bm25@oracle"]["unknown"] == sum(systems["bm25@oracle"].values()) == 4


def test_the_report_shows_it_and_the_export_holds_no_reply(run_db: Path, tmp_path: Path) -> None:
    write_report([run_db], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count(f"not asked: {REASON}") == 3 * len(ORACLES)
    assert re.search(r"lost, unknown where: \d+/4", page)
    out = tmp_path / "cells.jsonl"
    assert main(["export", str(run_db), "--format", "jsonl", "--out", str(out)]) == 0
    cells = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    left = [cell for cell in cells if cell["status"] == "excluded"]
    assert len(left) == 6
    assert {(cell["reply"], cell["error"]) for cell in left} == {(None, REASON)}


def test_judging_again_asks_nothing_of_what_was_left_out(run_db: Path) -> None:
    before = compare_runs([run_db]).to_json()["metrics"]
    assert main(["score", str(run_db), "--judge", "offline"]) == 0
    assert compare_runs([run_db]).to_json()["metrics"] == before
