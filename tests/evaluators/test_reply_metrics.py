"""Metrics on the visible reply: LoCoMo's answers, integration, correction, timing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.answer import adversarial_label, answer_f1, normalise, token_f1
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.metrics.timing import place_of
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import FalsePremise, Gold, GoldFact, Window
from tests.evaluators.judging import verdicts_of

Make = Callable[..., EvaluationCase]
CaseDir = Callable[[str], Path]


def verdicts(name: str, case: EvaluationCase) -> list[Verdict]:
    return verdicts_of(name, case)


def only(name: str, case: EvaluationCase) -> Verdict:
    (verdict,) = verdicts(name, case)
    return verdict


def read(folder: Path, name: str) -> object:
    text = (folder / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line] if name.endswith("l") else json.loads(text)


def test_the_official_normaliser() -> None:
    assert normalise("The  cats, and a 1,000 Dogs!") == "cats 1000 dogs"
    assert normalise("an andiron") == "andiron"


def test_token_f1_by_hand() -> None:
    assert token_f1("running dogs", "run dog") == 1.0
    assert token_f1("on 7 May 2023", "7 May 2023") == pytest.approx(6 / 7)
    assert token_f1("yes", "no") == 0.0
    assert token_f1("", "no") == 0.0
    assert token_f1("dog dog", "dog") == pytest.approx(2 / 3)


def test_rules_by_category() -> None:
    gold, reply = "pottery, camping", "camping, swimming"
    assert answer_f1(reply, gold, ("multi-hop", "non-adversarial")) == 0.5
    assert answer_f1(reply, gold, ("single-hop",)) == 0.5
    assert answer_f1("pottery and camping", gold, ("multi-hop",)) == pytest.approx(2 / 3)
    assert answer_f1("likely yes", "likely yes; she said so", ("open-domain",)) == 1.0
    assert answer_f1("likely yes", "likely yes; she said so", ("temporal",)) < 1.0


def test_answer_f1_takes_the_best_answer_and_needs_one(make_case: Make) -> None:
    assert only("answer-f1", make_case(reply="two", gold=Gold(answers=("2", "two")))).score == 1.0
    verdict = only("answer-f1", make_case(reply="two"))
    assert (verdict.status, verdict.label) == ("not_applicable", "no gold answer")
    probe = make_case().probe
    assert not METRICS.create("answer-f1").applies(Gold(answers=("x",), unanswerable=True), probe)
    assert METRICS.create("adversarial").applies(Gold(unanswerable=True), probe)


def test_only_the_visible_reply_is_scored(make_case: Make) -> None:
    gold = Gold(answers=("a hidden draft that says everything",))
    assert only("answer-f1", make_case(reply="no", gold=gold)).score == 0.0


@given(st.text(max_size=40), st.text(max_size=40))
def test_f1_is_a_share_symmetric_and_1_for_equal_texts(a: str, b: str) -> None:
    assert 0.0 <= token_f1(a, b) <= 1.0
    assert token_f1(a, b) == pytest.approx(token_f1(b, a))
    assert token_f1(a, a) in (0.0, 1.0)


def test_adversarial_labels_beside_the_official_score(case_dir: CaseDir, make_case: Make) -> None:
    folder = case_dir("DS-03")
    rows = read(folder, "locomo_like.json")[0]["qa"]  # type: ignore[index]
    replies, expected = read(folder, "responses.json"), read(folder, "expected.json")
    for i, row in enumerate(rows):
        trap = row.get("adversarial_answer")
        assert trap == expected["trap"][str(i)]  # type: ignore[index]
        for reply, wanted in zip(replies[str(i)], expected["verdicts"][str(i)], strict=True):  # type: ignore[index]
            gold = Gold(unanswerable=True, trap=trap)
            verdict = only("adversarial", make_case(reply=reply, gold=gold, text=row["question"]))
            right = verdict.label in ("refused", "premise rejected")
            assert right == wanted.startswith("correct"), (reply, verdict.label)
            assert (verdict.label == "premise rejected") == ("corrects premise" in wanted)
            assert verdict.score == float("not mentioned" in reply.lower())


def test_a_fact_given_to_the_wrong_person_has_its_own_label(case_dir: CaseDir, make_case: Make) -> None:
    folder = case_dir("SP-02")
    rows, replies = read(folder, "scenario.json")[0]["qa"], read(folder, "responses.json")  # type: ignore[index]
    right, wrong = (
        only("answer-f1", make_case(reply=reply, gold=Gold(answers=("nuts",)), text=rows[0]["question"]))
        for reply in replies["0"]  # type: ignore[index]
    )
    assert (right.label, wrong.label) == ("overlap", "misattributed")
    assert [adversarial_label(r, rows[1]["question"], "nuts") for r in replies["1"]] == ["premise rejected", "fooled"]  # type: ignore[index]
    fact = GoldFact(fact_id="f", text="Mira's neighbour Jonas cannot eat nuts.")
    verdict = only("integration", make_case(reply="You cannot eat nuts.", gold=Gold(facts=(fact,))))
    assert (verdict.score, verdict.label) == (0.0, "misattributed")
    wrong_number = GoldFact(fact_id="f", text="Tomasz has two cats.")
    assert (
        only("integration", make_case(reply="Tomasz has five cats.", gold=Gold(facts=(wrong_number,)))).label == "wrong"
    )


def test_always_refusing_pays_on_adversarial_questions_only(case_dir: CaseDir, make_case: Make) -> None:
    folder = case_dir("JD-10")
    data, expected = read(folder, "items.json"), read(folder, "expected.json")["refuse"]  # type: ignore[index]
    refuse = data["policies"]["refuse"]  # type: ignore[index]
    scores: dict[int, list[float]] = {}
    for entry in data["items"]:  # type: ignore[index]
        gold = Gold(unanswerable=True, trap="x") if entry["category"] == 5 else Gold(answers=("Pixel the cat",))
        metric = "adversarial" if entry["category"] == 5 else "answer-f1"
        scores.setdefault(entry["category"], []).append(only(metric, make_case(reply=refuse, gold=gold)).score or 0.0)
    means = {category: sum(values) / len(values) for category, values in scores.items()}
    assert {str(c): m for c, m in means.items()} == expected["per_category"]
    assert sum(map(sum, scores.values())) / 10 == expected["micro"]
    assert sum(means.values()) / 5 == expected["macro_over_categories"]


def test_integration_is_per_fact(make_case: Make) -> None:
    facts = (GoldFact(fact_id="a", text="Tomasz adopted a grey cat."), GoldFact(fact_id="b", text="The kiln broke."))
    found = verdicts(
        "integration", make_case(reply="You adopted a grey cat!", gold=Gold(facts=facts), style="composed")
    )
    assert [(v.subject, v.label, v.score) for v in found] == [("a", "used", 1.0), ("b", "not said", 0.0)]
    assert found[0].quote == "You adopted a grey cat!"
    assert only("integration", make_case(style="dialog")).label == "no gold fact"
    metric = METRICS.create("integration")
    assert not metric.applies(Gold(facts=facts), make_case(style="moment").probe)
    assert not metric.applies(Gold(facts=facts, unanswerable=True), make_case().probe)


def test_correction_keeps_hedge_refusal_and_truth_apart(case_dir: CaseDir, make_case: Make) -> None:
    folder = case_dir("JD-15")
    expected = read(folder, "expected.json")
    for entry in read(folder, "items.jsonl"):  # type: ignore[attr-defined]
        premise = FalsePremise(asserted="My pottery class is on Tuesday.", truth=entry["gold"])
        case = make_case(reply=entry["response"], gold=Gold(false_premise=premise), style="counterfactual")
        verdict = only("correction", case)
        assert verdict.score == expected["score"][entry["id"]], (entry, verdict)  # type: ignore[index]


def test_correcting_what_was_right_is_an_error(make_case: Make) -> None:
    gold = Gold(facts=(GoldFact(fact_id="f", text="Mira likes swimming in the lake."),))
    for reply, label, score in (
        ("Enjoy the lake!", "none", 0.0),
        ("Small correction: it was a river.", "corrects", 1.0),
        ("Mira does not like swimming in the lake.", "contradicts", 1.0),
    ):
        verdict = only("false-correction", make_case(reply=reply, gold=gold, style="dialog"))
        assert (verdict.label, verdict.score) == (label, score)
    metric = METRICS.create("false-correction")
    assert metric.lower_is_better
    assert not metric.applies(Gold(false_premise=FalsePremise(asserted="a", truth="b")), make_case(style="plan").probe)


FAIR = "Mira went to the Delft fair."


@pytest.mark.parametrize(
    ("cut", "reply", "label", "score", "place"),
    [
        (4, "You went to the Delft fair!", "on-time", 1.0, "open"),
        (4, "That sounds nice.", "missed", 0.0, "open"),
        (2, "You went to the Delft fair!", "mistimed", 0.0, "early"),
        (9, "You went to the Delft fair!", "mistimed", 0.0, "late"),
        (7, "You went to the Delft fair!", "mistimed", 0.0, "closed"),
        (9, "Soup is a good idea tonight.", "quiet", 1.0, "late"),
    ],
)
def test_timing_by_hand(make_case: Make, cut: int, reply: str, label: str, score: float, place: str) -> None:
    windows = (
        Window(fact_id="f", kind="open", from_index=3, to_index=4),
        Window(fact_id="f", kind="closed", from_index=6, to_index=6),
    )
    gold = Gold(facts=(GoldFact(fact_id="f", text=FAIR),), windows=windows)
    verdict = only("timing", make_case(reply=reply, gold=gold, style="moment", cut=cut))
    assert (verdict.label, verdict.score, json.loads(verdict.raw)["place"]) == (label, score, place)
    assert verdict.subject == "f"


def test_window_edges_and_unknown_facts(make_case: Make) -> None:
    windows = [
        Window(fact_id="f", kind="open", from_index=3, to_index=5),
        Window(fact_id="f", kind="open", from_index=9, to_index=9),
    ]
    assert [place_of(i, windows) for i in (2, 3, 5, 7, 9, 10)] == ["early", "open", "open", "between", "open", "late"]
    assert place_of(0, [Window(fact_id="f", kind="closed", from_index=3, to_index=5)]) == "outside"
    verdict = only("timing", make_case(gold=Gold(windows=tuple(windows)), style="moment"))
    assert (verdict.status, verdict.score) == ("invalid", None)


def test_proactive_recall_whether_and_when(case_dir: CaseDir, make_case: Make) -> None:
    folder = case_dir("MT-09")
    expected = read(folder, "expected.json")["labels"]  # type: ignore[index]
    names = {"well-timed": "on-time", "missed": "missed", "correctly silent": "quiet"}
    for entry in read(folder, "turns.jsonl"):  # type: ignore[attr-defined]
        if entry["asserted_memory"] == "fabricated":
            continue  # nothing stored is mentioned; there is no gold fact to find
        kind = "closed" if entry["context"] == "distress" else "open"
        start = 0 if entry["context"] != "no cue" else 8
        gold = Gold(
            facts=(GoldFact(fact_id="fair", text="The fair in Delft."),),
            windows=(Window(fact_id="fair", kind=kind, from_index=start, to_index=start),),
        )
        case = make_case(reply=entry["response"], gold=gold, style="moment", cut=1 + entry["delay_turns"])
        wanted = expected[entry["id"]]
        assert only("timing", case).label == names.get(wanted, "mistimed"), entry


def test_a_short_right_answer_beats_a_shotgun_list(case_dir: CaseDir, make_case: Make) -> None:
    scores = {}
    for entry in read(case_dir("JD-09"), "items.jsonl"):  # type: ignore[attr-defined]
        case = make_case(reply=entry["response"], gold=Gold(answers=(entry["gold"],), strata=("single-hop",)))
        verdict = only("answer-f1", case)
        scores[entry["id"]] = verdict.score
        assert json.loads(verdict.raw)["words"] == len(entry["response"].split())
    assert scores["l4"] == 1.0
    assert scores["l4"] > scores["l3"] > scores["l1"]  # type: ignore[operator]


def test_published_gold_is_scored_beside_the_corrected_one(make_case: Make) -> None:
    fixed = Gold(answers=("the kiln",), strata=("corrected-gold",), published=Gold(answers=("the oven",)))
    case = make_case(reply="the kiln", gold=fixed)
    assert only("answer-f1", case).score == 1.0
    assert only("answer-f1(gold=published)", case).score == 0.0
    plain = METRICS.create("answer-f1(gold=published)")
    assert not plain.applies(Gold(answers=("the kiln",)), case.probe)
