"""What vector indexes share: checking rows, scoring them so that position cannot matter, cutting with ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.store import Hit

__all__ = ["checked_query", "checked_rows", "cut_with_ties", "exact_scores", "known"]

PLACES = 6
"""Scores are rounded to this many decimals before they are ordered."""


def checked_rows(ids: Sequence[ItemId], vectors: Vectors, dim: int) -> Vectors:
    """Vectors as float32 rows, one per id.

    Raises:
        BackendError: Other numbers of rows or columns, an id given twice, or a value that is not finite.
    """
    rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32)) if len(ids) else np.empty((0, dim), np.float32)
    if rows.shape != (len(ids), dim):
        raise BackendError(
            f"vectors of shape {rows.shape} for {len(ids)} items in an index of {dim} dimensions", phase="write"
        )
    if len(set(ids)) != len(ids):
        raise BackendError("an id occurs twice in one batch of vectors", phase="write")
    if not np.isfinite(rows).all():
        raise BackendError("a vector holds a value that is not finite", phase="write")
    return rows


def checked_query(vector: np.ndarray, dim: int) -> Vectors:
    """A query vector as one float32 row; raises `BackendError` for another length or values that are not finite."""
    row = np.asarray(vector, dtype=np.float32).reshape(-1)
    if row.shape != (dim,):
        raise BackendError(
            f"a query vector of {row.size} dimensions in an index of {dim}; one embedder must make both",
            phase="retrieve",
        )
    if not np.isfinite(row).all():
        raise BackendError("the query vector holds a value that is not finite", phase="retrieve")
    return row


def known(ids: Sequence[ItemId], places: dict[ItemId, int]) -> list[int]:
    """Places of ids, in their order; `KeyError` names the first unknown one."""
    for item_id in ids:
        if item_id not in places:
            raise KeyError(f"no entry for item {item_id!r}")
    return [places[item_id] for item_id in ids]


def exact_scores(rows: Vectors, query: Vectors) -> np.ndarray:
    """Inner products in float64, one row at a time, rounded: equal rows get equal scores wherever they stand."""
    products = rows.astype(np.float64) * query.astype(np.float64)
    return np.asarray(np.round(products.sum(axis=1), PLACES) + 0.0)


def cut_with_ties(ids: Sequence[ItemId], scores: np.ndarray, order: np.ndarray, k: int) -> list[Hit]:
    """The `k` best by score, then by order of insertion, and whatever ties with the last of them."""
    ranked = np.lexsort((order, -scores))
    if len(ranked) > k:
        ranked = ranked[scores[ranked] >= scores[ranked[k - 1]]]
    return [(ids[i], float(scores[i])) for i in ranked]
