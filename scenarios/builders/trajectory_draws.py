"""Seeded draws that are the same on every machine and under every version of every library."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Draws"]

_T = TypeVar("_T")
_WORD = 1 << 64


class Draws:
    """A stream of numbers from sha256 over a seed and a counter.

    Builds must come out the same to the byte years later; the streams of standard generators may change between
    versions.

    Args:
        seed: Any whole number.

    Example:
        >>> Draws(7).randint(1, 6) == Draws(7).randint(1, 6)
        True
    """

    def __init__(self, seed: int) -> None:
        self._seed, self._counter = str(seed).encode(), 0
        self._words: list[int] = []

    def randrange(self, stop: int) -> int:
        """A number from 0 to `stop` - 1, each equally likely."""
        limit = _WORD - _WORD % stop
        while (word := self._word()) >= limit:
            pass
        return word % stop

    def randint(self, least: int, most: int) -> int:
        """A number from `least` to `most`, both included."""
        return least + self.randrange(most - least + 1)

    def uniform(self, least: float, most: float) -> float:
        """A number between the two."""
        return least + (most - least) * (self._word() / _WORD)

    def choice(self, options: Sequence[_T]) -> _T:
        """One of several."""
        return options[self.randrange(len(options))]

    def sample(self, options: Sequence[_T], count: int) -> list[_T]:
        """So many different ones, in drawn order.

        Raises:
            ValueError: There are fewer.
        """
        if count > len(options):
            raise ValueError(f"{count} cannot be drawn from {len(options)}")
        pool = list(options)
        for place in range(count):
            other = place + self.randrange(len(pool) - place)
            pool[place], pool[other] = pool[other], pool[place]
        return pool[:count]

    def _word(self) -> int:
        if not self._words:
            digest = hashlib.sha256(b"%s/%d" % (self._seed, self._counter)).digest()
            self._counter += 1
            self._words = [int.from_bytes(digest[place : place + 8], "big") for place in range(0, 32, 8)]
        return self._words.pop()
