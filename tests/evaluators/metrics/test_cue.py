"""Wording of recall as a control: phrases alone are counted, and earn nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.evaluators.metrics.registry import METRICS, lower_is_better
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.loaders.memuse_gold import SubQuestion
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.conftest import case
from tests.evaluators.judging import verdicts_of
from tests.evaluators.metrics.memuse_cases import natural, natural_gold, negative
from tests.evaluators.metrics.scripted import Script, only, says

FACTS = (SubQuestion("q0", "Which fair is it and where?", "The ceramics fair in Delft."),)


def by_rule(metric: str, reply: str) -> Verdict:
    (verdict,) = verdicts_of(metric, natural(reply, natural_gold(FACTS)))
    return verdict


def test_wording_and_facts_of_the_case(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("JD-08")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rows = [json.loads(x) for x in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines() if x]
    empty = {row["id"] for row in rows if by_rule("cue-without-fact", row["response"]).score == 1.0}
    assert empty == set(expected["flags"]), "an empty phrase, and a phrase with another fair behind it"
    spoken = {row["id"] for row in rows if by_rule("cue-phrase", row["response"]).score == 1.0}
    assert spoken == {"p0", "p3", "p4", "p5"}
    assert not {i for i, integrated in expected["integration"].items() if integrated} & empty


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("As you mentioned, the fair is soon.", True),
        ("I remember the fair!", True),
        ("How was the fair in Delft?", False),
        ("I don't remember you telling me that.", False),
        ("你之前说过你要去德尔夫特。", True),
        ("祝你好运！", False),
        ("", False),
    ],
)
def test_phrases_in_both_languages(reply: str, said: bool) -> None:
    verdict = by_rule("cue-phrase", reply)
    assert (verdict.score, verdict.label) == (float(said), "phrase" if said else "no phrase")
    assert verdict.quote in reply and bool(verdict.quote) == said


def facts(score: float | None) -> Script:
    label = "unparseable" if score is None else "right" if score else "wrong"
    return {"answer": lambda q: [says("answer", label, score)]}


def test_a_fact_behind_the_phrase_clears_it() -> None:
    spoken, silent = natural("As you said, Delft!"), natural("Delft!")
    verdict = only("cue-without-fact", spoken, facts(0.0))
    assert (verdict.score, verdict.label, verdict.flags) == (1.0, "cue without fact", ("cue-without-fact",))
    assert verdict.quote == "As you said, Delft!"
    cleared = only("cue-without-fact", spoken, facts(1.0))
    assert (cleared.score, cleared.label, cleared.flags) == (0.0, "fact shown", ())
    assert only("cue-without-fact", silent, facts(0.0)).label == "no phrase"


def test_an_unread_fact_matters_only_behind_a_phrase() -> None:
    unread = only("cue-without-fact", natural("As you said!"), facts(None))
    assert (unread.status, unread.score) == ("invalid", None)
    decided = only("cue-without-fact", natural("Lovely!"), facts(None))
    assert (decided.score, decided.status) == (0.0, "scored")


def test_judged_verdicts_of_one_judge_have_one_key() -> None:
    found = [
        only("cue-without-fact", natural(reply), facts(score))
        for reply, score in (("As you said!", 0.0), ("As you said!", 1.0), ("Lovely!", None))
    ]
    assert {v.judge_key for v in found} == {"cue-phrase-1+heard-1 + answer-key + use-key"}
    assert by_rule("cue-phrase", "x").judge_key == "cue-phrase-1+heard-1"


def test_where_they_apply() -> None:
    phrase, empty = METRICS.create("cue-phrase"), METRICS.create("cue-without-fact")
    positive, quiet = natural("r"), negative("r")
    assert phrase.applies(quiet.gold, quiet.probe) and not empty.applies(quiet.gold, quiet.probe)
    assert phrase.applies(positive.gold, positive.probe) and empty.applies(positive.gold, positive.probe)
    assert not phrase.applies(Gold(), case(style="question").probe)
    assert only("cue-without-fact", case(style="implicit")).label == "no gold fact"
    assert lower_is_better("cue-without-fact") and not lower_is_better("cue-phrase")


def test_implicit_probes_use_the_questions_of_integration() -> None:
    made = case(reply="x", gold=Gold(facts=(GoldFact(fact_id="a", text="The kiln broke."),)), style="implicit")
    assert METRICS.create("cue-without-fact").questions(made) == METRICS.create("integration").questions(made)  # type: ignore[attr-defined]
