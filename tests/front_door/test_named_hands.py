"""Who judged, who attributed losses, what a memory could not read, how the baseline came about: all of it is said."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison import compare_runs
from mnemoscope.config import RunConfig
from mnemoscope.engine import RunOutcome
from mnemoscope.report import write_report
from mnemoscope.runfile import codec

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]


@pytest.fixture
def made(config: Configure, do_run: DoRun) -> Path:
    return do_run(config(scenarios=("demo",), architectures=("none", "bm25"), limit=6)).path


def test_judges_are_named_with_their_keys_apart_from_the_rule_of_losses(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compare_runs([made], "headline")
    judged = {figure.judge_key for figure in found.metrics if figure.judged}
    assert judged and set(found.judges) == {"offline"} and set(found.judges["offline"]) == judged
    assert len(found.detectors) == 1 and found.detectors[0] not in judged
    assert main(["compare", str(made)]) == 0
    said = capsys.readouterr().out
    assert "judged by offline" in said and f"losses attributed by {found.detectors[0]}" in said
    for language, by, lost in (("en", "Judged by", "Losses attributed by"), ("zh", "评判者", "丢失归因")):
        page = tmp_path / f"{language}.html"
        write_report([made], page, language)
        html = page.read_text(encoding="utf-8")
        judge, _, detector = (html.partition(f"<dt>{by}</dt>")[2]).partition(f"<dt>{lost}</dt>")
        assert "offline" in judge.partition("</dd>")[0] and all(key[:20] in judge for key in judged)
        assert found.detectors[0] in detector.partition("</dd>")[0]


def test_unread_replies_of_memories_are_warned_of(made: Path, tmp_path: Path) -> None:
    with sqlite3.connect(made) as db:
        db.execute("UPDATE lane SET stats = json_set(stats, '$.parse_failures', 2) WHERE memory = 'bm25'")
        [(cell, packed, usage)] = db.execute("SELECT cell_id, retrieval, usage FROM cell WHERE given > 0 LIMIT 1")
        retrieval = codec.unpack(packed) | {"parse_failures": 1}
        asked = json.dumps(json.loads(usage) | {"calls": {"select": 1}})
        db.execute("UPDATE cell SET retrieval = ?, usage = ? WHERE cell_id = ?", (codec.pack(retrieval), asked, cell))
        [(lanes,)] = db.execute("SELECT count(*) FROM lane WHERE memory = 'bm25'")
    db.close()
    warnings = compare_runs([made]).warnings
    assert any(f"bm25 could not read {2 * lanes} replies" in text and "writing" in text for text in warnings)
    assert any("bm25@baseline could not read 1 reply" in text and "searching" in text for text in warnings)
    page = tmp_path / "page.html"
    write_report([made], page, "en")
    assert "unread replies" in page.read_text(encoding="utf-8")


def test_a_baseline_that_nobody_named_says_how_it_was_chosen(
    config: Configure, do_run: DoRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("none", "recent", "bm25", "random", *(f"bm25(window={n})" for n in (2, 3, 4, 5, 6)))
    path = do_run(config(scenarios=("demo",), architectures=names, limit=4)).path
    assert (
        compare_runs([path]).baseline_is_chosen
        and not compare_runs([path], baseline="bm25@baseline").baseline_is_chosen
    )
    assert main(["compare", str(path)]) == 0
    assert "no --baseline was given" in capsys.readouterr().out
    page = tmp_path / "page.html"
    write_report([path], page, "en")
    assert "no --baseline was given" in page.read_text(encoding="utf-8")
    write_report([path], page, "en", baseline="bm25@baseline")
    assert "no --baseline was given" not in page.read_text(encoding="utf-8")


def test_settings_are_json_values_in_json(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(made), "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["systems"][0]["settings"]
    assert (settings["k"], settings["captions"], settings["model"], settings["embedder"]) == (
        10,
        True,
        None,
        "hash(dim=64)",
    )
