"""The shipped weights: where they come from, that they are what the fit gives, and how far they agree with labels."""

from __future__ import annotations

import asyncio
import hashlib
import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score

from mnemoscope.evaluators.judges.offline.answering import Said, answered, fact_said
from mnemoscope.evaluators.judges.offline.figures import read_figures
from mnemoscope.evaluators.judges.offline.heard import hear
from mnemoscope.evaluators.judges.offline.likeness import content_of
from mnemoscope.evaluators.judges.offline.rules import RULES, open_rules

YES = {"answer": {"right"}, "any": {"full", "partial"}, "full": {"full"}}


def development(file: str) -> bytes:
    return files("mnemoscope.evaluators.calibration").joinpath(f"rows/{file}").read_bytes()


def said(row: dict[str, str]) -> Said:
    heard, asked = hear(row["reply"]).text, row.get("question") or row.get("utterance") or ""
    read = (
        answered(heard, asked, row["gold"], None)
        if row["metric"] == "answer"
        else fact_said(heard, row["gold"], asked, None)
    )
    return asyncio.run(read)


@pytest.mark.parametrize("rule", RULES)
def test_weights_name_the_rows_that_they_are_fitted_on(rule: str) -> None:
    for source in open_rules().on[rule]:
        data = development(source.file)
        assert ".sealed." not in source.file
        assert hashlib.sha256(data).hexdigest() == source.sha256
        assert len(data.decode().splitlines()) == source.rows


@pytest.mark.parametrize("rule", YES)
def test_the_shipped_weights_are_what_the_fit_gives(rule: str) -> None:
    (source,) = open_rules().on[rule]
    rows = [json.loads(line) for line in development(source.file).decode().splitlines()]
    free = [(row, found) for row in rows if not (found := said(row)).veto]
    model = LogisticRegression(C=10.0, max_iter=1_000)
    model.fit(np.array([[f.features.coverage] for _, f in free]), [row["label"] in YES[rule] for row, _ in free])
    weights = open_rules().rules[rule].tokens
    assert weights.bias == pytest.approx(float(model.intercept_[0]), abs=0.01)
    assert weights.coverage == pytest.approx(float(model.coef_[0, 0]), abs=0.01)


@pytest.mark.parametrize("rule", RULES)
def test_more_that_is_covered_is_never_less_likely(rule: str) -> None:
    for weights in (open_rules().rules[rule].vectors, open_rules().rules[rule].tokens):
        assert weights.coverage > 0
        assert weights.similarity >= 0.0
        assert weights.bias < 0


def test_agreement_on_released_verdicts_without_an_embedder(benchmark_data: Path) -> None:
    lines = (benchmark_data / "memuse_judged_sample.jsonl").read_text(encoding="utf-8").splitlines()
    labels: dict[str, list[bool]] = {"verdict_direct": [], "verdict_reference": []}
    found: dict[str, list[bool]] = {"verdict_direct": [], "verdict_reference": []}
    for row in map(json.loads, lines):
        for reply, verdict in (("direct_answer", "verdict_direct"), ("natural_reply", "verdict_reference")):
            read = asyncio.run(answered(hear(row[reply]).text, row["question"], row["gold_answer"], None))
            found[verdict].append(read.holds(open_rules(), "answer"))
            labels[verdict].append(row[verdict])
    assert cohen_kappa_score(labels["verdict_direct"], found["verdict_direct"]) >= 0.4
    negatives = [
        yes for yes, label in zip(found["verdict_reference"], labels["verdict_reference"], strict=True) if not label
    ]
    assert sum(negatives) / len(negatives) <= 0.05


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("forty thousand euros", {"40000"}),
        ("40,000 euros", {"40000"}),
        ("three hundred and twelve", {"312"}),
        ("4:20", {"4", "20"}),
        ("four hours twenty, not under four", {"4", "20"}),
        ("一百八十碗", {"180"}),
        ("一百八", {"180"}),
        ("两百二十碗", {"220"}),
        ("八万元", {"80000"}),
        ("二十三封信", {"23"}),
        ("万一下雨", set()),
        ("one day", set()),
    ],
)
def test_numbers_are_read_in_every_form(text: str, marks: set[str]) -> None:
    assert read_figures(text).marks == marks


@pytest.mark.parametrize(
    ("text", "word", "polarity"),
    [
        ("She did not sell the barge", "barg", {True}),
        ("She was not feeling well after the flu", "flu", {False}),
        ("He kept the barge and cannot swim", "barg", {False}),
        ("她对芒果不过敏", "芒", {True}),
        ("真不容易找到扬州", "扬", {False}),
    ],
)
def test_a_negation_reaches_only_so_far(text: str, word: str, polarity: set[bool]) -> None:
    assert content_of(text).polarity[word] == polarity
