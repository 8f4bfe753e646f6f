"""Loss attribution: each stage by hand, and the sums."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.attribution import STAGES, attribute
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.graphs.plan import ResponsePlan, Slot
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, GoldFact, Turn, Window

DETECTOR = OfflineUseDetector()
Make = Callable[..., EvaluationCase]
MakeItem = Callable[..., MemoryItem]
CAT = "Tomasz adopted a grey cat."
FACT = GoldFact(fact_id="f", text=CAT, sources=("t1",))
GOLD = Gold(facts=(FACT,))


@pytest.fixture
def history(make_turn: Callable[..., Turn]) -> list[Turn]:
    return [
        make_turn("t0", "Hello there.", 0),
        make_turn("t1", "I adopted a grey cat.", 1),
        make_turn("t2", "Nice.", 2),
    ]


def plan(*ids: str) -> ResponsePlan:
    return ResponsePlan("p", tuple(Slot(i, ItemId(i), "must") for i in ids))


def test_each_stage(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    cat, other = make_item("c", "Tomasz: I adopted a grey cat.", ["t1"]), make_item("o", "Tomasz: Nice.", ["t2"])
    both = {"stored": [cat, other], "items": [cat, other]}
    stages: list[tuple[dict[str, object], str]] = [
        ({"stored": [other], "items": [other]}, "not-stored"),
        ({"stored": [make_item("c", cat.text, ["t1"], live=False), other], "items": [other]}, "not-stored"),
        ({"stored": [cat, other], "items": [other]}, "not-retrieved"),
        ({"stored": [cat, other], "items": [other, cat], "given": 1}, "not-retrieved"),
        (both | {"plan": plan("o")}, "not-planned"),
        (both | {"plan": plan("c"), "reply": "Nice."}, "not-said"),
        (both | {"plan": None, "reply": "Nice."}, "not-said"),
        (both | {"plan": plan("c"), "reply": "Tomasz never adopted a grey cat."}, "wrong"),
        (both | {"plan": plan("c"), "reply": "Ines adopted a grey cat."}, "wrong"),
        (both | {"plan": plan("c"), "reply": "You adopted a grey cat."}, "kept"),
    ]
    for settings_, stage in stages:
        (loss,) = attribute(make_case(gold=GOLD, history=history, **settings_), DETECTOR)
        assert loss.stage == stage, settings_
        assert not loss.non_monotone
        assert loss.routes["stored_provenance"] == loss.routes["stored_text"]


def test_every_source_is_needed(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    fact = GoldFact(fact_id="f", text=CAT, sources=("t1", "t2"))
    case = make_case(gold=Gold(facts=(fact,)), history=history, items=[make_item("c", "x", ["t1"])])
    assert attribute(case, DETECTOR)[0].stage == "not-stored"


def test_said_without_being_retrieved_is_counted_and_keeps_its_first_loss(
    make_case: Make, make_item: MakeItem, history: list[Turn]
) -> None:
    case = make_case(gold=GOLD, history=history, items=[make_item("o", "Nice.", ["t2"])], reply=CAT)
    (loss,) = attribute(case, DETECTOR)
    assert (loss.stage, loss.non_monotone, loss.routes["said"]) == ("not-stored", True, True)


def test_routes_that_disagree_are_recorded(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    summary = make_item("s", "A pet came up.", ["t1"], "batch")
    case = make_case(gold=GOLD, history=history, items=[summary], reply=CAT)
    (loss,) = attribute(case, DETECTOR)
    assert (loss.stage, loss.disagreement) == ("kept", True)
    assert (loss.routes["stored_provenance"], loss.routes["stored_text"]) == (True, False)


def test_text_decides_where_nothing_has_provenance(make_case: Make, make_item: MakeItem, history: list[Turn]) -> None:
    nameless = make_item("s", "Tomasz adopted a grey cat last week.")
    (loss,) = attribute(make_case(gold=GOLD, history=history, items=[nameless]), DETECTOR)
    assert (loss.stage, loss.routes["stored_provenance"]) == ("not-said", None)
    free = Gold(facts=(GoldFact(fact_id="f", text=CAT),))
    other = make_item("o", "Nice.", ["t2"])
    (loss,) = attribute(make_case(gold=free, history=history, stored=[nameless, other], items=[other]), DETECTOR)
    assert loss.stage == "not-retrieved"
    planned = make_case(gold=free, history=history, items=[nameless, other], plan=plan("o"))
    assert attribute(planned, DETECTOR)[0].stage == "not-planned"


def test_the_current_session_is_nobodys_loss(make_case: Make, history: list[Turn]) -> None:
    case = make_case(gold=GOLD, history=history, recent=history[1:], items=[], plan=plan(), reply="Nice.")
    (loss,) = attribute(case, DETECTOR)
    assert (loss.stage, loss.routes["in_session"], loss.disagreement) == ("not-said", True, False)
    kept = make_case(gold=GOLD, history=history, recent=history[1:], items=[], plan=plan(), reply=CAT)
    assert (attribute(kept, DETECTOR)[0].stage, attribute(kept, DETECTOR)[0].non_monotone) == ("kept", False)


def test_a_pool_that_is_handed_over_counts_as_stored(make_case: Make, make_item: MakeItem) -> None:
    fact = GoldFact(fact_id="m", text=CAT, sources=("m",))
    pool = {"m": CAT, "n": "Mira drives a van."}
    items = [make_item("m", CAT, ["m"]), make_item("n", pool["n"], ["n"])]
    case = make_case(
        gold=Gold(facts=(fact,)), style="situational", pool=pool, items=items, stored=[], plan=plan("m"), reply=CAT
    )
    assert attribute(case, DETECTOR)[0].stage == "kept"


def test_of_the_nice_facts_one_is_wanted(make_case: Make, make_item: MakeItem) -> None:
    pool = {"m": CAT, "n1": "Mira drives a van.", "n2": "Mira owns a kiln.", "i": "Mira owns a canoe."}
    gold = Gold(
        facts=tuple(GoldFact(fact_id=i, text=pool[i], sources=(i,)) for i in ("n1", "m", "n2")),
        roles={ItemId("m"): "must", ItemId("n1"): "nice", ItemId("n2"): "nice", ItemId("i"): "irr"},
    )
    items = [make_item(i, text, [i]) for i, text in pool.items()]

    def stages(*said: str, given: int = 4, planned: tuple[str, ...] = ("m", "n1", "n2")) -> list[tuple[str, str]]:
        case = make_case(
            gold=gold,
            style="situational",
            pool=pool,
            items=items,
            given=given,
            stored=[],
            plan=plan(*planned),
            reply=" ".join(pool[i] for i in said),
        )
        return [(loss.fact_id, loss.stage) for loss in attribute(case, DETECTOR)]

    assert stages("m", "n2") == [("m", "kept"), ("n2", "kept")]
    assert stages("m", "n1", "n2") == [("m", "kept"), ("n1", "kept")]
    assert stages("n1", planned=("n1",)) == [("m", "not-planned"), ("n1", "kept")]
    assert stages("m", planned=("m", "n2")) == [("m", "kept"), ("n2", "not-said")], "the one that came furthest"
    assert stages("m", given=1, planned=("m",)) == [("m", "kept"), ("n1", "not-retrieved")]


def test_a_failed_cell_is_not_attributed(make_case: Make) -> None:
    assert attribute(make_case(gold=GOLD, error="timeout"), DETECTOR) == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    stored=st.sets(st.integers(0, 3)),
    retrieved=st.sets(st.integers(0, 3)),
    planned=st.sets(st.integers(0, 3)),
    said=st.sets(st.integers(0, 3)),
)
def test_counts_add_up_and_an_oracle_only_moves_what_its_stage_lost(
    make_case: Make,
    make_item: MakeItem,
    make_turn: Callable[..., Turn],
    stored: set[int],
    retrieved: set[int],
    planned: set[int],
    said: set[int],
) -> None:
    texts = [f"Mira owns a {thing}." for thing in ("kiln", "van", "canoe", "piano")]
    turns = [make_turn(f"t{n}", text, n) for n, text in enumerate(texts)]
    facts = tuple(GoldFact(fact_id=f"f{n}", text=text, sources=(f"t{n}",)) for n, text in enumerate(texts))
    items = {n: make_item(f"i{n}", text, [f"t{n}"]) for n, text in enumerate(texts)}

    def stages(got: set[int]) -> list[str]:
        case = make_case(
            gold=Gold(facts=facts),
            history=turns,
            stored=[items[n] for n in sorted(stored)],
            items=[items[n] for n in sorted(stored & got)],
            plan=plan(*(f"i{n}" for n in sorted(planned))),
            reply=" ".join(texts[n] for n in sorted(said)),
        )
        losses = attribute(case, DETECTOR)
        assert [loss.fact_id for loss in losses] == [fact.fact_id for fact in facts]
        assert {loss.stage for loss in losses} <= set(STAGES)
        return [loss.stage for loss in losses]

    before, after = stages(retrieved), stages({0, 1, 2, 3})
    assert "not-retrieved" not in after
    for old, new in zip(before, after, strict=True):
        assert old == new or old == "not-retrieved"


@pytest.mark.parametrize(("cut", "counted"), [(2, 0), (3, 1)])
def test_a_fact_whose_window_is_not_open_is_not_wanted(
    make_case: Make, history: list[Turn], cut: int, counted: int
) -> None:
    gold = Gold(
        facts=(GoldFact(fact_id="f", text="The kiln broke.", sources=("t0",)),),
        windows=(Window(fact_id="f", kind="open", from_index=2, to_index=3),),
    )
    case = make_case(style="moment", gold=gold, history=history, cut=cut)
    assert len(attribute(case, DETECTOR)) == counted
