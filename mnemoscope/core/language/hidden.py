"""Reasoning that a model lets slip into its reply, taken apart from what the user sees."""

from __future__ import annotations

import re

__all__ = ["split_hidden"]

_OPEN = re.compile(r"^\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(think|thinking)>", re.IGNORECASE)


def split_hidden(text: str, separate: str = "") -> tuple[str, str]:
    """Visible text and hidden reasoning.

    A block that opens the reply is hidden; one that never closes hides everything, because the reply was cut before
    it began. Servers whose template opens the block themselves send only the closing mark: what stands before it is
    hidden. A mark elsewhere is ordinary text.

    Args:
        text: The reply as received.
        separate: Reasoning that the endpoint sent in a field of its own.

    Example:
        >>> split_hidden("<think>hm</think> Pixel.")
        ('Pixel.', 'hm')
    """
    opening = _OPEN.match(text)
    if opening:
        name = opening.group(1)
        closing = re.search(rf"</{name}>", text[opening.end() :], re.IGNORECASE)
        if closing is None:
            return "", _joined(separate, text[opening.end() :])
        inner = text[opening.end() : opening.end() + closing.start()]
        return text[opening.end() + closing.end() :].strip(), _joined(separate, inner)
    closing = _CLOSE.search(text)
    if closing and not re.search(rf"<{closing.group(1)}>", text, re.IGNORECASE):
        return text[closing.end() :].strip(), _joined(separate, text[: closing.start()])
    return text, separate.strip()


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, (part.strip() for part in parts)))
