"""A reply cut into plain and marked pieces: the words that a verdict rests on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Piece", "pieces_of"]


class Piece(NamedTuple):
    """A stretch of text; marked where a verdict quotes it."""

    text: str
    marked: bool


def pieces_of(text: str, quotes: Iterable[str]) -> tuple[Piece, ...]:
    """Cut a text so that each quoted stretch is marked; the pieces joined give the text again.

    A quote that does not stand in the text word for word marks nothing.

    Example:
        >>> pieces_of("I know she has a cat.", ["has a cat"])
        (Piece(text='I know she ', marked=False), Piece(text='has a cat', marked=True), Piece(text='.', marked=False))
    """
    marked = [False] * len(text)
    for quote in quotes:
        at = text.find(quote) if quote.strip() else -1
        while at >= 0:
            marked[at : at + len(quote)] = [True] * len(quote)
            at = text.find(quote, at + len(quote))
    pieces: list[Piece] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or marked[end] != marked[start]:
            pieces.append(Piece(text[start:end], marked[start]))
            start = end
    return tuple(pieces)
