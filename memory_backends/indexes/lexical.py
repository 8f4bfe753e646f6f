"""BM25 over script-aware tokens, with bm25s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.language.tokens import lexical_tokens
from mnemoscope.memory_backends.indexes._rows import PLACES, cut_with_ties, known
from mnemoscope.memory_backends.store import Hit

__all__ = ["Bm25Index", "Bm25Method"]

Bm25Method = Literal["lucene", "atire"]


class Bm25Index:
    """BM25 (Robertson and Zaragoza 2009) in the variant of Lucene or ATIRE.

    Document frequencies are global, so scores change as texts are added; the index is built again at the next
    search, not at each write. Tokens are those of `lexical_tokens`: words, or character bigrams where a script has
    no spaces. Stop words count; a query token that occurs twice counts twice.

    Args:
        method: `lucene` (idf always above zero) or `atire` (a term in every text scores zero).
        k1: Saturation of term frequency.
        b: Strength of length normalisation, 0–1.
    """

    def __init__(self, method: Bm25Method = "lucene", k1: float = 1.5, b: float = 0.75) -> None:
        if method not in ("lucene", "atire"):
            raise ValueError(f"method is {method!r}; write lucene or atire")
        if k1 < 0 or not 0 <= b <= 1:
            raise ValueError(f"k1 is {k1} and b is {b}; k1 must not be negative, b lies between 0 and 1")
        self.method, self.k1, self.b = method, k1, b
        self._ids: list[ItemId] = []
        self._places: dict[ItemId, int] = {}
        self._tokens: list[list[int]] = []
        self._vocabulary: dict[str, int] = {}
        self._built: Any = None

    def __len__(self) -> int:
        return len(self._ids)

    def upsert(self, ids: Sequence[ItemId], texts: Sequence[str]) -> None:
        """Add texts, or replace those of known ids in place.

        Raises:
            BackendError: Other numbers of ids and texts, or an id given twice.
        """
        if len(ids) != len(texts) or len(set(ids)) != len(ids):
            raise BackendError(f"{len(ids)} ids ({len(set(ids))} different) for {len(texts)} texts", phase="write")
        for item_id, text in zip(ids, texts, strict=True):
            tokens = [self._vocabulary.setdefault(token, len(self._vocabulary)) for token in lexical_tokens(text)]
            place = self._places.setdefault(item_id, len(self._ids))
            if place == len(self._ids):
                self._ids.append(item_id)
                self._tokens.append(tokens)
            else:
                self._tokens[place] = tokens
        if ids:
            self._built = None

    def remove(self, ids: Sequence[ItemId]) -> None:
        """Forget texts; `KeyError` for an unknown id, and then nothing is forgotten."""
        gone = set(known(ids, self._places))
        kept = [place for place in range(len(self._ids)) if place not in gone]
        self._ids = [self._ids[place] for place in kept]
        self._tokens = [self._tokens[place] for place in kept]
        self._places = {item_id: place for place, item_id in enumerate(self._ids)}
        self._built = None

    def search(self, text: str, k: int, among: np.ndarray | None = None) -> list[Hit]:
        """The `k` best with a score above zero, best first, then by order of insertion; ties of the last included.

        A query without a known token finds nothing. `among` says of each text, in order of insertion, whether it may
        be found.
        """
        tokens = [self._vocabulary[token] for token in lexical_tokens(text) if token in self._vocabulary]
        if k < 1 or not tokens or not any(self._tokens):
            return []
        scores = np.round(self._index().get_scores_from_ids(tokens), PLACES)
        hits = np.flatnonzero(scores > 0 if among is None else (scores > 0) & among)
        if len(hits) > k:
            last = np.partition(scores[hits], len(hits) - k)[len(hits) - k]
            hits = hits[scores[hits] >= last]
        return cut_with_ties([self._ids[i] for i in hits], scores[hits], hits, k)

    def fork(self) -> Bm25Index:
        """Another index with the same content; tokens and frequencies, which nobody changes, are shared."""
        other = Bm25Index(self.method, self.k1, self.b)
        other._ids, other._tokens, other._built = list(self._ids), list(self._tokens), self._built
        other._places, other._vocabulary = dict(self._places), dict(self._vocabulary)
        return other

    def _index(self) -> Any:
        if self._built is None:
            import bm25s

            index = bm25s.BM25(k1=self.k1, b=self.b, method=self.method, dtype="float64")
            index.index((self._tokens, self._vocabulary), create_empty_token=False, show_progress=False)
            self._built = index
        return self._built
