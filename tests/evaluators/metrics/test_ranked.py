"""Rankings of sessions and turns, worked by hand and against scikit-learn."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.ranked import ndcg
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, Turn
from tests.evaluators.metrics.scripted import only

Make = Callable[..., EvaluationCase]
MakeItem = Callable[..., MemoryItem]
ALL = ("all-hit@10", "mrr@10", "ndcg@10", "recall-any@5", "recall-all@5", "ndcg(10,gains=longmemeval)")


@pytest.fixture
def history(make_turn: Callable[..., Turn]) -> list[Turn]:
    """Six sessions of two turns: t0 and t1 in s0, t2 and t3 in s1, …"""
    return [make_turn(f"t{i}", f"text {i}", i, f"s{i // 2}") for i in range(12)]


def ranking(make_item: MakeItem, *turns: str) -> list[MemoryItem]:
    return [make_item(f"i{n}", name, name.split("+")) for n, name in enumerate(turns)]


def test_sessions_by_hand(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    # sessions in order: s2, s0, (s2 again), s1, s4
    items = ranking(make_item, "t4", "t0", "t5", "t2", "t8")
    gold = Gold(evidence=("s0", "s1"), evidence_unit="session")
    case = make_case(gold=gold, history=history, items=items)
    assert [only(f"all-hit@{k}", case).score for k in (1, 2, 3, 4)] == [0.0, 0.0, 0.0, 1.0]
    assert [only(f"recall-all@{k}", case).score for k in (1, 2, 3)] == [0.0, 0.0, 1.0]
    assert [only(f"recall-any@{k}", case).score for k in (1, 2)] == [0.0, 1.0]
    assert only("mrr@10", case).score == 0.5
    assert only("mrr@1", case).score == 0.0
    best = 1 + 1 / math.log2(3)
    assert only("ndcg@3", case).score == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / best, abs=1e-6)
    assert json.loads(only("ndcg@3", case).raw) == {"gold": 2, "hits": 2, "k": 3, "units": 3}


def test_longmemeval_reads_on_until_k_sessions_are_seen_and_weighs_places_1_and_2_alike(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    items = ranking(make_item, "t4", "t5", "t0", "t2")
    gold = Gold(evidence=("t1", "t2"))  # turns of s0 and s1
    case = make_case(gold=gold, history=history, items=items)
    assert only("recall-any@2", case).score == 1.0, "two memories of s2 are one session"
    assert only("recall-all@3", case).score == 1.0
    assert only("recall-any(2,unit=gold)", case).score == 0.0
    # sessions s2, s0, s1: rel 0, 1, 1 -> 1/log2(2) + 1/log2(3) over 1 + 1/log2(2)
    assert only("ndcg(10,gains=longmemeval)", case).score == pytest.approx((1 + 1 / math.log2(3)) / 2, abs=1e-6)
    assert ndcg([False, True], 1, 10, "longmemeval") == ndcg([True, False], 1, 10, "longmemeval") == 1.0


def test_a_memory_of_several_sessions_takes_consecutive_places(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    blob = [make_item("all", "all", ["t6", "t4", "t0", "t2"], "batch")]
    case = make_case(gold=Gold(evidence=("s0",), evidence_unit="session"), history=history, items=blob)
    assert only("all-hit@1", case).status == "scored" and only("all-hit@1", case).score == 0.0, "batch is loose"
    assert only("all-hit(1,provenance=loose)", case).score == 1.0
    assert only("mrr(10,provenance=loose)", case).score == pytest.approx(1 / 3, abs=1e-6)


def test_exclusions_are_never_0(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    items = ranking(make_item, "t2")
    for gold, reason in (
        (Gold(answers=("x",)), "no resolvable gold"),
        (Gold(evidence=("t2",), unanswerable=True), "unanswerable by design"),
    ):
        for name in ALL:
            verdict = only(name, make_case(gold=gold, history=history, items=items))
            assert (verdict.score, verdict.status, verdict.label) == (None, "not_applicable", reason)
    gold = Gold(evidence=("t2",))
    assert only("mrr@10", make_case(gold=gold, history=history, items=None)).label == "no retrieval"
    unknown = [make_item("a", "x", ["t2"], "unknown")]
    assert only("mrr@10", make_case(gold=gold, history=history, items=unknown)).label == "n/a"
    pool = Gold(evidence=("m1",), evidence_unit="item")
    assert only("recall-any@5", make_case(gold=pool, pool={"m1": "x"}, style="situational")).label == (
        "pool items have no session"
    )
    nothing = make_case(gold=gold, history=history, items=[])
    assert [only(name, nothing).score for name in ALL] == [0.0] * len(ALL)


def test_gold_of_the_current_session_is_left_out(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    gold = Gold(evidence=("t2", "t10"))
    case = make_case(gold=gold, history=history, recent=history[10:], items=ranking(make_item, "t3"))
    assert only("recall-all@5", case).score == 1.0
    inside = make_case(gold=Gold(evidence=("t10",)), history=history, recent=history[10:], items=[])
    assert only("recall-all@5", inside).label == "gold is in the current session"


def test_the_conversations_order_has_no_places(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    case = make_case(gold=Gold(evidence=("t2",)), history=history, items=ranking(make_item, "t0", "t2"))
    assert case.reply.retrieval is not None
    unranked = replace(case, reply=replace(case.reply, retrieval=replace(case.reply.retrieval, ranked=False)))
    assert [only(name, unranked).label for name in ("mrr@10", "ndcg@10", "all-hit@1")] == ["no ranking to cut"] * 3
    assert only("all-hit@10", unranked).score == 1.0
    assert only("recall-any@5", unranked).score == 1.0
    assert only("recall-any@1", unranked).label == "no ranking to cut"


def test_k_of_all_there_is_is_not_informative(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    case = make_case(gold=Gold(evidence=("t2",)), history=history, items=ranking(make_item, "t2"))
    assert only("recall-any@6", case).label == "not informative"
    assert only("recall-any@5", case).label == "hit"
    assert only("all-hit@10", case).label == "not informative", "the store holds one memory"


def test_rows_without_gold_leave_the_mean_alone(
    case_dir: Callable[[str], Path], make_case: Make, make_item: MakeItem, make_turn: Callable[..., Turn]
) -> None:
    folder = case_dir("MT-01")
    records = json.loads((folder / "records.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    known = ["D1:1", "D1:2", "D1:3", "D2:2"]
    turns = [make_turn(name, name, n, name.partition(":")[0]) for n, name in enumerate(known)]
    labels: dict[str, list[str]] = {}
    for record in records:
        gold = Gold(
            evidence=tuple(dict.fromkeys(i for i in record["gold"] if i in known)),
            unresolvable=tuple(i for i in record["gold"] if i not in known),
            unanswerable=record["category"] == 5,
            answers=("x",),
        )
        case = make_case(gold=gold, history=turns, items=ranking(make_item, *record["retrieved"]))
        for name in ALL:
            verdict = only(name, case)
            assert (verdict.score is None) == (expected["recall"][record["id"]] is None), (record, name)
        labels.setdefault(only("mrr@10", case).label, []).append(record["id"])
    assert {reason: labels[reason] for reason in expected["excluded"]} == expected["excluded"]


def test_names_round_trip_and_parameters_are_checked() -> None:
    for name in (*ALL, "all-hit(5,unit=session)", "ndcg(5,gains=longmemeval,unit=gold)", "mrr(5,provenance=loose)"):
        assert METRICS.create(name).name == name
    assert METRICS.create("mrr").name == "mrr@10"
    assert METRICS.create("recall-any(5,unit=session)").name == "recall-any@5"
    for name in ("all-hit@0", "all-hit", "ndcg(10,gains=mine)", "mrr(x)", "recall-any(5,unit=word)", "mrr(true)"):
        with pytest.raises(ConfigError):
            METRICS.create(name)


@settings(max_examples=80)
@given(relevant=st.lists(st.booleans(), min_size=2, max_size=12), k=st.integers(1, 12))
def test_ndcg_agrees_with_scikit_learn(relevant: list[bool], k: int) -> None:
    n_gold = sum(relevant)
    if not n_gold:
        assert ndcg(relevant, 1, k) == 0.0
        return
    order = np.arange(len(relevant), 0, -1)
    assert ndcg(relevant, n_gold, k) == pytest.approx(ndcg_score([np.array(relevant, dtype=int)], [order], k=k))
    assert 0.0 <= ndcg(relevant, n_gold, k, "longmemeval") <= 1.0 + 1e-12


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(order=st.permutations(range(12)), k=st.integers(1, 12), gold=st.sets(st.integers(0, 11), min_size=1))
def test_bounds_and_how_they_hang_together(
    make_case: Make, make_item: MakeItem, history: list[Turn], order: list[int], k: int, gold: set[int]
) -> None:
    items = ranking(make_item, *(f"t{n}" for n in order))
    case = make_case(gold=Gold(evidence=tuple(f"t{n}" for n in sorted(gold))), history=history, items=items)
    names = (f"all-hit@{k}", f"recall-any@{k}", f"recall-all@{k}", f"mrr@{k}", f"ndcg@{k}", f"recall@{k}")
    every, some, whole, mrr, gain, recall = (only(name, case).score for name in names)
    assert None not in (every, some, whole, mrr, gain, recall)
    assert all(0.0 <= value <= 1.0 for value in (every, some, whole, mrr, gain))  # type: ignore[operator]
    assert whole <= some and (every == 1.0) == (recall == 1.0) and (mrr > 0) == (recall > 0)  # type: ignore[operator]
