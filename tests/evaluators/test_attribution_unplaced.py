"""Loss attribution where gold names no turns: text tells what it can, and the rest is unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.attribution import STAGES, FactLoss, attribute
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.judges.offline.judge import OfflineJudge
from mnemoscope.evaluators.metrics.registry import default_metrics
from mnemoscope.graphs.plan import ResponsePlan, Slot
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, GoldFact, Turn

DETECTOR = OfflineUseDetector()
Make = Callable[..., EvaluationCase]
MakeItem = Callable[..., MemoryItem]
MakeTurn = Callable[..., Turn]
CAT = "Tomasz adopted a grey cat."
TOLD = Gold(facts=(GoldFact(fact_id="f", text=CAT),))
INFERRED = Gold(facts=(GoldFact(fact_id="f", text="Tomasz is allergic to no animal."),))
"""A conclusion that no turn states."""
EXCLUDED = Reply("", HiddenTrace(), None, None, status="excluded", error="gold names no turns")


@pytest.fixture
def history(make_turn: MakeTurn) -> list[Turn]:
    return [make_turn("t1", "I adopted a grey cat.", 1), make_turn("t2", "Nice.", 2)]


def one(case: EvaluationCase) -> FactLoss:
    (loss,) = attribute(case, DETECTOR)
    return loss


def test_a_fact_that_the_history_states_is_followed_by_text(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    cat, other = make_item("c", "Tomasz: I adopted a grey cat.", ["t1"]), make_item("o", "Tomasz: Nice.", ["t2"])
    stages: list[tuple[dict[str, object], str]] = [
        ({"stored": [other], "items": [other]}, "not-stored"),
        ({"stored": [cat, other], "items": [other]}, "not-retrieved"),
        ({"stored": [cat, other], "items": []}, "not-retrieved"),
        ({"stored": [], "items": [cat, other], "reply": CAT}, "kept"),
        ({"stored": [cat, other], "items": [cat, other], "reply": "Nice."}, "not-said"),
    ]
    for given_, stage in stages:
        assert one(make_case(gold=TOLD, history=history, **given_)).stage == stage, given_


def test_a_miss_on_a_fact_that_no_turn_states_says_nothing_of_the_memory(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    everything = [make_item(turn.turn_id, turn.text, [turn.turn_id]) for turn in history]
    for plan in (None, ResponsePlan("p", (Slot("s", ItemId("t1"), "must"),))):
        lost = one(make_case(gold=INFERRED, history=history, items=everything, plan=plan, reply="Nice."))
        assert (lost.stage, lost.non_monotone, lost.disagreement) == ("unknown", False, False)
        assert {lost.routes[name] for name in ("stored_text", "retrieved_text", "planned")} == {None}
    right = make_case(gold=INFERRED, history=history, items=everything, reply="You are allergic to no animal.")
    assert one(right).stage == "kept", "nothing shows that it was lost"
    guessed = make_case(gold=INFERRED, history=history, stored=everything, items=[], reply=right.reply.visible_text)
    assert one(guessed).stage == "unknown", "it was not retrieved, and nothing tells whether it was stored"


def test_a_memory_that_holds_nothing_lost_every_fact(make_case: Make, history: list[Turn]) -> None:
    assert one(make_case(gold=INFERRED, history=history, items=[])).stage == "not-stored"


def test_a_nameless_memory_is_not_blamed_for_a_paraphrase_that_cannot_be_seen(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    fact = GoldFact(fact_id="f", text="Tomasz is allergic to no animal.", sources=("t1",))
    nameless = make_item("s", "He likes pets.")
    assert one(make_case(gold=Gold(facts=(fact,)), history=history, items=[nameless])).stage == "unknown"
    named = make_item("s", "He likes pets.", ["t2"])
    assert one(make_case(gold=Gold(facts=(fact,)), history=history, items=[named])).stage == "not-stored"


def test_what_the_current_session_states_is_nobodys_loss(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    other = make_item("o", "Nice.", ["t2"])
    lost = one(make_case(gold=TOLD, history=history, recent=history, items=[other], reply="Nice."))
    assert (lost.stage, lost.routes["in_session"]) == ("not-said", True)


def test_of_a_cell_that_was_not_asked_every_fact_is_unknown(make_case: Make, history: list[Turn]) -> None:
    case = replace(make_case(gold=TOLD, history=history), reply=EXCLUDED)
    assert [(loss.fact_id, loss.stage) for loss in attribute(case, DETECTOR)] == [("f", "unknown")]


async def test_a_cell_that_was_not_asked_is_excluded_from_every_metric_with_its_reason(
    make_case: Make, history: list[Turn]
) -> None:
    gold = Gold(answers=("a grey cat",), facts=TOLD.facts)
    found = await Evaluator(default_metrics(), OfflineJudge()).evaluate(
        replace(make_case(gold=gold, history=history), reply=EXCLUDED)
    )
    assert found.verdicts and found.usage.calls == 0
    assert {(v.status, v.label, v.score) for v in found.verdicts} == {("not_applicable", "gold names no turns", None)}


@pytest.mark.parametrize(
    ("gold", "unplaced"),
    [
        (TOLD, True),
        (Gold(answers=("a cat",)), True),
        (Gold(rubric="likes cats"), True),
        (Gold(answers=("a cat",), evidence=("t1",)), False),
        (Gold(facts=(GoldFact(fact_id="f", text=CAT, sources=("t1",)), *INFERRED.facts)), False),
        (Gold(facts=TOLD.facts, roles={ItemId("m"): "must"}), False),
        (Gold(answers=("a cat",), unanswerable=True), False),
        (Gold(expected="brings up nothing"), False),
    ],
)
def test_gold_is_unplaced_where_something_is_wanted_and_nothing_says_where_it_stands(
    gold: Gold, unplaced: bool
) -> None:
    assert gold.is_unplaced is unplaced


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    placed=st.sets(st.integers(0, 3)),
    stated=st.sets(st.integers(0, 3)),
    stored=st.sets(st.integers(0, 3)),
    retrieved=st.sets(st.integers(0, 3)),
    said=st.sets(st.integers(0, 3)),
)
def test_of_mixed_gold_each_fact_is_in_one_stage_and_no_store_is_blamed_without_reason(
    make_case: Make,
    make_item: MakeItem,
    make_turn: MakeTurn,
    placed: set[int],
    stated: set[int],
    stored: set[int],
    retrieved: set[int],
    said: set[int],
) -> None:
    things = ("kiln", "van", "canoe", "piano")
    texts = [f"Mira owns a {thing}." for thing in things]
    turns = [make_turn(f"t{n}", texts[n] if n in stated else "And then it rained.", n) for n in range(len(things))]
    facts = tuple(
        GoldFact(fact_id=f"f{n}", text=text, sources=(f"t{n}",) if n in placed else ()) for n, text in enumerate(texts)
    )
    items = {n: make_item(f"i{n}", turns[n].text, [f"t{n}"]) for n in sorted(stored)}
    case = make_case(
        gold=Gold(facts=facts),
        history=turns,
        stored=list(items.values()),
        items=[item for n, item in items.items() if n in retrieved],
        reply=" ".join(texts[n] for n in sorted(said)),
    )
    losses = attribute(case, DETECTOR)
    assert [loss.fact_id for loss in losses] == [fact.fact_id for fact in facts], "the funnel adds up to the facts"
    assert {loss.stage for loss in losses} <= set(STAGES)
    for n, loss in enumerate(losses):
        if n in placed:
            assert loss.stage != "unknown"
        elif loss.stage == "not-stored":
            assert n not in stored or n not in stated
            assert n in stated or not stored, "a turn states it, or the memory is empty"
