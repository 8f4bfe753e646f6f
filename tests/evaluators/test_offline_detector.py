"""The scoring detector against small labelled rows of our own, and its speed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.ports import UseDetector
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector, examine

DETECTOR = OfflineUseDetector()

SPARE = "Mira keeps the spare key under the blue pot by the door."
NUTS = "Mira's neighbour Jonas cannot eat nuts."
TRIP = "Tomasz visited Lisbon on 2023-05-08 with two cousins."
CAT = "Tomasz adopted a grey cat named Pixel."
SWIM = "Mira likes swimming in the lake."
CLASS = "The pottery class is on Thursday."
KILN = "Mira's kiln broke in 2022, so she switched to watercolour."
NO_MEAT = "Ines does not eat meat."
HAN_CAT = "小林养了一只灰色的猫,名字叫团子。"
HAN_MOVE = "小林打算三月搬到成都。"
HAN_NUT = "小陈对花生过敏。"
HAN_TEA = "小林不喝咖啡。"

ROWS: list[tuple[str, str, bool]] = [
    # said in the fact's words, in the speaker's own voice, or with small changes
    (f"Sure! {SPARE}", SPARE, True),
    ("You keep your spare key under the blue pot by the door, remember?", SPARE, True),
    ("I keep the spare key under that blue pot by the door.", SPARE, True),
    ("The spare key is kept under the blue pot, right by your door.", SPARE, True),
    ("Tomasz visited Lisbon with two cousins on 8 May 2023.", TRIP, True),
    ("On May 8 you visited Lisbon with your 2 cousins.", TRIP, True),
    ("You visited Lisbon with two cousins back in May 2023.", TRIP, True),
    ("I adopted a grey cat named Pixel!", CAT, True),
    ("Tomasz has adopted a cat. It is grey and named Pixel.", CAT, True),
    ("Since you like to swim in the lake, how about Saturday?", SWIM, True),
    ("She enjoys swimming in the lake. And likes it.", SWIM, True),
    ("It's not on Tuesday: the pottery class is on Thursday.", CLASS, True),
    ("You don't have class on Tuesday, the pottery class is on Thursday.", CLASS, True),
    ("Your kiln broke in 2022, so you switched to watercolour.", KILN, True),
    ("I'm not sure about the rest, but Mira likes swimming in the lake.", SWIM, True),
    ("Ines doesn't eat meat, so let's cook lentils.", NO_MEAT, True),
    ("Please remember that Jonas, the neighbour, cannot eat nuts.", NUTS, True),
    ("Your neighbour Jonas can't eat nuts.", NUTS, True),
    # the wrong number, date or day
    ("Tomasz visited Lisbon on 2023-05-08 with five cousins.", TRIP, False),
    ("Tomasz visited Lisbon on 9 June 2023 with two cousins.", TRIP, False),
    ("You visited Lisbon with two cousins on May 8, 2021.", TRIP, False),
    ("The pottery class is on Friday.", CLASS, False),
    ("Enjoy your pottery class on Tuesday!", CLASS, False),
    ("Your kiln broke in 2019, so you switched to watercolour.", KILN, False),
    # the opposite
    ("Mira does not like swimming in the lake.", SWIM, False),
    ("You never liked swimming in the lake.", SWIM, False),
    ("Ines eats meat.", NO_MEAT, False),
    ("Ines loves to eat meat, so let's grill.", NO_MEAT, False),
    ("Tomasz hasn't adopted a grey cat named Pixel.", CAT, False),
    # another person
    ("You should avoid nuts because of your allergy.", NUTS, False),
    ("You cannot eat nuts.", NUTS, False),
    ("Ines likes swimming in the lake.", SWIM, False),
    ("Jonas adopted a grey cat named Pixel.", CAT, False),
    ("Jonas keeps the spare key under the blue pot by the door.", SPARE, False),
    # part of it, something near it, nothing of it
    ("The pot by the door is blue.", SPARE, False),
    ("Tomasz has a dog named Pixel.", CAT, False),
    ("Lisbon is lovely in spring, have you thought of going?", TRIP, False),
    ("That sounds like a nice evening.", SWIM, False),
    ("", SPARE, False),
    # refusals
    ("It was not mentioned where Mira keeps the spare key under the blue pot by the door.", SPARE, False),
    ("I don't know about Mira's swimming in the lake.", SWIM, False),
    ("I don't know whether Ines doesn't eat meat.", NO_MEAT, False),
    ("I have no record of the pottery class on Thursday.", CLASS, False),
    ("No information available.", TRIP, False),
    # Chinese
    ("你养了一只灰色的猫,叫团子,对吧?", HAN_CAT, True),
    ("小林养了一只灰色的猫,名字叫团子。", HAN_CAT, True),
    ("我记得小林打算三月搬到成都。", HAN_MOVE, True),
    ("你3月打算搬到成都,要不要先看看房子?", HAN_MOVE, True),
    ("别放花生,小陈对花生过敏。", HAN_NUT, True),
    ("小林不喝咖啡,给他泡茶吧。", HAN_TEA, True),
    ("小林打算五月搬到成都。", HAN_MOVE, False),
    ("小林打算三月搬到重庆的父母家附近住一阵子。", HAN_MOVE, False),
    ("小王对花生过敏。", HAN_NUT, False),
    ("小林喜欢喝咖啡。", HAN_TEA, False),
    ("小林养了一只黑色的狗。", HAN_CAT, False),
    ("没有提到小林打算三月搬到成都。", HAN_MOVE, False),
    ("不知道小陈对花生过敏。", HAN_NUT, False),
    ("今天天气真好。", HAN_CAT, False),
]


def test_agreement_with_labelled_rows() -> None:
    wrong = [
        f"{'missed' if label else 'false'}: {reply!r} / {fact!r} {examine(reply, fact)}"
        for reply, fact, label in ROWS
        if DETECTOR.detect(reply, fact).used != label
    ]
    assert len(ROWS) >= 50
    assert 1 - len(wrong) / len(ROWS) >= 0.93, "\n".join(wrong)


def test_it_is_a_use_detector_with_a_quote() -> None:
    assert isinstance(DETECTOR, UseDetector)
    use = DETECTOR.detect(f"Good morning. {SPARE} See you.", SPARE)
    assert (use.used, use.quote, use.score) == (True, SPARE, 1.0)
    assert DETECTOR.detect("Good morning.", SPARE).quote == ""


@pytest.mark.parametrize(
    ("reply", "fact", "clash"),
    [
        ("Tomasz visited Lisbon on 2023-05-08 with five cousins.", TRIP, "number"),
        ("Tomasz visited Lisbon on 9 June 2023 with two cousins.", TRIP, "date"),
        ("Mira does not like swimming in the lake.", SWIM, "negation"),
        ("Ines likes swimming in the lake.", SWIM, "person"),
        ("You cannot eat nuts.", NUTS, "person"),
        (SWIM, SWIM, None),
        ("Nice weather.", SWIM, None),
    ],
)
def test_what_disagrees_is_named(reply: str, fact: str, clash: str | None) -> None:
    assert examine(reply, fact).clash == clash


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_give_a_score_between_0_and_1(reply: str, fact: str) -> None:
    use = DETECTOR.detect(reply, fact)
    assert 0.0 <= use.score <= 1.0
    assert use == DETECTOR.detect(reply, fact)
    assert not (use.used and not reply.strip())


def test_eight_facts_and_two_sentences_take_under_a_millisecond() -> None:
    facts = [SPARE, NUTS, TRIP, CAT, SWIM, CLASS, KILN, NO_MEAT]
    reply = f"{SPARE} {SWIM}"

    def once() -> float:
        start = time.perf_counter()
        for fact in facts:
            DETECTOR.detect(reply, fact)
        return time.perf_counter() - start

    once()
    assert min(once() for _ in range(20)) <= 0.001
