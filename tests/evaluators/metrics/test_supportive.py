"""Supportive recall: secondary gold, with and without a contributor."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, Turn
from tests.evaluators.metrics.scripted import only

Make = Callable[..., EvaluationCase]
GOLD = Gold(
    evidence=("t9",),
    supportive={"t1": ("A-mem",), "t2": ("A-mem", "BM25"), "t3": ("Dense",), "t4": ()},
)


def test_share_of_supportive_turns_and_never_of_the_gold(make_case: Make, make_item: Callable[..., MemoryItem]) -> None:
    items = [make_item("a", "x", ["t1"]), make_item("b", "x", ["t9"]), make_item("c", "x", ["t2", "t3"])]
    case = make_case(gold=GOLD, items=items, style="implicit")
    assert only("supportive-recall@1", case).score == 0.25
    assert only("supportive-recall@10", case).score == 0.75
    assert json.loads(only("supportive-recall@10", case).raw)["role"] == "secondary, circular"


def test_leaving_one_system_out(make_case: Make, make_item: Callable[..., MemoryItem]) -> None:
    case = make_case(gold=GOLD, items=[make_item("a", "x", ["t1", "t2"])], style="implicit")
    verdict = only("supportive-recall(10,without=A-mem)", case)
    assert (verdict.score, json.loads(verdict.raw)["supportive"]) == (0.5, 2), "t2 by BM25 and t3 by Dense"
    own = make_case(gold=Gold(supportive={"t1": ("BM25",)}), items=[], style="implicit")
    alone = only("supportive-recall(10,without=BM25)", own)
    assert (alone.score, alone.label) == (None, "no supportive memory of another system")


def test_exclusions_and_names(
    make_case: Make, make_item: Callable[..., MemoryItem], make_turn: Callable[..., Turn]
) -> None:
    assert not METRICS.create("supportive-recall").applies(Gold(evidence=("t1",)), make_case().probe)
    assert METRICS.create("supportive-recall").name == "supportive-recall@10"
    assert METRICS.create("supportive-recall(10,without=a-mem)").name == "supportive-recall(10,without=A-mem)"
    with pytest.raises(ConfigError, match="AnchorMem"):
        METRICS.create("supportive-recall(10,without=amem)")
    recent = [make_turn("t1", "x")]
    inside = make_case(gold=Gold(supportive={"t1": ("BM25",)}), recent=recent, style="implicit")
    assert only("supportive-recall@10", inside).label == "it is in the session"
    assert only("supportive-recall@10", make_case(gold=GOLD, items=None)).label == "no retrieval"
    assert only("supportive-recall@10", make_case(gold=GOLD, items=[make_item("a", "x")])).label == "n/a"
    assert only("supportive-recall@10", make_case(gold=GOLD, items=[])).score == 0.0
