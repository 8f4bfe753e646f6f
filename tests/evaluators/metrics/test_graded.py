"""Graded integration: wording alone gets nowhere, and the upper levels rest on a verified fact."""

from __future__ import annotations

import json
from itertools import product

import pytest

from mnemoscope.evaluators.judges.question import Question
from mnemoscope.evaluators.metrics.graded import level_of
from mnemoscope.evaluators.metrics.metric import tasks_of
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.conftest import case
from tests.evaluators.judging import OFFLINE, verdicts_of
from tests.evaluators.metrics.memuse_cases import natural, natural_gold
from tests.evaluators.metrics.scripted import Script, Scripted, only, says

KINDS = ("full", "gist", "generic", "hallucinated", "admits")
REPLY = "Good luck in Delft, I know selling there scares you."


def script(
    kind: str = "full",
    tied: float | None = 1.0,
    delft: float | None = 1.0,
    nerves: float | None = 0.0,
    quote: str = "Delft",
) -> Script:
    def fact(question: Question) -> list[object]:
        score = delft if question.expected == "Delft" else nerves
        label = "unparseable" if score is None else "right" if score else "wrong"
        return [says("answer", label, score, quote=quote if score else "")]

    return {
        "outcome": lambda q: [says("outcome", kind, float(kind == "full"))],
        "tied": lambda q: [says("tied", "tied" if tied else "untied", tied)],
        "answer": fact,  # type: ignore[dict-item]
    }


def graded(**given: object) -> Verdict:
    return only("graded-integration", natural(REPLY), script(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({}, "3 shaping"),
        ({"kind": "gist"}, "2 specific"),
        ({"kind": "generic"}, "2 specific"),
        ({"tied": 0.0}, "1 gesture"),
        ({"delft": 0.0}, "1 gesture"),
        ({"delft": 0.0, "kind": "gist"}, "1 gesture"),
        ({"delft": 0.0, "kind": "generic"}, "0 none"),
        ({"delft": 0.0, "kind": "admits"}, "0 none"),
        ({"kind": "hallucinated"}, "0 fabricated"),
    ],
)
def test_levels(given: dict[str, object], label: str) -> None:
    verdict = graded(**given)
    assert (verdict.label, verdict.score) == (label, round(int(label[0]) / 3, 6))


@pytest.mark.parametrize("quote", ["", "words that the reply does not have", "!"])
def test_a_fact_without_words_of_the_reply_is_not_verified(quote: str) -> None:
    verdict = graded(quote=quote)
    assert verdict.label == "1 gesture"
    assert json.loads(verdict.raw)["verified"] == 0


def test_the_wording_of_a_lenient_judge_lifts_to_one_and_no_further() -> None:
    highest = max(level_of(verified=False, tied=t, kind=k) for t, k in product((True, False), KINDS))
    assert highest == 1
    assert all(level_of(verified=v, tied=t, kind="hallucinated") == 0 for v, t in product((True, False), repeat=2))


def test_levels_never_fall_for_a_verified_fact_or_a_tie() -> None:
    for kind, tied in product(KINDS, (True, False)):
        assert level_of(verified=True, tied=tied, kind=kind) >= level_of(verified=False, tied=tied, kind=kind)
        assert level_of(verified=tied, tied=True, kind=kind) >= level_of(verified=tied, tied=False, kind=kind)


def test_an_unread_fact_matters_only_where_the_level_depends_on_it() -> None:
    assert graded(nerves=None).label == "3 shaping", "another fact is verified"
    assert graded(nerves=None, kind="hallucinated").label == "0 fabricated"
    open_case = graded(delft=0.0, nerves=None)
    assert (open_case.status, open_case.score, open_case.label) == ("invalid", None, "unparseable")
    assert open_case.judge_key == graded().judge_key == "answer-key + outcome-key + tied-key + use-key"
    assert graded(delft=0.0, nerves=None, tied=0.0, kind="gist").label == "1 gesture"
    assert graded(tied=None).status == "invalid"


def test_what_stands_behind_a_level() -> None:
    verdict = graded()
    assert json.loads(verdict.raw) == {
        "level": 3, "facts": 2, "judged": 2, "verified": 1, "tied": True, "kind": "full",
    }  # fmt: skip
    assert verdict.quote == "Delft"


def test_its_questions_are_those_of_the_other_metrics() -> None:
    made = natural(REPLY)
    own = set(METRICS.create("graded-integration").questions(made))  # type: ignore[attr-defined]
    others = {q for name in ("reference", "outcome") for q in METRICS.create(name).questions(made)}  # type: ignore[attr-defined]
    (alone,) = own - others
    assert others <= own and alone == Question("tied", REPLY, made.probe.text, "Mira")


def test_facts_without_a_question_are_asked_for_use() -> None:
    facts = (GoldFact(fact_id="a", text="The kiln broke."),)
    made = case(reply="The kiln broke, so rest.", gold=Gold(facts=facts), style="implicit", text="I cannot work today.")
    used = {"use": lambda q: [says("use", "used", 1.0, quote="The kiln broke")]}
    judge = Scripted({**script(), **used})
    assert [v.label for v in verdicts_of("graded-integration", made, judge)] == ["3 shaping"]
    assert {q.task for q in judge.asked} == {"tied", "outcome", "use"}
    implicit = {q for n in ("integration", "tied-use", "outcome") for q in METRICS.create(n).questions(made)}  # type: ignore[attr-defined]
    assert set(judge.asked) == implicit


def test_where_it_applies_and_what_it_needs() -> None:
    metric = METRICS.create("graded-integration")
    assert not all(OFFLINE.key(task) for task in tasks_of(metric)), "a judge without `tied` cannot serve it"
    assert not metric.applies(Gold(unanswerable=True), case(style="implicit").probe)
    assert not metric.applies(Gold(judge_inputs={"cue": "x"}), case(style="dialog").probe)
    bare = natural("r", natural_gold(asked=()))
    assert only("graded-integration", bare).label == "no gold fact"
