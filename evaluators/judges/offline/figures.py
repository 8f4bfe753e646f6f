"""Numbers, dates and weekdays of a text, spelled numbers of several words included."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import regex

from mnemoscope.evaluators.detectors.quantity import read_quantities

__all__ = ["Figures", "read_figures"]

Date = tuple[int | None, int | None, int | None]

_UNITS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_SPELLED_WORD = "|".join(sorted(_UNITS | _SCALES, key=len, reverse=True))
_SPELLED = regex.compile(rf"\b(?:{_SPELLED_WORD})(?:(?:[ -]|\s+and\s+)(?:{_SPELLED_WORD}))*\b")
_THOUSANDS = regex.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,]*\d)|(?<![\w.,])\d+(?:\.\d+)?\s*(?:thousand|k)\b")
_CLOCK = regex.compile(r"(?<!\d)(\d{1,2})[:：](\d{2})(?!\d)")
_HAN_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_HAN = regex.compile(
    r"[零〇一二两三四五六七八九十百千万]{2,}|[二两三四五六七八九十](?=[碗封只个次天周年月岁点名位本条块把家间场杯张辆元件双对顿口盒瓶])"
)
_HAN_WORDS = frozenset({"万一", "千万", "百万", "一一", "一二"})
"""Runs of numerals that are words."""


class Figures(NamedTuple):
    """What must agree between an expected answer and a reply."""

    marks: frozenset[str]
    """Numbers as digits and weekdays as `mon`."""
    dates: tuple[Date, ...]
    """(year, month, day), each None where it is not said."""

    def shares_date(self, date: Date) -> bool:
        """Whether a date agrees with one of these in all that both say."""
        return any(_agree(date, other) for other in self.dates)


@lru_cache(maxsize=32_768)
def read_figures(text: str) -> Figures:
    """Numbers and dates in one comparable form, English and Chinese; `one` and `once` seldom count and are left out.

    Example:
        >>> sorted(read_figures("forty thousand euros on Friday").marks)
        ['40000', 'fri']
        >>> sorted(read_figures("一百八十碗").marks)
        ['180']
    """
    lowered = text.lower()
    simple = read_quantities(lowered)
    marks = set(simple.weekdays)
    rest = simple.rest
    for hours, minutes in _CLOCK.findall(rest):
        marks |= {str(int(hours)), str(int(minutes))}
    rest = _CLOCK.sub(" ", rest)
    for match in _THOUSANDS.finditer(rest):
        marks.add(_digits(match.group()))
    rest = _THOUSANDS.sub(" ", rest)
    for match in _SPELLED.finditer(rest):
        marks |= {str(value) for value in _values(regex.split(r"[\s-]+", match.group())) if value > 1}
    rest = _SPELLED.sub(" ", rest)
    marks |= {str(_han(run)) for run in _HAN.findall(rest) if run not in _HAN_WORDS} - {"0", "1"}
    marks |= {number for number in read_quantities(rest).numbers if number.replace(".", "").isdecimal()}
    return Figures(frozenset(marks), simple.dates)


def _agree(a: Date, b: Date) -> bool:
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return bool(pairs) and all(x == y for x, y in pairs)


def _digits(text: str) -> str:
    bare = regex.sub(r"[^\d.]", "", text.replace(",", ""))
    value = float(bare) * (1_000 if text[-1] in "kd" else 1)
    return str(int(value)) if value == int(value) else str(value)


def _values(words: list[str]) -> list[int]:
    """`four hours twenty` never comes here as one run, but `four twenty` does: two numbers."""
    found: list[int] = []
    total, current, last = 0, 0, 0
    for word in words:
        if word == "and":
            continue
        if word in _SCALES:
            scale = _SCALES[word]
            current = max(current, 1) * scale
            if scale > 100:
                total, current = total + current, 0
            last = scale
            continue
        value = _UNITS[word]
        if current and not (last == 100 or (current % 100 >= 20 and current % 10 == 0 and value < 10)):
            found.append(total + current)
            total, current = 0, 0
        current += value
        last = value
    return [*found, total + current]


def _han(run: str) -> int:
    total = section = digit = 0
    scale = 0
    for char in run:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char == "万":
            total, section, digit, scale = (total + section + digit) * 10_000, 0, 0, 10_000
        else:
            scale = _HAN_SCALES[char]
            section += max(digit, 1) * scale
            digit = 0
    short = digit and scale >= 100 and run[-2] in "百千万"  # 一百八 is 180
    return total + section + (digit * scale // 10 if short else digit)
