"""Composed replies: coverage over judged facts, joined by id, and the two shares at its ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.metrics.scripted import always, by_text, only, says

Make = Callable[..., EvaluationCase]
FACTS = tuple(GoldFact(fact_id=f"c/q{i}", text=f"fact {i}") for i in range(3))


def composed(make_case: Make, n: int = 2) -> EvaluationCase:
    return make_case(reply="r", gold=Gold(facts=FACTS[:n]), style="composed")


@pytest.mark.parametrize(
    ("found", "coverage", "every", "nothing", "label"),
    [((1, 1), 1.0, 1.0, 0.0, "all"), ((1, 0), 0.5, 0.0, 0.0, "some"), ((0, 0), 0.0, 0.0, 1.0, "none")],
)
def test_two_facts_give_three_values(
    make_case: Make, found: tuple[int, int], coverage: float, every: float, nothing: float, label: str
) -> None:
    case = composed(make_case)
    script = by_text("coverage", {f"fact {i}": float(score) for i, score in enumerate(found)})
    verdicts = [only(name, case, script) for name in ("atomic-coverage", "atomic-all", "atomic-none")]
    assert [v.score for v in verdicts] == [coverage, every, nothing]
    assert {v.label for v in verdicts} == {label}
    assert json.loads(verdicts[0].raw) == {"facts": 2, "found": sum(found), "judged": 2}
    assert METRICS.create("atomic-none").lower_is_better and not METRICS.create("atomic-all").lower_is_better


def test_a_fact_that_was_not_judged_is_left_out_with_n_and_never_missed(make_case: Make) -> None:
    case = composed(make_case, 3)
    script = by_text("coverage", {"fact 0": 1.0, "fact 1": 0.0})
    verdict = only("atomic-coverage", case, script)
    assert (verdict.score, json.loads(verdict.raw)) == (0.5, {"facts": 3, "found": 1, "judged": 2})
    assert (only("atomic-all", case, script).score, only("atomic-none", case, script).score) == (0.0, 0.0)
    open_ended = by_text("coverage", {"fact 0": 1.0, "fact 1": 1.0})
    assert only("atomic-coverage", case, open_ended).score == 1.0
    undecided = only("atomic-all", case, open_ended)
    assert (undecided.score, undecided.status, undecided.judge_key) == (None, "invalid", "coverage-key")
    assert only("atomic-none", case, by_text("coverage", {"fact 0": 0.0})).score is None


def test_a_failure_on_the_whole_question_is_an_error_and_no_0(make_case: Make) -> None:
    script = always("coverage", "judge-error:timeout", None, status="error")
    for name in ("atomic-coverage", "atomic-all", "atomic-none"):
        verdict = only(name, composed(make_case), script)
        assert (verdict.score, verdict.status, verdict.label) == (None, "error", "judge-error:timeout")


def test_answers_are_joined_by_id_whatever_their_order(case_dir: Callable[[str], Path], make_case: Make) -> None:
    folder = case_dir("JD-11")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    facts = tuple(GoldFact(fact_id=str(i), text=f"fact {i}") for i in (1, 2, 3))
    case = make_case(reply="r", gold=Gold(facts=facts), style="composed")
    for line in (folder / "judge_json.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        wanted = expected["result"][row["id"]]
        # what the parser makes of each reply is its own test; here: the answers that it leaves, in the reply's order
        order = [str(entry["fact"]) for entry in row["judgments"]]
        unique = [i for i in dict.fromkeys(order) if order.count(i) == 1]
        answers = [
            says("coverage", "", float(wanted["covered"].get(i, True)), subject=i)
            for i in unique
            if not isinstance(wanted["covered"].get(i), str)
        ]
        verdict = only("atomic-coverage", case, {"coverage": lambda q, answers=answers: answers})  # type: ignore[misc]
        covered = [v for v in wanted["covered"].values() if isinstance(v, bool)]
        assert verdict.score == pytest.approx(sum(covered) / len(covered), abs=1e-6), row
        figures = json.loads(verdict.raw)
        assert (figures["judged"], figures["facts"]) == (len(covered), expected["facts_per_item"])


def test_where_it_applies(make_case: Make) -> None:
    metric = METRICS.create("atomic-coverage")
    assert metric.applies(Gold(), make_case(style="composed").probe)
    assert not metric.applies(Gold(), make_case(style="dialog").probe)
    assert only("atomic-all", make_case(style="composed")).label == "no gold fact"


def test_the_three_ask_one_question(make_case: Make) -> None:
    case = composed(make_case)
    asked = {q for n in ("atomic-coverage", "atomic-all", "atomic-none") for q in METRICS.create(n).questions(case)}  # type: ignore[attr-defined]
    assert len(asked) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(scores=st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=6), order=st.randoms())
def test_bounds_and_order(make_case: Make, scores: list[float | None], order: object) -> None:
    facts = tuple(GoldFact(fact_id=f"f{i}", text=f"t{i}") for i in range(len(scores)))
    case = make_case(reply="r", gold=Gold(facts=facts), style="composed")
    answers = [says("coverage", "l", s, subject=f"f{i}") for i, s in enumerate(scores)]
    first = only("atomic-coverage", case, {"coverage": lambda q: answers})
    order.shuffle(answers)  # type: ignore[attr-defined]
    assert only("atomic-coverage", case, {"coverage": lambda q: answers}) == first
    judged = [s for s in scores if s is not None]
    if not judged:
        assert (first.score, first.status) == (None, "invalid")
        return
    assert first.score == pytest.approx(sum(judged) / len(judged), abs=1e-6)
    if len(judged) < len(scores):
        return
    every, nothing = (only(n, case, {"coverage": lambda q: answers}).score for n in ("atomic-all", "atomic-none"))
    assert (every, nothing) == (float(all(judged)), float(not any(judged)))
