"""How contracts show their inputs: numbered from 1, one a line, without ids; and how they read numbers back."""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = [
    "CITED",
    "TEXTS",
    "cited_numbers",
    "numbered",
    "numbered_turns",
    "one_a_line",
    "phrases_of",
    "says_something",
    "section",
    "texts_of",
]

CITED = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
"""Schema of the numbers that an extracted text names."""
TEXTS = {"type": "array", "items": {"type": "string"}}
"""Schema of a list of texts."""


def numbered(texts: Sequence[str]) -> str:
    """Texts as a numbered list; a line break inside one becomes ` / `."""
    return "\n".join(f"{number}. {one_a_line([text])}" for number, text in enumerate(texts, start=1))


def one_a_line(texts: Sequence[str]) -> str:
    """Texts below each other; a line break inside one becomes ` / `, so that none can pass for a part of the prompt."""
    return "\n".join(" / ".join(text.splitlines()) for text in texts)


def numbered_turns(turns: Sequence[Turn]) -> str:
    """Turns as a numbered list: when, who, what."""
    return numbered([unit_text(turn) for turn in turns])


def section(title: str, body: str) -> str:
    """A titled part of what a contract shows; nothing where it is empty."""
    return f"{title}:\n{body}\n" if body else ""


def cited_numbers(value: object, offered: int) -> tuple[tuple[int, ...], int]:
    """The numbers of a reply that were offered, and how many were not; none is moved to the nearest one.

    Args:
        value: A list of the reply; anything else names nothing.
        offered: Valid numbers are 1 to this.
    """
    numbers = value if isinstance(value, list) else []
    valid = [number for number in numbers if _is_number(number) and 1 <= number <= offered]
    return tuple(dict.fromkeys(valid)), len(numbers) - len(valid)


def says_something(text: str) -> bool:
    """Whether a text has a letter or a digit: small models copy the `…` of a prompt's example as their answer."""
    return any(character.isalnum() for character in text)


def texts_of(value: object) -> tuple[str, ...]:
    """The texts of a list that say something, each once; anything else has none."""
    texts = value if isinstance(value, list) else []
    return tuple(dict.fromkeys(text.strip() for text in texts if isinstance(text, str) and says_something(text)))


def phrases_of(value: object, most: int) -> tuple[tuple[str, ...], int]:
    """The first different phrases of a list, each on one line, and how many entries were left out.

    Args:
        value: A list of the reply; anything else has none.
        most: Phrases that are kept.
    """
    entries = value if isinstance(value, list) else []
    kept = texts_of([" ".join(entry.split()) for entry in entries if isinstance(entry, str)])[:most]
    return kept, len(entries) - len(kept)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
