"""Core memory: labelled blocks of lines that an agent always sees, each with a limit that nothing overruns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mnemoscope.memory_backends.item_store import united_sources
from mnemoscope.memory_backends.record import MemoryItem, Source

__all__ = ["BLOCKS", "HUMAN", "LABEL", "SPEAKER", "Block", "Line", "RefusedEditError", "blocks_of"]

PERSONA, HUMAN = "persona", "human"
BLOCKS = (PERSONA, HUMAN)
"""Labels: what the agent says of itself, and what it says of the people it talks to."""
LABEL = "block"
"""Attribute of a stored line: the label of its block."""
SPEAKER = "speaker"
"""Attribute of a stored line: who said what it was made from."""


class RefusedEditError(Exception):
    """An edit that is not made; the message is what the agent is told."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a block. Lines are stored one by one, so that each keeps the turns that it was made from."""

    text: str
    sources: tuple[Source, ...]
    speaker: str
    stored: MemoryItem | None = None
    """The stored line that this one is, or takes the place of; None for a new one."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it stands. Edits give a new block or raise `RefusedEditError`; nothing is ever cut off."""

    label: str
    limit: int
    """In characters."""
    lines: tuple[Line, ...] = ()

    @property
    def value(self) -> str:
        """The text that the agent sees."""
        return "\n".join(line.text for line in self.lines)

    def appended(self, line: Line) -> Block:
        """The block with a line more."""
        return self._within(replace(self, lines=(*self.lines, line)))

    def replaced(self, old: str, new: str, sources: Sequence[Source]) -> Block:
        """The block with other words in the place of some; a line that becomes blank goes.

        Args:
            old: A whole line, or words that stand in the block exactly once, letter by letter.
            new: What stands there instead; blank takes `old` away.
            sources: Of the new words; the edited lines keep theirs, too.
        """
        old, new = old.strip("\n"), new.strip("\n")
        first, last = self._place(old)
        edited = self.lines[first : last + 1]
        text = "\n".join(line.text for line in edited).replace(old, new, 1)
        united = united_sources(*(line.sources for line in edited), sources)
        texts = [line for line in text.split("\n") if line.strip()]
        lines = [
            replace(edited[0], text=line, sources=united, stored=None if place else edited[0].stored)
            for place, line in enumerate(texts)
        ]
        return self._within(replace(self, lines=(*self.lines[:first], *lines, *self.lines[last + 1 :])))

    def _place(self, old: str) -> tuple[int, int]:
        """The first and the last line that these words stand in."""
        whole = next((place for place, line in enumerate(self.lines) if line.text == old), None)
        if whole is not None:
            return whole, whole
        value = self.value
        if not old or value.count(old) != 1:
            times = value.count(old) if old else 0
            raise RefusedEditError(
                f"core memory [{self.label}] has {old!r} {times} times; give words that stand in it once, as they stand"
            )
        start = value.index(old)
        return value.count("\n", 0, start), value.count("\n", 0, start + len(old))

    def _within(self, block: Block) -> Block:
        size = len(block.value)
        if size > self.limit and size > len(self.value):
            raise RefusedEditError(
                f"core memory [{self.label}] would have {size:,} of {self.limit:,} characters; "
                "make room with core_memory_replace, or use archival_memory_insert"
            )
        return block


def blocks_of(items: Iterable[MemoryItem], limit: int) -> tuple[Block, ...]:
    """The blocks that stored lines make up, in order of writing.

    Args:
        items: The stored lines that hold.
        limit: Characters of each block.
    """
    lines: dict[str, list[Line]] = {label: [] for label in BLOCKS}
    for item in items:
        lines[item.attrs[LABEL]].append(Line(item.text, item.sources, item.attrs[SPEAKER], item))
    return tuple(Block(label, limit, tuple(held)) for label, held in lines.items())
