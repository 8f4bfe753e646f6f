"""The offline judge's second look at use: paraphrase it finds, what it must not take for use, its fit and its price."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from mnemoscope.core.ports import Vectors
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.offline.clashing import is_replaced, is_taken_back, months_of
from mnemoscope.evaluators.judges.offline.heard import hear
from mnemoscope.evaluators.judges.offline.judge import OfflineJudge
from mnemoscope.evaluators.judges.offline.rules import Rule, Weights, open_rules
from mnemoscope.evaluators.judges.offline.using import Look, look, rule_of
from mnemoscope.evaluators.judges.question import Answer
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.embedders.minilm import MiniLmEmbedder

BY_WORDS, BY_MEANING = OfflineJudge(), OfflineJudge(MiniLmEmbedder())
DETECTOR = OfflineUseDetector()
FERRY = "Ilse takes the early ferry to Texel on Mondays to repair organs."
LOOM = "Ilse's brother Wout sold his loom in August because his knees hurt."
LUTE = "若溪的弟弟每周三在河边练琵琶。"


def use(reply: str, fact: str, judge: OfflineJudge = BY_MEANING) -> Answer:
    return asyncio.run(judge.judge(use_question(reply, fact)))[0]


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        ("Since you're on the early ferry to Texel on Mondays, would Tuesday suit you?", FERRY),
        ("You'll be off repairing an organ on Texel then; the early ferry won't wait.", FERRY),
        ("I remember Wout's loom: he sold it when his knees got bad, so he has room for your bench.", LOOM),
        ("周三他不是要去河边练琵琶吗？那就改周四吧，弟弟也能来。", LUTE),
    ],
)
def test_paraphrase_that_the_detector_misses_is_found(reply: str, fact: str) -> None:
    assert not DETECTOR.detect(reply, fact).used
    found = use(reply, fact)
    assert found.label == "used"
    assert found.quote and found.quote in reply


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        ("You're on the late ferry to Texel on Mondays to repair organs.", FERRY),
        ("Your cousin takes the early ferry to Texel on Mondays to repair an organ, doesn't she?", FERRY),
        ("You no longer take the early ferry to Texel on Mondays, so come by.", FERRY),
        ("I'd be guessing whether you take the early ferry.", FERRY),
        ("Texel is lovely in spring, and I hear that the ferry has a new café.", FERRY),
        ("You told me all about the ferry! I remember every word.", FERRY),
        ("I think Wout sold his loom in May because of his knees.", LOOM),
        ("You said that Wout offered his loom in August for his knees, but nobody bought it.", LOOM),
        ("I hear that Marieke sold her loom in August because her knees hurt.", LOOM),
        ("他弟弟每周五在河边练琵琶。", LUTE),
        ("弟弟从来不在河边练琵琶。", LUTE),
        ("河边散步很舒服，多穿一件。", LUTE),
    ],
)
@pytest.mark.parametrize("judge", [BY_WORDS, BY_MEANING])
def test_what_says_otherwise_is_no_use(judge: OfflineJudge, reply: str, fact: str) -> None:
    assert use(reply, fact, judge).label == "not used"


def test_somebody_else_is_no_use_even_in_the_facts_own_words() -> None:
    reply = "It's your sister who takes the early ferry to Texel on Mondays to repair organs."
    assert DETECTOR.detect(reply, FERRY).used
    found = use(reply, FERRY)
    assert found.label == "not used"
    assert json.loads(found.raw)["veto"] == "another person"


def test_statements_about_people_are_left_to_the_detector() -> None:
    said = "Ilse takes the early ferry. Ilse repairs organs on Texel."
    assert use(said, FERRY).label == "not used"
    assert json.loads(use(said, FERRY).raw)["second"]["veto"] == "no statement to somebody"
    assert use(f"{said} {FERRY}", FERRY).label == "used"


def test_what_the_detector_decides_is_quoted_as_before() -> None:
    reply = f"Hello! {FERRY} Bye."
    found, seen = use(reply, FERRY), DETECTOR.detect(reply, FERRY)
    assert (found.score, found.quote) == (1.0, seen.quote)
    assert use("", FERRY).score == 0.0


class Counting:
    """Hashed words under the id of the embedder of the fit; counts what it is asked for."""

    id = open_rules().embedder
    dim = 64

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        self.texts.extend(texts)
        return await HashEmbedder(self.dim).embed(texts, purpose)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        return 0.0


@pytest.mark.parametrize(
    "reply",
    [FERRY, "", "You should bake a pie.", "Ilse takes a train.", "You missed the late ferry to Texel on Mondays."],
)
def test_nothing_is_embedded_where_words_decide(reply: str) -> None:
    counting = Counting()
    use(reply, FERRY, OfflineJudge(counting))
    assert counting.texts == []


def test_only_the_nearest_passage_is_embedded() -> None:
    counting = Counting()
    use(
        "You could bake a pie. Is the ferry to Texel on Mondays early enough for you? Bring tea.",
        FERRY,
        OfflineJudge(counting),
    )
    assert counting.texts == [
        "You takes the early ferry to Texel on Mondays to repair organs.",
        "Is the ferry to Texel on Mondays early enough for you?",
    ]


class Row(NamedTuple):
    cluster: str
    fact: str
    seen: Look
    used: bool


def development() -> list[Row]:
    rows = []
    for file in ("use", "fact-use"):
        data = files("mnemoscope.evaluators.calibration").joinpath(f"rows/{file}.development.jsonl").read_bytes()
        for row in map(json.loads, data.decode().splitlines()):
            if row["label"] != "partial":
                fact = row.get("fact") or row["gold"]
                used = row["label"] in ("used", "full")
                rows.append(Row(row["cluster"], fact, look(hear(row["reply"]).text, fact), used))
    return rows


def fitted(rows: Sequence[Row], rule: str) -> Weights:
    free = [r for r in rows if rule_of(r.fact) == rule and not r.seen.finding.used and not r.seen.said.veto]
    model = LogisticRegression(C=10.0, max_iter=1_000)
    model.fit(np.array([[r.seen.said.features.coverage] for r in free]), [r.used for r in free])
    return Weights(bias=float(model.intercept_[0]), coverage=float(model.coef_[0, 0]))


@pytest.mark.parametrize("rule", ["use", "use-unspaced"])
def test_the_shipped_weights_are_what_the_fit_gives(rule: str) -> None:
    fit, shipped = fitted(development(), rule), open_rules().rules[rule].tokens
    assert shipped.bias == pytest.approx(fit.bias, abs=0.01)
    assert shipped.coverage == pytest.approx(fit.coverage, abs=0.01)


def test_held_out_by_cluster_no_reply_is_wrongly_credited_and_most_paraphrase_is_found() -> None:
    rows = development()
    right = wrong = by_detector = 0
    for cluster in {row.cluster for row in rows}:
        rest = [row for row in rows if row.cluster != cluster]
        rules = {rule: fitted(rest, rule) for rule in ("use", "use-unspaced")}
        held = open_rules().model_copy(
            update={"rules": {name: Rule(vectors=weights, tokens=weights) for name, weights in rules.items()}}
        )
        for row in rows:
            if row.cluster == cluster and row.seen.holds(held, row.fact):
                right, wrong = right + row.used, wrong + (not row.used)
    by_detector = sum(row.seen.finding.used and row.used for row in rows)
    assert wrong == 0
    assert right >= 3 * by_detector


@pytest.mark.data
def test_a_memory_is_not_used_where_only_its_siblings_are_stated(benchmark_data: Path) -> None:
    credited = asked = 0
    for pool in json.loads((benchmark_data / "StratMemBench_testset.json").read_text("utf-8")):
        reply = " ".join(entry["fact"] for role in ("must", "nice") for entry in pool["memory"].get(role, []))
        for entry in pool["memory"].get("irr", []):
            asked += 1
            credited += use(reply, entry["fact"]).label == "used"
    assert asked == 3_200
    assert credited <= 2  # two of these facts lie wholly inside what is stated


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.sampled_from([FERRY, LOOM, LUTE]))
def test_any_reply_is_looked_at_and_quoted_as_it_stands(reply: str, fact: str) -> None:
    found = use(reply, fact, BY_WORDS)
    assert found.score in (0.0, 1.0)
    assert found.quote in reply


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("from May to early June", {5, 6}),
        ("You may go, it may rain.", set()),
        ("on 2024-11-02", {11}),
        ("五月不写，10月写", {10}),
    ],
)
def test_months(text: str, months: set[int]) -> None:
    assert months_of(text) == months


@pytest.mark.parametrize(
    ("passage", "fact", "replaced"),
    [
        ("Yoga helps you with stress.", "Meditation helps Ilse with stress.", True),
        ("You enjoy reading comic books.", "Ilse enjoys reading travel books.", True),
        ("Because Bo is blind, talk to him.", "Ilse's dog Bo is deaf.", True),
        ("You read books on travel, you enjoy it.", "Ilse enjoys reading travel books.", False),
        ("Since Wout sold it", "Ilse's brother Wout sold it.", False),
    ],
)
def test_one_word_in_the_place_of_another(passage: str, fact: str, replaced: bool) -> None:
    assert is_replaced(passage, fact) is replaced


def test_a_but_takes_back() -> None:
    assert is_taken_back("You wanted to sell the loom, but nobody bought it.")
    assert is_taken_back("你本来想卖织机，后来放弃了。")
    assert not is_taken_back("You sold the loom, but it was a good one.")
