"""What only pleases, and what tells something although it is said kindly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.language.pleasantries import is_pleasantry

NAMES = ("Melanie", "Bo")


@pytest.mark.parametrize(
    "clause",
    [
        "Thanks!",
        "Thanks, Bo!",
        "Thank you so much for sharing.",
        "That's gorgeous, Melanie!",
        "Wow, Mel, that's amazing!",
        "Mel, that's great!",
        "You're so strong and inspiring.",
        "I totally agree, Bo.",
        "I'm so proud of you!",
        "Glad to hear it!",
        "Good to talk to you again.",
        "Long time no talk!",
        "Can't wait to hear about it.",
        "Keep up the good work!",
        "I missed you.",
        "Congrats!",
        "谢谢你的分享！",
        "真为你高兴！",
        "太好了",
        "听起来很不错呢",
        "加油！",
        "恭喜你啦",
        "别客气",
        "我完全理解你的感受",
    ],
)
def test_praise_thanks_and_good_wishes_tell_nothing(clause: str) -> None:
    assert is_pleasantry(clause, NAMES)


@pytest.mark.parametrize(
    "clause",
    [
        "I live in Oslo.",
        "Thanks for the book",
        "Glad you found a choir",
        "Thanks for asking, we got another cat named Miso.",
        "I'm proud of my garden",
        "I love pottery",
        "I miss Oslo",
        "You live in Bergen",
        "Take care of Rex",
        "The dress is blue, Mel!",
        "That was 3 years ago",
        "They work nights",
        "I feel great",
        "Melanie paints",
        "我住在成都",
        "我养了猫，太可爱了",
        "他太太很漂亮",
        "祝福卡在桌上，是我妈妈写的",
        "谢谢你送我的花",
    ],
)
def test_what_tells_something_is_none(clause: str) -> None:
    assert not is_pleasantry(clause, NAMES)


def test_a_name_counts_only_where_it_is_one_of_those_who_talk() -> None:
    assert is_pleasantry("That's lovely, Ida!", ["Ida"])
    assert not is_pleasantry("That's lovely, Ida!", ["Amy"])


@given(st.text(max_size=80), st.lists(st.text(max_size=8), max_size=3))
def test_any_text_is_judged_without_an_error_and_whatever_the_blanks_around_it(text: str, names: list[str]) -> None:
    assert is_pleasantry(text, names) == is_pleasantry(f" {text}\n", names)
