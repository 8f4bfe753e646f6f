"""Exports: what every line holds, the benchmarks' own keys, file names, and that nothing is overwritten."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.cli import main
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, UnknownNameError
from mnemoscope.exports import export_run
from mnemoscope.exports.parts import slug, targets
from mnemoscope.runfile import open_run
from tests.front_door.import_tools import write
from tests.scenarios.locomo_conv_files import cluster, dialog
from tests.scenarios.test_memuse_loader import negative, positive

CELL_KEYS = (
    *("record", "system", "memory", "profile", "evidence", "privileged", "benchmark", "scenario_id", "cluster"),
    *("probe_id", "replicate", "style", "strata", "speaker", "now", "utterance", "status", "error", "reply"),
    *("retrieval", "plan", "losses", "verdicts"),
)
QUESTION_KEYS = (
    *("style", "sample_idx", "q_idx", "query", "gold_answer", "gold_evidence", "adversarial_answer"),
    *("subject_speaker", "subject_speaker_name", "category", "variant", "system", "k", "response", "prompt_len"),
    "error",
)
CLUSTER_KEYS = (
    *("style", "sample_idx", "q_idx", "cluster_id", "query", "gold_answer", "gold_evidence", "subject_speaker"),
    *("subject_speaker_name", "variant", "system", "k", "response", "prompt_len", "error"),
)


@pytest.fixture
def conv_run(tmp_path: Path, config: Callable[..., RunConfig], do_run: Callable[..., Any]) -> Path:
    main_file = write(tmp_path, "locomo10_dialog.json", dialog())
    composed = write(tmp_path, "multimem.json", [cluster(0, 0), cluster(1, 0)])
    spec = f"locomo-conv:{main_file},composed={composed}"
    do_run(config(scenarios=(spec,), systems=("bm25@baseline", "oracle@baseline"), k=3))
    return tmp_path / "run.db"


@pytest.fixture
def memuse_run(tmp_path: Path, config: Callable[..., RunConfig], do_run: Callable[..., Any]) -> Path:
    instances = write(tmp_path, "instances.jsonl", [positive(), negative()])
    do_run(config(scenarios=(f"memuse:{instances}",), systems=("bm25@baseline",)))
    return tmp_path / "run.db"


def test_a_line_holds_the_whole_cell(tmp_path: Path, conv_run: Path) -> None:
    export_run(conv_run, "jsonl", tmp_path / "cells.jsonl")
    text = (tmp_path / "cells.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    assert text.endswith("}\n")
    assert all(tuple(line) == CELL_KEYS for line in lines)
    with open_run(conv_run) as run:
        cells = {(c.system, c.probe_id): c for c in run.cells()}
        assert len(lines) == len(cells) == 48
        assert [line["system"] for line in lines] == ["bm25@baseline"] * 24 + ["oracle@baseline"] * 24
        for line in lines[::7]:
            cell = cells[line["system"], line["probe_id"]]
            stored, probe = run.reply_of(cell), run.scenario(cell.scenario_id).probes
            assert line["reply"] == stored.visible_text
            assert line["utterance"] == next(p.text for p in probe if p.probe_id == cell.probe_id)
            assert stored.retrieval is not None
            assert [item["id"] for item in line["retrieval"]["items"]] == [r.item_id for r in stored.retrieval.ranking]
            assert [(v["metric"], v["subject"], v["score"]) for v in line["verdicts"]] == [
                (v.metric, v.subject, v.score) for v in run.verdicts_of(cell)
            ]
    assert {line["privileged"] for line in lines if line["system"] == "oracle@baseline"} == {True}


def test_equal_content_gives_equal_bytes_and_one_system_can_be_chosen(tmp_path: Path, conv_run: Path) -> None:
    for name in ("a", "b"):
        export_run(conv_run, "jsonl", tmp_path / f"{name}.jsonl", systems=["oracle@baseline"])
    first = (tmp_path / "a.jsonl").read_bytes()
    assert first == (tmp_path / "b.jsonl").read_bytes()
    assert first.count(b"\n") == 24
    assert "🎨".encode() in first
    with pytest.raises(UnknownNameError, match="system in this run 'bm26@baseline'; nearest: bm25@baseline"):
        export_run(conv_run, "csv", tmp_path / "c.csv", systems=["bm26@baseline"])


def test_csv_has_a_row_per_verdict(tmp_path: Path, conv_run: Path) -> None:
    export_run(conv_run, "csv", tmp_path / "verdicts.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "verdicts.csv").read_text(encoding="utf-8"))))
    with open_run(conv_run) as run:
        stored = list(run.verdict_rows())
    assert len(rows) == len(stored) > 500
    exported = {(r["system"], r["probe_id"], r["metric"], r["subject"]): r["score"] for r in rows}
    for row in stored:
        score = exported[row.system, row.probe_id, row.metric, row.subject]
        assert (None if score == "" else float(score)) == row.score


def test_locomo_conv_responses_have_the_authors_keys(tmp_path: Path, conv_run: Path) -> None:
    done = export_run(conv_run, "locomo-conv", tmp_path / "responses.json")
    names = ["responses.bm25-baseline.json", "responses.oracle-baseline.json"]
    assert [file.path.name for file in done.files] == names
    records = json.loads((tmp_path / names[0]).read_text(encoding="utf-8"))
    questions = [record for record in records if "cluster_id" not in record]
    clusters = [record for record in records if "cluster_id" in record]
    assert (len(questions), len(clusters)) == (22, 2)
    assert all(tuple(record) == QUESTION_KEYS for record in questions)
    assert all(tuple(record) == CLUSTER_KEYS for record in clusters)
    temporal = next(r for r in questions if (r["sample_idx"], r["q_idx"], r["style"]) == (1, 3, "implicit"))
    assert temporal["gold_answer"] == "2021"
    assert temporal["gold_evidence"] == ["D2:2", "D9:9"]
    assert (temporal["category"], temporal["subject_speaker"], temporal["subject_speaker_name"]) == (
        2,
        "speaker_b",
        "Tomasz",
    )
    assert (temporal["variant"], temporal["system"], temporal["k"]) == ("top_k", "bm25@baseline", 3)
    assert (temporal["prompt_len"], temporal["error"]) == (None, None)
    trap = next(r for r in questions if r["q_idx"] == 2 and r["style"] == "dialog")
    assert (trap["category"], trap["gold_answer"], trap["adversarial_answer"]) == (5, "", "hidden trap")
    assert clusters[1]["cluster_id"] == "S1_C0"
    assert clusters[1]["gold_answer"] == "watercolour; she paints"
    assert (clusters[1]["q_idx"], clusters[1]["subject_speaker"]) == (None, "speaker_b")
    oracle = json.loads((tmp_path / names[1]).read_text(encoding="utf-8"))
    assert {(r["variant"], r["system"], r["k"]) for r in oracle} == {("oracle", None, None)}


def test_memuse_responses_hold_natural_and_direct_replies(tmp_path: Path, memuse_run: Path) -> None:
    done = export_run(memuse_run, "memuse", tmp_path / "responses.json")
    assert [file.path for file in done.files] == [tmp_path / "responses.json"]
    document = json.loads((tmp_path / "responses.json").read_text(encoding="utf-8"))
    assert set(document) == {"natural", "direct_qa"}
    assert set(document["natural"]) == {"pos_901", "neg_901"}
    with open_run(memuse_run) as run:
        replies = {cell.probe_id: run.reply_of(cell).visible_text for cell in run.cells()}
    assert document["natural"]["pos_901"] == replies["pos_901/natural"]
    assert document["direct_qa"] == {"pos_901": [replies["pos_901/q0"], replies["pos_901/q1"]]}
    assert done.notes == ()


def test_memuse_never_writes_a_failure_as_a_reply(
    tmp_path: Path, memuse_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemoscope.runfile.reader import RunReader

    cells = RunReader.cells

    def failing(run: RunReader, system: str | None = None, scenario: str | None = None) -> Any:
        for cell in cells(run, system, scenario):
            lost = cell.probe_id in ("pos_901/q0", "neg_901/natural")
            yield replace(cell, status="error", error="timeout: no answer") if lost else cell

    monkeypatch.setattr(RunReader, "cells", failing)
    done = export_run(memuse_run, "memuse", tmp_path / "responses.json")
    document = json.loads((tmp_path / "responses.json").read_text(encoding="utf-8"))
    assert set(document["natural"]) == {"pos_901"}
    assert document["direct_qa"] == {}
    assert done.notes == (
        "bm25@baseline: no reply, left out: 2 (pos_901/q0, neg_901/natural)",
        "bm25@baseline: not all direct questions answered, left out of direct_qa: 1 (pos_901)",
    )


def test_stratmem_responses_go_by_the_datas_ids_one_file_per_replicate(
    tmp_path: Path, make_stratmem: Callable[..., Path], config: Callable[..., RunConfig], do_run: Callable[..., Any]
) -> None:
    do_run(config(scenarios=(f"stratmem:{make_stratmem()}",), systems=("pool@all",), replicates=2))
    done = export_run(tmp_path / "run.db", "stratmem", tmp_path / "out.json")
    assert [file.path.name for file in done.files] == ["out.pool-all-r0.json", "out.pool-all-r1.json"]
    records = json.loads(done.files[0].path.read_text(encoding="utf-8"))
    assert [record["id"] for record in records] == ["s1", "s2", "s3"]
    assert tuple(records[0]) == ("id", "query", "response", "error")
    assert records[0]["query"] == "How are you settling in with job 1?"
    assert records[0]["response"]


def test_files_are_not_overwritten_unless_asked(tmp_path: Path, memuse_run: Path) -> None:
    out = tmp_path / "cells.csv"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="exists and was not touched; add --force"):
        export_run(memuse_run, "csv", out)
    assert out.read_text(encoding="utf-8") == "mine"
    export_run(memuse_run, "csv", out, force=True)
    assert out.read_text(encoding="utf-8").startswith("system,evidence")
    assert not list(tmp_path.glob(".*"))
    for target, said in (
        (memuse_run, "is the run file itself"),
        (tmp_path, "is a folder"),
        (tmp_path / "no/x", "no folder"),
    ):
        with pytest.raises(ConfigError, match=said):
            export_run(memuse_run, "csv", target, force=True)


def test_an_unknown_format_names_what_exists(tmp_path: Path, memuse_run: Path) -> None:
    said = "no export format 'parquet'; it is jsonl, csv, memuse, locomo-conv or stratmem"
    with pytest.raises(ConfigError, match=said):
        export_run(memuse_run, "parquet", tmp_path / "x")
    with pytest.raises(ConfigError, match="no probe of stratmem; its probes are of memuse"):
        export_run(memuse_run, "stratmem", tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a\x00b", "..", "CON", "系统@基线", "dense(window=3)@top-k(2)", "x" * 300]
)
def test_a_name_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    paths = targets(tmp_path / "out.json", [name, "other"])
    assert paths[0].parent == tmp_path
    assert paths[0].name.startswith("out.")
    assert paths[0].name.isascii()
    assert len(paths[0].name) < 80
    assert slug(name) == slug(name).strip("-") != ""


def test_names_of_one_slug_stay_apart(tmp_path: Path) -> None:
    paths = targets(tmp_path / "out.json", ["a b", "a(b)", "c"])
    assert len({path.name for path in paths}) == 3
    assert paths[2].name == "out.c.json"


def test_the_command_says_what_it_wrote(tmp_path: Path, memuse_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.json"
    assert main(["export", str(memuse_run), "--format", "memuse", "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["files"] == [
        {"path": str(out), "bytes": out.stat().st_size, "system": "bm25@baseline", "replicate": 0}
    ]
    assert main(["export", str(memuse_run), "--format", "memuse", "--out", str(out)]) == 2
    assert "exists and was not touched" in capsys.readouterr().err
