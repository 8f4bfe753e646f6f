"""Does a reply say that it does not know, or was not told?"""

from __future__ import annotations

from functools import lru_cache

import regex

from mnemoscope.evaluators.detectors.reading import clean, sentences_of

__all__ = ["declines", "refuses_to_answer"]

_NOT = r"(?:do not|don't|did not|didn't|cannot|can't|could not|couldn't|am not able to|'m not able to)"
_DECLINING = regex.compile(
    rf"\b(?:i|we)\b(?:'m| am)?(?: \w+ly| just| also| still| even)? ?{_NOT}(?: \w+ly| even| quite| seem to| think i)? "
    r"(?:know|recall|remember|find|confirm|say(?! enough)|tell(?! you how)|help with (?:this|that)|see any|"
    r"have (?!to\b|time\b|much time))"
    r"|\b(?:i|we) (?:have|'ve got|had) no (?!doubt|problem|objection)\w+|\b(?:i|we) (?:know|have) nothing (?:about"
    r"|on)\b"
    r"|\b(?:i|we)(?: have|'ve)(?: not|n't) (?:been told|heard|seen|got|any)|\b(?:i|we) (?:was|were)(?: never| not"
    r"|n't) told"
    r"|\b(?:i'd|i would)(?: only)? be guessing|\bwithout guessing"
    r"|\b(?:you|nobody|no one)\b(?: have| has|'ve|'s| had)?(?:n't| not| never)(?: yet| actually| really| ever)? "
    r"(?:told|tell|mentioned|mention|said|say|shared|share|given|gave|talked|brought)\b(?! (?:her|him|them|it to"
    r"|anyone|your|the)\b)"
    r"|\b(?:i|we) (?:don't|do not) (?:think|believe)\b.{0,20}\b(?:you've|you have|you|we) .{0,30}\b(?:told"
    r"|mentioned|said|talked|came up)"
    r"|\b(?:never|not|n't) (?:(?:been|really|actually|yet|ever) )*(?:come up|came up|mentioned|discussed|recorded)"
    r"|\b(?:is|are|was|were|'s)(?: not|n't) (?:in|on|anything|something)\b.{0,24}\b(?:notes?|records?|memory"
    r"|history|record)\b"
    r"|\bno (?:\w+ )?(?:information|record|memory|mention|note|notes|details?|trace|entry|idea)\b"
    r"|\bnot a (?:word|trace|hint|thing) (?:about|of|on)\b|\bnothing (?:about|on) (?:that|this|it)\b"
    r"|\bnot mentioned\b"
    r"|\bno information available\b|\bnot (?:something|anything) (?:i|you|we)\b.{0,24}\b(?:know|told|mentioned|have)"
    r"|没有?(?:再)?(?:跟|和|对|向|同)?我?们?(?:提|说起|说过|说到|讲过|讲到|告诉|聊过|聊到)"
    r"|没(?:有)?(?:跟|和|对|向)我[^，。！？]{0,4}(?:提|说|讲|聊)"
    r"|(?:我|这里|这边)?没有?(?:什么|任何|可靠的?|相关的?|你的|这方面的?)?\s?(?:记录|印象|信息|资料|线索|record)"
    r"|未(?:提到|提及|记录)|我(?:这里|这边)?(?:也|还|真的?)?(?:不知道|不记得|不清楚|不确定|不太清楚|不了解)"
    r"|无法(?:回答|确认|确定|得知)"
    r"|(?:想|记)不起来|不敢(?:乱|瞎|随便)?(?:猜|说)|^(?:不知道|不记得|不清楚|没有提到)"
)
_UNSURE = regex.compile(
    r"\b(?:i'm|i am|we're) (?:not|n't) (?:\w+ly )?(?:sure|certain|aware)\b|\bi'm unsure\b|记得不(?:太)?(?:准|清)"
    r"|不(?:太)?确定"
)
"""Doubt alone: it declines where nothing is offered instead."""
_TURN = regex.compile(
    r"[,;，；]?\s*\b(?:but|though|although|however|still)\b|[，；,]\s*(?:不过|但是?|可是|只是|好像|应该)|[;；]"
)


@lru_cache(maxsize=16_384)
def declines(sentence: str) -> bool:
    """Whether a sentence does nothing but say that something is not known or was not told.

    Example:
        >>> declines("You haven't told me that yet.")
        True
        >>> declines("You never told her the price, but it was the silver compass.")
        False
    """
    parts = [part for part in _TURN.split(clean(sentence).lower()) if part and part.strip(" .!?。")]
    said = [_declining(part) for part in parts]
    if not any(said):
        return False
    return said[-1] or len(parts) == 1


def refuses_to_answer(reply: str) -> bool:
    """Whether some sentence declines."""
    return any(declines(sentence) for sentence in sentences_of(reply))


def _declining(part: str) -> bool:
    return _DECLINING.search(part) is not None or _UNSURE.search(part) is not None
