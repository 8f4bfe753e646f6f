"""Judged text as delimited data: no text can close the fence that it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.evaluators.judges.injection import plain_text

__all__ = ["FENCE_VERSION", "Part", "boundary", "fenced"]

FENCE_VERSION = 1
"""Of the form of fences; part of every judge key."""
_LENGTH = 20
"""Hexadecimal digits, so 80 bits."""


class Part(NamedTuple):
    """One piece of data shown to the judge, under the name by which the task speaks of it."""

    name: str
    text: str


def boundary(parts: Sequence[Part], seed: int = 0) -> str:
    """A code that occurs in none of the parts.

    It is a hash of all parts and the seed: equal data gets equal prompts, which can be cached, and a text that holds
    its own code would be a fixed point of sha256. A code that does occur, in any spelling that reads alike, is passed
    over for the next one, so absence is not only likely but checked.

    Args:
        parts: Everything that will be fenced.
        seed: Another seed gives other codes.
    """
    parts = [Part(part.name, _encodable(part.text)) for part in parts]
    said = "\n".join(_folded(part.text) for part in parts)
    for attempt in range(len(said) + 1):  # more codes than places where one could stand
        code = sha256_of(canonical_json(["fence", FENCE_VERSION, seed, attempt, *map(list, parts)]))[:_LENGTH]
        if code not in said:
            return code
    raise AssertionError("a text cannot hold more codes than it has characters")


def fenced(parts: Sequence[Part], seed: int = 0) -> tuple[str, str]:
    """All parts between fences, and the code that the fences carry.

    Example:
        >>> text, code = fenced([Part("reply", "Pixel, I think.")])
        >>> text.replace(code, "CODE").splitlines()
        ['[[reply CODE]]', 'Pixel, I think.', '[[end of reply CODE]]']
    """
    code = boundary(parts, seed)
    blocks = (f"[[{part.name} {code}]]\n{_encodable(part.text)}\n[[end of {part.name} {code}]]" for part in parts)
    return "\n\n".join(blocks), code


def _folded(text: str) -> str:
    """What a reader could take for the text: only letters and digits, folded."""
    return re.sub(r"[\W_]+", "", plain_text(text).casefold())


def _encodable(text: str) -> str:
    """The text as it can be sent: lone surrogates become `?`."""
    return text.encode(errors="replace").decode()
