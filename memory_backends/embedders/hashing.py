"""Signed feature hashing: an embedder without a model, for tests and as a floor."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from mnemoscope.core.language.tokens import lexical_tokens
from mnemoscope.core.ports import Vectors

__all__ = ["HashEmbedder"]

_WORD, _GRAM = 1.0, 0.4


class HashEmbedder:
    """Words and the character trigrams of words, hashed to signed dimensions (Weinberger et al. 2009).

    The same on every machine. It knows overlap of words and spelling, and nothing of meaning. A text without
    letters or digits is described by its characters.

    Args:
        dim: Length of every vector.
    """

    cacheable = False

    def __init__(self, dim: int = 384) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int) or dim < 1:
            raise ValueError(f"dim is {dim!r}; it must be a whole number above 0")
        self._dim = dim

    @property
    def id(self) -> str:
        """Rule, version and dimension."""
        return f"hash-1@{self._dim}"

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return self._dim

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """Rows of unit length, shape `(len(texts), dim)`; a blank text gives a zero row."""
        rows = np.zeros((len(texts), self._dim), dtype=np.float64)
        for row, text in zip(rows, texts, strict=True):
            for token, count in Counter(lexical_tokens(text) or text.split()).items():
                for code, weight in _features(token):
                    row[(code >> 1) % self._dim] += count * (weight if code & 1 else -weight)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return np.asarray(unit, dtype=np.float32)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """0.0: hashing knows every token."""
        return 0.0


@lru_cache(maxsize=65_536)
def _features(token: str) -> tuple[tuple[int, float], ...]:
    padded = f"^{token}$"
    grams = [padded[i : i + 3] for i in range(len(padded) - 2)]
    return ((_code(f"w:{token}"), _WORD), *((_code(f"g:{gram}"), _GRAM) for gram in grams))


def _code(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
