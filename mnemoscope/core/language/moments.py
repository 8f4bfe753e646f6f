"""Relative time words of English and Chinese, resolved against the time at which they were said.

A word that means no single day, week, month or year (`recently`, `a few days ago`, `in June`, `last summer`) is left
alone: a date that was made up would be worse than none. Weeks begin on Monday.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from types import MappingProxyType

import regex

from mnemoscope.core.language.display import conversation_day, conversation_month

__all__ = ["Moment", "moments"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A relative time word and what it means."""

    start: int
    end: int
    text: str
    """The words as they stand."""
    resolved: str
    """`7 May 2023`, `week of 1 May 2023` (a Monday), `weekend of 6 May 2023` (a Saturday), `April 2023` or `2022`."""


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_COUNTS: Mapping[str, int] = MappingProxyType(
    {"a": 1, "an": 1, "a couple of": 2, "a couple": 2}
    | {word: n for n, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)}
)
_HAN_DIGITS: Mapping[str, int] = MappingProxyType(
    {character: n for n, character in enumerate("零一二三四五六七八九")} | {"两": 2}
)
_HAN_WEEKDAYS: Mapping[str, int] = MappingProxyType(
    {character: n for n, character in enumerate("一二三四五六日")} | {"天": 6, "末": 5}
)
_DAY_WORDS: Mapping[str, int] = MappingProxyType(
    {"the day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0}
    | {"this morning": 0, "this afternoon": 0, "this evening": 0}
    | {"tomorrow": 1, "the day after tomorrow": 2}
    | {"大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨日": -1, "今天": 0, "今早": 0, "今晚": 0, "今日": 0}
    | {"明天": 1, "明早": 1, "明晚": 1, "后天": 2, "大后天": 3}
)
_YEAR_WORDS: Mapping[str, int] = MappingProxyType({"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2})
_STEPS: Mapping[str, int] = MappingProxyType(
    {"last": -1, "this": 0, "next": 1, "上": -1, "这": 0, "本": 0, "下": 1, "上上": -2, "下下": 2}
)
_UNITS: Mapping[str, str] = MappingProxyType(
    {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
)

_WEEKDAY = "|".join(_WEEKDAYS)
_VERB_MONTHS = ("march", "may")
"""Verbs as well (`this may help`): months only with their capital."""
_MONTH = "|".join(
    f"(?-i:{month.capitalize()}|{month.upper()})" if month in _VERB_MONTHS else month for month in _MONTHS
)
_COUNT = rf"\d{{1,4}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}"
_HAN_COUNT = r"\d{1,4}|[一二两三四五六七八九十]{1,3}|半"
_HAN_UNIT = r"天|日|个?(?:星期|礼拜)|周|个月|年"
_RELATIVE = regex.compile(
    r"\b(?:"
    r"(?P<day>(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|tomorrow|today|tonight|last night"
    r"|this (?:morning|afternoon|evening))"
    rf"|(?P<ago>{_COUNT}) (?P<ago_unit>day|week|month|year)s? ago"
    rf"|in (?P<ahead>{_COUNT}) (?P<ahead_unit>day|week|month|year)s?(?P<ahead_time>['’]? time)?"
    rf"|(?P<from_now>{_COUNT}) (?P<from_now_unit>day|week|month|year)s? from now"
    r"|(?<!\b(?:the|for|during|over|past) )(?P<step>last|this|next) "
    rf"(?:(?P<period>weekend|week|month|year)|(?P<weekday>{_WEEKDAY})|(?P<month>{_MONTH}))"
    rf"|on (?P<bare>{_WEEKDAY})"
    r")\b"
    r"|(?P<han_day>大前天|(?<![大之以])前天|昨[天晚日]|今[天早晚日]|明[天早晚](?!星)|大后天|(?<![大先之以])后天)"
    r"|(?P<han_step>上上|下下|[上这本下])(?:个)?(?:"
    r"(?:星期|礼拜|周)(?P<han_weekday>[一二三四五六日天末])?|(?P<han_month>月)(?![亮饼光台球经])(?!食(?!堂)))"
    r"|(?P<han_year>[去今明](?=年)年|(?<![之以])前年|(?<![之以])后年)"
    rf"(?:(?P<year_month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?:(?P<year_day>\d{{1,2}}|[一二三十]?十?[一二三四五六七八九十])[日号])?)?"
    rf"|(?<![第\d一二三四五六七八九十])(?P<han_count>{_HAN_COUNT})(?P<han_unit>{_HAN_UNIT})(?:之|以)?(?P<han_way>前|后)",
    regex.IGNORECASE,
)
_SIGNS = (
    *("day", "week", "month", "year", "tomorrow", "night", "this ", "last ", "next "),
    *"天日周月年昨今明",
    *("星期", "礼拜"),
)
"""One of these is in every text that has a match; to look for them first saves most of the time."""
_AHEAD = regex.compile(
    r"\b(?:will|shall|won['’]t|going to|gonna|planning|plan|hope|tomorrow)\b|['’]ll\b", regex.IGNORECASE
)
_BEHIND = regex.compile(
    r"\b(?:\p{L}{2,}ed|was|were|went|had|did|didn['’]t|got|came|saw|met|made|took|ran|bought|won|lost|told|said|left"
    r"|gave|found|felt|ate|began|heard|spent|taught|wrote|drove|flew|broke|sold|built|sang|swam|caught|fell|held)\b",
    regex.IGNORECASE,
)
_SPAN = regex.compile(
    r"\b(?:first|once|twice|times|best|worst|most|never|been|(?:have|has|had)n['’]t|(?:have|has|had) \p{L}{2,}ed)\b"
    r"|['’]ve\b(?! got)",
    regex.IGNORECASE,
)
"""With one of these, `in two years` is how long something took or lasted."""
_PRESENT = regex.compile(r"\b(?:am|is|are|need|needs|(?:have|has) got)\b|['’](?:m|re|s|ve got)\b", regex.IGNORECASE)


def moments(text: str, at: datetime) -> tuple[Moment, ...]:
    """The relative time words of a text that mean one day, week, month or year, in order.

    `last Friday` is the latest Friday before that day and `next Friday` the first one after it; in Chinese 上周五 is
    the Friday of the week before. A bare `on Friday` is read by the text's tense and left alone where it has none;
    `in two weeks` is left alone where the text says how long something took (`I finished it in two weeks`).

    Args:
        text: What was said; nothing else is read, the wall clock least of all.
        at: When it was said; its own day counts, in its own zone.

    Returns:
        Moments that do not overlap. What would lie outside the years 1–9999 is left out.

    Example:
        >>> from datetime import UTC
        >>> [m.resolved for m in moments("I ran yesterday, as I did last year.", datetime(2023, 5, 8, tzinfo=UTC))]
        ['7 May 2023', '2022']
    """
    found: list[Moment] = []
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return ()
    for match in _RELATIVE.finditer(text):
        try:
            resolved = _resolve(match, text, at.date())
        except (OverflowError, ValueError):
            continue
        if resolved is not None:
            found.append(Moment(match.start(), match.end(), match[0], resolved))
    return tuple(found)


def _resolve(match: regex.Match[str], text: str, day: date) -> str | None:
    if match["day"] or match["han_day"]:
        word = (match["day"] or match["han_day"]).lower()
        return conversation_day(day + timedelta(_DAY_WORDS.get(word, _DAY_WORDS.get(f"the {word}", 0))))
    if match["step"]:
        return _stepped(match, _STEPS[match["step"].lower()], day)
    if match["bare"]:
        return _bare_weekday(_WEEKDAYS.index(match["bare"].lower()), text, day)
    if match["han_step"]:
        return _han_stepped(match, _STEPS[match["han_step"]], day)
    if match["han_year"]:
        return _han_year(match, day.year + _YEAR_WORDS[match["han_year"]])
    if match["han_count"]:
        return _han_counted(match, day)
    if match["ahead"] and not match["ahead_time"] and _is_span(text):
        return None
    group, way = ("ago", -1) if match["ago"] else ("ahead", 1) if match["ahead"] else ("from_now", 1)
    return _period(match[f"{group}_unit"].lower(), way * _count(match[group].lower()), day)


def _stepped(match: regex.Match[str], step: int, day: date) -> str:
    if match["period"]:
        return _period(match["period"].lower(), step, day)
    if match["weekday"]:
        wanted = _WEEKDAYS.index(match["weekday"].lower())
        return conversation_day(_nearest(wanted, day, -1 if step < 0 else 1, same_day=step == 0))
    month = _MONTHS.index(match["month"].lower()) + 1
    back, ahead = month >= day.month, month <= day.month
    return conversation_month(date(day.year + (-back if step < 0 else ahead if step > 0 else 0), month, 1))


def _han_stepped(match: regex.Match[str], step: int, day: date) -> str:
    if match["han_month"]:
        return _period("month", step, day)
    if match["han_weekday"] is None:
        return _period("week", step, day)
    if match["han_weekday"] == "末":
        return _period("weekend", step, day)
    return conversation_day(_monday(day) + timedelta(7 * step + _HAN_WEEKDAYS[match["han_weekday"]]))


def _han_year(match: regex.Match[str], year: int) -> str:
    if match["year_month"] is None:
        return _PERIODS["year"](date(year, 1, 1), 0)
    month = date(year, _han_number(match["year_month"]), 1)
    if match["year_day"] is None:
        return conversation_month(month)
    return conversation_day(month.replace(day=_han_number(match["year_day"])))


def _han_counted(match: regex.Match[str], day: date) -> str | None:
    unit = _UNITS[match["han_unit"].removeprefix("个")]
    way = -1 if match["han_way"] == "前" else 1
    if match["han_count"] != "半":
        return _period(unit, way * _han_number(match["han_count"]), day)
    return _period("month", way * 6, day) if unit == "year" else None


def _bare_weekday(wanted: int, text: str, day: date) -> str | None:
    if _AHEAD.search(text):
        return conversation_day(_nearest(wanted, day, 1))
    return conversation_day(_nearest(wanted, day, -1)) if _BEHIND.search(text) else None


def _is_span(text: str) -> bool:
    return bool(_SPAN.search(text) or (_BEHIND.search(text) and not (_AHEAD.search(text) or _PRESENT.search(text))))


def _period(unit: str, steps: int, day: date) -> str:
    return _PERIODS[unit](day, steps)


def _month_away(day: date, steps: int) -> date:
    years, month = divmod(day.year * 12 + day.month - 1 + steps, 12)
    return date(years, month + 1, 1)


_PERIODS: Mapping[str, Callable[[date, int], str]] = MappingProxyType(
    {
        "day": lambda day, n: conversation_day(day + timedelta(n)),
        "week": lambda day, n: f"week of {conversation_day(_monday(day) + timedelta(7 * n))}",
        "weekend": lambda day, n: f"weekend of {conversation_day(_monday(day) + timedelta(7 * n + 5))}",
        "month": lambda day, n: conversation_month(_month_away(day, n)),
        "year": lambda day, n: str(date(day.year + n, 1, 1).year),
    }
)


def _monday(day: date) -> date:
    return day - timedelta(day.weekday())


def _nearest(weekday: int, day: date, way: int, *, same_day: bool = False) -> date:
    away = (weekday - day.weekday()) * way % 7
    return day + timedelta(way * (away if away or same_day else 7))


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else _COUNTS[word]


def _han_number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    tens, ten, ones = word.rpartition("十")
    if {tens, ones} - {"", *_HAN_DIGITS}:
        raise ValueError(f"{word} is not one number")  # 三四天前: three or four days ago
    digit = _HAN_DIGITS[ones] if ones else 0
    return (_HAN_DIGITS[tens] if tens else 1) * 10 + digit if ten else digit
