"""How much of an expected text a reply holds: words, figures and polarity, passage by passage.

Words count by stem, Chinese by character. Capitalised words weigh 2, the first of a text included, because answers
begin with what they name; figures weigh 2, words that say little 0.5, a Chinese character 0.5, all others 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import regex

from mnemoscope.core.language.tokens import content_tokens, has_unspaced_script, lexical_tokens
from mnemoscope.evaluators.detectors._words import CLAUSE, LIGHT, NEGATING_TOKENS, NEGATION, canonical
from mnemoscope.evaluators.detectors.phrases import names_in
from mnemoscope.evaluators.detectors.quantity import read_quantities
from mnemoscope.evaluators.detectors.reading import clean, sentences_of
from mnemoscope.evaluators.judges.offline.declining import declines
from mnemoscope.evaluators.judges.offline.figures import Figures, read_figures

__all__ = ["Content", "Evidence", "Passage", "best_evidence", "content_of", "head_of", "passages_of"]

_HAN = regex.compile(r"\p{Han}")
_HAN_FUNCTION = frozenset(
    "的了是在我你他她它们这那有和与就都也很吗呢吧啊呀哦嗯着过地得把被让给对从到不没还再会要能可以为之而但或什么哪谁几多少"
)
_HEAD = regex.compile(r"(?<!\d),|,(?!\d)|[:()—–]|\s--?\s|\b(?:because|so|which|who|when|while|where)\b|[，：（）]")
_CLAUSE = regex.compile(rf"{CLAUSE.pattern}|\band\b")
_NEGATION = regex.compile(rf"{NEGATION.pattern}|\b(?:against|instead of|rather than|no longer)\b|不过敏|并不|而不")
_REACH = regex.compile(
    r"(?:[^\w.!?]+(?!(?:after|before|from|when|while|since|until|if|because|that|than|for|by|in|on|at)\b)[\w'-]+){1,5}"
)
"""How far a negation reaches: five words, and not into a phrase that begins with a preposition."""
_NOT_NEGATING = regex.compile(
    r"不容易|没少|不少|差不多|不得不|不一会|不仅|不但|\bnot only\b|\bno doubt\b|\bno wonder\b|难道不|怪不得|未婚"
    r"|不是(?=[^，。！？]{1,20}吗)"
)
_USER = frozenset({"user", "assistant"})
"""Words for whoever talks, in golds; replies say `you` and `I`."""
_LIGHT_WEIGHT, _WEIGHT, _NAME_WEIGHT, _FIGURE_WEIGHT, _HAN_WEIGHT = 0.5, 1.0, 2.0, 2.0, 0.5


class Content(NamedTuple):
    """What a text says, ready to be compared."""

    weights: Mapping[str, float]
    """Stem, or character of a script without spaces, to its weight; without numbers."""
    polarity: Mapping[str, frozenset[bool]]
    """The same to the polarities of the clauses that it stands in; True is negated."""
    figures: Figures
    names: frozenset[str]
    """Names, lower-cased."""


class Passage(NamedTuple):
    """One sentence of a reply, or two neighbouring ones."""

    text: str
    content: Content


class Evidence(NamedTuple):
    """What one passage holds of the expected text, each 0–1, or nothing."""

    recall: float = 0.0
    """Weighted share of what is expected beyond the question that the passage says."""
    head: float = 0.0
    """The same for the first clause of the expected text alone: answers come first and elaborate afterwards."""
    precision: float = 0.0
    """Share of what the passage says beyond the question that is expected."""
    opposed: float = 0.0
    """Share of `recall` that is said with the opposite polarity."""
    other: bool = False
    """A figure is expected, none is found, and another is said."""
    passage: str = ""


@lru_cache(maxsize=32_768)
def content_of(text: str) -> Content:
    """A text's weighted content, figures, names and polarities."""
    plain = clean(text).replace("不过敏", "不会过敏")  # where 不过 is no `but`
    names = names_in(plain)
    name_tokens = frozenset(canonical(token) for name in names for token in lexical_tokens(name))
    found: dict[str, set[bool]] = {}
    for clause in _CLAUSE.split(plain):
        lowered = read_quantities(clause).rest
        negator = _NEGATION.search(_NOT_NEGATING.sub(lambda match: "_" * len(match.group()), lowered))
        if negator is None or _HAN.search(lowered):
            scopes = [(lowered, negator is not None)]
        else:
            reach = _REACH.match(lowered, negator.end())
            end = reach.end() if reach else negator.end()
            scopes = [(lowered[: negator.start()], False), (lowered[negator.end() : end], True), (lowered[end:], False)]
        for words, negated in scopes:
            for unit in _units(words):
                found.setdefault(unit, set()).add(negated)
    weights = {unit: _weight(unit, name_tokens) for unit in found}
    return Content(weights, {u: frozenset(p) for u, p in found.items()}, read_figures(plain), names)


@lru_cache(maxsize=4_096)
def passages_of(text: str) -> tuple[Passage, ...]:
    """Sentences that do not decline to answer, alone and in pairs."""
    sentences = [s for s in sentences_of(text) if not declines(s)]
    pairs = [f"{a} {b}" for a, b in pairwise(sentences)]
    return tuple(Passage(words, content_of(words)) for words in (*sentences, *pairs))


@lru_cache(maxsize=16_384)
def head_of(text: str) -> str:
    """A text's first clause with content: `Soba noodles` of `Soba noodles, staying up late`."""
    return next((part for part in _HEAD.split(text) if content_tokens(part)), text)


def best_evidence(reply: str, expected: str, asked: str = "") -> Evidence:
    """The evidence of the passage that holds most; all zero where none holds anything.

    Args:
        reply: What is heard of the reply.
        expected: The expected answer, or a fact.
        asked: The question or the user's turn: what is said there already tells nothing.
    """
    wanted, known = content_of(expected), content_of(asked)
    head = content_of(head_of(expected))
    found = [_evidence(passage, wanted, head, known) for passage in passages_of(reply)]
    return max(found, key=lambda e: (e.recall * (1 - e.opposed), e.precision), default=Evidence())


def _evidence(passage: Passage, wanted: Content, head: Content, known: Content) -> Evidence:
    said = passage.content
    recall, opposed = _recall(said, wanted, known)
    wanted_figures = len(wanted.figures.marks - known.figures.marks) + len(wanted.figures.dates)
    shared = (wanted.figures.marks - known.figures.marks) & said.figures.marks or [
        date for date in wanted.figures.dates if said.figures.shares_date(date)
    ]
    others = (said.figures.marks - wanted.figures.marks - known.figures.marks) or said.figures.dates
    return Evidence(
        recall=recall,
        head=_recall(said, head, known)[0],
        precision=_precision(said, wanted, known),
        opposed=opposed,
        other=bool(wanted_figures and not shared and others),
        passage=passage.text,
    )


def _recall(said: Content, wanted: Content, known: Content) -> tuple[float, float]:
    fresh = {unit: weight for unit, weight in wanted.weights.items() if unit not in known.weights}
    marks = wanted.figures.marks - known.figures.marks
    dates = [date for date in wanted.figures.dates if not known.figures.shares_date(date)]
    if not fresh and not marks and not dates:
        fresh, marks, dates = dict(wanted.weights), wanted.figures.marks, list(wanted.figures.dates)
    agreed = opposed = 0.0
    for unit, weight in fresh.items():
        polarity = said.polarity.get(unit)
        if polarity is not None:
            same = bool(polarity & wanted.polarity[unit])
            agreed, opposed = agreed + weight * same, opposed + weight * (not same)
    figures = len(marks & said.figures.marks) + sum(said.figures.shares_date(date) for date in dates)
    total = sum(fresh.values()) + _FIGURE_WEIGHT * (len(marks) + len(dates))
    found = agreed + opposed + _FIGURE_WEIGHT * figures
    return (found / total if total else 0.0), (opposed / found if found else 0.0)


def _precision(said: Content, wanted: Content, known: Content) -> float:
    own = {unit: weight for unit, weight in said.weights.items() if unit not in known.weights}
    marks = said.figures.marks - known.figures.marks
    total = sum(own.values()) + _FIGURE_WEIGHT * len(marks)
    if not total:
        return 1.0
    shared = sum(weight for unit, weight in own.items() if unit in wanted.weights)
    return (shared + _FIGURE_WEIGHT * len(marks & wanted.figures.marks)) / total


def _units(words: str) -> Iterable[str]:
    for token in content_tokens(words):
        if has_unspaced_script(token):
            yield from (c for c in token if c not in _HAN_FUNCTION)
        elif token not in NEGATING_TOKENS and token not in _USER and not token.isdecimal():
            yield canonical(token)


def _weight(unit: str, names: frozenset[str]) -> float:
    if unit in names:
        return _NAME_WEIGHT
    if _HAN.match(unit):
        return _HAN_WEIGHT
    return _LIGHT_WEIGHT if unit in LIGHT else _WEIGHT
