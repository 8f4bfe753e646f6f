"""One probe in the report, from its turns to the judge's own words; and pages that stay light and current."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.memory_backends.record import MemoryItem, Retrieval, Source
from mnemoscope.report import check_report, write_report
from mnemoscope.runfile import RunFile, open_run
from mnemoscope.runfile.records import CellRecord
from tests.front_door import judge_stub
from tests.front_door.import_tools import do_import, native, write
from tests.front_door.test_report_page import assert_inert

ITEMS, TRACE, ITEM = 500, 100_000, 10_000
"""Probes, characters of one probe's trace, and of one of its memories."""


@pytest.fixture
def run_file(
    config: Callable[..., RunConfig], do_run: Callable[..., object], make_locomo: Callable[..., Path], tmp_path: Path
) -> Path:
    spec = f"locomo:{make_locomo()}"
    do_run(config(scenarios=(spec,), architectures=("none", "bm25"), judge=f"{judge_stub.__file__}:Doubtful"))
    return tmp_path / "run.db"


def test_a_probe_shows_everything_that_explains_it(run_file: Path, tmp_path: Path) -> None:
    """RP-03: one fold holds turns, stored and retrieved memories, reply, the judge's words, and what went wrong."""
    write_report([run_file], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    text = "".join(assert_inert(html).text)
    assert judge_stub.SAYS in text and judge_stub.SAYS not in html, "the judge's words are shown, and never run"
    fold = next(f for f in html.split('<details class="probe"')[1:] if "conv-1/q0" in f)
    stages = fold.partition('data-stages="')[2].partition('"')[0].split()
    assert "not-stored" in stages and "doubt" in stages
    assert 'class="turns"' in fold and 'class="tag gold">gold<' in fold
    memory = fold.partition("<h3><bdi>bm25</bdi>")[2].partition("</section>")[0]
    stored, given = memory.partition("<b>Stored</b>")[2], memory.partition("<b>Retrieved</b>")[2]
    assert "new kiln from Ghent" in stored.partition("</details>")[0]
    first = re.findall(r'<li( class="gold")?><span class="at">(\d+) · ([\d.]+)</span>', given.partition("</ol>")[0])
    assert [rank for _, rank, _ in first] == [str(n) for n in range(1, len(first) + 1)]
    assert any(mark for mark, _, _ in first) and all(float(score) >= 0 for _, _, score in first)
    attempt = memory.partition("<article")[2]
    assert 'class="reply speech"' in attempt and "integration" in attempt
    assert "prompt abababababab" in attempt, "which prompt was sent"
    assert '<span class="tag bad">judge doubt: 67% of votes, injection</span>' in attempt
    assert '<option value="doubt">judge doubt</option>' in html


def test_a_judge_without_doubts_leaves_no_mark(
    config: Callable[..., RunConfig], do_run: Callable[..., object], make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    """RP-03."""
    do_run(config(scenarios=(f"locomo:{make_locomo()}",), architectures=("bm25",)))
    write_report([tmp_path / "run.db"], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "judge doubt" not in html


def test_one_command_shows_any_probe(run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """RP-03: a probe that a large page leaves out is asked for by its id; the figures stay those of all."""
    page = tmp_path / "one.html"
    assert main(["report", str(run_file), "--out", str(page), "--probe", "conv-2/q1"]) == 0
    assert "1 of 10 probes in full" in capsys.readouterr().out
    html = page.read_text(encoding="utf-8")
    assert html.count('<details class="probe"') == 1 and "conv-2/q1" in html and "20 of 20 done" in html
    assert main(["report", str(run_file), "--out", str(page), "--probe", "conv-2/q11"]) == 2
    assert "unknown probe in these runs 'conv-2/q11'; nearest: conv-2/q1" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == html, "an error leaves the page as it was"


def trace(number: int) -> tuple[MemoryItem, ...]:
    """The memories of one probe, a hundred kilobytes that no other probe shares."""
    at = datetime(2024, 3, 2, tzinfo=UTC)
    return tuple(
        MemoryItem(
            ItemId(f"{number}-{n}"),
            "segment",
            f"{number}-{n} ".ljust(ITEM, "x"),
            (Source(TurnId("t0"), "verbatim", 1.0),),
            at,
            score=1.0 / (n + 1),
            rank=n + 1,
        )
        for n in range(TRACE // ITEM)
    )


def test_a_run_of_heavy_traces_gives_a_light_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """RP-04: 500 probes of 100 kB each are one page of at most 3 MB, whose size is printed, and that loads nothing."""
    asked = [(f"n{n}", f"Cat number {n}?", "Pixel") for n in range(ITEMS)]
    spec = f"native:{write(tmp_path, 'studio.json', native(asked[:4]) | {'probes': heavy(asked)})}"
    rows = [{"id": name, "metric": "accuracy", "score": float(n % 3 == 0)} for n, (name, _, _) in enumerate(asked)]
    out = tmp_path / "run.db"
    do_import(out, scenarios=[spec], verdicts=[write(tmp_path, "verdicts.jsonl", rows)])
    with open_run(out) as run:
        cells = [(cell.key, run.verdicts_of(cell)) for cell in run.cells()]
    assert len(cells) == ITEMS
    with RunFile.resume(out) as file:
        for number, (key, verdicts) in enumerate(cells):
            items = trace(number)
            reply = Reply("Pixel.", HiddenTrace(), Retrieval(items, len(items), context_tokens=25_000), None)
            file.commit_cell(CellRecord(key, reply, 1.0, verdicts), replace=True)
    page = tmp_path / "report.html"
    assert main(["report", str(out), "--out", str(page)]) == 0
    size = page.stat().st_size
    assert size < 3_000_000 < ITEMS * TRACE
    said = re.search(r": ([\d.]+) MB, (\d+) of 500 probes in full", capsys.readouterr().out)
    assert said is not None and said[1] == f"{size / 1e6:.1f}" and int(said[2]) > 50
    assert_inert(page.read_text(encoding="utf-8"))


def heavy(asked: list[tuple[str, str, str]]) -> list[dict[str, object]]:
    """Questions on the one turn of the small scenario."""
    gold = {"answers": ["Pixel"], "evidence": ["t0"]}
    return [
        {"id": name, "style": "question", "after": "day", "ask": text, "now": "2024-03-05 09:00", "gold": gold}
        for name, text, _ in asked
    ]


def shown_everywhere(run: Path, page: Path, capsys: pytest.CaptureFixture[str]) -> float:
    """The one share that all forms print for bm25."""
    capsys.readouterr()
    metric = ("--metric", "answer-f1")
    wanted = {"system": "bm25@baseline", "stratum": "non-adversarial"}
    assert main(["compare", str(run), *metric, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["metrics"]
    (value,) = [row["value"] for row in rows if wanted.items() <= row.items()]
    assert main(["compare", str(run), *metric, "--format", "csv"]) == 0
    lines = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert [float(line["value"]) for line in lines if wanted.items() <= line.items()] == [value]
    printed = f"{value * 100:.1f}"
    assert main(["compare", str(run), *metric, "--format", "md"]) == 0
    assert f"| bm25@baseline | 1–4 non-adversarial | {printed} " in capsys.readouterr().out
    assert main(["compare", str(run), *metric]) == 0
    line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("bm25@baseline"))
    assert line.split()[1] == printed
    html = page.read_text(encoding="utf-8").partition("<h3>locomo</h3>")[2]
    columns = re.findall(r'<bdi class="name">(.*?)</bdi>', html.partition("</thead>")[0])
    row = html.partition('data-v="bm25@baseline"')[2].partition("</tr>")[0]
    assert re.findall(r'<span class="v">(.*?)</span>', row)[columns.index("answer-f1")] == printed
    return float(value)


def test_all_forms_say_the_same_and_a_stale_page_is_found(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RP-05: one summary behind every form; judging three items again makes the page stale until it is written anew."""
    page = tmp_path / "report.html"
    written = write_report([run_file], page)
    before = shown_everywhere(run_file, page, capsys)
    assert main(["report", str(run_file), "--check", str(page)]) == 0
    html = page.read_text(encoding="utf-8")
    assert f'<meta name="mnemoscope-content" content="{written.content_hashes[0]}">' in html
    assert f"Content hash {written.content_hashes[0][:16]}" in html
    with open_run(run_file) as run:
        cells = [cell for cell in run.cells(system="bm25@baseline") if "q0" in cell.probe_id or "q1" in cell.probe_id]
        again = [
            (cell.key, verdict)
            for cell in cells[:3]
            for verdict in run.verdicts_of(cell)
            if verdict.metric == "answer-f1"
        ]
    with RunFile.resume(run_file) as file:
        for key, verdict in again:
            changed = Verdict("answer-f1", "reply", "f1", 1.0, judge_key=verdict.judge_key)
            file.add_verdicts(key, [changed], {})
    assert len(again) == 3
    found = check_report([run_file], page)
    assert not found.is_current and "is stale: it shows content" in str(found)
    capsys.readouterr()
    assert main(["report", str(run_file), "--check", str(page), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["current"] is False
    write_report([run_file], page)
    assert main(["report", str(run_file), "--check", str(page)]) == 0
    assert shown_everywhere(run_file, page, capsys) > before


def test_a_page_of_another_version_or_program_is_not_current(run_file: Path, tmp_path: Path) -> None:
    """RP-05."""
    page = tmp_path / "report.html"
    write_report([run_file], page)
    html = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r'content="mnemoscope [^"]*"', 'content="mnemoscope 0.0.0"', html), encoding="utf-8")
    found = check_report([run_file], page)
    assert not found.is_current and "made by mnemoscope 0.0.0" in str(found)
    page.write_text("<!doctype html><title>mine</title>", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not a report of mnemoscope"):
        check_report([run_file], page)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        check_report([run_file], tmp_path / "missing.html")
    assert main(["report", str(run_file)]) == 2, "neither written nor checked"
