"""Rows that were not made alike: settings that differ are marked, imported rows stand apart, baselines are there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.cli.tables import WIDTH
from mnemoscope.comparison import compare_runs
from mnemoscope.comparison.export import to_csv, to_markdown
from mnemoscope.config import DEFAULT_ARCHITECTURES, RunConfig, load_config
from mnemoscope.report import write_report
from mnemoscope.runfile import open_run
from tests.front_door.import_tools import ASKED, do_import, native, write

Make = Callable[..., RunConfig]
BASELINES = {"none", "recent", "full-context", "oracle"}


@pytest.fixture
def by_k(config: Make, do_run: Callable[..., object], make_locomo: Callable[..., Path], tmp_path: Path) -> list[Path]:
    """Three systems with ten memories each, and one of them again with a single one and more tokens."""
    spec = f"locomo:{make_locomo()}"
    do_run(config(scenarios=(spec,), architectures=("none", "recent", "bm25"), out=tmp_path / "ten.db"))
    do_run(config(scenarios=(spec,), architectures=("bm25",), k=1, memory_tokens=900, out=tmp_path / "one.db"))
    return [tmp_path / "ten.db", tmp_path / "one.db"]


def test_other_conditions_are_marked_on_the_row(
    by_k: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RP-01: every deviation is a visible mark on its row, in every form, and no difference to it counts."""
    comparison = compare_runs(by_k, metrics=["recall@10"])
    marks = {view.name: view.unequal for view in comparison.systems}
    odd = "bm25@baseline [one]"
    assert marks.pop(odd) == ("k", "memory_tokens")
    assert set(marks.values()) == {()}
    assert all(pair.comparable == (odd not in (pair.a, pair.b)) for pair in comparison.pairs)
    assert f"| {odd} |".replace("[", "\\[").replace("]", "\\]") in to_markdown(comparison)
    assert "other k, other memory\\_tokens" in to_markdown(comparison)
    assert any(line.endswith(",k; memory_tokens") for line in to_csv(comparison).splitlines())
    assert main(["compare", *map(str, by_k), "--metric", "recall@10"]) == 0
    out = capsys.readouterr().out
    assert "other k" in out and max(map(len, out.splitlines())) <= WIDTH
    write_report(by_k, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    (row,) = re.findall(r'<th scope="row" data-v="bm25@baseline \[one\]">(.*?)</th>', html)[:1]
    assert 'class="tag">other k<' in row and 'class="tag">other memory_tokens<' in row
    assert "such rows get no mark against the others" in html


def test_what_a_reply_was_given_is_shown(by_k: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """RP-01: context tokens per answer; JD-09: the length of replies per system."""
    assert main(["compare", *map(str, by_k), "--json"]) == 0
    systems = {row["system"]: row for row in json.loads(capsys.readouterr().out)["systems"]}
    assert systems["none@baseline"]["context_tokens"] == 0
    assert 0 < systems["bm25@baseline [one]"]["context_tokens"] < systems["bm25@baseline"]["context_tokens"]
    with open_run(by_k[0]) as run:
        for name in ("none@baseline", "bm25@baseline"):
            lengths = [len(run.reply_of(cell).visible_text) for cell in run.cells(system=name)]
            assert systems[name]["reply_characters"] == pytest.approx(sum(lengths) / len(lengths), abs=1e-6)
    assert main(["compare", *map(str, by_k)]) == 0
    table = capsys.readouterr().out.partition("what a reply was given, and its length")[2]
    line = next(line for line in table.splitlines() if line.startswith("bm25@baseline "))
    assert line.split()[1:] == [
        f"{systems['bm25@baseline'][key]:,.1f}" for key in ("given", "context_tokens", "reply_characters")
    ]


@pytest.fixture
def with_import(config: Make, do_run: Callable[..., object], tmp_path: Path) -> list[Path]:
    """Two own systems, the oracle, and imported replies that are all right."""
    spec = f"native:{write(tmp_path, 'studio.json', native())}"
    do_run(config(scenarios=(spec,), architectures=("none", "bm25", "oracle"), out=tmp_path / "own.db"))
    replies = [{"id": name, "reply": f"It is {answer}."} for name, _, answer in ASKED]
    given = write(tmp_path, "replies.jsonl", replies)
    do_import(tmp_path / "theirs.db", scenarios=[spec], replies=[given])
    worse = write(tmp_path, "worse.jsonl", [{**row, "reply": "No idea."} for row in replies])
    do_import(tmp_path / "others.db", system="others", scenarios=[spec], replies=[worse])
    return [tmp_path / "others.db", tmp_path / "theirs.db", tmp_path / "own.db"]


def test_imported_rows_stand_apart_and_are_never_ranked(
    with_import: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RP-01: whatever their figures, imported rows come after those run here, in the order of the files."""
    comparison = compare_runs(with_import, metrics=["answer-f1"])
    value = {f.system: f for f in comparison.metrics if f.stratum == "all"}
    assert value["theirs"].value == max(f.value or 0 for f in value.values()), "they would lead a ranking"
    imported = {"theirs", "others"}
    assert not any(pair.comparable for pair in comparison.pairs if len(imported & {pair.a, pair.b}) == 1)
    assert value["theirs"].vs_none is None and value["bm25@baseline"].vs_none is not None
    assert all(view.unequal == () for view in comparison.systems), "an import's settings are not what was run"
    assert main(["compare", *map(str, with_import), "--metric", "answer-f1"]) == 0
    table = capsys.readouterr().out.partition("difference in")[0].splitlines()
    names = ("bm25@baseline", "none@baseline", "others", "theirs", "oracle@baseline")
    found = [line.split()[0] for line in table if line.startswith(names)]
    assert sorted(found[:2]) == ["bm25@baseline", "none@baseline"] and found[2:5] == ["others", "theirs", names[-1]]
    write_report(with_import, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    part = re.findall(r'<tbody class="imported" data-fixed>(.*?)</tbody>', html, re.DOTALL)
    assert part and all(re.findall(r'data-v="(theirs|others)"', rows) == ["others", "theirs"] for rows in part)
    assert all(' best"' not in rows for rows in part)
    assert "They are not ranked." in html


def test_the_usual_comparison_has_its_baselines(
    make_locomo: Callable[..., Path], config: Make, do_run: Callable[..., object], tmp_path: Path
) -> None:
    """RP-02: none, recent, full-context and oracle are compared unless others are named."""
    assert set(DEFAULT_ARCHITECTURES) > BASELINES
    assert {spec.architecture for spec in load_config(None, {}).system_specs()} == set(DEFAULT_ARCHITECTURES)
    do_run(config(scenarios=(f"locomo:{make_locomo()}",), limit=4))
    comparison = compare_runs([tmp_path / "run.db"], "headline")
    assert {view.row.memory for view in comparison.systems} > BASELINES
    assert not any(warning.startswith("no row for") for warning in comparison.warnings)


def test_gaps_to_no_memory_and_to_the_oracle_are_shown_by_stratum(
    config: Make,
    do_run: Callable[..., object],
    make_locomo: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """RP-02: each figure beside its floor and its ceiling, of the same profile, in every stratum."""
    choice = {"architectures": ("none", "bm25", "oracle"), "profiles": ("baseline", "top-k(2)")}
    do_run(config(scenarios=(f"locomo:{make_locomo()}",), **choice))
    run = tmp_path / "run.db"
    comparison = compare_runs([run], metrics=["answer-f1"])
    figures = {(f.stratum, f.system): f for f in comparison.metrics}
    strata = {stratum for stratum, _ in figures}
    assert strata >= {"multi-hop", "temporal", "open-domain", "single-hop", "macro"}
    for stratum in strata:
        for profile in ("baseline", "top-k(2)"):
            none, mine, top = (figures[stratum, f"{name}@{profile}"] for name in ("none", "bm25", "oracle"))
            if mine.value is None:
                assert mine.vs_none is mine.vs_oracle is None
                continue
            assert mine.vs_none == pytest.approx(mine.value - (none.value or 0), abs=1e-6)
            assert mine.vs_oracle == pytest.approx(mine.value - (top.value or 0), abs=1e-6)
            assert none.vs_none is None and top.vs_oracle is None
    mine = figures["temporal", "bm25@baseline"]
    shown = f"{(mine.vs_none or 0) * 100:+.1f}"
    assert main(["compare", str(run), "--metric", "answer-f1", "--by", "stratum"]) == 0
    out = capsys.readouterr().out
    assert "with gold" in out and max(map(len, out.splitlines())) <= WIDTH
    rows = out.partition("2 temporal")[2].partition("3 open")[0].splitlines()
    assert any("bm25@baseline" in line and shown in line.split() for line in rows)
    assert "| vs none | vs oracle |" in to_markdown(comparison, by="stratum")
    write_report([run], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f'<span class="gap">{shown.replace("-", "−")} vs none' in html
