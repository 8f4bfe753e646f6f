"""Words without their commonest English endings, so that `painted` meets `painting`."""

from __future__ import annotations

__all__ = ["stem"]

_ENDINGS = ("ing", "ies", "ied", "ed", "es", "s", "e", "y")
_SHORTEST = 3


def stem(token: str) -> str:
    """A lower-case word without one ending; short words and other scripts are left as they are.

    Example:
        >>> stem("painting") == stem("painted") == stem("paints")
        True
        >>> stem("猫")
        '猫'
    """
    if not token.isascii():
        return token
    for ending in _ENDINGS:
        if token.endswith(ending) and len(token) - len(ending) >= _SHORTEST:
            return token[: -len(ending)]
    return token
