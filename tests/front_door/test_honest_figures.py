"""What a figure must say of itself: strict JSON, micro beside macro, and the ceiling that wrong gold sets."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mnemoscope.cli import main
from mnemoscope.cli.tables import WIDTH
from mnemoscope.comparison import compare_runs
from mnemoscope.comparison.export import to_markdown
from mnemoscope.config import RunConfig
from tests.front_door.conftest import locomo_like
from tests.front_door.import_tools import do_import, write

QUESTIONS = 20


def strictly(text: str) -> Any:
    """A JSON text, as browsers and jq read it."""

    def refuse(name: str) -> NoReturn:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def one_conversation() -> list[dict[str, Any]]:
    """Twenty questions of one conversation: a single cluster, so that most statistics are undefined."""
    (sample,) = locomo_like(conversations=1)
    sample["qa"] = [
        {
            "question": f"What is number {n}?",
            "answer": f"value {n}",
            "evidence": ["D1:1"],
            "category": (4, 4, 4, 2)[n % 4],
        }
        for n in range(QUESTIONS)
    ]
    return [sample]


@pytest.fixture
def lone_run(
    tmp_path: Path, config: Callable[..., RunConfig], do_run: Callable[..., object], write_json: Callable[..., Path]
) -> Path:
    data = write_json("one.json", one_conversation())
    do_run(config(scenarios=(f"locomo:{data}",), architectures=("none", "recent"), limit=6))
    return tmp_path / "run.db"


def test_undefined_figures_are_null_with_a_reason(lone_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(lone_run), "--json"]) == 0
    document = strictly(capsys.readouterr().out)
    rows = document["metrics"]
    undefined = [row for row in rows if row["low"] is None]
    assert undefined and all(row["high"] is None and row["interval"] for row in undefined)
    assert {row["interval"] for row in undefined} >= {"one cluster", "nothing scored"}
    for row in rows:
        assert (row["value"] is None) == (row["n_scored"] == 0), row
        if row["value"] is None:
            assert row["n_excluded"] or row["n_error"] or row["n_invalid"], "why nothing was scored is in the counts"
    assert all(pair["p_clustered"] is None and pair["low"] is None for pair in document["pairs"])


def test_exports_are_strict_json_too(lone_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells.jsonl"
    assert main(["export", str(lone_run), "--format", "jsonl", "--out", str(out)]) == 0
    cells = [strictly(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(cells) == 12
    verdicts = [verdict for cell in cells for verdict in cell["verdicts"]]
    assert any(verdict["score"] is None for verdict in verdicts)
    assert all(verdict["label"] for verdict in verdicts if verdict["score"] is None), "a missing score has its reason"


def recorded(tmp_path: Path, right: Callable[[int], bool], overlay: list[dict[str, Any]] | None = None) -> Path:
    """An import of another harness: replies that give the published answers, and its own verdicts."""
    data = write(tmp_path, "published.json", one_conversation())
    spec = f"locomo:{data}"
    if overlay is not None:
        spec += f",overlay={write(tmp_path, 'overlay.json', overlay)}"
    ids = [f"conv-1/q{n}" for n in range(QUESTIONS)]
    replies = write(tmp_path, "replies.jsonl", [{"id": name, "reply": f"value {n}"} for n, name in enumerate(ids)])
    verdicts = write(
        tmp_path,
        "verdicts.jsonl",
        [{"id": name, "metric": "accuracy", "score": float(right(n))} for n, name in enumerate(ids)],
    )
    do_import(tmp_path / "in.db", scenarios=[spec], replies=[replies], verdicts=[verdicts])
    return tmp_path / "in.db"


def correction(index: int, **changes: Any) -> dict[str, Any]:
    row = {"sample_id": "conv-1", "qa_index": index, "action": "fix", "answer": "something else"}
    return {**row, "reason": "the history says otherwise", "source": "own audit", **changes}


BAD_GOLD = [correction(3), {k: v for k, v in correction(7, action="exclude").items() if k != "answer"}]


def test_micro_and_macro_are_both_printed_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(tmp_path, lambda n: n % 4 != 3)
    rows = {
        row["stratum"]: row
        for row in strictly(json.dumps(compare_runs([run], metrics=["accuracy"]).to_json(), allow_nan=False))["metrics"]
    }
    assert (rows["single-hop"]["value"], rows["temporal"]["value"]) == (1.0, 0.0)
    assert (rows["non-adversarial"]["value"], rows["macro"]["value"]) == (0.75, 0.5)
    assert rows["macro"]["n_scored"] == QUESTIONS
    assert main(["compare", str(run), "--metric", "accuracy"]) == 0
    out = capsys.readouterr().out
    line = next(text for text in out.splitlines() if text.startswith("theirs"))
    assert line.split()[1:3] == ["75.0", "["] and " 50.0 " in line
    assert "micro: probes weigh the same; macro: categories do" in out
    assert max(map(len, out.splitlines())) <= WIDTH
    assert main(["compare", str(run), "--metric", "accuracy", "--by", "stratum"]) == 0
    assert any(text.startswith("macro") and " 50.0 " in text for text in capsys.readouterr().out.splitlines())
    table = to_markdown(compare_runs([run], metrics=["accuracy"]))
    assert "| theirs | macro | 50.0 |" in table and "| theirs | 1–4 non-adversarial | 75.0 |" in table


def test_a_score_above_what_the_gold_allows_is_flagged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(tmp_path, lambda n: True, BAD_GOLD)
    comparison = compare_runs([run])
    figures = {f.metric: f for f in comparison.metrics if f.stratum == "all" and f.ceiling is not None}
    assert set(figures) == {"accuracy", "answer-f1(gold=published)"}
    for figure in figures.values():
        assert (figure.n_scored, figure.value, figure.ceiling) == (QUESTIONS, 1.0, 0.9)
        assert figure.is_above_ceiling
    said = [warning for warning in comparison.warnings if warning.startswith(("ceiling", "judge or gold problem"))]
    assert len(said) == 4
    assert "can reach 90.0 %, as the overlay corrects 1 and excludes 1 of 20 gold rows" in said[0]
    assert sum(w.endswith("is 100.0 %, above its ceiling of 90.0 %") for w in said) == 1
    assert sum(w.endswith("unless its judge was given the corrected gold") for w in said) == 1
    assert main(["compare", str(run), "--metric", "accuracy"]) == 0
    shown = capsys.readouterr()
    assert "ceiling over all: 90.0, by the overlay" in shown.out
    assert "warning: judge or gold problem: accuracy of theirs" in shown.err


def test_a_score_within_the_ceiling_is_not_flagged(tmp_path: Path) -> None:
    run = recorded(tmp_path, lambda n: n not in (3, 7), BAD_GOLD)
    warnings = compare_runs([run], metrics=["accuracy"]).warnings
    assert any(w.startswith("ceiling: accuracy on locomo can reach 90.0 %") for w in warnings)
    assert not any(w.startswith("judge or gold problem") for w in warnings)


def test_without_an_overlay_there_is_no_ceiling(tmp_path: Path) -> None:
    comparison = compare_runs([recorded(tmp_path, lambda n: True)])
    assert all(f.ceiling is None for f in comparison.metrics)
    assert not any(w.startswith("ceiling") for w in comparison.warnings)


def test_the_ceiling_gives_partial_credit_and_leaves_corrected_evidence_alone(tmp_path: Path) -> None:
    overlay = [
        correction(0, answer="value 0 and more"),
        {k: v for k, v in correction(1, evidence=["D1:2"]).items() if k != "answer"},
    ]
    figures = compare_runs([recorded(tmp_path, lambda n: True, overlay)]).metrics
    found = {f.metric: f.ceiling for f in figures if f.stratum == "all" and f.ceiling is not None}
    f1 = 2 * (2 / 3) / (2 / 3 + 1)
    assert math.isclose(found["answer-f1(gold=published)"] or 0, (19 + f1) / 20, abs_tol=1e-6)
    assert found["accuracy"] == 0.95
