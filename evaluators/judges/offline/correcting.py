"""What a reply makes of a false premise, by what only the truth says and what only the premise says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import regex

from mnemoscope.core.language.tokens import has_unspaced_script
from mnemoscope.evaluators.detectors.offline import examine
from mnemoscope.evaluators.detectors.phrases import corrects, hedges
from mnemoscope.evaluators.detectors.reading import clean, sentences_of
from mnemoscope.evaluators.judges.offline.declining import refuses_to_answer
from mnemoscope.evaluators.judges.offline.likeness import Content, content_of

__all__ = ["correction_of"]

_ENOUGH = 0.4
_FIGURE_WEIGHT = 2.0
_THIRD = 2.0
"""Weight of what a reply puts in the premise's place, from which it is something of its own."""
_DOUBT = regex.compile(
    r"\bwas it really\b|\bis that really\b|\breally\?|\bdo(?:es)?n't (?:quite )?(?:match|fit|add up)"
    r"|\bare you (?:quite )?(?:sure|certain)"
    r"|\b(?:impression|feeling|thought|sure) (?:that )?(?:it|you|she|he|they|there)\b.{0,40}\b(?:longer|else|other"
    r"|different|another|more|less|earlier|later)"
    r"|\bsomething else\b|\bnot what i\b|\bmixing\b|\bcould be (?:wrong|mistaken)|\bsounds different"
    r"|\bremember(?:ed)? (?:it|that) differently"
    r"|记得不太?一样|印象(?:里|中)|咦|是不是记|别的(?:地方|人|时间)|好像不(?:是|对)|不太对|你(?:确定|肯定)"
    r"|有点(?:奇怪|出入)|对不上"
)
_QUESTION = regex.compile(r"[?？]\s*$")


def correction_of(heard: str, premise: str, truth: str, utterance: str = "") -> str:
    """`corrected`, `vague`, `unaware` or `wrong correction`.

    - `corrected`: figures that only the truth has are all said, or at least 40 % of the weight of the words that only
      it has, unnegated; whether or not the premise is quoted as well.
    - `wrong correction`: the premise is denied, or a correction is announced, and a name, a figure or two words of
      something third stand beside it.
    - `vague`: doubt, declining or denial without the truth.
    - `unaware`: everything else.

    Known misses: a truth put in other words, and a third thing that is told without denying the premise.
    """
    if not heard.strip():
        return "unaware"
    right, wrong, said = content_of(truth), content_of(premise), content_of(heard)
    known = content_of(utterance)
    if examine(heard, truth).used or _tells(said, right, wrong):
        return "corrected"
    false_only = set(wrong.weights) - set(right.weights)
    denied = any(said.polarity.get(unit) == frozenset({True}) for unit in false_only) or bool(
        (wrong.figures.marks - right.figures.marks) & said.figures.marks and _negated(heard)
    )
    announced = corrects(heard)
    doubts = _doubts(heard)
    if (denied or announced) and not doubts and _is_third(heard, (right, wrong, known)):
        return "wrong correction"
    return "vague" if doubts or denied or announced else "unaware"


def _tells(said: Content, right: Content, wrong: Content) -> bool:
    """Whether what only the truth has is said."""
    marks = right.figures.marks - wrong.figures.marks
    dates = [date for date in right.figures.dates if not wrong.figures.shares_date(date)]
    if marks or dates:
        return marks <= said.figures.marks and all(said.figures.shares_date(date) for date in dates)
    only = {unit: weight for unit, weight in right.weights.items() if unit not in wrong.weights}
    found = sum(weight for unit, weight in only.items() if False in said.polarity.get(unit, frozenset()))
    return bool(only) and found / sum(only.values()) >= _ENOUGH


def _doubts(heard: str) -> bool:
    lowered = clean(heard).lower()
    return hedges(heard) or refuses_to_answer(heard) or _DOUBT.search(lowered) is not None


def _negated(heard: str) -> bool:
    return any(True in polarity for polarity in content_of(heard).polarity.values()) or "not " in heard.lower()


def _is_third(heard: str, known: Iterable[Content]) -> bool:
    """Whether an assertion beside the denial holds a name, a figure or words of its own."""
    sides = tuple(known)
    units: Mapping[str, float] = {unit: 1.0 for side in sides for unit in side.weights}
    names = frozenset(name for side in sides for name in side.names)
    marks = frozenset(mark for side in sides for mark in side.figures.marks)
    for sentence in sentences_of(heard):
        if _QUESTION.search(sentence):
            continue
        own = content_of(sentence)
        if own.names - names or own.figures.marks - marks:
            return True
        fresh = sum(
            2 * weight if has_unspaced_script(unit) else weight  # two characters of Chinese make a word
            for unit, weight in own.weights.items()
            if unit not in units and own.polarity[unit] == frozenset({False})
        )
        if fresh >= _THIRD and any(unit in units for unit in own.weights):
            return True
    return False
