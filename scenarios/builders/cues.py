"""Explicit cues of memory: words by which people refer to something said or done before, in English and Chinese."""

from __future__ import annotations

import re

__all__ = ["find_cue", "without_cue"]

_ENGLISH = (
    r"\b(?:as|like) (?:i|we|you)(?:'ve| have|'d| had)? (?:just |already )?(?:said|told|mentioned|wrote|written|"
    r"explained|discussed|talked|described)\b(?: you)?",
    r"\b(?:i|we)(?:'ve| have|'d| had)? (?:already |just )?(?:told|mentioned to) you\b",
    r"\b(?:i|we|you)(?:'ve| have|'d| had)? (?:already )?(?:said|told|mentioned|wrote|talked|spoke|discussed)\b"
    r"[^.?!]{0,40}\b(?:before|earlier|yesterday|previously|last (?:time|week|month|night|session)|the other day|"
    r"(?:a |some )?while ago)\b",
    r"\b(?:yesterday|last (?:time|week|month|night)|the other day|before|earlier)[, ]+(?:i|we|you) "
    r"(?:said|told|mentioned|wrote|talked|spoke|discussed)\b",
    r"\b(?:do|don't|did|can|could|would) you (?:still )?(?:remember|recall)\b",
    r"\bremember (?:when|that|how|what|where|who|my|our|the|i|we|me)\b",
    r"\b(?:did i|have i) (?:ever |already )?(?:tell|told|mention|mentioned|say|said)\b",
    r"\bwhat (?:did|was it) (?:i|you|we) (?:say|said|tell|told|mention|suggest|recommend)",
    r"\byou(?:'ve| have|'d| had)? (?:said|told me|mentioned|suggested|recommended|advised|asked me)\b",
    r"\b(?:the|that|those|this) [^.?!,]{1,40}? (?:that |which )?(?:i|we|you) (?:told you about|mentioned|talked about|"
    r"were talking about|discussed|spoke about|recommended|suggested)\b",
    r"\b(?:last|previous) (?:conversation|session|entry|diary|chat|message)\b",
)
_CHINESE = (
    r"(?:我|咱们?|我们)?(?:之前|上次|上回|昨天|前几天|以前|先前|刚才)?(?:跟|和|对|同|给)你(?:说|讲|提|聊|提到|提起)过",
    r"我(?:之前|上次|上回|昨天|前几天|以前|先前)(?:就)?(?:说|讲|提|写|告诉)(?:过|的|到)?",
    r"我告诉过你",
    r"(?:正如|就像|像)我(?:之前|上次)?(?:说|讲|提|写)(?:过)?的?",
    r"你?(?:还)?记(?:得|不记得)(?:吗|我|上次|之前|那|不)",
    r"还记得",
    r"你(?:之前|上次|上回|昨天|以前)(?:说|讲|提|建议|推荐|告诉)",
    r"(?:上次|上回|之前|以前)(?:我们|咱们?)?(?:聊|说|谈|讲|提)(?:过|到|的|起)",
)
_CUES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in (*_ENGLISH, *_CHINESE))


def find_cue(text: str) -> str | None:
    """The first explicit cue in a text, as written; None without any.

    Example:
        >>> find_cue("The fair I told you about was lovely.")
        'I told you'
        >>> find_cue("我上次说过那只猫。")
        '我上次说过'
    """
    plain = text.replace("’", "'")
    found = [match for cue in _CUES if (match := cue.search(plain))]
    first = min(found, key=lambda match: (match.start(), -match.end()), default=None)
    return text[first.start() : first.end()].strip() if first else None


def without_cue(text: str) -> str:
    """A text with its explicit cues taken out, so that likeness is measured on what it is about."""
    plain = text.replace("’", "'")
    for cue in _CUES:
        plain = cue.sub(" ", plain)
    return plain
