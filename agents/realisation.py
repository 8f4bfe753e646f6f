"""Whether a draft brings a memory in: the detector that `verify` asks, apart from the one that scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from mnemoscope.agents.writers.framing import Unit, read_units, sentences
from mnemoscope.agents.writers.stems import stem
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.core.ports import Use

__all__ = ["RealisationDetector"]

_ENOUGH = 0.7
"""Share of a fact's words that must stand in the draft in the fact's order."""
_OWN_SENTENCE = 4
"""A sentence of a turn with at least this many content words counts as the turn being brought in."""
_KEPT = 4096
"""Texts whose reading is kept: a draft is read against every slot, and a slot against every draft."""
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_PIECE = regex.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_SPACE = regex.compile(r"\s+")
_NUMBER = regex.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_CAPITAL = regex.compile(r"(?<!\w)\p{Lu}[\p{L}\p{M}]+")
_NEGATION = regex.compile(r"\b(?:not|no|never|none|nor|without|cannot)\b|n[’']t\b|[不没未无]", regex.IGNORECASE)
_ADDRESS = regex.compile(r"\b(?:I|me|my|mine|we|our|us|you|your|yours)\b|[我你您]", regex.IGNORECASE)
_WORDS_FOR_NUMBERS = {
    word: str(number)
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)
}
_MONTHS = {
    name: str(number)
    for number, name in enumerate(
        (
            *("january", "february", "march", "april", "may", "june"),
            *("july", "august", "september", "october", "november", "december"),
        ),
        start=1,
    )
}


@dataclass(frozen=True, slots=True)
class _Piece:
    """One content word, or one character of an unspaced script, and where it stands."""

    stem: str
    start: int
    end: int


class RealisationDetector:
    """Reads order: the words of a fact must stand in the draft one after the other, with its numbers and names.

    The longest common subsequence of content words (characters, where a script has no spaces) has to cover 70 % of
    the fact within as many neighbouring sentences as the fact has, and one more. Every number and every name of the
    fact is mandatory; the word that opens the fact may be replaced by "I" or "you". A negation that only one of the
    two holds rules the match out. Of a stored turn, one whole sentence is enough; the frame that names its speaker
    and time is not looked for.
    """

    @property
    def key(self) -> str:
        """Name and version of the rule."""
        return "realisation-1"

    def detect(self, reply: str, fact: str) -> Use:
        """Whether the visible reply brings the fact in.

        Args:
            reply: The visible text of a draft.
            fact: A stored text: a plain fact, or turns with speaker and time.
        """
        windows_of = sentences(reply)
        best = Use(used=False, score=0.0)
        for target in _targets(fact):
            size = len(sentences(target)) + 1
            for window in _windows(windows_of, size):
                use = _match(window, target)
                if (use.used, use.score) > (best.used, best.score):
                    best = use
        return best


@lru_cache(maxsize=_KEPT)
def _targets(fact: str) -> tuple[str, ...]:
    return tuple(_read_targets(fact))


def _read_targets(fact: str) -> Iterator[str]:
    units = read_units(fact)
    weights = [len(_pieces(unit.text)) + len(_numbers(unit.text)) for unit in units]
    for unit, weight in zip(units, weights, strict=True):
        if weight and 2 * weight >= max(weights):
            yield unit.text
            yield from _own_sentences(unit)


def _own_sentences(unit: Unit) -> Iterator[str]:
    parts = sentences(unit.text)
    if unit.speaker is not None and len(parts) > 1:
        yield from (part for part in parts if len(_pieces(part)) >= _OWN_SENTENCE)


def _windows(parts: Sequence[str], size: int) -> Iterator[str]:
    for length in range(1, size + 1):
        for start in range(len(parts) - length + 1):
            yield " ".join(parts[start : start + length])


def _match(window: str, fact: str) -> Use:
    if _stands_whole(fact, window):
        return Use(used=True, score=1.0, quote=window)
    wanted, found = _pieces(fact), _pieces(window)
    numbers = _numbers(fact)
    if not wanted:
        said = bool(numbers) and numbers <= _numbers(window)
        return Use(used=said, score=float(said), quote=window if said else "")
    if not {piece.stem for piece in wanted} & {piece.stem for piece in found}:
        return Use(used=False, score=0.0)
    pairs = _common([piece.stem for piece in wanted], [piece.stem for piece in found])
    share = round(len(pairs) / len(wanted), 6)
    if share < _ENOUGH or numbers - _numbers(window) or not _names_stand(fact, window):
        return Use(used=False, score=share)
    span = window[found[pairs[0]].start : found[pairs[-1]].end]
    if bool(_NEGATION.search(span)) != bool(_NEGATION.search(fact)):
        return Use(used=False, score=share)
    return Use(used=True, score=share, quote=window)


def _stands_whole(fact: str, window: str) -> bool:
    return bool(_pieces(fact)) and _whole(fact).search(window) is not None


@lru_cache(maxsize=_KEPT)
def _whole(fact: str) -> regex.Pattern[str]:
    words = _SPACE.sub(" ", fact).strip().rstrip(".。!！")
    return regex.compile(rf"(?<!\w){regex.escape(words)}(?!\w)")


@lru_cache(maxsize=_KEPT)
def _pieces(text: str) -> tuple[_Piece, ...]:
    """Content words in order; numbers are looked for by themselves, because a date may be written in another order."""
    return tuple(
        _Piece(stem(match.group().lower()), match.start(), match.end())
        for match in _PIECE.finditer(text)
        if not _number_of(match.group()) and content_tokens(match.group())
    )


def _number_of(word: str) -> str | None:
    """The number that a word stands for: digits, two to twelve, or a month with its capital."""
    if word.isdecimal():
        return str(int(word))
    lower = word.lower()
    return _WORDS_FOR_NUMBERS.get(lower) or (_MONTHS.get(lower) if word[:1].isupper() else None)


def _common(wanted: Sequence[str], found: Sequence[str]) -> list[int]:
    """Positions in `found` of a longest common subsequence."""
    rows = [[0] * (len(found) + 1) for _ in range(len(wanted) + 1)]
    for i in range(len(wanted) - 1, -1, -1):
        for j in range(len(found) - 1, -1, -1):
            same = wanted[i] == found[j]
            rows[i][j] = rows[i + 1][j + 1] + 1 if same else max(rows[i + 1][j], rows[i][j + 1])
    i = j = 0
    places: list[int] = []
    while i < len(wanted) and j < len(found):
        if wanted[i] == found[j]:
            places.append(j)
            i, j = i + 1, j + 1
        elif rows[i + 1][j] >= rows[i][j + 1]:
            i += 1
        else:
            j += 1
    return places


@lru_cache(maxsize=_KEPT)
def _numbers(text: str) -> frozenset[str]:
    digits = {_plain_number(match.group()) for match in _NUMBER.finditer(text)}
    words = {match.group() for match in _PIECE.finditer(text) if not match.group().isdecimal()}
    return frozenset(digits | {number for word in words if (number := _number_of(word))})


def _plain_number(text: str) -> str:
    whole, _, fraction = text.replace(",", "").partition(".")
    return str(int(whole)) + (f".{fraction}" if fraction.strip("0") else "")


def _names_stand(fact: str, window: str) -> bool:
    standing = {stem(match.group().lower()) for match in _PIECE.finditer(window)}
    opening, others = _names(fact)
    if others - standing:
        return False
    return opening is None or opening in standing or _ADDRESS.search(window) is not None


@lru_cache(maxsize=_KEPT)
def _names(fact: str) -> tuple[str | None, frozenset[str]]:
    """The capitalised word that opens the fact, and the names after it."""
    opening: str | None = None
    names: set[str] = set()
    for number, sentence in enumerate(sentences(fact)):
        first = _PIECE.search(sentence)
        for match in _CAPITAL.finditer(sentence):
            word = match.group().lower()
            if word in _MONTHS or not content_tokens(word):
                continue
            if first is None or match.start() != first.start():
                names.add(stem(word))
            elif number == 0:
                opening = stem(word)
    return opening, frozenset(names)
