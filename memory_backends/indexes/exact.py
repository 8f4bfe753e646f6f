"""Exact nearest vectors in numpy: the default index, and the measure that others are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.indexes._rows import checked_query, checked_rows, cut_with_ties, exact_scores, known
from mnemoscope.memory_backends.store import Hit, VectorIndex

__all__ = ["ExactVectorIndex"]

_FLOAT32_SLACK = 1e-5
"""More than a float32 inner product of unit vectors can be off; candidates within it are scored again in float64."""
_GATHERS = 8
"""Where fewer than one row in so many may be found, they are gathered; else all are multiplied, which is faster."""


class ExactVectorIndex:
    """All vectors in one growing array; a search is one matrix product.

    Linear in the number of vectors. Results do not depend on where a row stands: candidates are found in float32
    and scored in float64, rounded to 1e-6.

    Args:
        dim: Length of every vector.
    """

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise ValueError(f"dim is {dim}; it must be at least 1")
        self._rows: Vectors = np.empty((0, dim), dtype=np.float32)
        self._ids: list[ItemId] = []
        self._places: dict[ItemId, int] = {}
        self._longest = 0.0
        self._shared = False
        """Another index reads the same rows: they are copied before they change."""

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return int(self._rows.shape[1])

    def __len__(self) -> int:
        return len(self._ids)

    def upsert(self, ids: Sequence[ItemId], vectors: Vectors) -> None:
        """Add vectors, or replace those of known ids in place.

        Raises:
            BackendError: The shape does not fit, an id occurs twice, or a value is not finite.
        """
        rows = checked_rows(ids, vectors, self.dim)
        if not len(rows):
            return
        self._reserve(len(ids))
        for item_id in ids:
            if item_id not in self._places:
                self._places[item_id] = len(self._ids)
                self._ids.append(item_id)
        self._rows[[self._places[item_id] for item_id in ids]] = rows
        self._longest = max(self._longest, float(np.linalg.norm(rows, axis=1).max()))

    def remove(self, ids: Sequence[ItemId]) -> None:
        """Forget vectors; `KeyError` for an unknown id, and then nothing is forgotten."""
        gone = set(known(ids, self._places))
        kept = [place for place in range(len(self._ids)) if place not in gone]
        self._rows, self._shared = self._rows[kept], False
        self._ids = [self._ids[place] for place in kept]
        self._places = {item_id: place for place, item_id in enumerate(self._ids)}

    def search(self, vector: np.ndarray, k: int, among: np.ndarray | None = None) -> list[Hit]:
        """The `k` best by inner product, then by order of insertion; more only where the last place is tied.

        A zero vector (a blank text) finds nothing. `among` says of each vector, in order of insertion, whether it may
        be found.
        """
        query = checked_query(vector, self.dim)
        if k < 1 or not self._ids or not query.any():
            return []
        rows = self._rows[: len(self._ids)]
        places = np.arange(len(rows)) if among is None else np.flatnonzero(among)
        near = places if len(places) <= k else self._candidates(rows, query, k, places)
        return cut_with_ties([self._ids[i] for i in near], exact_scores(rows[near], query), near, k)

    def vectors(self, ids: Sequence[ItemId]) -> Vectors:
        """A copy of the stored vectors of these ids, in this order; `KeyError` for an unknown id."""
        return np.asarray(self._rows[known(ids, self._places)], dtype=np.float32).reshape(len(ids), self.dim)

    def become(self, other: VectorIndex, ids: Sequence[ItemId]) -> None:
        """Hold what another index does. Rows of an exact one are shared until either side changes."""
        if not isinstance(other, ExactVectorIndex):
            self.remove(self._ids)
            self.upsert(ids, other.vectors(ids))
            return
        self._rows, self._longest = other._rows, other._longest
        self._ids, self._places = list(other._ids), dict(other._places)
        self._shared = other._shared = True

    def close(self) -> None:
        """Nothing to release."""

    def _candidates(self, rows: Vectors, query: Vectors, k: int, places: np.ndarray) -> np.ndarray:
        few = _GATHERS * len(places) < len(rows)
        rough = rows[places] @ query if few else (rows @ query)[places]
        slack = _FLOAT32_SLACK * max(1.0, self._longest * float(np.linalg.norm(query)))
        last = np.partition(rough, len(rough) - k)[len(rough) - k]
        return np.asarray(places[rough >= last - 2 * slack])

    def _reserve(self, more: int) -> None:
        needed = len(self._ids) + more
        if self._shared or needed > len(self._rows):
            room = len(self._rows) if needed <= len(self._rows) else max(needed, 2 * len(self._rows), 16)
            grown = np.empty((room, self.dim), dtype=np.float32)
            grown[: len(self._ids)] = self._rows[: len(self._ids)]
            self._rows, self._shared = grown, False
