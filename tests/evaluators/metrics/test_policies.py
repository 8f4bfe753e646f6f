"""Degenerate policies: their replies, their figures, and who is not better than them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import default_metrics, open_metrics
from mnemoscope.evaluators.policies import POLICIES, policy_replies, policy_table
from mnemoscope.evaluators.rows import MetricRow
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, GoldFact, Turn
from tests.evaluators.conftest import case, turn
from tests.evaluators.judging import OFFLINE
from tests.evaluators.metrics.memuse_cases import direct, named, natural, negative

CATEGORIES = ("1", "2", "3", "4", "5")


def table(metrics: list[str], cases: list[EvaluationCase], **options: Any) -> tuple[MetricRow, ...]:
    return asyncio.run(policy_table(open_metrics(metrics), cases, OFFLINE, resamples=50, **options))


def value(rows: tuple[MetricRow, ...], metric: str, policy: str, stratum: str = "all") -> float | None:
    (row,) = (r for r in rows if (r.metric, r.system, r.stratum) == (metric, policy, stratum))
    return row.value


@pytest.fixture
def locomo_like(case_dir: Callable[[str], Path]) -> tuple[list[EvaluationCase], dict[str, Any]]:
    folder = case_dir("JD-10")
    items = json.loads((folder / "items.json").read_text(encoding="utf-8"))["items"]
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["refuse"]
    cases = []
    for item in items:
        category = str(item["category"])
        known: dict[str, Any] = (
            {"unanswerable": True, "trap": "a parrot"} if category == "5" else {"answers": ("Pixel the cat",)}
        )
        made = case(gold=Gold(strata=(category,), **known), text="What is the pet called?")
        cases.append(named(made, f"p{item['id']}"))
    return cases, expected


def test_refusing_buys_the_category_that_rewards_it_and_no_other(
    locomo_like: tuple[list[EvaluationCase], dict[str, Any]],
) -> None:
    cases, expected = locomo_like
    rows = table(["answer-f1", "adversarial"], cases, categories=CATEGORIES)
    by_category = {
        category: value(rows, "adversarial" if category == "5" else "answer-f1", "refuse", category)
        for category in CATEGORIES
    }
    assert by_category == expected["per_category"]
    sizes = {c: sum(c in made.gold.strata for made in cases) for c in CATEGORIES}
    micro = sum(sizes[c] * (by_category[c] or 0.0) for c in CATEGORIES) / len(cases)
    assert micro == pytest.approx(expected["micro"])
    assert sum(v or 0.0 for v in by_category.values()) / 5 == pytest.approx(expected["macro_over_categories"])
    assert value(rows, "answer-f1", "refuse", "macro") == 0.0
    assert value(rows, "adversarial", "empty") == value(rows, "adversarial", "echo") == 0.0


def test_where_lower_is_better_the_phrase_alone_fails() -> None:
    rows = table(["unprompted-recall"], [negative("r")])
    assert [value(rows, "unprompted-recall", policy) for policy in POLICIES] == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_the_phrase_earns_wording_and_nothing_else() -> None:
    names = ["cue-phrase", "cue-without-fact", "natural-integration", "reference"]
    rows = table(names, [natural("what the system said")])
    assert [value(rows, name, "phrase") for name in names] == [1.0, 1.0, 0.0, 0.0]
    assert [value(rows, name, "empty") for name in names] == [0.0, 0.0, 0.0, 0.0]


def test_dumping_pays_on_recall_and_is_caught_by_intrusion() -> None:
    pool = {"m": "Her kiln broke in June.", "n": "Ada likes slow jazz.", "i": "The bus was late on Monday."}
    gold = Gold(roles={"m": "must", "n": "nice", "i": "irr"})
    rows = table(["smc", "smc-must", "pes", "cir", "nice-rate"], [case(gold=gold, style="situational", pool=pool)])
    dump = [value(rows, name, "dump") for name in ("smc", "smc-must", "pes", "cir", "nice-rate")]
    assert dump == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert [value(rows, name, "empty") for name in ("smc", "cir")] == [0.0, 0.0]


def test_replies_of_the_policies(make_turn: Callable[..., Turn]) -> None:
    now = make_turn("s2t1", "I am here.", 1, session="s2")
    made = case(text="Where is it?", history=[make_turn("s1t1", "It is under the pot."), now], recent=[now])
    said = policy_replies(made)
    assert tuple(said) == POLICIES
    assert said["echo"] == "Where is it?" and said["empty"] == ""
    assert said["dump"] == "[8 May 2023, 13:56] Mira: It is under the pot.", "without the current session"
    assert "not mentioned" in said["refuse"].lower(), "what LoCoMo's official scorer takes for a refusal"
    pooled = case(text="哪里？", pool={"a": "在花盆下面。", "b": "昨天下雨。"}, history=[turn("x", "unused")])
    chinese = policy_replies(pooled)
    assert chinese["dump"] == "在花盆下面。\n昨天下雨。"
    assert "没有提到" in chinese["refuse"] and "之前" in chinese["phrase"]


def test_policies_do_not_depend_on_the_system(make_item: Callable[..., MemoryItem]) -> None:
    gold = Gold(facts=(GoldFact(fact_id="a", text="The kiln broke."),), answers=("in June",), evidence=("t1",))
    plain = case(reply="one", gold=gold, items=None)
    other = case(reply="The kiln broke in June", gold=gold, items=[make_item("i", "The kiln broke.", ["t1"])])
    names = ["answer-f1", "integration", "recall@5"]
    assert table(names, [plain]) == table(names, [other])
    rows = table(names, [other])
    recall = [r for r in rows if r.metric == "recall@5" and r.stratum == "all"]
    assert {(r.value, r.n_scored) for r in recall} == {(None, 0)} and len(recall) == len(POLICIES)


def test_every_metric_scores_or_excludes_every_policy() -> None:
    pool = {"m": "Her kiln broke in June.", "i": "The bus was late on Monday."}
    fact = GoldFact(fact_id="a", text="The kiln broke.")
    cases = [
        natural("r"),
        direct("r"),
        negative("r"),
        case(gold=Gold(roles={"m": "must", "i": "irr"}), style="situational", pool=pool),
        case(gold=Gold(facts=(fact,), answers=("in June",), expected="the kiln"), style="implicit"),
        case(gold=Gold(facts=(fact,)), style="composed"),
    ]
    found = asyncio.run(policy_table(default_metrics(), cases, OFFLINE, resamples=20))
    assert not [(r.metric, r.system, r.n_error, r.n_invalid) for r in found if r.n_error or r.n_invalid]
    assert {r.system for r in found} == set(POLICIES) and len({r.metric for r in found}) > 20


def test_rows_say_that_they_are_policies_and_metrics_without_a_judge_are_left_out() -> None:
    rows = table(["answer-f1", "miq"], [case(gold=Gold(answers=("two",)))])
    assert {row.metric for row in rows} == {"answer-f1"} and {row.evidence for row in rows} == {"policy"}
    assert {row.stratum for row in rows} == {"all"}
    with pytest.raises(ConfigError, match="2 clusters for 1 cases"):
        table(["answer-f1"], [case(gold=Gold(answers=("two",)))], clusters=["a", "b"])


def test_cases_of_one_cluster_are_not_independent() -> None:
    cases = [named(case(gold=Gold(answers=("two",)), text="two"), f"p{i}") for i in range(4)]
    apart, together = table(["answer-f1"], cases), table(["answer-f1"], cases, clusters=["a", "a", "b", "b"])
    assert {row.clusters for row in apart} == {4} and {row.clusters for row in together} == {2}
