"""Showing dialogue safely: cutting without breaking characters, making direction controls visible, naming times."""

from __future__ import annotations

from datetime import date, datetime
from itertools import islice

import regex

__all__ = ["clip", "conversation_day", "conversation_month", "conversation_time", "visible_controls"]

_GRAPHEME = regex.compile(r"\X")
_CONTROL_NAMES = {
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
    0x200E: "LRM",
    0x200F: "RLM",
}
_CONTROL_TABLE = {code: f"⟪{name}⟫" for code, name in _CONTROL_NAMES.items()}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def clip(text: str, limit: int) -> str:
    """The first `limit` characters as a person counts them, with `…` where something was cut.

    Emoji sequences, combining accents and surrogates are never torn apart.

    Example:
        >>> clip("café au lait", 5)
        'café…'
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    if len(text) <= limit:
        return text
    # Found one by one: a text may be a thousand times as long as what is shown of it.
    shown = [match.end() for match in islice(_GRAPHEME.finditer(text), limit)]
    if shown[-1] == len(text):
        return text
    return text[: shown[limit - 2] if limit > 1 else 0] + "…"


def visible_controls(text: str) -> str:
    """Bidirectional control characters as visible names, so that text cannot disguise itself in a report."""
    return text.translate(_CONTROL_TABLE)


def conversation_time(at: datetime | None) -> str:
    """A time of the conversation in the one form that memories, prompts and reports share.

    English month names whatever the locale; the wall clock is never read.

    Example:
        >>> from datetime import UTC
        >>> conversation_time(datetime(2023, 5, 8, 13, 56, tzinfo=UTC))
        '8 May 2023, 13:56'
        >>> conversation_time(None)
        'undated'
    """
    if at is None:
        return "undated"
    return f"{conversation_day(at)}, {at.hour:02}:{at.minute:02}"


def conversation_day(day: date) -> str:
    """A day of the conversation, in the form of `conversation_time`.

    Example:
        >>> conversation_day(date(2023, 5, 8))
        '8 May 2023'
    """
    return f"{day.day} {conversation_month(day)}"


def conversation_month(day: date) -> str:
    """The month that a day is in, such as `May 2023`."""
    return f"{_MONTHS[day.month - 1]} {day.year}"
