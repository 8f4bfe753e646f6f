"""Is the expected answer given, and how much of a fact is said: evidence, vetoes, and fitted rules."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

import regex

from mnemoscope.core.language.entities import HAN_NAME
from mnemoscope.core.language.tokens import content_tokens, has_unspaced_script
from mnemoscope.core.ports import Embedder
from mnemoscope.evaluators.detectors._words import RELATIONS, canonical
from mnemoscope.evaluators.detectors.reading import clean, sentences_of, subject_of
from mnemoscope.evaluators.judges.offline.heard import conclusion
from mnemoscope.evaluators.judges.offline.likeness import Evidence, best_evidence, content_of
from mnemoscope.evaluators.judges.offline.rules import Features, Rules, features_of

__all__ = ["Said", "Veto", "answered", "fact_said", "is_shotgun", "names_another"]

Veto = Literal[
    "", "nothing said", "no statement to somebody", "opposite", "taken back", "another figure", "another person",
    "another word", "shotgun", "another polarity",
]  # fmt: skip

_YES = 0.5
_MARKER = regex.compile(
    r"\b(?:or|perhaps|maybe|possibly|could be|might be|may be|either|any of|one of)\b|可能|也许|或者?|说不定|要么"
    r"|还是"
)
_PIECE = regex.compile(r"[,;:，；、：]|\b(?:or|and|perhaps|maybe|possibly)\b|或者?|也可能|也许|还是|要么|和")
_CONDITION = regex.compile(r"\bif\b|如果|要是")
_MANY = 3
_SHORT_WORDS, _SHORT_CHARACTERS = 7, 60
_CLEFT = regex.compile(
    r"\b[Ii]t(?:'s| is| was| would be)(?: actually| really)?(?: your| my| his| her| their| the)? "
    r"(?P<who>[\p{L}-]+)(?= who\b| that\b|,|\.|$)"
)
_HAN_RELATION = "|".join(sorted((word for word in RELATIONS if has_unspaced_script(word)), key=len, reverse=True))
_HAN_CLEFT = regex.compile(rf"的(?:其实|就)?是[^，。！？]{{0,8}}?(?P<who>{_HAN_RELATION}|{HAN_NAME.pattern})")
_AGREES = regex.compile(r"\W*(?:yes|yeah|yep|correct|right|indeed|是的?|对|有|会)(?!\w*\s+or\b)(?:\W|$)")
_DENIES = regex.compile(r"\W*(?:no|nope|not|never|不|没|否)(?:\W|$|\p{Han})")


class Said(NamedTuple):
    """What a reply says of an expected text."""

    evidence: Evidence
    features: Features
    veto: Veto
    """Why it is no, whatever the features: another figure is given, for one. Empty where nothing speaks against it."""

    def probability(self, rules: Rules, rule: str) -> float:
        """Estimated probability under a fitted rule; 0 under a veto."""
        return 0.0 if self.veto else rules.rules[rule].probability(self.features)

    def holds(self, rules: Rules, rule: str) -> bool:
        """Whether the probability is above one half."""
        return self.probability(rules, rule) > _YES


async def answered(heard: str, question: str, expected: str, embedder: Embedder | None) -> Said:
    """Evidence that the question's expected answer is given.

    Args:
        heard: What is heard of the reply; of a reply that announces a final answer, only that counts.
        question: The question; its words tell nothing.
        expected: The expected answer.
        embedder: One that the rules are fitted to, or None.
    """
    final = conclusion(heard)
    said = await _said(final, expected, question, embedder)
    if polar := _polar_veto(final, expected):
        return said._replace(veto=polar)
    if not content_of(expected).weights and _polarity(expected) is not None and _polarity(final) == _polarity(expected):
        return said._replace(features=Features(1.0, None), veto="")
    if not said.veto and is_shotgun(final, expected, question):
        return said._replace(veto="shotgun")
    return said


async def fact_said(heard: str, fact: str, asked: str, embedder: Embedder | None) -> Said:
    """Evidence that a fact is said. Whom it is about tells nothing: replies say `you`.

    Args:
        heard: What is heard of the reply.
        fact: A plain sentence.
        asked: What the reply answers; its words tell nothing.
        embedder: One that the rules are fitted to, or None.
    """
    return await _said(heard, fact, f"{asked}\n{(subject_of(clean(fact)) or '').title()}", embedder)


async def _said(heard: str, expected: str, asked: str, embedder: Embedder | None) -> Said:
    evidence = best_evidence(heard, expected, asked)
    veto = _veto_of(evidence) or ("another person" if names_another(heard, expected, asked) else "")
    features = Features(round((evidence.recall + evidence.head) / 2, 6), None)
    if not veto:
        features = await features_of(heard, expected, evidence, embedder)
    return Said(evidence, features, veto)


def _veto_of(evidence: Evidence) -> Veto:
    """What in the best passage speaks against it, whatever its words."""
    if not evidence.passage:
        return "nothing said"
    if evidence.other:
        return "another figure"
    return "opposite" if evidence.opposed >= 0.5 else ""


def is_shotgun(text: str, expected: str, asked: str = "") -> bool:
    """Whether the expected answer is only one of several alternatives that the text offers.

    Alternatives are short pieces of one sentence, or of two neighbouring ones, that are joined by commas or `or`, with
    a word of guessing among them: at least two, and twice as many as those that are expected, are something else. Three
    other figures beside the expected one are a shotgun too.

    Example:
        >>> is_shotgun("Perhaps Lisbon, Porto, Faro or Braga.", "Porto")
        True
        >>> is_shotgun("Porto, I think, or maybe Faro.", "Porto")
        False
    """
    wanted, known = content_of(expected), content_of(asked)
    units = set(wanted.weights) - set(known.weights) or set(wanted.weights)
    marks = wanted.figures.marks - known.figures.marks

    def is_expected(piece: str) -> bool:
        said = content_of(piece)
        dates = any(said.figures.shares_date(date) for date in wanted.figures.dates)
        return dates or bool(units & set(said.weights) or marks & said.figures.marks)

    sentences = sentences_of(text)
    for sentence in (*sentences, *(f"{a} {b}" for a, b in pairwise(sentences))):
        lowered = sentence.lower()
        if not _MARKER.search(lowered) and len(_CONDITION.findall(lowered)) < _MANY:
            continue
        figures = content_of(sentence).figures.marks
        if figures & marks and len(figures - marks - known.figures.marks) >= _MANY:
            return True
        pieces = [piece for piece in _PIECE.split(sentence) if _is_alternative(piece, known.weights)]
        hits = sum(map(is_expected, pieces))
        if hits and len(pieces) - hits >= max(2, 2 * hits):
            return True
    return False


def _is_alternative(piece: str, known: Mapping[str, float]) -> bool:
    content = content_of(piece)
    short = len(piece.split()) <= _SHORT_WORDS and len(piece) <= _SHORT_CHARACTERS
    fresh = sum(weight for unit, weight in content.weights.items() if unit not in known)
    return short and bool(fresh >= 1 or content.figures.marks or content.figures.dates)


def names_another(heard: str, expected: str, asked: str) -> bool:
    """Whether a sentence says that it is somebody else: `It was Leopold`, `It's your sister who …`, `…的是你同事`."""
    wanted = content_of(expected)
    known = wanted.names | content_of(asked).names
    for sentence in sentences_of(heard):
        named = not wanted.names or wanted.names & content_of(sentence).names
        for who in (match["who"] for match in _CLEFT.finditer(sentence)):
            relation = canonical(who.lower())
            if relation in RELATIONS and relation not in wanted.weights:
                return True
            if who[0].isupper() and who.lower() not in known and content_tokens(who) and not named:
                return True
        if any(match["who"] not in f"{expected}\n{asked}" for match in _HAN_CLEFT.finditer(sentence)):
            return True
    return False


def _polar_veto(heard: str, expected: str) -> Veto:
    wanted, said = _polarity(expected), _polarity(heard)
    return "another polarity" if wanted is not None and said is not None and wanted != said else ""


def _polarity(text: str) -> bool | None:
    """Whether a text begins with a yes or a no; None where it begins with neither."""
    lowered = clean(text).lower()
    if _AGREES.match(lowered):
        return True
    return False if _DENIES.match(lowered) else None
