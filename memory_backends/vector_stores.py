"""Vector stores by their written names: `exact`, `qdrant:PATH`, `qdrant:http://HOST:6333`, `qdrant::memory:`."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Callable

from mnemoscope.core.errors import ConfigError
from mnemoscope.memory_backends.store import VectorIndex

__all__ = ["VECTOR_STORE_FORMS", "open_vector_store"]

VECTOR_STORE_FORMS = ("exact", "qdrant:PATH", "qdrant:http://HOST:6333", "qdrant::memory:")


def open_vector_store(text: str, *, scope: str | None = None) -> Callable[[int], VectorIndex]:
    """What makes empty vector indexes, as a `Ports.vector_index` is.

    Every call of the result gives a new, empty and separate index of the given dimension. A server that asks for a
    key is given `QDRANT_API_KEY`.

    Args:
        text: `exact`, `qdrant:PATH`, `qdrant:http://…` or `qdrant::memory:`.
        scope: Tenant key on a shared server; it must differ between those that write at the same time. Whoever comes
            again under a scope clears what was left there. None: made of this host's name and process number.

    Raises:
        ConfigError: Another form. A folder or server that cannot be used is reported by the first call.
    """
    kind, _, location = text.strip().partition(":")
    if kind == "exact" and not location:
        return _exact
    if kind != "qdrant" or not location:
        raise ConfigError(f"unknown vector store {text!r}; write one of {', '.join(VECTOR_STORE_FORMS)}")
    tenant = scope if scope is not None else f"{socket.gethostname()}-{os.getpid()}"
    taken: set[int] = set()
    api_key = os.environ.get("QDRANT_API_KEY") or None

    def make(dim: int) -> VectorIndex:
        from mnemoscope.memory_backends.indexes.qdrant import QdrantVectorIndex

        # The lowest free number, so that whoever comes again opens the same few scopes and so clears them.
        number = next(number for number in itertools.count(1) if number not in taken)
        taken.add(number)
        return QdrantVectorIndex(
            dim,
            location=location,
            scope=f"{tenant}#{number}",
            api_key=api_key,
            closed=lambda: taken.discard(number),
        )

    return make


def _exact(dim: int) -> VectorIndex:
    from mnemoscope.memory_backends.indexes.exact import ExactVectorIndex

    return ExactVectorIndex(dim)
