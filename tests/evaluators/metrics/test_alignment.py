"""PRAGMA's metrics: rubrics with query and axes, index-based grounding, and precision against dumping."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Answer, Question
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.metrics.scripted import Script, always, only, says
from tests.scenarios.pragma_files import small_files, write_files

Make = Callable[..., EvaluationCase]
FACTS = (GoldFact(fact_id="u/f1", text="burnt a loaf"), GoldFact(fact_id="u/f2", text="sold a loaf"))
TYPE1, TYPE2 = ("type1-event-align",), ("type2-event-correct",)


def references(*found: float | None, others: float | None = 0.0) -> Script:
    def answer(question: Question) -> list[Answer]:
        pairs = zip(question.facts, found, strict=True)
        return [
            *(says("references", "l", score, subject=fact.fact_id) for fact, score in pairs),
            says("references", "l", others, subject="others"),
        ]

    return {"references": answer}


def guidance(make_case: Make, strata: tuple[str, ...] = TYPE2, **gold: object) -> EvaluationCase:
    made = Gold(facts=FACTS, strata=strata, **gold)  # type: ignore[arg-type]
    return make_case(reply="r", gold=made, style="recollection", text="What next?")


def asked(metric: str, case: EvaluationCase) -> Question:
    (question,) = METRICS.create(metric).questions(case)  # type: ignore[attr-defined]
    return question


def test_the_loaded_rubric_is_judged_with_query_facts_and_axes(tmp_path: Path, make_case: Make) -> None:
    folder = write_files(tmp_path, small_files())
    scenario = next(iter(open_source(f"pragma:{folder}")))
    for probe in scenario.probes:
        gold = scenario.gold_by_probe[probe.probe_id]
        case = make_case(reply="r", gold=gold, style=probe.style, text=probe.text)
        question = asked("alignment", case)
        assert question.rubric.startswith(gold.judge_inputs["alignment"])
        assert question.utterance == probe.text
        assert [fact.text for fact in question.facts] == [fact.text for fact in gold.facts] != []
        on_axes = gold.strata[0][:5] in ("type3", "type4")
        assert (gold.judge_inputs["axes"] in question.rubric) is on_axes
        assert asked("grounding", case) == asked("grounding-precision", case)
        binary = gold.strata[0][:5] in ("type1", "type3")
        published = asked("grounding(scale=published)", case)
        assert published.task == ("alignment" if binary else "references")
        assert not binary or published.rubric.startswith(gold.judge_inputs["grounding"])


def test_without_rubrics_the_wanted_behaviour_stands_in(make_case: Make) -> None:
    case = guidance(make_case, expected="Notices the mix-up.")
    assert asked("alignment", case).rubric == "Notices the mix-up."
    assert only("alignment", case, always("alignment", "aligned", 1.0)).score == 1.0
    assert only("alignment", case, always("alignment", "truncated", None)).status == "invalid"


@pytest.mark.parametrize(
    ("found", "others", "share", "precision", "label"),
    [
        ((1.0, 1.0), 0.0, 1.0, 1.0, "clean"),
        ((1.0, 0.0), 1.0, 0.5, 0.5, "mixed"),
        ((0.0, 0.0), 3.0, 0.0, 0.0, "others only"),
        ((1.0, 1.0), 8.0, 1.0, 0.2, "mixed"),
    ],
)
def test_share_and_precision(
    make_case: Make, found: tuple[float, float], others: float, share: float, precision: float, label: str
) -> None:
    case, script = guidance(make_case), references(*found, others=others)
    assert only("grounding", case, script).score == share
    verdict = only("grounding-precision", case, script)
    assert (verdict.score, verdict.label, json.loads(verdict.raw)["others"]) == (precision, label, others)


def test_referring_to_nothing_has_no_precision(make_case: Make) -> None:
    verdict = only("grounding-precision", guidance(make_case), references(0.0, 0.0))
    assert (verdict.score, verdict.status, verdict.label) == (None, "not_applicable", "refers to nothing")
    assert verdict.judge_key == "references-key"
    assert only("grounding", guidance(make_case), references(0.0, 0.0)).score == 0.0


def test_an_item_that_was_not_judged_is_left_out_with_n(make_case: Make) -> None:
    case = guidance(make_case)
    verdict = only("grounding", case, references(1.0, None))
    assert (verdict.score, json.loads(verdict.raw)) == (1.0, {"facts": 2, "found": 1, "judged": 1})
    for script in (references(1.0, None), references(1.0, 1.0, others=None)):
        assert only("grounding-precision", case, script).status == "invalid"
    failed = always("references", "judge-error:timeout", None, status="error")
    assert (only("grounding", case, failed).status, only("grounding-precision", case, failed).status) == ("error",) * 2


def test_published_scale_is_0_or_1_for_types_1_and_3_and_a_share_for_2_and_4(make_case: Make) -> None:
    script = references(1.0, 0.0) | always("alignment", "aligned", 1.0)
    verdict = only("grounding(scale=published)", guidance(make_case, TYPE1), script)
    assert (verdict.score, verdict.label) == (1.0, "grounded")
    assert only("grounding(scale=published)", guidance(make_case, TYPE2), script).score == 0.5
    with pytest.raises(ConfigError):
        METRICS.create("grounding(scale=mine)")
    metric = METRICS.create("grounding(scale=published)")
    assert metric.tasks == {"references", "alignment"}  # type: ignore[attr-defined]
    assert not metric.applies(Gold(facts=FACTS), make_case(style="plan").probe)


def test_where_they_apply(make_case: Make) -> None:
    alignment, grounding = METRICS.create("alignment"), METRICS.create("grounding")
    assert alignment.applies(Gold(rubric="x"), make_case(style="implicit").probe)
    assert not alignment.applies(Gold(rubric="x"), make_case(style="question").probe)
    assert not alignment.applies(Gold(), make_case(style="dialog").probe)
    assert grounding.applies(Gold(facts=FACTS), make_case(style="plan").probe)
    assert not grounding.applies(Gold(facts=FACTS), make_case(style="dialog").probe)
    assert grounding.applies(Gold(strata=TYPE1), make_case(style="dialog").probe)
    bare = make_case(gold=Gold(strata=TYPE1), style="dialog")
    assert only("grounding", bare).label == only("grounding(scale=published)", bare).label == "no evidence item"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(found=st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), others=st.integers(0, 50))
def test_claiming_more_never_pays(make_case: Make, found: tuple[float, float], others: int) -> None:
    case = guidance(make_case)
    one, more = (
        only("grounding-precision", case, references(*found, others=float(n))).score for n in (others, others + 1)
    )
    assert more is not None and 0.0 <= more <= 1.0
    assert one is None or more <= one
