"""What speaks against a use although words agree: another month or name, one word in another's place, a `but`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import regex

from mnemoscope.core.language.tokens import content_tokens, has_unspaced_script, lexical_tokens
from mnemoscope.evaluators.detectors._words import CLAUSE, RELATIONS, canonical
from mnemoscope.evaluators.detectors.reading import sentences_of

__all__ = [
    "LINKS",
    "MONTHS",
    "is_calendar",
    "is_of_relative",
    "is_replaced",
    "is_taken_back",
    "months_of",
    "opening_words",
]

_MONTH_NAMES = (
    "january february march april may june july august september october november december".split()
)  # fmt: skip
MONTHS = frozenset(canonical(name) for name in _MONTH_NAMES)
"""Stems of the months' names."""
_MONTH = regex.compile(rf"\b(?:{'|'.join(name for name in _MONTH_NAMES if name != 'may')})\b")
_MAY = regex.compile(
    r"\b(?:in|until|till|by|since|from|of|through|before|after|last|next|early|late|mid)[ -]may\b|\bmay \d"
    r"|\d(?:st|nd|rd|th)? (?:of )?may\b"
)
_MONTH_NUMBER = regex.compile(r"\b\d{4}-(\d\d)\b|(?<!\d)(\d{1,2})\s*月")
_DAYS = frozenset(
    f"{day}{end}" for day in "monday tuesday wednesday thursday friday saturday sunday".split() for end in ("", "s")
)
LINKS = frozenset(
    canonical(word)
    for word in (
        "since until till because while whereas than though although during when whenever before after once also just "
        "still only even very really quite something anything everything nothing someone anyone everyone"
    ).split()
)
"""Stems of words that join or point, and tell nothing of what is said."""
_TAKEN_BACK = regex.compile(
    r"\b(?:but|yet|only|except|though)\b[^.!?]{0,40}?(?:\b(?:not|never|nobody|no one|none|refused|declined|rejected"
    r"|cancelled|canceled|fell through|gave up|called (?:it )?off)\b|n't\b|turned (?:\w+ )?down)"
    r"|(?:但是?|不过|可是|结果|后来)[^。！？]{0,12}(?:没|不|取消|放弃|拒绝)"
)
_HAN_RELATIONS = "|".join(sorted(filter(has_unspaced_script, RELATIONS)))
_RELATIVE = regex.compile(
    r"(?:^|[,;:.!?]\s*|\b(?:that|since|because|as|and|but|if|when|while)\s+)(?:your|my|his|her|their) (?P<who>\p{L}+)"
    rf"(?= (?!and\b|or\b|to\b|with\b)\p{{L}})|(?:^|[，。！？；])(?:你|我|他|她)(?:的|家)?(?P<who>{_HAN_RELATIONS})"
)
"""A relation in front of what it does."""
_FIRST_WORD = regex.compile(r"[\p{L}\p{N}]+")


class _Word(NamedTuple):
    """One word of a clause; the end of a clause is a word without a stem."""

    stem: str
    tells: bool
    """It has content that another word could take the place of."""


_END = _Word("", False)


def months_of(text: str) -> frozenset[int]:
    """The months that a text names, 1–12; `may` only where it stands as a month.

    Example:
        >>> sorted(months_of("She may leave in June or on 2024-05-02."))
        [5, 6]
    """
    lowered = text.lower()
    found = {_MONTH_NAMES.index(name) + 1 for name in _MONTH.findall(lowered)}
    numbers = (int(a or b) for a, b in _MONTH_NUMBER.findall(lowered))
    found |= {number for number in numbers if 1 <= number <= 12}
    return frozenset(found | ({5} if _MAY.search(lowered) else set()))


def is_calendar(name: str) -> bool:
    """Whether a capitalised word, lower-cased, is a weekday or a month and no name."""
    return name in _DAYS or name in _MONTH_NAMES


def opening_words(text: str) -> frozenset[str]:
    """The first word of each sentence, lower-cased: its capital does not make it a name."""
    found = (_FIRST_WORD.search(sentence) for sentence in sentences_of(text))
    return frozenset(match.group().lower() for match in found if match)


def is_of_relative(passage: str, fact: str) -> bool:
    """Whether a passage is about somebody's relation whom the fact does not know.

    Example:
        >>> is_of_relative("Your cousin takes the ferry, doesn't she?", "Ilse takes the ferry.")
        True
    """
    known = {canonical(token) for token in lexical_tokens(fact)}
    found = (canonical(match["who"]) for match in _RELATIVE.finditer(passage.lower()))
    return any(who in RELATIONS and who not in known and who not in fact for who in found)


def is_taken_back(passage: str) -> bool:
    """Whether a passage goes on to say that it came otherwise.

    Example:
        >>> is_taken_back("You offered it to a clinic, but they turned it down.")
        True
    """
    return _TAKEN_BACK.search(passage.lower()) is not None


def is_replaced(passage: str, fact: str) -> bool:
    """Whether beside a shared word, or beyond one small word next to it, another word stands in the fact's place.

    For scripts with spaces. A relation (`brother`) may fall away beside a name, and figures are compared elsewhere.

    Example:
        >>> is_replaced("You're on the early shift until June.", "Emeka works night shifts until June.")
        True
        >>> is_replaced("You're on nights until June.", "Emeka works night shifts until June.")
        False
    """
    said, wanted = _words(passage), _words(fact)
    in_passage, in_fact = ({word.stem for word in words} for words in (said, wanted))

    def differ(mine: _Word, theirs: _Word) -> bool:
        fresh = mine.stem not in in_passage and theirs.stem not in in_fact and mine.stem not in RELATIONS
        return mine.tells and theirs.tells and fresh

    shared = [(i, j) for (i, a), (j, b) in product(enumerate(wanted), enumerate(said)) if a.tells and a.stem == b.stem]
    for (i, j), step in product(shared, (-1, 1)):
        mine, theirs = _at(wanted, i + step), _at(said, j + step)
        if differ(mine, theirs):
            return True
        small = not mine.tells and mine.stem and mine.stem == theirs.stem
        if small and differ(_at(wanted, i + 2 * step), _at(said, j + 2 * step)):
            return True
    return False


def _at(words: Sequence[_Word], place: int) -> _Word:
    return words[place] if 0 <= place < len(words) else _END


@lru_cache(maxsize=16_384)
def _words(text: str) -> tuple[_Word, ...]:
    found: list[_Word] = []
    for clause in CLAUSE.split(text):
        for token in lexical_tokens(clause or ""):
            stem = canonical(token)
            found.append(_Word(stem, bool(content_tokens(token)) and stem not in LINKS and not token.isdecimal()))
        found.append(_END)
    return tuple(found)
