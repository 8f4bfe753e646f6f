"""The verifying detector: order, numbers, names and negation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.agents import RealisationDetector
from mnemoscope.core.ports import UseDetector

FACT = "Caroline adopted two grey cats in Zürich on 2023-05-07."
TURN = "[8 May 2023, 13:56] Caroline: I adopted a dog called Rex last week. He sleeps on my bed all day. Bye!"


def used(reply: str, fact: str) -> bool:
    return RealisationDetector().detect(reply, fact).used


@pytest.mark.parametrize(
    "reply",
    [
        FACT,
        "Well, Caroline adopted 2 grey cats in Zürich on 7 May 2023, so ask her.",
        "On that day I adopted two grey cats in Zürich (2023-05-07).",
        "Hello. Caroline had been adopting two grey cats in Zürich. It was on 2023-05-07. Fine.",
    ],
)
def test_what_is_said_in_other_forms_is_found(reply: str) -> None:
    use = RealisationDetector().detect(reply, FACT)
    assert use.used
    assert use.score >= 0.7
    assert use.quote and use.quote in reply


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Cats are lovely.",
        "Caroline adopted three grey cats in Zürich on 2023-05-07.",
        "Caroline adopted two grey cats in Zürich on 2023-06-07.",
        "Caroline adopted two grey cats in Basel on 2023-05-07.",
        "Melanie adopted two grey cats in Zürich on 2023-05-07.",
        "Caroline never adopted two grey cats in Zürich on 2023-05-07.",
        "2023-05-07 Zürich: cats, grey, two, adopted, Caroline.",
    ],
)
def test_what_differs_is_not(reply: str) -> None:
    assert not used(reply, FACT)


def test_a_negative_fact_needs_a_negative_reply() -> None:
    fact = "Jonas cannot eat nuts at parties."
    assert used("Careful: Jonas can't eat nuts at parties.", fact)
    assert not used("Jonas can eat nuts at parties.", fact)


def test_a_turn_counts_with_its_frame_or_one_of_its_sentences() -> None:
    assert used(
        "On 8 May 2023 Caroline said: “I adopted a dog called Rex last week. He sleeps on my bed all day.”", TURN
    )
    assert used("You adopted a dog called Rex last week!", TURN)
    assert not used("Bye!", TURN)
    assert not used("On 8 May 2023, 13:56, Caroline.", TURN)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("2023年5月8日，小林说：“我对花生严重过敏，住院了3天”。", True),
        ("小心，我对花生严重过敏，上次住院了3天。", True),
        ("我对花生严重过敏，住院了5天。", False),
        ("我对花生没有严重过敏，住院了3天。", False),
        ("我每个周末都去打羽毛球。", False),
    ],
)
def test_chinese_is_read_by_characters(reply: str, found: bool) -> None:
    assert used(reply, "我对花生严重过敏，住院了3天。") is found


def test_the_scoring_rule_is_another_one() -> None:
    from mnemoscope.evaluators.detectors.offline import OfflineUseDetector

    assert isinstance(RealisationDetector(), UseDetector)
    assert RealisationDetector().key == "realisation-1" != OfflineUseDetector().key
    shuffled = "In Zürich, grey cats: two were adopted on 2023-05-07 by Caroline."
    assert OfflineUseDetector().detect(shuffled, FACT).used
    assert not used(shuffled, FACT)


@given(st.text(max_size=80), st.text(max_size=80))
def test_scores_are_shares_and_quotes_come_from_the_reply(reply: str, fact: str) -> None:
    use = RealisationDetector().detect(reply, fact)
    assert 0.0 <= use.score <= 1.0
    assert use.used <= (use.score >= 0.7)
    assert use.used == bool(use.quote)
    assert use == RealisationDetector().detect(reply, fact)
