"""When items hold and of which kind they are, in columns: what a search may find is known before it begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Self

import numpy as np

from mnemoscope.memory_backends.record import ItemKind, MemoryItem

__all__ = ["ItemTable"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EVER, _NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class ItemTable:
    """Kind, first and last moment of each item of a store, in order of writing; the arrays grow by doubling."""

    def __init__(self) -> None:
        self._size = 0
        self._kinds = np.zeros(16, np.uint8)
        self._since = np.zeros(16, np.int64)
        self._until = np.zeros(16, np.int64)
        self._codes: dict[ItemKind, int] = {}

    def __len__(self) -> int:
        return self._size

    def append(self, items: Sequence[MemoryItem]) -> None:
        """Note further items."""
        while self._size + len(items) > len(self._kinds):
            self._kinds, self._since, self._until = (
                np.concatenate([column, np.zeros_like(column)]) for column in (self._kinds, self._since, self._until)
            )
        for place, item in enumerate(items, start=self._size):
            self._kinds[place] = self._codes.setdefault(item.kind, len(self._codes))
            self._since[place] = _EVER if item.observed_at is None else _instant(item.observed_at)
            self._until[place] = _NEVER if item.valid_to is None else _instant(item.valid_to)
        self._size += len(items)

    def end(self, place: int, at: datetime) -> None:
        """The item at this place holds no longer."""
        self._until[place] = _instant(at)

    def held(self, now: datetime | None, kinds: Collection[ItemKind] | None = None) -> np.ndarray:
        """Truth of `held_at(item, now)` per item, in order of writing; False for kinds that are not wanted."""
        until = self._until[: self._size]
        if now is None:
            held = until == _NEVER
        else:
            moment = _instant(now)
            held = (self._since[: self._size] <= moment) & (until > moment)
        return np.asarray(held if kinds is None else held & self.of(kinds))

    def of(self, kinds: Collection[ItemKind]) -> np.ndarray:
        """Which items are of one of these kinds."""
        codes = self._kinds[: self._size]
        wanted = np.zeros(self._size, np.bool_)
        for code in {self._codes[kind] for kind in kinds if kind in self._codes}:
            wanted |= codes == code
        return wanted

    def copy(self) -> Self:
        """Another one with the same content."""
        other = type(self)()
        other._size, other._codes = self._size, dict(self._codes)
        other._kinds, other._since, other._until = self._kinds.copy(), self._since.copy(), self._until.copy()
        return other


def _instant(at: datetime) -> int:
    """Microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND
