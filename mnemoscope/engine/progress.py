"""How a run tells that it goes on: a port that the command line fills in."""

from __future__ import annotations

from typing import Protocol

from mnemoscope.scenarios.source import ReadProgress

__all__ = ["NoProgress", "Progress"]


class Progress(Protocol):
    """Is told of every finished cell; must return at once."""

    def begin(self, total: int, done: int) -> None:
        """The grid has `total` cells, `done` of which were there before."""

    def cell(self, *, failed: bool) -> None:
        """One more cell is there."""

    def note(self, text: str) -> None:
        """Something that people should know: `reading locomo:locomo10.json`."""

    def read(self, at: ReadProgress) -> None:
        """A large file has been read so far."""

    def end(self) -> None:
        """No more will come."""


class NoProgress:
    """Tells nobody."""

    def begin(self, total: int, done: int) -> None:
        """Nothing."""

    def cell(self, *, failed: bool) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def read(self, at: ReadProgress) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""
