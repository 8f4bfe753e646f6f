"""How the offline detectors read a text: sentences as weighted tokens with polarity, quantities and people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import regex

from mnemoscope.core.language.entities import HAN_NAME
from mnemoscope.core.language.tokens import content_tokens, has_unspaced_script, lexical_tokens
from mnemoscope.evaluators.detectors._words import (
    CLAUSE,
    LIGHT,
    NEGATING_TOKENS,
    NEGATION,
    PRONOUNS,
    REFUSAL,
    RELATIONS,
    SENTENCE,
    canonical,
)
from mnemoscope.evaluators.detectors.quantity import Quantities, read_quantities

__all__ = ["FactReading", "SentenceReading", "read_fact", "read_reply"]

_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*")
_CAPITAL = regex.compile(r"(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{N}]*")
_OPENING = regex.compile(r"[^\p{L}\p{N}]*(?P<name>\p{Lu}[\p{L}]+)(?P<rest>['’]s\b|\s+(?P<next>[\p{L}]+))")
_VERB = regex.compile(
    r"(?:\w+(?:s|ed)|am|can|could|did|do|had|may|might|must|will|would|should|and|also|once|never|told|went|won|lost|got|made|took|saw|met|bought|began|cannot|\w+ly)"
)
_LIGHT_WEIGHT = 0.75
_TRANSLATION = str.maketrans({"\u2011": "-", "\u2019": "'", "\u200b": ""})


@dataclass(frozen=True, slots=True)
class SentenceReading:
    """One sentence of a reply."""

    text: str
    polarity: Mapping[str, frozenset[bool]]
    """Content token to the polarities it occurs with; True is negated. Without clauses that refuse."""
    polarity_with_refusals: Mapping[str, frozenset[bool]]
    """The same with them, for facts that are about not knowing."""
    quantities: Quantities
    names: frozenset[str]
    subject: str | None
    """A person named in front of the verb, lower-cased."""
    pronouns: frozenset[str]
    """Persons that pronouns speak of: `first, second, third`."""


@dataclass(frozen=True, slots=True)
class FactReading:
    """A fact, ready to be looked for."""

    weights: Mapping[str, float]
    """Content token to weight, without the subject and without dates and numbers."""
    polarity: Mapping[str, frozenset[bool]]
    quantities: Quantities
    names: frozenset[str]
    subject: str | None
    of_relation: bool
    """It is about a relation of somebody, so `you` and `I` do not stand for its subject."""
    of_doubt: bool
    """It says itself that something is not known or not sure."""
    unspaced: bool
    sentences: int
    name_tokens: frozenset[str]
    """Tokens of names other than the subject."""
    who: float
    """Weight of names and relations: what another person in their place would not share."""
    total: float
    """Sum of all weights, quantities included."""


def clean(text: str) -> str:
    """One spelling for hyphens and apostrophes."""
    return text.translate(_TRANSLATION)


def sentences_of(text: str) -> list[str]:
    """Sentences of English and Chinese text; abbreviations and decimals do not end one."""
    return [part.strip() for part in SENTENCE.split(clean(text)) if part and part.strip()]


@lru_cache(maxsize=4_096)
def read_reply(text: str) -> tuple[SentenceReading, ...]:
    """The sentences of a reply; clauses that say that something is not known are left out."""
    return tuple(_read_sentence(sentence) for sentence in sentences_of(text))


@lru_cache(maxsize=32_768)
def read_fact(text: str) -> FactReading:
    """A fact's weighted tokens, quantities and people."""
    parts = sentences_of(text)
    whole = " ".join(parts)
    quantities = read_quantities(whole)
    subject = subject_of(parts[0]) if parts else None
    names = frozenset(name for part in parts for name in _names(part)) | ({subject} if subject else frozenset())
    polarity = _polarity(" ".join(read_quantities(part).rest for part in parts), refusals=True)
    numbers = quantities.numbers
    skip = _tokens_of(subject) if subject else frozenset()
    name_tokens = frozenset(canonical(token) for name in names for token in lexical_tokens(name)) - skip
    weights = {
        token: 2.0 if token in name_tokens else _LIGHT_WEIGHT if token in LIGHT else 1.0
        for token in polarity
        if token not in skip and token not in numbers and not _is_number(token)
    }
    total = sum(weights.values()) + quantities.weight
    unspaced = has_unspaced_script(whole)
    related = any(t in RELATIONS for t in polarity) or any(r in whole for r in RELATIONS if has_unspaced_script(r))
    return FactReading(
        weights=weights,
        polarity=polarity,
        quantities=quantities,
        names=names,
        subject=subject,
        of_relation=related,
        of_doubt=REFUSAL.search(whole.lower()) is not None,
        unspaced=unspaced,
        sentences=max(1, len(parts)),
        name_tokens=name_tokens,
        who=sum(w for token, w in weights.items() if token in name_tokens or token in RELATIONS),
        total=total,
    )


def subject_of(sentence: str) -> str | None:
    """The person named at the head of a sentence, lower-cased; None where none is."""
    if (han := HAN_NAME.match(sentence)) is not None:
        return han.group()
    match = _OPENING.match(sentence)
    if match is None or match["name"].lower().endswith("ing") or not content_tokens(match["name"]):
        return None
    if match["next"] is not None and not _VERB.fullmatch(match["next"]):
        return None
    return match["name"].lower()


def _names(sentence: str) -> list[str]:
    head = next(iter(_WORD.findall(sentence)), "")
    names = [n for n in _CAPITAL.findall(sentence) if n != head and content_tokens(n)]
    return [name.lower() for name in names] + HAN_NAME.findall(sentence)


def _read_sentence(sentence: str) -> SentenceReading:
    quantities = read_quantities(sentence)
    subject = subject_of(sentence)
    lowered = sentence.lower()
    return SentenceReading(
        text=sentence,
        polarity=_polarity(quantities.rest, refusals=False),
        polarity_with_refusals=_polarity(quantities.rest, refusals=True),
        quantities=quantities,
        names=frozenset(_names(sentence)) | ({subject} if subject else frozenset()),
        subject=subject,
        pronouns=frozenset(kind for kind, pattern in PRONOUNS.items() if pattern.search(lowered)),
    )


def _polarity(text: str, *, refusals: bool) -> dict[str, frozenset[bool]]:
    found: dict[str, set[bool]] = {}
    for clause in CLAUSE.split(text.lower()):
        if not clause or (not refusals and REFUSAL.search(clause)):
            continue
        negated = NEGATION.search(clause) is not None
        for token in content_tokens(clause):
            if token in NEGATING_TOKENS:
                continue
            found.setdefault(canonical(token), set()).add(negated)
    return {token: frozenset(values) for token, values in found.items()}


def _tokens_of(subject: str) -> frozenset[str]:
    return frozenset(canonical(token) for token in lexical_tokens(subject))


def _is_number(token: str) -> bool:
    return token.isdecimal() or bool(read_quantities(token).numbers)
