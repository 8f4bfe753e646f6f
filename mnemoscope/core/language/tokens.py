"""Tokens for every script: words where a script spaces them, character bigrams where it does not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import regex

__all__ = ["content_tokens", "estimate_tokens", "has_unspaced_script", "lexical_tokens"]

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
_SPACED = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]"
_RUN = regex.compile(
    rf"[{_UNSPACED}][{_UNSPACED}\p{{M}}]*|{_SPACED}[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]*", regex.VERSION1
)
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")

_ENGLISH_FUNCTION_WORDS = frozenset(
    (
        "a about after again all also am an and any are as at be because been before being both but by can could did "
        "do does doing down during each few for from further get gets getting go goes going got had has have having "
        "he her here hers herself him himself his how i if in into is it its itself just let like lot made make makes "
        "making me more most much my myself no nor not now of off on once one only or other our ours ourselves out "
        "over own really s same she should so some such t than that the their theirs them themselves then there these "
        "they thing things this those through to too under until up us very was we well were what when where which "
        "while who whom why will with would yes you your yours yourself yourselves d ll m re ve don didn doesn isn "
        "wasn won can couldn shouldn wouldn hasn haven aren weren"
    ).split(" ")
)
_CHINESE_FUNCTION_CHARACTERS = frozenset("的了是在我你他她它们这那有和与就都也很吗呢吧啊呀哦嗯着过地得把被让给对从到")


def has_unspaced_script(text: str) -> bool:
    """Whether the text holds characters of a script that is written without spaces between words."""
    return _IS_UNSPACED.search(text) is not None


@lru_cache(maxsize=65_536)
def lexical_tokens(text: str) -> tuple[str, ...]:
    """Tokens for lexical search, in order, lower-cased.

    Letters and digits of spaced scripts form words (`café` stays whole; for plain English this is `[a-z0-9]+`).
    Runs of Chinese, Japanese, Thai, Lao, Khmer or Burmese give overlapping character bigrams; a run of one
    character gives that character.

    Example:
        >>> lexical_tokens("The café's cake")
        ('the', 'café', 's', 'cake')
        >>> lexical_tokens("我养了猫")
        ('我养', '养了', '了猫')
    """
    tokens: list[str] = []
    for run in _RUN.findall(text.lower()):
        if not _IS_UNSPACED.match(run) or len(run) == 1:
            tokens.append(run)
        else:
            tokens.extend(run[i : i + 2] for i in range(len(run) - 1))
    return tuple(tokens)


def content_tokens(text: str) -> tuple[str, ...]:
    """`lexical_tokens` without English function words and without bigrams of Chinese function characters only.

    Example:
        >>> content_tokens("What is the name of my cat?")
        ('name', 'cat')
    """
    return tuple(
        token
        for token in lexical_tokens(text)
        if token not in _ENGLISH_FUNCTION_WORDS and not all(c in _CHINESE_FUNCTION_CHARACTERS for c in token)
    )


def estimate_tokens(texts: str | Iterable[str]) -> int:
    """An estimate of model tokens: one per character of an unspaced script, one per four other characters.

    It serves budgets that must be the same for every system on every machine; figures made with it are labelled
    "estimate". Usage that an endpoint reports is never replaced by it.

    Example:
        >>> estimate_tokens("four letters")
        3
    """
    if not isinstance(texts, str):
        return sum(estimate_tokens(text) for text in texts)
    dense = len(_IS_UNSPACED.findall(texts))
    return dense + math.ceil((len(texts) - dense) / 4)
