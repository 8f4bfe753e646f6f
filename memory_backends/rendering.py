"""The one form in which turns are stored, embedded and shown, and in which memories are handed to an assistant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mnemoscope.core.language.display import conversation_time
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Turn

__all__ = ["item_text", "render_block", "unit_text", "without_time"]

_STAMP = re.compile(r"\[(?:undated|\d{1,2} [A-Z][a-z]+ \d{1,4}, \d\d:\d\d)\] ")


def unit_text(turn: Turn) -> str:
    """One turn as a memory keeps it: when, who, what was said, what a shared image shows.

    A window of several turns is one such line per turn, joined by line breaks, the time repeated on each.

    Example:
        >>> from datetime import UTC, datetime
        >>> at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
        >>> unit_text(Turn(turn_id="t1", session_id="s1", index=0, speaker="Ada", role="peer", text="Hi!", at=at))
        '[8 May 2023, 13:56] Ada: Hi!'
    """
    return f"[{conversation_time(turn.at)}] {turn.speaker}: {turn.content}"


def item_text(item: MemoryItem) -> str:
    """A memory as shown: its text, with the time of its latest source in front where the text does not open with one.

    A memory of unknown time is shown as it is.
    """
    if item.observed_at is None or _STAMP.match(item.text):
        return item.text
    return f"[{conversation_time(item.observed_at)}] {item.text}"


def without_time(text: str) -> str:
    """A text that opens with its time, as `unit_text` makes them, without it; any other stays as it is.

    Example:
        >>> without_time("[8 May 2023, 13:56] Ada: Hi!")
        'Ada: Hi!'
    """
    return _STAMP.sub("", text, count=1) if _STAMP.match(text) else text


def render_block(items: Sequence[MemoryItem]) -> str:
    """The memory block: the items in the given order, one per line.

    Where any item spans several lines, items are paragraphs with an empty line between them.
    """
    texts = [item_text(item) for item in items]
    return ("\n\n" if any("\n" in text for text in texts) else "\n").join(texts)
