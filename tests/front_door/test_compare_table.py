"""The tables of `compare`: 80 columns, whole numbers, and forms that are safe to paste."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.cli.tables import WIDTH
from mnemoscope.comparison.export import to_csv, to_markdown
from mnemoscope.comparison.summary import Comparison, Figure, Headline, SystemView
from mnemoscope.config import RunConfig
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.report.page import system_tags
from mnemoscope.report.wording import Wording
from mnemoscope.runfile.rows import SystemRow

LONG = "bm25(window=30,overlap=12,method=atire)"


@pytest.fixture
def run_file(config: Callable[..., RunConfig], do_run: Callable[..., object], make_locomo: Callable[..., Path]) -> Path:
    settings = config(
        scenarios=(f"locomo:{make_locomo()}",),
        architectures=("none", "recent", LONG, "oracle"),
        profiles=("baseline", "top-k(2)"),
    )
    do_run(settings)
    assert settings.out is not None
    return settings.out


def test_the_table_fits_and_cuts_no_number(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--by", "stratum"), ("--baseline", "none@baseline"), ("--metric", "answer-f1")):
        assert main(["compare", str(run_file), *more]) == 0
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= WIDTH, more
        assert "\x1b" not in out, "no colours into a pipe"
    assert main(["compare", str(run_file), "--metric", "recall@10"]) == 0
    out = capsys.readouterr().out
    assert "recall@10 · locomo · 1–4 non-adversarial" in out
    row = next(line for line in out.splitlines() if line.startswith("oracle@baseline"))
    assert "100.0 [" in row and "8/8" in row and row.rstrip().endswith("reads gold")
    assert "rule: provenance" in out
    long = next(line for line in out.splitlines() if line.startswith("bm25(window=30"))
    assert "…" in long and "8/8" in long


def test_differences_say_what_their_p_is(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file), "--metric", "recall@10", "--baseline", "none@baseline"]) == 0
    out = capsys.readouterr().out
    assert "p, cluster: by sign flips of clusters, after Holm" in out
    assert "p, rows: " in out and "clusters ignored" in out
    rows = [line.split() for line in out.partition("difference in ")[2].splitlines() if "8/2" in line]
    assert rows and all(row[-1] == "–" for row in rows), "two clusters can show nothing"


def test_an_unfinished_run_is_never_called_complete(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file)]) == 0
    assert capsys.readouterr().out.endswith("complete: 80 of 80 cells, 0 failed\n")
    db = sqlite3.connect(run_file)
    [(number,)] = db.execute("SELECT max(cell_id) FROM cell").fetchall()
    for table in ("verdict", "loss", "span", "cell"):
        db.execute(f"DELETE FROM {table} WHERE cell_id = ?", (number,))
    db.commit()
    db.close()
    assert main(["compare", str(run_file)]) == 0
    said = capsys.readouterr()
    assert said.out.endswith("\nincomplete: 79 of 80 cells, 0 failed\n")
    assert ", incomplete" in said.out and "warning: incomplete: 79 of 80" in said.err
    assert max(map(len, said.out.splitlines())) <= WIDTH


def test_uncalibrated_judges_say_so(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file), "--metric", "integration"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "judge: offline-use-" in out and "(uncalibrated)" in out


def test_strata_are_printed_with_number_name_and_n(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file), "--metric", "recall@10", "--by", "stratum"]) == 0
    out = capsys.readouterr().out
    for title in ("1 multi-hop", "2 temporal", "3 open-domain", "4 single-hop"):
        assert any(line.startswith(title) and "2/2" in line for line in out.splitlines()), title


def test_json_is_alone_on_standard_output_and_warnings_are_in_it(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(run_file), "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert said.err == ""
    assert document["warnings"]
    assert {row["metric"] for row in document["metrics"]} >= {"recall@10", "recall@4", "answer-f1", "integration"}


def test_csv_has_a_line_per_figure(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file), "--format", "csv", "--metric", "recall@10"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    found = {row["system"]: row for row in rows if row["stratum"] == "non-adversarial"}
    assert found["oracle@baseline"]["value"] == "1.0" and found["oracle@baseline"]["privileged"] == "yes"
    assert found["none@baseline"]["value"] == "0.0" and found["none@baseline"]["n_scored"] == "8"


def test_markdown_has_intervals_and_counts(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file), "--format", "md", "--metric", "recall@10"]) == 0
    out = capsys.readouterr().out
    assert "### recall@10, locomo" in out
    assert "| none@baseline | 1–4 non-adversarial | 0.0 \\[0.0, " in out


def test_bad_names_end_with_2_and_one_message(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(run_file), "--metric", "recal@10"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("error: unknown metric in these runs 'recal@10'; nearest: recall@10")
    assert main(["compare", str(run_file.with_name("missing.db"))]) == 2
    assert "there is no run file" in capsys.readouterr().err


def hostile() -> Comparison:
    row = SystemRow("=cmd|<b>x</b>@p", 0, "m", "p", "twin", "heuristic", False, Capabilities(), "", "")
    view = SystemView(row, ("run",), {}, 1, 1, 0)
    figure = Figure(
        *("smc", row.name, "all", 3, 2, {"answer-error:timeout": 1}, 0, {}, 0.5, 0.333333, 0.1, 0.9, "", 2),
        *("[x](javascript:alert(1))", "twin"),
        benchmark="stratmem",
        judged=True,
    )
    return Comparison(
        (view,), (figure,), (), ("<script>alert(1)</script>",), headlines={"stratmem": (Headline("smc", "all"),)}
    )


def test_exports_neutralise_what_others_would_run() -> None:
    text = to_csv(hostile())
    assert ",'=cmd|<b>x</b>@p," in text and ",0.333333," in text and "answer-error:timeout 1" in text
    markdown = to_markdown(hostile())
    assert "<b>" not in markdown and "<script>" not in markdown
    assert r"\[x\](javascript:alert(1))" in markdown, "brackets are escaped, so this is no link"
    assert "| 33.3 | twin, heuristic |" in markdown


def test_a_memory_named_after_a_system_that_it_was_not_shown_to_equal_is_marked_everywhere() -> None:
    shown = Capabilities(verified=True)
    for memory, can, marked in (
        ("m-style(k=2)", Capabilities(), True),
        ("m-style(k=2)", shown, False),
        ("m", Capabilities(), False),
    ):
        row = SystemRow("s", 0, memory, "p", "twin", "heuristic", False, can, "", "")
        view = SystemView(row, ("run",), {}, 1, 1, 0)
        assert view.marks == ("twin", "heuristic", *(["unverified"] if marked else []))
        assert view.to_json()["unverified"] is marked
        assert system_tags(view, Wording("en")) == view.marks
