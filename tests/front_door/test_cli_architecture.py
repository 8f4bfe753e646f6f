"""`architecture list` and `check`, and `graph draw`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.graphs.registry import ARCHITECTURES

LEAKY = '''\
"""A memory that never shows what it holds."""

from mnemoscope.graphs.architectures.bm25 import bm25
from mnemoscope.graphs.compiled import GraphBackend


class Silent(GraphBackend):
    def __init__(self) -> None:
        super().__init__(bm25())

    async def items(self):
        for item in ():
            yield item


def honest():
    return bm25(window=2)


nothing = 3
'''


def test_list_says_what_each_one_is_evidence_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["architecture", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(ARCHITECTURES.names())
    assert rows["oracle"]["privileged"] and not rows["bm25"]["privileged"]
    assert (rows["bm25"]["model_calls_per_turn"], rows["bm25"]["model_calls_per_query"]) == (0, 0)
    assert rows["dense"]["evidence"] == "package" and "needs_embedder" in rows["dense"]["capabilities"]
    assert all(row["family"] and row["summary"] for row in rows.values())
    unverified = {name for name, row in rows.items() if any(way["unverified"] for way in row["modes"])}
    assert unverified == {name for name in rows if name.endswith("-style")} and "mem0-v1-style" in unverified
    assert (rows["none"]["loses"], rows["lc"]["loses"]) == ("everything", "")


def test_list_says_what_each_mode_costs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["architecture", "list", "--json"])
    modes = {row["name"]: {way["mode"]: way for way in row["modes"]} for row in json.loads(capsys.readouterr().out)}
    for ways in modes.values():
        for mode, way in ways.items():
            asks = way["model_calls_per_turn"] + way["model_calls_per_query"]
            assert asks > 0 if mode == "llm" else asks == 0
    summary = modes["summary"]
    assert (summary["heuristic"]["evidence"], summary["llm"]["evidence"]) == ("twin", "model")
    sessions, turns = 32, 224  # of the bundled scenarios
    assert summary["llm"]["model_calls_per_turn"] == round(sessions / turns, 3)
    assert modes["compressed"]["llm"]["model_calls_per_query"] == 1
    assert modes["dense"][None]["embedded_texts_per_turn"] == 1


def test_list_fits_eighty_columns_and_names_the_family_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["architecture", "list"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80 and "reads gold" in out
    assert sum(line.startswith("control ") for line in out.splitlines()) == 1 and "loses: everything" in out


def test_check_passes_what_keeps_its_contracts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(LEAKY, encoding="utf-8")
    assert main(["architecture", "check", "bm25"]) == 0
    assert "none broken" in capsys.readouterr().out
    assert main(["architecture", "check", f"{tmp_path / 'mine.py'}:honest", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] and len(document["rows"]) > 10


def test_check_fails_what_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.py").write_text(LEAKY, encoding="utf-8")
    name = f"{tmp_path / 'broken.py'}:Silent"
    assert main(["architecture", "check", name, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [row for row in document["rows"] if row["status"] == "failed" and row["detail"]]
    assert main(["architecture", "check", name]) == 1
    assert "broken" in capsys.readouterr().out


def test_check_names_what_it_cannot_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.py").write_text(LEAKY, encoding="utf-8")
    assert main(["architecture", "check", "bm52"]) == 2
    assert "nearest: bm25" in capsys.readouterr().err
    assert main(["architecture", "check", f"{tmp_path / 'odd.py'}:nothing"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_draw_prints_mermaid_alone_and_with_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "draw", "hybrid"]) == 0
    alone = capsys.readouterr().out
    assert alone.startswith("flowchart TD\n") and "READ: hybrid" in alone and "verify" not in alone
    assert main(["graph", "draw", "hybrid", "--profile", "slots"]) == 0
    whole = capsys.readouterr().out
    assert "retrieve: READ of hybrid" in whole and "verify" in whole
    assert main(["graph", "draw", "hybrid(window=3,overlap=1)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["architecture"] == "hybrid(window=3,overlap=1)"
    assert main(["graph", "draw", "hybird"]) == 2
