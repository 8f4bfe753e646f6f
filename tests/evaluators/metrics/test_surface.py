"""Repetition and language: rules, by hand and as properties."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.metrics.surface import main_script, scripts_of
from mnemoscope.scenarios.records import Turn
from tests.evaluators.metrics.scripted import only

Make = Callable[..., EvaluationCase]
LINE = "You adopted a grey cat named Pixel."


def test_repetition_by_hand(make_case: Make, make_turn: Callable[..., Turn]) -> None:
    assert (only("repetition", make_case(reply=LINE)).score, only("repetition", make_case(reply=LINE)).label) == (
        0.0,
        "none",
    )
    twice = only("repetition", make_case(reply=f"{LINE} {LINE}"))
    # 14 words have 11 runs of four; the four that lie within the second sentence repeat
    assert (twice.score, twice.label) == (pytest.approx(4 / 11, abs=1e-6), "own words")
    said = make_turn("t1", LINE).model_copy(update={"role": "assistant"})
    again = only("repetition", make_case(reply=LINE, recent=[said]))
    assert (again.score, again.label) == (1.0, "earlier turns")
    assert json.loads(again.raw) == {"earlier": 4, "own": 0, "runs": 4}
    assert only("repetition", make_case(reply=LINE, recent=[make_turn("t1", LINE)])).score == 0.0, "the user said it"
    assert METRICS.create("repetition").lower_is_better


def test_repetition_in_chinese_and_of_what_is_too_short(make_case: Make) -> None:
    chinese = only("repetition", make_case(reply="你早上只喝大麦茶。你早上只喝大麦茶。"))
    assert chinese.score is not None and 0.3 < chinese.score < 0.6
    for reply in ("", "Hi!", "Nice one, Mira"):
        verdict = only("repetition", make_case(reply=reply))
        assert (verdict.score, verdict.label) == (None, "fewer than four words")


@pytest.mark.parametrize(
    ("utterance", "reply", "score", "label"),
    [
        ("What did I plant?", "Broad beans.", 1.0, "Latin"),
        ("我早上喝什么？", "大麦茶。", 1.0, "Han"),
        ("我早上喝什么？", "You drink barley tea.", 0.0, "Latin for Han"),
        ("What do I drink?", "你喝大麦茶。", 0.0, "Han for Latin"),
        ("我昨天用 Kubernetes 部署了服务", "Kubernetes 部署得怎么样？", 1.0, "Han"),
        ("今日は何を飲む？", "麦茶を飲みます。", 1.0, "Kana"),
        ("今日は何を飲む？", "你喝大麦茶。", 0.0, "Han for Kana"),
        ("오늘 뭐 마셔?", "보리차요.", 1.0, "Hangul"),
        ("Что я пью?", "Чай.", 1.0, "Cyrillic"),
        ("ماذا أشرب؟", "Tea.", 0.0, "Latin for Arabic"),
        ("明天 meeting 几点 start", "At nine, as usual.", 1.0, "Latin"),
    ],
)
def test_language_match(make_case: Make, utterance: str, reply: str, score: float, label: str) -> None:
    verdict = only("language-match", make_case(reply=reply, text=utterance))
    assert (verdict.score, verdict.label) == (score, label)


def test_texts_without_letters_have_no_language(make_case: Make) -> None:
    assert only("language-match", make_case(reply="Hi", text="😀 42")).label == "no letters in the utterance"
    for reply in ("", "😀", "42"):
        verdict = only("language-match", make_case(reply=reply, text="Hi"))
        assert (verdict.score, verdict.label) == (None, "no letters in the reply")
    assert main_script("") is None and scripts_of("123") == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(reply=st.text(max_size=80), text=st.text(max_size=40))
def test_bounds_and_identity(make_case: Make, reply: str, text: str) -> None:
    repetition = only("repetition", make_case(reply=reply)).score
    assert repetition is None or 0.0 <= repetition < 1.0, "a first occurrence is no repetition"
    match = only("language-match", make_case(reply=reply, text=text)).score
    assert match in (None, 0.0, 1.0)
    assert only("language-match", make_case(reply=text, text=text)).score in (None, 1.0)
    assert not scripts_of(text) or sum(scripts_of(text).values()) == pytest.approx(1.0)
