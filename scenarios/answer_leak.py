"""How much of an answer an utterance gives away: the leak measure of LoCoMo-Conv's construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["LEAK_LIMITS", "answer_leak"]

LEAK_LIMITS: Mapping[str, float] = {"dialog": 0.6, "implicit": 0.2, "counterfactual": 0.3, "composed": 0.1}
"""Largest leak that passes, by style: the limits of the programmatic validation, and for composed utterances the
stricter one of the repair rounds (their validation allows 0.25)."""

_SHORT = 3


def answer_leak(utterance: str, answers: Sequence[str]) -> float | None:
    """Share of the answers' words that occur in the utterance.

    LoCoMo-Conv, leak repair: words are split at white space, those of at most three characters are left out, and a
    word occurs where it is a substring. Case is ignored here.

    Args:
        utterance: What the user says.
        answers: The gold answers; their words are pooled.

    Returns:
        The share, 0 to 1, or None where no answer has a word that counts.

    Example:
        >>> answer_leak("When did I paint that sunrise?", ["a sunrise in 2022"])
        0.5
        >>> answer_leak("When was it?", ["May"]) is None
        True
    """
    heard = utterance.lower()
    words = [word for answer in answers for word in answer.lower().split() if len(word) > _SHORT]
    return sum(word in heard for word in words) / len(words) if words else None
