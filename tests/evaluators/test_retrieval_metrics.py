"""Retrieval metrics by provenance and by text, worked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.metrics.registry import DEFAULT_METRICS, METRICS
from mnemoscope.evaluators.metrics.retrieval import fitting
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.budgeting import RANKED, fit, item_tokens
from mnemoscope.memory_backends.record import Budget, MemoryItem
from mnemoscope.scenarios.records import Gold, Turn

Make = Callable[..., EvaluationCase]
MakeItem = Callable[..., MemoryItem]
MakeTurn = Callable[..., Turn]


def only(name: str, case: EvaluationCase) -> Verdict:
    (verdict,) = METRICS.create(name).evaluate(case, Answers())
    assert verdict.metric == name
    return verdict


@pytest.fixture
def history(make_turn: MakeTurn) -> list[Turn]:
    texts = (
        "I rented a studio.",
        "Nice!",
        "The kiln broke.",
        "I adopted a cat.",
        "Her name is Pixel.",
        "Sweet.",
        "ok",
        "",
    )
    return [make_turn(f"t{i}", text, i, f"s{i // 4}") for i, text in enumerate(texts)]


def test_recall_precision_coverage_and_lift_by_hand(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    ranking = [
        make_item("a", "The kiln broke.", ["t2"]),
        make_item("b", "Nice!", ["t1"]),
        make_item("c", "A cat named Pixel", ["t3", "t4"], "batch"),
    ]
    case = make_case(gold=Gold(evidence=("t2", "t3")), history=history, items=ranking, given=2)
    assert only("recall@1", case).score == 0.5
    assert only("recall@10", case).score == 0.5
    assert only("recall(10,provenance=loose)", case).score == 1.0
    assert only("precision@10", case).score == 0.5
    assert only("precision(10,provenance=loose)", case).score == 0.5
    assert only("coverage@10", case).score == pytest.approx(2 / 7, abs=1e-6)
    assert only("lift@10", case).score == pytest.approx(0.5 - 2 / 7, abs=1e-6)
    assert only("recall@1", case).label == "partial"


def test_returning_everything_has_no_lift(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    blob = [make_item("all", "everything", [t.turn_id for t in history if t.text])]
    case = make_case(gold=Gold(evidence=("t2",)), history=history, items=blob)
    assert (only("recall@1", case).score, only("coverage@1", case).score, only("lift@1", case).score) == (1.0, 1.0, 0.0)


def test_returning_nothing_is_recall_0_and_no_precision(make_case: Make, history: list[Turn]) -> None:
    case = make_case(gold=Gold(evidence=("t2",)), history=history, items=[])
    assert (only("recall@10", case).score, only("recall@10", case).label) == (0.0, "miss")
    assert only("recall-text@10", case).score == 0.0
    precision = only("precision@10", case)
    assert (precision.score, precision.status, precision.label) == (None, "not_applicable", "nothing was retrieved")


def test_no_gold_is_not_applicable_and_never_0(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    items = [make_item("a", "x", ["t2"])]
    for gold, reason in (
        (Gold(answers=("x",)), "no resolvable gold"),
        (Gold(unresolvable=("D",)), "no resolvable gold"),
        (Gold(evidence=("t2",), unanswerable=True), "unanswerable by design"),
    ):
        verdict = only("recall@10", make_case(gold=gold, history=history, items=items))
        assert (verdict.score, verdict.status, verdict.label) == (None, "not_applicable", reason)
    assert not METRICS.create("recall@10").applies(Gold(), make_case().probe)


def test_gold_in_the_current_session_is_left_out(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    items = [make_item("a", "x", ["t2"])]
    case = make_case(gold=Gold(evidence=("t2", "t5")), history=history, recent=history[4:], items=items)
    verdict = only("recall@10", case)
    assert (verdict.score, json.loads(verdict.raw)["in_session"]) == (1.0, 1)
    inside = make_case(gold=Gold(evidence=("t5",)), history=history, recent=history[4:], items=items)
    assert only("recall@10", inside).label == "gold is in the current session"


def test_items_without_provenance_are_na(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    for items in ([make_item("a", "The kiln broke.")], [make_item("a", "The kiln broke.", ["t2"], "unknown")]):
        case = make_case(gold=Gold(evidence=("t2",)), history=history, items=items)
        assert (only("recall@10", case).status, only("recall@10", case).label) == ("not_applicable", "n/a")
        assert only("recall-text@10", case).score == 1.0


def test_k_of_the_size_of_the_store_is_not_informative(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    items = [make_item(f"i{n}", "x", [f"t{n}"]) for n in range(5)]
    case = make_case(gold=Gold(evidence=("t2",)), history=history, items=items)
    verdict = only("recall@10", case)
    assert (verdict.label, verdict.score) == ("not informative", 1.0)
    figures = json.loads(verdict.raw)
    assert (figures["k"], figures["store"], figures["share_returned"]) == (10, 5, 1.0)
    assert only("recall@4", case).label == "hit"


def test_recall_within_a_token_budget_takes_whole_leading_items(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    items = [make_item("a", "x" * 800, ["t0"]), make_item("b", "y" * 400, ["t2"]), make_item("c", "z", ["t3"])]
    case = make_case(gold=Gold(evidence=("t2", "t3")), history=history, items=items)
    first, both = item_tokens(items[0]), sum(map(item_tokens, items[:2]))
    assert (first, both) == (206, 312), "the date in front and the break between items count as they do in a budget"
    assert [len(fitting(items, n)) for n in (205, 206, 311, 312, 330)] == [0, 1, 1, 2, 3]
    assert len(fitting(items, 312)) == fit(items, Budget(k=None, max_tokens=312)).given
    assert only("recall-tokens(256)", case).score == 0.0
    assert only("recall-tokens(312)", case).score == 0.5
    assert only("recall-tokens(512)", case).score == 1.0


def test_gold_sessions_and_gold_pool_items(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    items = [make_item("a", "x", ["t1"])]
    case = make_case(gold=Gold(evidence=("s0", "s1"), evidence_unit="session"), history=history, items=items)
    assert only("recall@10", case).score == 0.5
    assert only("coverage@10", case).score == 0.5
    pool = {"m1": "Mira has a cat.", "m2": "Mira has a kiln.", "m3": "x"}
    gold = Gold(evidence=("m1", "m2"), evidence_unit="item")
    case = make_case(
        gold=gold, style="situational", pool=pool, items=[make_item("m1", pool["m1"]), make_item("z", "k", ["m2"])]
    )
    assert only("recall@10", case).score == 1.0
    assert only("recall@1", case).label == "n/a"
    assert only("recall-text@10", case).score == 0.5


def test_text_rule_and_what_is_retained(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    items = [
        make_item("a", "[8 May] Mira: THE KILN BROKE. [image: x]", ["t2"]),
        make_item("b", "cat adopted by Mira", ["t9"]),
    ]
    case = make_case(gold=Gold(evidence=("t2", "t3")), history=history, items=items)
    assert only("recall-text@10", case).score == 0.5
    # content tokens of the gold: kiln, broke, adopted, cat
    assert only("retained@10", case).score == 1.0
    assert only("retained@1", case).score == 0.5
    assert only("retained@10", make_case(gold=case.gold, history=history, items=items, given=1)).score == 1.0


def test_rankings_are_kept_as_deep_as_metrics_cut(make_item: MakeItem) -> None:
    deepest = max(int(name.partition("@")[2]) for name in DEFAULT_METRICS if "@" in name)
    items = [make_item(f"i{n}", "long " * 2_000, [f"t{n}"]) for n in range(12)]
    assert len(fit(items, Budget(k=2)).items) == RANKED == deepest


def test_picture_turns_have_no_text_to_match(make_case: Make, make_item: MakeItem) -> None:
    picture = Turn.model_validate(
        {
            "turn_id": "t0",
            "session_id": "s0",
            "index": 0,
            "speaker": "M",
            "role": "peer",
            "text": "",
            "caption": "a cat",
            "at": None,
        }
    )
    case = make_case(gold=Gold(evidence=("t0",)), history=[picture], items=[make_item("a", "[image: a cat]", ["t0"])])
    assert only("recall-text@10", case).label == "gold has no text"
    assert only("recall@10", case).score == 1.0


def test_parameters_are_checked_and_names_round_trip() -> None:
    for name in ("recall@10", "recall(10,provenance=loose)", "recall-tokens(512)", "retained@5", "lift@10"):
        assert METRICS.create(name).name == name
    assert METRICS.create("recall@10(provenance=loose)").name == "recall(10,provenance=loose)"
    for name in ("recall@0", "recall(x)", "recall(10,provenance=tight)", "recall-text(0)", "recall"):
        with pytest.raises(ConfigError):
            METRICS.create(name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(order=st.permutations(range(7)), k=st.integers(1, 9), gold=st.sets(st.integers(0, 6), min_size=1))
def test_bounds_and_identity(
    make_case: Make, make_item: MakeItem, history: list[Turn], order: list[int], k: int, gold: set[int]
) -> None:
    items = [make_item(f"i{n}", history[n].text, [f"t{n}"]) for n in order]
    case = make_case(gold=Gold(evidence=tuple(f"t{n}" for n in sorted(gold))), history=history, items=items)
    recall, precision = only(f"recall@{k}", case).score, only(f"precision@{k}", case).score
    assert recall is not None and precision is not None
    assert 0 <= recall <= 1 and 0 <= precision <= 1
    assert recall * len(gold) == pytest.approx(precision * min(k, 7), abs=1e-4)
    assert recall == 1.0 or k < 7


def test_recall_by_substring_is_a_trap(
    case_dir: Callable[[str], Path], make_case: Make, make_item: MakeItem, make_turn: MakeTurn
) -> None:
    folder = case_dir("BK-17")
    data = json.loads((folder / "recall.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    turns = [make_turn(i, text, n) for n, (i, text) in enumerate(data["turns"].items())]
    for entry in data["cases"]:
        docs = [make_item(f"d{n}", d["text"], d.get("source_ids", ())) for n, d in enumerate(entry["docs"])]
        case = make_case(gold=Gold(evidence=tuple(entry["gold"])), history=turns, items=docs)
        verdict = only("recall@5", case)
        if expected["method"][entry["id"]] == "provenance":
            assert verdict.score == expected["recall"][entry["id"]]
        else:  # the text rule is another metric, under its own name
            assert (verdict.score, verdict.label) == (None, "n/a")
            text = only("recall-text@5", case).score
            assert text == (expected["recall"][entry["id"]] or 0.0)
        if entry["id"] in "ab":
            assert only("recall-text@5", case).score == 1.0


def test_rows_without_gold_leave_the_mean_alone(
    case_dir: Callable[[str], Path], make_case: Make, make_item: MakeItem, make_turn: MakeTurn
) -> None:
    folder = case_dir("MT-01")
    records = json.loads((folder / "records.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    known = {"D1:1", "D1:2", "D1:3", "D2:2"}
    turns = [make_turn(i, f"text of {i}", n) for n, i in enumerate(sorted(known))]
    found: dict[str, Verdict] = {}
    for record in records:
        evidence = tuple(dict.fromkeys(i for i in record["gold"] if i in known))
        gold = Gold(
            evidence=evidence,
            unresolvable=tuple(i for i in record["gold"] if i not in known),
            unanswerable=record["category"] == 5,
            answers=("x",),
        )
        items = [make_item(f"i{n}", "x", [i]) for n, i in enumerate(record["retrieved"])]
        found[record["id"]] = only("recall@10", make_case(gold=gold, history=turns, items=items))
    assert {i: v.score for i, v in found.items()} == expected["recall"]
    excluded = {reason: [i for i, v in found.items() if v.label == reason] for reason in expected["excluded"]}
    assert excluded == expected["excluded"]
    scores = [v.score for v in found.values() if v.score is not None]
    assert (sum(scores) / len(scores), len(scores)) == (expected["macro_recall"], expected["n"])


def test_the_conversations_order_is_no_ranking(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    kept = [make_item(turn.turn_id, turn.text, [turn.turn_id]) for turn in history if turn.text]
    case = make_case(gold=Gold(evidence=("t3",)), history=history, items=kept)
    assert case.reply.retrieval is not None
    in_order = replace(case, reply=replace(case.reply, retrieval=replace(case.reply.retrieval, ranked=False)))
    cut = only("recall@1", in_order)
    assert (cut.score, cut.status, cut.label) == (None, "not_applicable", "no ranking to cut")
    assert only("recall@1", case).score == 0.0
    assert only("recall@10", in_order).score == 1.0  # nothing was cut off
    assert (only("recall-given", in_order).score, only("recall-given", in_order).label) == (1.0, "not informative")
