"""Small readings of a reply that several metrics share: refusals, hedges, negation, corrections, names."""

from __future__ import annotations

import regex

from mnemoscope.core.language.entities import HAN_NAME
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.evaluators.detectors._words import NEGATION, REFUSAL
from mnemoscope.evaluators.detectors.reading import clean

__all__ = ["corrects", "hedges", "names_in", "negates", "refuses"]

_NAME = regex.compile(r"(?<![\p{L}\p{N}])\p{Lu}[\p{L}]+")
_QUESTION_WORDS = frozenset({"what", "which", "who", "whose", "when", "where", "why", "how", "avoid"})
_HEDGE = regex.compile(
    r"\b(?:not sure|unsure|are you sure|could you (?:check|confirm)|can you (?:check|confirm)|double[- ]check|"
    r"is that right|might be (?:wrong|mistaken)|not certain|doesn['’]t (?:sound|seem) right)\b"
    r"|不(?:太)?确定|你确定|再确认|核对一下|是不是记错"
)
_CORRECTION = regex.compile(
    r"\b(?:small correction|a correction|to correct|correction:|not quite right|isn['’]t right|is not right|"
    r"isn['’]t correct|not correct|that['’]s wrong|you['’]re mistaken|you are mistaken|mixed up|misremember\w*|"
    r"actually,? (?:it|that|you|your|he|she|they|the)\b|you (?:said|told me|mentioned)\b.{0,60}\b(?:but|not)\b)"
    r"|更正|纠正|你记错|记错了|其实是|不对[,，。]|说错了"
)


def refuses(text: str) -> bool:
    """Whether something is said not to be known, not to be on record, or never to have come up."""
    return REFUSAL.search(clean(text).lower()) is not None


def hedges(text: str) -> bool:
    """Whether doubt is raised, or a check is asked for."""
    return _HEDGE.search(clean(text).lower()) is not None


def negates(text: str) -> bool:
    """Whether something is negated."""
    return NEGATION.search(clean(text).lower()) is not None


def corrects(text: str) -> bool:
    """Whether the reply puts something right, in the words that people use for it."""
    return _CORRECTION.search(clean(text).lower()) is not None


def names_in(text: str) -> frozenset[str]:
    """Capitalised words that are no function words, lower-cased, and Chinese names of the usual forms."""
    found = {name.lower() for name in _NAME.findall(clean(text)) if content_tokens(name)}
    return frozenset(found - _QUESTION_WORDS) | frozenset(HAN_NAME.findall(text))
