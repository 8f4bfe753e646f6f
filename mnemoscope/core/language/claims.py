"""What a turn says: its clauses as they stand in the text, and what was passed over and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex

from mnemoscope.core.language.sentences import sentence_spans
from mnemoscope.core.language.tokens import content_tokens

__all__ = ["Claim", "Claims", "PassedOver", "claims"]

PassedOver = Literal["question", "greeting", "backchannel"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A clause as it stands in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claims:
    """The clauses of a text, each in order of its place."""

    kept: tuple[Claim, ...]
    passed_over: tuple[tuple[str, PassedOver], ...]
    """What says nothing about anybody, word for word, and what it is instead."""


_PRONOUN = r"(?:i|we|you|he|she|they|it)"
_AUXILIARY = (
    r"(?:do|does|did|are|is|am|was|were|can|could|will|would|should|shall|may|might|have|has|had"
    r"|don['’]t|doesn['’]t|didn['’]t|aren['’]t|isn['’]t|can['’]t|won['’]t|haven['’]t|hasn['’]t)"
)
_ASKS = (
    rf"(?:{_AUXILIARY}\s+(?:{_PRONOUN}|your|there|that|this|the|any\w*)\b"
    rf"|(?:what|where|when|who|whom|why|how)(?:['’]s|['’]re|\s+{_AUXILIARY})\b"
    rf"|(?:what|which|whose|how)\s+(?:(?!{_PRONOUN}\b)\p{{L}}+\s+){{1,3}}?{_AUXILIARY}\b"
    r"|(?:what|how)\s+about\b|how\s+come\b|any\s+\p{L}+\s+(?:for|on|about)\b)"
)
_TAG = rf"{_AUXILIARY}\s+(?:not\s+)?{_PRONOUN}\s*[?？]"
_QUESTION_OPENING = regex.compile(rf"(?:(?:so|and|but|oh|well|then|now|also)[\s,]+)*{_ASKS}", regex.IGNORECASE)
_QUESTION_END = regex.compile(r"[?？][^\p{L}\p{N}]*$|[吗呢][\s。!！~～…]*$")
_STATEMENT_END = regex.compile(r"[.!。！…][^\p{L}\p{N}]*$")

_SUBJECT = (
    rf"(?:{_PRONOUN}(?:['’]\p{{L}}+)?|(?:my|our|your|his|her|their|the|this|that|these|those)\s+\p{{L}}+"
    r"|(?-i:\p{Lu}\p{L}+)(?:\s+(?-i:\p{Lu}\p{L}+))?|there|everyone|everybody)"
)
_VERB = regex.compile(
    r"\b(?:am|is|are|was|were|be|been|have|has|had|do|does|did|can|could|will|would|should|may|might|must"
    r"|\p{L}{2,}ed|went|got|came|saw|met|made|took|ran|bought|won|lost|told|said|left|gave|found|felt|ate|began|heard"
    r"|spent|taught|wrote|drove|flew|broke|sold|built|sang|swam|caught|fell|held|kept|knew|thought|grew|slept|paid"
    r"|loves?|likes?|hates?|lives?|works?|wants?|needs?|plans?|prefers?|enjoys?|thinks?|feels?|knows?|goes|owns?"
    r"|plays?|studies|study|teach(?:es)?|makes?|takes?|gets?|keeps?|helps?|moves?|starts?|runs?|quit|put|cut|let|hurt)\b"
    r"|\b(?:i|we|you|he|she|they|it|there|that|this|who)['’](?:m|s|re|ve|d|ll)\b|n['’]t\b"
    r"|\b(?:i|we|you|they|he|she)\s+(?:(?:really|also|just|still|always|never|often|even|now)\s+)*\p{Ll}{2,}\b"
    r"|[是在有住去来养喜想要会能做工学买吃喝玩看搬结离过叫爱怕讨打计准决开辞换毕出生了着]",
    regex.IGNORECASE,
)
_BOUNDARY = regex.compile(
    rf"(?P<cut>\s*,?\s+(?:and|but|so|yet|or)\s+(?:then\s+|now\s+|also\s+)?|\s*;\s*|\s+[–—]\s+|,\s+)(?={_SUBJECT}[\s'’])"
    rf"|(?P<ask>,\s+)(?!{_TAG})(?=(?:so\s+|and\s+|but\s+)?{_ASKS})"
    r"|(?P<han>[，；,;]\s*(?:但是?|不过|可是|而且|然后|所以|因此|于是|并且)?(?=我|咱|你|您|他|她|它|这|那))",
    regex.IGNORECASE,
)
_SUBORDINATE = regex.compile(
    r"(?:if|when|while|because|since|although|though|after|before|once|unless|as|until|whenever|with|for|like)\b"
    r"|如果|要是|因为|虽然|当|既然|只要|自从",
    regex.IGNORECASE,
)

_GREETING = regex.compile(
    r"(?:(?:hi|hey|hello|hiya|howdy|yo|greetings|good\s+(?:morning|afternoon|evening|night)|welcome\s+back|bye|goodbye"
    r"|bye-bye|see\s+you(?:\s+(?:soon|later|tomorrow))?|take\s+care|long\s+time\s+no\s+see|nice\s+to\s+meet\s+you)"
    r"(?:\s+(?:there|again|everyone|all|both|guys))?(?:,?\s+(?-i:\p{Lu}[\p{L}\p{M}]*))?(?![\p{L}\p{N}'’])"
    r"|(?:你们?好|您好|大家好|嗨|哈[喽啰]|早上好|下午好|晚上好|早安|晚安|再见|拜拜|好久不见)[呀啊哦]?(?:\p{Han}{1,4}(?=[，,！!。]|$))?)"
    r"[\s,!.~…，！。～\p{So}]*",
    regex.IGNORECASE,
)
_FILLER = frozenset(
    (
        "yeah yes yep yup nope ok okay oh ah aw aww wow whoa haha hahaha ha lol hmm hm mm mhm uh um huh hey hi hello "
        "thanks thank thx cool nice great awesome amazing wonderful fantastic lovely sweet perfect good well fine glad "
        "happy sure right indeed exactly absolutely totally definitely really truly wonderful beautiful interesting "
        "sounds sound agree agreed see know understand got gotcha true congrats congratulations welcome please sorry "
        "fun funny bad sad too pretty super quite hear hope luck best gosh god omg goodness man dude idea course "
        "嗯 哦 噢 啊 好的 好呀 是的 对的 对啊 对呀 真的 真好 谢谢 谢啦 哈哈 呵呵 不错 可以 没事 没关 关系 不客 客气 "
        "太好 好了 太棒 棒了 厉害 加油 恭喜 明白 知道 道了 当然 嗯嗯 真棒 是吗 没错 这样 行的 好吧 辛苦 苦了 抱歉"
    ).split()
)
_FEWEST = 3


def claims(text: str) -> Claims:
    """Split a text into clauses and tell those that say something from those that do not.

    Sentences are cut at a coordinator or comma only where what follows brings its own subject and both sides have a
    word like a verb; the coordinator belongs to neither side. Questions, greetings and backchannels are passed over.
    A backchannel has nothing but filler words, or fewer than three words of content and no verb: a short clause with a
    verb (`I have a cat`) says something and is kept, in which this is narrower than a plain count of content words.

    Args:
        text: A turn's text, any script.

    Returns:
        The clauses; `text[claim.start:claim.end] == claim.text`.

    Example:
        >>> found = claims("Hi Bo! I moved to Bergen and my sister lives there. How are you?")
        >>> [claim.text for claim in found.kept]
        ['I moved to Bergen', 'my sister lives there.']
        >>> found.passed_over
        (('Hi Bo!', 'greeting'), ('How are you?', 'question'))
    """
    kept: list[Claim] = []
    passed: list[tuple[str, PassedOver]] = []
    for start, end in sentence_spans(text):
        for claim, reason in _of_sentence(text, start, end):
            if reason is None:
                kept.append(claim)
            else:
                passed.append((claim.text, reason))
    return Claims(tuple(kept), tuple(passed))


def _of_sentence(text: str, start: int, end: int) -> Iterator[tuple[Claim, PassedOver | None]]:
    greeting = _GREETING.match(text, start, end)
    if greeting is not None:
        yield _claim(text, start, greeting.end()), "greeting"
        start = greeting.end()
    if not text[start:end].strip():
        return
    clauses = [_claim(text, a, b) for a, b in _clauses(text, start, end)]
    asking = _first_question(clauses)
    for place, clause in enumerate(clauses):
        yield clause, "question" if place >= asking else "backchannel" if _says_nothing(clause.text) else None


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begun = start
    for match in _BOUNDARY.finditer(text, start, end):
        if match["ask"] is None and not _both_stand(text[begun : match.start()], text[match.end() : end], match[0]):
            continue
        yield begun, match.start()
        begun = match.end()
    yield begun, end


def _both_stand(before: str, after: str, between: str) -> bool:
    if between.strip() == "," and _SUBORDINATE.match(before.lstrip()):
        return False
    following = _BOUNDARY.search(after)
    return bool(_VERB.search(before) and _VERB.search(after[: following.start()] if following else after))


def _first_question(clauses: list[Claim]) -> int:
    """Where the question begins; the number of clauses where none is asked."""
    none = len(clauses)
    opening = next((i for i, clause in enumerate(clauses) if _QUESTION_OPENING.match(clause.text)), none)
    if _QUESTION_END.search(clauses[-1].text):
        return 0 if opening == none else opening
    # People who chat leave the question mark out, but hardly ever for a full stop.
    return none if _STATEMENT_END.search(clauses[-1].text) else opening


def _says_nothing(clause: str) -> bool:
    words = [word for word in content_tokens(clause) if word not in _FILLER]
    return not words or (len(words) < _FEWEST and not _VERB.search(clause))


def _claim(text: str, start: int, end: int) -> Claim:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    return Claim(text[start:end], start, end)
