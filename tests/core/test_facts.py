"""A clause as a fact of its own: who, to whom, when, and what its time words mean."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.language.facts import caption_text, fact_text
from mnemoscope.core.language.moments import moments

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize("words", ["三四天前", "五五天前", "十十十年后", "七八个月前"])
def test_two_numbers_in_a_row_are_no_time(words: str) -> None:
    assert moments(f"… {words} …", MONDAY) == ()


@pytest.mark.parametrize(
    "text",
    [
        "I think this may help",
        "They said they would next march on",
        "I haven't been there in two years",
        "It was the first time in ten years",
        "I finished it in two weeks",
        "I see her twice in a month",
    ],
)
def test_a_verb_is_no_month_and_how_long_something_took_is_no_date(text: str) -> None:
    assert moments(text, MONDAY) == ()


@pytest.mark.parametrize(
    "text",
    [
        "My exam is in two weeks",
        "I have an exam in two weeks",
        "I'm so excited, I leave in two weeks",
        "I was told that it will start in two weeks",
        "I've got a race in two weeks",
        "They agreed to meet in two weeks' time",
    ],
)
def test_what_lies_ahead_is_dated(text: str) -> None:
    assert [moment.resolved for moment in moments(text, MONDAY)] == ["week of 22 May 2023"]


@pytest.mark.parametrize(
    ("words", "resolved"),
    [
        ("yesterday", "7 May 2023"),
        ("the day before yesterday", "6 May 2023"),
        ("day after tomorrow", "10 May 2023"),
        ("tonight", "8 May 2023"),
        ("last night", "7 May 2023"),
        ("two days ago", "6 May 2023"),
        ("a couple of weeks ago", "week of 24 April 2023"),
        ("3 months ago", "February 2023"),
        ("ten years ago", "2013"),
        ("in two weeks", "week of 22 May 2023"),
        ("a month from now", "June 2023"),
        ("last week", "week of 1 May 2023"),
        ("next weekend", "weekend of 20 May 2023"),
        ("last month", "April 2023"),
        ("this year", "2023"),
        ("last Friday", "5 May 2023"),
        ("last Monday", "1 May 2023"),
        ("this Monday", "8 May 2023"),
        ("next Monday", "15 May 2023"),
        ("last June", "June 2022"),
        ("last May", "May 2022"),
        ("next February", "February 2024"),
        ("昨天", "7 May 2023"),
        ("大前天", "5 May 2023"),
        ("后天", "10 May 2023"),
        ("上周", "week of 1 May 2023"),
        ("上周五", "5 May 2023"),
        ("下个星期天", "21 May 2023"),
        ("上个月", "April 2023"),
        ("去年", "2022"),
        ("去年三月", "March 2022"),
        ("去年10月3号", "3 October 2022"),
        ("三天前", "5 May 2023"),
        ("十二年前", "2011"),
        ("两个月后", "July 2023"),
        ("半年前", "November 2022"),
    ],
)
def test_relative_words_mean_one_time(words: str, resolved: str) -> None:
    (moment,) = moments(f"… {words} …", MONDAY)
    assert (moment.text, moment.resolved) == (words, resolved)


@pytest.mark.parametrize(
    "text",
    [
        *("a few days ago", "recently", "in June", "for the last week", "at last", "in 5 minutes", "on Friday"),
        *("9999 years ago", "从今以后天天", "下月亮了", "第三年后"),
    ],
)
def test_words_that_mean_no_one_time_are_left_alone(text: str) -> None:
    assert moments(text, MONDAY) == ()


def test_a_bare_weekday_is_read_by_tense() -> None:
    assert [m.resolved for m in moments("I'll see her on Friday", MONDAY)] == ["12 May 2023"]
    assert [m.resolved for m in moments("We met on Friday", MONDAY)] == ["5 May 2023"]


def test_the_day_is_the_day_where_it_was_said() -> None:
    late = datetime(2023, 5, 8, 1, tzinfo=timezone(timedelta(hours=9)))
    assert moments("yesterday", late)[0].resolved == "7 May 2023"


@pytest.mark.parametrize(
    ("clause", "fact"),
    [
        ("I ran a charity race yesterday", "Amy ran a charity race yesterday [7 May 2023]"),
        ("I'm vegan and I've got two kids", "Amy is vegan and Amy has got two kids"),
        ("I don’t eat meat", "Amy doesn't eat meat"),
        ("i gave you my bike", "Amy gave Bo Amy's bike"),
        ("you're kind, your dog is mine", "Bo is kind, Bo's dog is Amy's"),
        ("we went home, you know", "we went home, you know"),
        ('she said "I love you" to me', 'she said "I love you" to Amy'),
        ("World War I and i.e. are no people", "World War I and i.e. are no people"),
        ("我昨天给你买了《我和你》", "Amy昨天 [7 May 2023]给Bo买了《我和你》"),
        ("我们爱自我", "我们爱自我"),
    ],
)
def test_persons_become_names_and_words_stay(clause: str, fact: str) -> None:
    assert fact_text(clause, speaker="Amy", addressee="Bo", at=MONDAY) == f"Amy (8 May 2023): {fact}"


def test_unknown_addressee_and_time_leave_the_words() -> None:
    assert fact_text("you met me yesterday", speaker="Amy", addressee=None, at=None) == "Amy: you met Amy yesterday"


def test_a_caption_says_who_shared_it() -> None:
    assert caption_text("a lake", speaker="Amy", at=MONDAY) == "Amy (8 May 2023) shared an image: a lake"


TIMES = st.datetimes(timezones=st.just(UTC))
WORDS = st.lists(
    st.sampled_from(
        [
            *"I you my last next week Friday May on in 9999 two years ago 我 你 上 周 五 月 去年 二月 三十号".split(),
            "天前",
            "个月后",
            "yesterday",
        ]
    ),
    max_size=12,
)


@given(st.one_of(st.text(max_size=80), WORDS.map(" ".join), WORDS.map("".join)), TIMES)
def test_any_clause_at_any_time_is_rendered_without_an_error(clause: str, at: datetime) -> None:
    found = moments(clause, at)
    assert all(clause[m.start : m.end] == m.text for m in found)
    assert all(1 <= int(regex.search(r"\d+$", m.resolved)[0]) <= 9_999 for m in found)
    assert fact_text(clause, speaker="Zed", addressee="Yan", at=at).startswith("Zed (")


@given(WORDS.map(" ".join), st.dates(date(1700, 1, 1), date(2100, 1, 1)))
def test_only_the_given_time_counts(clause: str, day: date) -> None:
    """The calendar repeats after 400 years, so everything resolved must move with it, and nothing stay at today."""
    at = datetime.combine(day, time(12), UTC)

    def moved(resolved: str) -> str:
        return regex.sub(r"\d+$", lambda year: str(int(year[0]) + 400), resolved)

    later = moments(clause, at.replace(year=at.year + 400))
    assert [moved(m.resolved) for m in moments(clause, at)] == [m.resolved for m in later]


@given(st.text(alphabet="ab 猫犬😀\u200dא,", max_size=60))
def test_text_without_persons_and_times_stays_byte_for_byte(clause: str) -> None:
    assert fact_text(clause, speaker="Zed", addressee="Yan", at=MONDAY) == f"Zed (8 May 2023): {clause}"
