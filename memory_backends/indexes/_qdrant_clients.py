"""Qdrant clients, one per place and process: an embedded folder is locked by whoever opens it."""

from __future__ import annotations

import ipaddress
import json
import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mnemoscope.core.errors import ConfigError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

__all__ = ["MEMORY", "Shared", "acquire", "is_server", "release"]

MEMORY = ":memory:"
_LOG = logging.getLogger(__name__)
_OPEN: dict[str, Shared] = {}
_LOCK = threading.Lock()


@dataclass(slots=True)
class Shared:
    """One client, the spaces open in it, and a lock around its calls."""

    client: QdrantClient
    place: str
    spaces: set[str] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)


def is_server(location: str) -> bool:
    """Whether a location is the address of a server."""
    return location.startswith(("http://", "https://"))


def acquire(location: str, space: str, *, own: str, api_key: str | None) -> Shared:
    """The client of a location, with `space` marked as in use.

    Args:
        location: `:memory:`, a folder, or an address.
        space: What the caller will write to; it can be open once.
        own: Prefix of the collections that may be cleared when a folder is opened.
        api_key: For servers that ask for one.

    Raises:
        ConfigError: The folder is open elsewhere or cannot be used, the server does not answer, or the space is
            taken.
    """
    if location == MEMORY:
        from qdrant_client import QdrantClient

        client = QdrantClient(location=MEMORY, force_disable_check_same_thread=True)
        return Shared(client, MEMORY, {space})
    place = location if is_server(location) else str(Path(location).expanduser().resolve())
    with _LOCK:
        shared = _OPEN.get(place)
        if shared is None:
            client = _connect(place, api_key) if is_server(place) else _open_folder(Path(place), own)
            shared = _OPEN[place] = Shared(client, place)
        if space in shared.spaces:
            raise ConfigError(f"{space!r} is already open in {place}; give each memory its own scope")
        shared.spaces.add(space)
    return shared


def release(shared: Shared, space: str) -> None:
    """Give a space back; the last one closes the client and so unlocks the folder."""
    with _LOCK:
        shared.spaces.discard(space)
        if not shared.spaces:
            _OPEN.pop(shared.place, None)
            shared.client.close()


def _connect(url: str, api_key: str | None) -> QdrantClient:
    from qdrant_client import QdrantClient

    client = QdrantClient(
        url=url,
        api_key=api_key,
        timeout=60,
        check_compatibility=False,
        trust_env=not _is_loopback(urlsplit(url).hostname or ""),
    )
    try:
        client.get_collections()
    except Exception as error:
        client.close()
        raise ConfigError(
            f"no Qdrant server answers at {url} ({type(error).__name__}); start it, mend the address, or use the "
            "vector store exact"
        ) from error
    return client


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _open_folder(folder: Path, own: str) -> QdrantClient:
    from qdrant_client import QdrantClient

    in_use = ConfigError(
        f"the Qdrant folder {folder} is in use by another process; give this run another path in the vector store "
        "option (qdrant:PATH), or use a server (qdrant:http://HOST:6333)"
    )
    try:
        if _is_locked(folder):
            raise in_use
        _set_damaged_meta_aside(folder / "meta.json")
        client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
    except RuntimeError as error:
        raise in_use from error
    except OSError as error:
        raise ConfigError(f"cannot use {folder} as a Qdrant folder: {error.strerror or error}") from error
    for left in client.get_collections().collections:
        if left.name.startswith(own):
            client.delete_collection(left.name)
    return client


def _is_locked(folder: Path) -> bool:
    lock = folder / ".lock"
    if not lock.is_file():
        return False
    import portalocker

    with lock.open("r+", encoding="utf-8") as handle:
        try:
            portalocker.lock(handle, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.LockException:
            return True
        portalocker.unlock(handle)
    return False


def _set_damaged_meta_aside(meta: Path) -> None:
    if not meta.exists():
        return
    try:
        json.loads(meta.read_text(encoding="utf-8"))
    except ValueError:
        aside = meta.with_name("meta.json.damaged")
        meta.replace(aside)
        _LOG.warning("the Qdrant folder %s was cut off while it was written; its index is kept as %s", meta, aside)
