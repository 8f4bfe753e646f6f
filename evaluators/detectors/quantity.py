"""Dates and numbers of a text in one comparable form, for English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass

import regex

__all__ = ["Quantities", "read_quantities"]

_MONTHS = {
    name[:3]: i
    for i, name in enumerate(
        "january february march april may june july august september october november december".split(), 1
    )
}
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\.?"
)
_DATES = (
    regex.compile(r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{1,2})(?:[-/](?P<d>\d{1,2}))?(?!\d)"),
    regex.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+(?P<y>\d{{4}}))?\b"),
    regex.compile(rf"\b(?P<month>{_MONTH})\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<y>\d{{4}}))?"),
    regex.compile(rf"\b(?P<month>{_MONTH})(?:,|\s+of)?\s+(?P<y>\d{{4}})\b"),
    regex.compile(r"(?:(?P<y>\d{4})\s*年\s*)?(?P<m>\d{1,2})\s*月(?:\s*(?P<d>\d{1,2})\s*[日号])?"),
    regex.compile(r"(?<!\d)(?P<y>\d{4})\s*年"),
    regex.compile(r"\b(?P<y>(?:19|20)\d{2})\b"),
)
_SPELLED = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {
    "once": 1,
    "twice": 2,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_VAGUE = frozenset({"zero", "one", "once"})
_HAN_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = regex.compile(r"[零〇一二两三四五六七八九十百]+(?=[个只次天周年月岁点名位本条块把家间场杯张辆元])")
_HAN_DATE = regex.compile(
    r"[一二三四五六七八九十]+(?=月(?!亮|饼|光|台)|[日号](?![子码称]))|(?<=月)[一二三四五六七八九十]+(?=[日号])"
)
_WEEKDAY = regex.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b")
_HAN_WEEKDAY = regex.compile(r"(?:星期|周|礼拜)([一二三四五六日天])")
_NUMBER = regex.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\d])")
_WORD = regex.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Quantities:
    """What must agree between a fact and a reply."""

    dates: tuple[tuple[int | None, int | None, int | None], ...]
    """(year, month, day), each None where it is not said."""
    numbers: frozenset[str]
    weekdays: frozenset[str]
    rest: str
    """The text, lower-cased, without the dates: what is left for words."""

    @property
    def weight(self) -> float:
        """Dates weigh 1, because replies often leave them out; numbers and weekdays 2."""
        return len(self.dates) + 2.0 * (len(self.numbers) + len(self.weekdays))


def read_quantities(text: str) -> Quantities:
    """Take dates, weekdays and numbers out of a text.

    `2023-05-08`, `8 May 2023` and `May 8` become comparable; `two` and `2` are one number; `one` and `once` are left
    out, because they seldom count anything.

    Example:
        >>> read_quantities("On May 8, 2023 she bought two cats.").dates
        ((2023, 5, 8),)
    """
    rest = _HAN_DATE.sub(lambda match: _han_value(match.group()), text.lower())
    dates: list[tuple[int | None, int | None, int | None]] = []
    for pattern in _DATES:
        dates.extend(_date(match.groupdict()) for match in pattern.finditer(rest))
        rest = pattern.sub(" ", rest)
    numbers = {match.replace(",", "") for match in _NUMBER.findall(rest)}
    numbers |= {str(_SPELLED[w]) for w in _WORD.findall(rest) if w in _SPELLED and w not in _VAGUE}
    numbers |= {value for run in _HAN_NUMBER.findall(rest) if (value := _han_value(run)) not in ("0", "1")}
    weekdays = {day[:3] for day in _WEEKDAY.findall(rest)}
    weekdays |= {
        ("mon tue wed thu fri sat sun sun").split()["一二三四五六日天".index(c)] for c in _HAN_WEEKDAY.findall(rest)
    }
    return Quantities(tuple(dates), frozenset(numbers), frozenset(weekdays), rest)


def _date(groups: dict[str, str | None]) -> tuple[int | None, int | None, int | None]:
    year, month, number, day = (groups.get(key) for key in ("y", "month", "m", "d"))
    named = _MONTHS[month[:3]] if month else int(number) if number else None
    return int(year) if year else None, named, int(day) if day else None


def _han_value(run: str) -> str:
    total, digit = 0, 0
    for char in run:
        if char in "十百":
            total += max(digit, 1) * (10 if char == "十" else 100)
            digit = 0
        else:
            digit = _HAN_DIGITS[char]
    return str(total + digit)
