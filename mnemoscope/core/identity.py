"""Ids, content hashes and seeds: everything that must be the same on every machine and in every order."""

from __future__ import annotations

import hashlib
import json
from typing import NewType

__all__ = ["ItemId", "ProbeId", "ScenarioId", "SessionId", "TurnId", "canonical_json", "derive_seed", "sha256_of"]

ScenarioId = NewType("ScenarioId", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
ProbeId = NewType("ProbeId", str)
ItemId = NewType("ItemId", str)


def canonical_json(value: object) -> str:
    """One text per value: sorted keys, no spaces, no NaN; text stays readable, not escaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_of(value: str | bytes) -> str:
    """The hexadecimal sha256 of a text (as UTF-8) or of bytes."""
    return hashlib.sha256(value.encode() if isinstance(value, str) else value).hexdigest()


def derive_seed(*parts: str | int) -> int:
    """A 64-bit seed that depends on the parts alone, so that order of execution cannot change a result.

    Example:
        >>> derive_seed("pool", 7) == derive_seed("pool", 7)
        True
        >>> derive_seed("pool", 7) == derive_seed("pool", 8)
        False
    """
    return int.from_bytes(hashlib.sha256(canonical_json(list(parts)).encode()).digest()[:8], "big")
