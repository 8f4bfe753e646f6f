"""Memory that a reply shows: phrases of recall, and the specifics that a cue asks for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

import regex

from mnemoscope.evaluators.detectors._words import canonical
from mnemoscope.evaluators.detectors.reading import clean, sentences_of
from mnemoscope.evaluators.judges.offline.declining import declines, refuses_to_answer
from mnemoscope.evaluators.judges.offline.likeness import Content, content_of, passages_of

__all__ = ["Recalled", "claims", "cue_sentence", "recalled"]

_CUE = regex.compile(
    r"\b(?:you|we)(?: had| have|'d|'ve)?(?: also| just| once| already| previously)? "
    r"(?:told me|mentioned|said|shared|wrote|described|talked about|talked|were telling me|brought up|discussed)\b"
    r"|\byour? (?:told|telling) me\b|\b(?:last|the other) (?:time|day|week)\b.{0,20}\b(?:you|we)\b|\b(?:you"
    r"|we)\b.{0,30}\blast time\b"
    r"|\bi(?: do| still| also| can|'ll always)? (?:remember|recall)\b(?! to\b)|\bremember (?:when|how|that|you) "
    r"|\bif i remember\b"
    r"|\b(?:our|your) (?:last|previous|earlier|past) (?:chats?|conversations?|sessions?|talks?|messages?|entries"
    r"|entry)\b"
    r"|\b(?:as|like) (?:you|we) (?:said|mentioned|told|discussed)|\bfrom what you(?:'ve| have)? (?:told|said|shared"
    r"|mentioned)\b"
    r"|\bwelcome back\b.{0,80}\byou\b.{0,40}\b(?:earlier|before|last)"
    r"|你(?:之前|上次|以前|前几天|昨天|那次|曾经?)?(?:也|还|跟我|和我|给我|对我)*(?:说过|说起|提到|提过|提起|讲过"
    r"|讲到|聊过|聊起|告诉过?我|说(?=[^不]{0,12}[，。]))"
    r"|(?:上次|之前|以前|前几天|那天)(?:你|我们|咱们?|聊|说|提)|我(?:还|一直|都|也)*(?:记得|记着|没忘)|(?:记得"
    r"|记着)你"
)
_PROSE = frozenset(
    canonical(word)
    for word in (
        "system reply response acknowledge recall remember recognize mention previously prior knowledge know known "
        "conversation continuity session rather treat new information assistant should demonstrate show interest aware "
        "earlier refer express ask respond appropriate memory history context note"
    ).split()
)
"""Words in which descriptions of a good reply are written; they tell nothing of what was said."""
_ENOUGH = 2.0
"""Weight of specifics that shows memory: one name or figure, or two words."""
_MOST = 0.6
"""Share of the specifics from which the recall is full."""
_FIGURE_WEIGHT = 2.0

Outcome = Literal["full", "gist", "generic", "hallucinated", "admits"]


class Recalled(NamedTuple):
    """What a reply shows of what it should recall."""

    integrated: bool
    outcome: Outcome
    share: float
    """Weighted share of the specifics that the best passage holds, 0–1."""
    passage: str
    """The best passage where it shows memory, else the sentence with a cue phrase."""
    flags: tuple[str, ...]
    """`cue-without-fact`: it says that it remembers, and shows nothing of it."""


@lru_cache(maxsize=8_192)
def cue_sentence(heard: str) -> str:
    """The first sentence that says that something was said earlier; empty where there is none.

    Sentences that decline do not count: not remembering is no recall.

    Example:
        >>> cue_sentence("Nice! You mentioned the fair last week.")
        'You mentioned the fair last week.'
    """
    found = (s for s in sentences_of(heard) if _CUE.search(clean(s).lower()) and not declines(s))
    return next(found, "")


def recalled(heard: str, expected: str, cue: str) -> Recalled:
    """What is shown of the expected recall.

    Specifics are the words, names and figures of the description that the user's own turn does not hold and that are
    not the language of such descriptions. A passage shows memory where it holds a name, a figure or two words of them,
    with the same polarity. Phrases of recall earn nothing.

    Args:
        heard: What is heard of the reply.
        expected: What should be recalled.
        cue: What the user says.
    """
    specifics, known = content_of(expected), content_of(cue)
    weights = {u: w for u, w in specifics.weights.items() if u not in known.weights and u not in _PROSE}
    marks = specifics.figures.marks - known.figures.marks
    total = sum(weights.values()) + _FIGURE_WEIGHT * (len(marks) + len(specifics.figures.dates))
    best, passage = 0.0, ""
    for found in passages_of(heard):
        shown = _shown(found.content, specifics, weights, marks)
        if shown > best:
            best, passage = shown, found.text
    share = best / total if total else 0.0
    said = cue_sentence(heard)
    if best >= min(_ENOUGH, total) > 0:
        return Recalled(True, "full" if share >= _MOST else "gist", share, passage, ())
    flags = ("cue-without-fact",) if said else ()
    if refuses_to_answer(heard) and not said:
        return Recalled(False, "admits", share, "", flags)
    if said and _is_other(said, (specifics, known)):
        return Recalled(False, "hallucinated", share, said, ())
    return Recalled(False, "generic", share, said, flags)


def claims(heard: str, facts: Iterable[str], asked: str) -> int:
    """How many sentences say that something was said earlier, with words of their own that are in none of the facts."""
    known = [content_of(fact) for fact in facts] + [content_of(asked)]
    count = 0
    for sentence in sentences_of(heard):
        if not _CUE.search(clean(sentence).lower()) or declines(sentence):
            continue
        said = content_of(sentence)
        units = [u for u in said.weights if u not in _PROSE]
        fresh = [u for u in units if not any(u in side.weights for side in known)]
        count += len(fresh) >= _ENOUGH and len(fresh) > len(units) / 2
    return count


def _shown(said: Content, wanted: Content, weights: dict[str, float], marks: frozenset[str]) -> float:
    agreed = opposed = 0.0
    for unit, weight in weights.items():
        if (polarity := said.polarity.get(unit)) is not None:
            same = bool(polarity & wanted.polarity[unit])
            agreed, opposed = agreed + weight * same, opposed + weight * (not same)
    figures = len(marks & said.figures.marks) + sum(said.figures.shares_date(d) for d in wanted.figures.dates)
    return 0.0 if opposed > agreed else agreed + _FIGURE_WEIGHT * figures


def _is_other(sentence: str, known: Iterable[Content]) -> bool:
    """Whether a sentence names somebody, somewhere or a figure that nothing expected holds."""
    sides = tuple(known)
    own = content_of(sentence)
    names = frozenset(name for side in sides for name in side.names)
    marks = frozenset(mark for side in sides for mark in side.figures.marks)
    dates = [d for d in own.figures.dates if not any(side.figures.shares_date(d) for side in sides)]
    return bool(own.names - names or own.figures.marks - marks or dates)
