"""Ids from content: the same history gives the same ids on every machine."""

from __future__ import annotations

from collections import Counter

from mnemoscope.core.identity import canonical_json, sha256_of

__all__ = ["ContentIds"]

_DIGITS = 12


class ContentIds:
    """Ids made of a kind, a hash of the content and, for repeated content, a counter.

    Example:
        >>> ids = ContentIds()
        >>> first, second = ids.next("turn", "hello"), ids.next("turn", "hello")
        >>> second == f"{first}-2"
        True
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def next(self, kind: str, content: str) -> str:
        """A new id that no earlier call of this object returned.

        Args:
            kind: What the id is for (`turn`, `fact`); it starts the id.
            content: The text that the id stands for.
        """
        stem = f"{kind}-{sha256_of(canonical_json([kind, content]).encode(errors='surrogatepass'))[:_DIGITS]}"
        self._seen[stem] += 1
        repeats = self._seen[stem]
        return stem if repeats == 1 else f"{stem}-{repeats}"
