"""Stored texts taken apart: who said it and when, and the sentences of what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import regex

from mnemoscope.scenarios.replay import POOL_SPEAKER

__all__ = ["Language", "Unit", "language_of", "read_units", "sentences"]

Language = Literal["en", "zh"]

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WHEN = rf"(?:(?P<day>\d{{1,2}}) (?P<month>{'|'.join(_MONTHS)}) (?P<year>\d{{1,4}}), \d\d:\d\d|undated)"
_FRAME = regex.compile(rf"^\[{_WHEN}\] (?P<speaker>[^:\n]{{1,80}}): ?(?P<text>.*)$", regex.DOTALL)
_STAMP = regex.compile(rf"^\[{_WHEN}\] ")
_ENDS = regex.compile(r"[.!?…]+[\"”’')\]]*\s+|[。！？]+[”’」』）]*\s*|\n+")
_ABBREVIATION = regex.compile(
    r"(?:^|[\s(“\"])(?:\p{Lu}|Mr|Mrs|Ms|Dr|Mt|St|Prof|Jr|Sr|vs|etc|No|a\.m|p\.m|e\.g|i\.e|U\.S)\.$"
)
_LETTER = regex.compile(r"\p{L}")
_HAN = regex.compile(r"\p{Han}")
_OTHER_UNSPACED = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_MOSTLY = 0.3


@dataclass(frozen=True, slots=True)
class Unit:
    """One turn or one fact of a stored text."""

    text: str
    speaker: str | None = None
    """Who said it; None: a plain fact."""
    date: tuple[int, int, int] | None = None
    """Year, month, day."""

    def day(self, language: Language) -> str:
        """The date as a reply in that language names it; empty where there is none."""
        if self.date is None:
            return ""
        year, month, day = self.date
        return f"{year}年{month}月{day}日" if language == "zh" else f"{day} {_MONTHS[month - 1]} {year}"


def read_units(text: str) -> tuple[Unit, ...]:
    """Take apart `[8 May 2023, 13:56] Caroline: text` lines; text without such a frame is a plain fact.

    A line without a frame goes on with the unit before it. Facts of a pool, which were written as turns that nobody
    spoke, are plain facts again.

    Example:
        >>> read_units("[8 May 2023, 13:56] Caroline: I adopted a dog.")
        (Unit(text='I adopted a dog.', speaker='Caroline', date=(2023, 5, 8)),)
    """
    units: list[Unit] = []
    for line in text.strip().split("\n"):
        match = _FRAME.match(line)
        if match is None and units:
            previous = units[-1]
            units[-1] = Unit(f"{previous.text}\n{line}".strip(), previous.speaker, previous.date)
        elif match is None:
            units.append(Unit(_STAMP.sub("", line).strip()))
        elif match["speaker"] == POOL_SPEAKER:
            units.append(Unit(match["text"].strip()))
        else:
            date = (int(match["year"]), _MONTHS.index(match["month"]) + 1, int(match["day"])) if match["day"] else None
            units.append(Unit(match["text"].strip(), match["speaker"].strip(), date))
    return tuple(unit for unit in units if unit.text)


def sentences(text: str) -> tuple[str, ...]:
    """Sentences in order, each with its closing mark; abbreviations, initials and decimals do not end one.

    Example:
        >>> sentences("Dr. Lee climbed Mt. Tam. It took 2.5 hours! 她很高兴。真的？")
        ('Dr. Lee climbed Mt. Tam.', 'It took 2.5 hours!', '她很高兴。', '真的？')
    """
    found: list[str] = []
    start = 0
    for match in _ENDS.finditer(text):
        piece = text[start : match.end()].strip()
        if match.group().startswith(".") and _ABBREVIATION.search(piece):
            continue
        if piece:
            found.append(piece)
        start = match.end()
    rest = text[start:].strip()
    return (*found, rest) if rest else tuple(found)


def language_of(*texts: str) -> Language:
    """The language to reply in, from the first text that has letters: Chinese where Han characters are a fair share.

    Texts with Japanese, Thai, Lao, Khmer or Burmese script are answered in the English frame around their own words.
    """
    for text in texts:
        letters = len(_LETTER.findall(text))
        if letters:
            chinese = len(_HAN.findall(text)) / letters >= _MOSTLY and not _OTHER_UNSPACED.search(text)
            return "zh" if chinese else "en"
    return "en"
