"""Nearest vectors in Qdrant: in memory, in a folder, or on a server."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mnemoscope.core.errors import BackendError, ConfigError, MnemoscopeError
from mnemoscope.core.identity import ItemId, sha256_of
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.indexes._qdrant_clients import MEMORY, acquire, is_server, release
from mnemoscope.memory_backends.indexes._rows import checked_query, checked_rows, cut_with_ties, exact_scores, known
from mnemoscope.memory_backends.store import Hit, VectorIndex

__all__ = ["QdrantVectorIndex", "point_id"]

_LOG = logging.getLogger(__name__)
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:mnemoscope:item")
_BATCH = 256
_SPARE = 8
_SLACK = 2e-5
"""More than Qdrant's float32 scores of unit vectors can be off."""
_EMBEDDED_LIMIT = 20_000


def point_id(scope: str, item_id: str) -> str:
    """A stable UUIDv5 for an item of a scope: ids of any form become valid point ids; the original is kept as payload.

    Example:
        >>> point_id("run/lane", "D1:3") == point_id("run/lane", "D1:3")
        True
    """
    return str(uuid.uuid5(_NAMESPACE, f"{scope}\n{item_id}"))


class QdrantVectorIndex:
    """The index of one scope in Qdrant; it starts empty, and what it wrote is deleted when it is closed.

    A store's snapshot holds the vectors, so nothing is lost. In memory and in a folder each scope has its own
    collection, because the embedded engine filters slowly; on a server all scopes share one collection per
    dimension, with the scope as tenant key. Candidates come from Qdrant and are scored again from their stored
    vectors, so that scores and order are those of `ExactVectorIndex`; a server is asked for exact search.

    Args:
        dim: Length of every vector.
        location: `:memory:`, a folder, or a server's address. A folder belongs to one process at a time.
        scope: Whose vectors these are; may be open once per location.
        collection: Prefix of the collection's name (letters, digits, `-`, `_`).
        api_key: For servers that ask for one.
        closed: Is told when the scope is free again.

    Raises:
        ConfigError: The folder is in use or unusable, the server does not answer, the scope is open already, or the
            server's collection has another dimension.
    """

    def __init__(
        self,
        dim: int,
        *,
        location: str = MEMORY,
        scope: str = "default",
        collection: str = "mnemoscope",
        api_key: str | None = None,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        if dim < 1:
            raise ValueError(f"dim is {dim}; it must be at least 1")
        self._dim, self._scope, self._free = dim, scope, closed
        self._server = is_server(location)
        self._name = f"{collection}-{dim}" if self._server else f"{collection}-{dim}-{sha256_of(scope)[:16]}"
        self._space = f"{self._name}/{scope}"
        self._order: dict[ItemId, int] = {}
        self._warned = False
        self._shared = acquire(location, self._space, own=f"{collection}-", api_key=api_key)
        try:
            with self._calling("open") as client:
                self._start_empty(client)
        except BaseException:
            release(self._shared, self._space)
            closed()
            raise
        self._closed = False

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return self._dim

    def __len__(self) -> int:
        return len(self._order)

    def upsert(self, ids: Sequence[ItemId], vectors: Vectors) -> None:
        """Add vectors, or replace those of known ids in place, in batches.

        Raises:
            BackendError: The shape does not fit, an id occurs twice, a value is not finite, or Qdrant failed.
        """
        from qdrant_client.models import PointStruct

        rows = checked_rows(ids, vectors, self._dim)
        for start in range(0, len(ids), _BATCH):
            points = [
                PointStruct(
                    id=point_id(self._scope, item_id),
                    vector=row.tolist(),
                    payload={"id": item_id, "scope": self._scope},
                )
                for item_id, row in zip(ids[start : start + _BATCH], rows[start : start + _BATCH], strict=True)
            ]
            with self._calling("write") as client:
                client.upsert(self._name, points=points, wait=True)
            for item_id in ids[start : start + _BATCH]:
                self._order.setdefault(item_id, len(self._order))
        self._warn_if_large()

    def remove(self, ids: Sequence[ItemId]) -> None:
        """Forget vectors; `KeyError` for an unknown id, and then nothing is forgotten."""
        from qdrant_client.models import PointIdsList

        known(ids, self._order)
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            with self._calling("write") as client:
                client.delete(
                    self._name, points_selector=PointIdsList(points=[point_id(self._scope, i) for i in some]), wait=True
                )
            gone = {*some}
            kept = (item_id for item_id in self._order if item_id not in gone)
            self._order = {item_id: place for place, item_id in enumerate(kept)}

    def search(self, vector: np.ndarray, k: int, among: np.ndarray | None = None) -> list[Hit]:
        """The `k` best by inner product, then by order of insertion; more only where the last place is tied.

        A zero vector (a blank text) finds nothing. `among` says of each vector, in order of insertion, whether it may
        be found; Qdrant is asked for more until enough of them are.
        """
        query = checked_query(vector, self._dim)
        if k < 1 or not self._order or not query.any():
            return []
        points = self._nearest(query, k, among)
        if not points:
            return []
        ids = [ItemId(point.payload["id"]) for point in points]
        rows = np.asarray([point.vector for point in points], dtype=np.float32)
        order = np.asarray([self._order[item_id] for item_id in ids])
        return cut_with_ties(ids, exact_scores(rows, query), order, k)

    def vectors(self, ids: Sequence[ItemId]) -> Vectors:
        """The stored vectors of these ids, in this order; `KeyError` for an unknown id."""
        known(ids, self._order)
        found: dict[str, Any] = {}
        for start in range(0, len(ids), _BATCH):
            wanted = [point_id(self._scope, item_id) for item_id in ids[start : start + _BATCH]]
            with self._calling("snapshot") as client:
                records = client.retrieve(self._name, ids=wanted, with_payload=False, with_vectors=True)
            found.update((str(record.id), record.vector) for record in records)
        rows = [found[point_id(self._scope, item_id)] for item_id in ids]
        return np.asarray(rows, dtype=np.float32).reshape(len(ids), self._dim)

    def become(self, other: VectorIndex, ids: Sequence[ItemId]) -> None:
        """Hold what another index does."""
        self.remove(list(self._order))
        self.upsert(ids, other.vectors(ids))

    def close(self) -> None:
        """Delete this scope's vectors and give the client back; closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            with self._calling("open") as client:
                self._clear(client)
        finally:
            release(self._shared, self._space)
            self._free()

    def _nearest(self, query: Vectors, k: int, among: np.ndarray | None) -> list[Any]:
        from qdrant_client.models import SearchParams

        limit = k + _SPARE
        slack = _SLACK * max(1.0, float(np.linalg.norm(query)))
        while True:
            with self._calling("retrieve") as client:
                points: list[Any] = client.query_points(
                    self._name,
                    query=query.tolist(),
                    limit=limit,
                    query_filter=self._tenant() if self._server else None,
                    search_params=SearchParams(exact=True) if self._server else None,
                    with_payload=["id"],
                    with_vectors=True,
                ).points
            found = points if among is None else [one for one in points if among[self._order[one.payload["id"]]]]
            if len(points) < limit or (len(found) >= k and points[-1].score < found[k - 1].score - slack):
                return found
            limit *= 2 if among is None else 4

    def _start_empty(self, client: Any) -> None:
        from qdrant_client.models import Distance, KeywordIndexParams, KeywordIndexType, VectorParams

        params = VectorParams(size=self._dim, distance=Distance.DOT)
        if not self._server:
            client.delete_collection(self._name)
            client.create_collection(self._name, vectors_config=params)
            return
        if not client.collection_exists(self._name):
            client.create_collection(self._name, vectors_config=params)
            client.create_payload_index(
                self._name,
                field_name="scope",
                field_schema=KeywordIndexParams(type=KeywordIndexType.KEYWORD, is_tenant=True),
            )
        stored = client.get_collection(self._name).config.params.vectors
        size, distance = getattr(stored, "size", None), getattr(stored, "distance", None)
        if size != self._dim or distance != Distance.DOT:
            raise ConfigError(
                f"the Qdrant collection {self._name} holds {size}-dimensional vectors compared by {distance}, and "
                f"{self._dim}-dimensional ones compared by Dot are needed; delete it or choose another server"
            )
        self._clear(client)

    def _clear(self, client: Any) -> None:
        from qdrant_client.models import FilterSelector

        if self._server:
            client.delete(self._name, points_selector=FilterSelector(filter=self._tenant()), wait=True)
        else:
            client.delete_collection(self._name)

    def _tenant(self) -> Any:
        from qdrant_client.models import FieldCondition, Filter, MatchValue

        return Filter(must=[FieldCondition(key="scope", match=MatchValue(value=self._scope))])

    def _warn_if_large(self) -> None:
        if not self._server and not self._warned and len(self._order) > _EMBEDDED_LIMIT:
            self._warned = True
            _LOG.warning(
                "%d vectors in embedded Qdrant, which compares each of them in Python; use the vector store exact or "
                "a Qdrant server",
                len(self._order),
            )

    @contextmanager
    def _calling(self, phase: str) -> Iterator[Any]:
        with self._shared.lock:
            try:
                yield self._shared.client
            except MnemoscopeError:
                raise
            except Exception as error:
                raise BackendError(
                    f"Qdrant at {self._shared.place} failed ({type(error).__name__}: {error})", phase=phase
                ) from error
