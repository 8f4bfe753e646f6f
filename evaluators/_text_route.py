"""The text route of loss attribution: which texts state a fact, and what it means that none is seen to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.core.ports import UseDetector
from mnemoscope.evaluators.case import EvaluationCase, joined_text
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import GoldFact, Turn

__all__ = ["TextRoute", "in_items", "in_store", "in_turns", "what_text_tells"]

_NEAR = 0.4
"""Share of a fact's content words; detectors know other forms of a word, so that fewer than most may be there."""


class TextRoute(NamedTuple):
    """Stored and retrieved, as texts tell; None where they cannot."""

    stored: bool | None
    retrieved: bool | None


def what_text_tells(
    case: EvaluationCase, fact: GoldFact, *, stored: bool, retrieved: bool, detector: UseDetector
) -> TextRoute:
    """What hits and misses of the text route are worth where no provenance decides.

    A hit counts. A miss says that a memory lacks the fact only where the detector sees some turn of the history state
    it, or where the memory holds nothing: a fact put together from several turns, or in words of its own, is missed in
    a memory that lost nothing.

    Args:
        case: The cell.
        fact: The fact.
        stored: Whether some stored text states it.
        retrieved: Whether some given text does; what is given was stored.
        detector: Reads the turns.
    """
    if stored or retrieved:
        return TextRoute(stored=True, retrieved=retrieved)
    if in_turns(case.history, fact, detector):
        return TextRoute(stored=False, retrieved=False)
    found = case.reply.retrieval
    is_empty = not case.stored.live and not (found and found.items)
    return TextRoute(False if is_empty else None, None if found and found.given_items else False)


def in_store(case: EvaluationCase, fact: GoldFact, wanted: frozenset[str], detector: UseDetector) -> bool:
    """Whether live items state a fact; a memory that only hands a pool over is read there."""
    if not case.stored.live:
        retrieval = case.reply.retrieval
        return retrieval is not None and in_items(case, fact, wanted, retrieval.items, detector)
    if _verbatim(case, wanted, case.stored.text):
        return True
    tokens = frozenset(content_tokens(fact.text))
    near = (item for item, words in zip(case.stored.live, case.stored.words, strict=True) if _near(tokens, words))
    return any(detector.detect(item.text, fact.text).used for item in near)


def in_items(
    case: EvaluationCase,
    fact: GoldFact,
    wanted: frozenset[str],
    items: tuple[MemoryItem, ...],
    detector: UseDetector,
) -> bool:
    """Whether the texts of all wanted sources stand in the items, or one item uses the fact."""
    return _verbatim(case, wanted, joined_text(items)) or _any_uses((item.text for item in items), fact, detector)


def in_turns(turns: Iterable[Turn], fact: GoldFact, detector: UseDetector) -> bool:
    """Whether one turn by itself states a fact."""
    return _any_uses((turn.text for turn in turns), fact, detector)


def _any_uses(texts: Iterable[str], fact: GoldFact, detector: UseDetector) -> bool:
    tokens = frozenset(content_tokens(fact.text))
    near = (text for text in texts if _near(tokens, frozenset(content_tokens(text))))
    return any(detector.detect(text, fact.text).used for text in near)


def _verbatim(case: EvaluationCase, wanted: frozenset[str], text: str) -> bool:
    texts = [case.source_text(source) for source in wanted]
    return bool(texts) and all(one is not None and one.lower() in text for one in texts)


def _near(tokens: frozenset[str], words: frozenset[str]) -> bool:
    """A cheap look before the detector reads a text."""
    return bool(tokens) and len(tokens & words) >= len(tokens) * _NEAR
