"""Lexical likeness of texts: BM25 for searching, cosine of rare words for comparing, coverage for finding."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from mnemoscope.core.language.tokens import content_tokens, lexical_tokens

__all__ = ["Lexicon"]

_K1, _B = 1.5, 0.75


class Lexicon:
    """Texts with their word statistics.

    Args:
        texts: The texts; results refer to them by position.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._tokens = [Counter(lexical_tokens(text)) for text in texts]
        self._contents = [Counter(content_tokens(text)) for text in texts]
        self._lengths = [sum(tokens.values()) for tokens in self._tokens]
        self._mean = sum(self._lengths) / len(texts) if texts else 0.0
        self._postings: dict[str, list[int]] = {}
        for position, tokens in enumerate(self._tokens):
            for token in tokens:
                self._postings.setdefault(token, []).append(position)

    def __len__(self) -> int:
        return len(self._tokens)

    def idf(self, token: str) -> float:
        """How rare a word is: ln(1 + (N - n + .5) / (n + .5)), 0 or more."""
        n = len(self._postings.get(token, ()))
        return math.log(1 + (len(self._tokens) - n + 0.5) / (n + 0.5))

    def bm25(self, query: str, limit: int, *, until: int | None = None) -> list[tuple[int, float]]:
        """The best texts by BM25 (Lucene's form), best first, ties by position.

        Args:
            query: What is searched.
            limit: How many at most; texts without a common word are never given.
            until: Only texts before this position.
        """
        scores: dict[int, float] = {}
        for token in dict.fromkeys(lexical_tokens(query)):
            weight = self.idf(token)
            for position in self._postings.get(token, ()):
                if until is not None and position >= until:
                    break
                tf = self._tokens[position][token]
                norm = _K1 * (1 - _B + _B * self._lengths[position] / self._mean)
                scores[position] = scores.get(position, 0.0) + weight * tf / (tf + norm)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def coverage(self, text: str, position: int) -> float:
        """Share (0–1) of a text's content words that the text at a position has; 0 for a text without any."""
        wanted = set(content_tokens(text))
        return len(wanted & self._contents[position].keys()) / len(wanted) if wanted else 0.0

    def best_coverage(self, text: str, positions: Iterable[int]) -> float:
        """The largest `coverage` over some positions; 0 without any."""
        wanted = set(content_tokens(text))
        if not wanted:
            return 0.0
        return max((len(wanted & self._contents[position].keys()) for position in positions), default=0) / len(wanted)

    def likeness(self, text: str, position: int) -> float:
        """Cosine (0–1) of content words weighted by rarity, between a text and the one at a position."""
        return _cosine(self._vector_of(Counter(content_tokens(text))), self._vectors[position])

    def likenesses(self, text: str, until: int) -> list[float]:
        """`likeness` to each text before a position."""
        own = self._vector_of(Counter(content_tokens(text)))
        return [_cosine(own, self._vectors[position]) for position in range(until)]

    def shared(self, text: str, position: int) -> tuple[str, ...]:
        """Content words that both have, rarest first."""
        common = set(content_tokens(text)) & self._contents[position].keys()
        return tuple(sorted(common, key=lambda token: (-self.idf(token), token)))

    @cached_property
    def _vectors(self) -> list[dict[str, float]]:
        return [self._vector_of(tokens) for tokens in self._contents]

    def _vector_of(self, tokens: Counter[str]) -> dict[str, float]:
        """Weights of words, of unit length."""
        weights = {token: count * self.idf(token) for token, count in tokens.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {token: weight / length for token, weight in weights.items()} if length else {}


def _cosine(a: dict[str, float], b: dict[str, float]) -> float:
    if len(b) < len(a):
        a, b = b, a
    return min(1.0, sum(weight * b.get(token, 0.0) for token, weight in a.items()))
