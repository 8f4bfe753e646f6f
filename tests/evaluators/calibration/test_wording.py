"""The wording probe: claims to remember come out whole, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.calibration.wording import reworded, with_cue, without_cues


@pytest.mark.parametrize(
    ("reply", "bare"),
    [
        ("As you mentioned before, the kiln is in Ghent.", "The kiln is in Ghent."),
        ("Maybe, as you told me, on Tuesday.", "Maybe, on Tuesday."),
        ("You said that warm milk helps. Try it.", "Warm milk helps. Try it."),
        ("Behind the mill. You mentioned it was damp.", "Behind the mill. It was damp."),
        ("I remember you saying the oven is slow.", "The oven is slow."),
        ("If I remember rightly, Odile has the spare key.", "Odile has the spare key."),
        ("From what you've told me it was a slow winter.", "It was a slow winter."),
        ("就像你上次说过的，窑在根特。", "窑在根特。"),
        ("可以。我记得你周二有课。", "可以。你周二有课。"),
    ],
)
def test_a_claim_comes_out_and_the_fact_stays(reply: str, bare: str) -> None:
    assert without_cues(reply) == bare
    assert reworded(reply) == (bare, False)


@pytest.mark.parametrize(
    "reply",
    [
        "I don't think you've told me how you spend your evenings.",  # without the claim it would say another thing
        "You told me once what she collects.",
        "You've told me so much about Sione.",
        "I remember how happy you were.",
        "I remember.",
        "Do you remember the harbour?",
        "我记得不太准，好像是三月。",
        "你没跟我说过这件事。",
    ],
)
def test_what_would_no_longer_be_a_sentence_is_left_alone(reply: str) -> None:
    assert without_cues(reply) == reply


def test_a_cue_is_put_in_front_in_the_language_of_the_reply() -> None:
    assert with_cue("The kiln is in Ghent.") == "As you told me before, the kiln is in Ghent."
    assert with_cue("Odile has the key.") == "As you told me before, Odile has the key."
    assert with_cue("窑在根特。") == "就像你之前跟我说过的那样，窑在根特。"
    assert reworded("  ") == ("  ", True)


PIECES = (
    "As you said, ",
    "I remember that you ",
    "You mentioned that ",
    "我记得你",
    "the kiln",
    "Odile",
    ". ",
    ", ",
    "？",
)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=8).map("".join))
def test_no_reply_is_emptied_and_each_has_one_other_form(reply: str) -> None:
    other, has_cue = reworded(reply)
    assert bool(other.strip()) == bool(reply.strip())
    if reply.strip():
        assert other != reply
        assert has_cue == (without_cues(reply) == reply)
