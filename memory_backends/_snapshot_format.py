"""The bytes of a store's snapshot: a header, the items as JSON, their vectors as raw little-endian float32."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

import numpy as np

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId, TurnId, canonical_json, sha256_of
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Provenance, Snapshot, Source

__all__ = ["SCHEMA_VERSION", "Content", "decode", "encode"]

SCHEMA_VERSION = 1
_MAGIC = b"mnemoscope-store\x00"
_SIZES = struct.Struct("<HII")
"""Schema version, length of the items' JSON, number of vectors."""


class Content(NamedTuple):
    """What a snapshot holds."""

    items: list[MemoryItem]
    vectors: Vectors | None
    embedder_id: str | None
    dim: int | None


def encode(items: Sequence[MemoryItem], vectors: Vectors | None, embedder_id: str | None, dim: int | None) -> Snapshot:
    """A snapshot of items in order of writing, with one vector per item or none at all."""
    content = {"embedder": embedder_id, "dim": dim, "items": [_to_json(item) for item in items]}
    text = canonical_json(content).encode("utf-8", "surrogatepass")
    raw = b"" if vectors is None else np.ascontiguousarray(vectors, dtype="<f4").tobytes()
    count = 0 if vectors is None else len(vectors)
    data = b"".join((_MAGIC, _SIZES.pack(SCHEMA_VERSION, len(text), count), text, raw))
    return Snapshot(data, SCHEMA_VERSION, sha256_of(data), embedder_id, dim)


def decode(snapshot: Snapshot) -> Content:
    """What a snapshot holds, once its bytes have proved whole.

    Raises:
        BackendError: Damaged bytes, or another or a newer format.
    """
    data = snapshot.data
    if sha256_of(data) != snapshot.sha256:
        raise BackendError("the snapshot is damaged: its sha256 does not match its bytes", phase="restore")
    start = len(_MAGIC) + _SIZES.size
    if not data.startswith(_MAGIC) or len(data) < start:
        raise BackendError("the bytes are no snapshot of a store", phase="restore")
    version, length, count = _SIZES.unpack_from(data, len(_MAGIC))
    if version != SCHEMA_VERSION:
        raise BackendError(
            f"the snapshot has format {version}, this version reads format {SCHEMA_VERSION}", phase="restore"
        )
    try:
        content = json.loads(data[start : start + length].decode("utf-8", "surrogatepass"))
        items = [_from_json(entry) for entry in content["items"]]
        embedder_id, dim, vectors = content["embedder"], content["dim"], None
        if dim is not None:
            flat = np.frombuffer(data, dtype="<f4", offset=start + length)
            vectors = flat.reshape(count, dim).astype(np.float32)
            if count != len(items):
                raise ValueError(f"{len(items)} items and {count} vectors")
    except (ValueError, KeyError, TypeError) as error:
        raise BackendError(f"the snapshot cannot be read ({type(error).__name__}: {error})", phase="restore") from error
    return Content(items, vectors, embedder_id, dim)


def _to_json(item: MemoryItem) -> dict[str, object]:
    return {
        "id": item.id,
        "kind": item.kind,
        "text": item.text,
        "sources": [[source.turn_id, source.method, source.weight] for source in item.sources],
        "at": [_written(item.observed_at), _written(item.valid_from), _written(item.valid_to)],
        "seq": [item.seq_from, item.seq_to],
        "version": item.version,
        "supersedes": item.supersedes,
        "links": list(item.links),
        "attrs": dict(item.attrs),
    }


def _from_json(entry: Mapping[str, Any]) -> MemoryItem:
    observed_at, valid_from, valid_to = map(_read, entry["at"])
    supersedes = entry["supersedes"]
    return MemoryItem(
        id=ItemId(entry["id"]),
        kind=cast("ItemKind", entry["kind"]),
        text=entry["text"],
        sources=tuple(Source(TurnId(turn), cast("Provenance", how), weight) for turn, how, weight in entry["sources"]),
        observed_at=observed_at,
        valid_from=valid_from,
        valid_to=valid_to,
        seq_from=entry["seq"][0],
        seq_to=entry["seq"][1],
        version=entry["version"],
        supersedes=None if supersedes is None else ItemId(supersedes),
        links=tuple(ItemId(link) for link in entry["links"]),
        attrs=entry["attrs"],
    )


def _written(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _read(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
