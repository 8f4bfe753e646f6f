"""The wording probe: a reply with its claims of remembering taken out, or with one put in front.

MemUse (arXiv 2608.24189) found that memory-sounding wording alone raises natural integration by 16.4 points. The same
judge is asked about both forms of the same reply; what the facts are worth does not change between them.
"""

from __future__ import annotations

import regex

from mnemoscope.core.language.tokens import has_unspaced_script

__all__ = ["reworded", "with_cue", "without_cues"]

_SAY = r"(?:said|mentioned|told me|were saying|shared(?: with me)?|brought up|noted|described)"
_WHEN = (
    r"(?:\s+(?:before|earlier|recently|already|last time|the other day|a while ago|in our last (?:chat|conversation)))?"
)
_START = r"(?:(?<=^|[.!?…]\s+|[\"“]))"
"""Elsewhere a claim may be negated, or the object of another verb."""
_CLAUSE = (
    r"(?=(?:I|you|he|she|it|they|we|your|his|her|its|their|our|the|a|an|this|that|there)(?:['’]\w+)?\s|(?-i:\p{Lu}))"
)
"""What follows must be able to stand alone."""
_ENGLISH = (
    rf"\b(?:as|like)\s+you(?:['’]ve|\s+have|\s+had)?\s+{_SAY}{_WHEN}\s*,\s*",
    rf"{_START}you(?:['’]ve|\s+have)?\s+(?:once\s+)?{_SAY}{_WHEN}\s+(?:that\s+|{_CLAUSE})",
    rf"{_START}(?:from|based on|going by)\s+what\s+you(?:['’]ve|\s+have)?\s+{_SAY}{_WHEN}\s*,?\s*{_CLAUSE}",
    rf"{_START}I\s+(?:still\s+|do\s+|clearly\s+)*(?:remember|recall)\s+(?:that\s+|you saying\s+(?:that\s+)?){_CLAUSE}",
    r"\bif I (?:remember|recall)(?:\s+(?:correctly|right(?:ly)?|it well))?\s*,\s*",
    rf"{_START}(?:last time|the other day|earlier),?\s+you\s+{_SAY}\s+(?:that\s+)?{_CLAUSE}",
)
_CHINESE = (
    r"(?:就像|正如|像|如)(?:你|您)(?:之前|以前|上次|曾经?|先前|刚才)?(?:跟我|对我|和我|向我)?(?:说|提|讲|提到)过?的(?:那样)?[,，]",
    r"(?<=^|[。！？!?]\s*|可是|不过|因为)(?:你|您)(?:之前|以前|上次|曾经?|先前)?(?:跟我|对我|和我)?(?:说|提到?|讲)过[,，:：]",
    r"(?<=^|[。！？!?]\s*)我(?:还|一直)?记得[,，]?(?=你|您|他|她|它|我们|那|这)",
)
_CUES = regex.compile("|".join((*_ENGLISH, *_CHINESE)), regex.IGNORECASE | regex.MULTILINE)
_ENDS = '.!?…。！？"“'
_FRONT = {False: "As you told me before, ", True: "就像你之前跟我说过的那样，"}


def without_cues(reply: str) -> str:
    """The reply without words that claim to remember; the reply itself where it has none, or has nothing else.

    Example:
        >>> without_cues("As you mentioned before, the kiln is in Ghent.")
        'The kiln is in Ghent.'
    """
    parts = _CUES.split(reply)
    rest = parts[0]
    for part in parts[1:]:
        begins = not rest.strip() or rest.rstrip()[-1] in _ENDS
        rest += part[:1].upper() + part[1:] if begins else part
    return rest.strip() if len(parts) > 1 and any(char.isalnum() for char in rest) else reply


def with_cue(reply: str) -> str:
    """The reply with a claim to remember in front, in its own language.

    Example:
        >>> with_cue("The kiln is in Ghent.")
        'As you told me before, the kiln is in Ghent.'
    """
    unspaced = has_unspaced_script(reply)
    # An article or a pronoun may lose its capital; a name may not.
    first = reply.split(" ", 1)[0]
    rest = reply[:1].lower() + reply[1:] if first in _MAY_LOSE else reply
    return _FRONT[unspaced] + rest


_MAY_LOSE = frozenset({"The", "A", "An", "That", "This", "It", "Your", "You", "Maybe", "With", "On", "In", "At", "For"})


def reworded(reply: str) -> tuple[str, bool]:
    """The other form of a reply, and whether it is the one with a cue. Blank replies stay blank."""
    bare = without_cues(reply)
    if bare != reply:
        return bare, False
    return (with_cue(reply), True) if reply.strip() else (reply, True)
