"""A judge's null becomes neither 0 nor NaN on its way from the reply to the figure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

from mnemoscope.evaluators.aggregate import ProbeFacts, ScoreRow, aggregate
from mnemoscope.evaluators.judges.parsing import level


def test_missing_scores_are_their_own_state(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("JD-05")
    table = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rows = []
    for item in table["items"]:
        for metric, score in zip(table["metrics"], item["scores"], strict=True):
            parsed = level(json.dumps({"score": score}), (0, 1))
            label, status = ("scored", "scored") if parsed.problem is None else (parsed.problem.kind, "invalid")
            rows.append(ScoreRow("a", "s", item["id"], 0, metric, "reply", label, parsed.value, status, "j"))
    probes = {("s", item["id"]): ProbeFacts(item["id"], (), "bench") for item in table["items"]}
    figures = aggregate(rows, probes, resamples=200).metrics
    found = {f.metric: {"mean": round(f.value or 0, 4), "n": f.n_scored} for f in figures if f.stratum == "all"}
    assert found == expected["per_metric"]
    assert {f.n_invalid + f.n_scored for f in figures} == {len(table["items"])}

    scored = {item["id"]: [row.score for row in rows if row.probe_id == item["id"]] for item in table["items"]}
    holes = {name: sum(score is None for score in scores) for name, scores in scored.items()}
    assert [name for name, n in holes.items() if n == len(table["metrics"])] == expected["items_fully_unscored"]
    assert [name for name, n in holes.items() if 0 < n < len(table["metrics"])] == expected["items_partly_scored"]
    assert [name for name, n in holes.items() if n == 0] == expected["completely_scored_items"]
    numbers = [value for figure in figures for value in astuple(figure) if isinstance(value, float)]
    assert expected["no_nan_in_output"] == (not any(math.isnan(value) for value in numbers))
