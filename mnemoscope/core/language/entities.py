"""Names in a text, found by their form: capitals, quotation marks, handles, numbers, and Chinese naming words."""

from __future__ import annotations

import regex

from mnemoscope.core.language.sentences import sentence_spans
from mnemoscope.core.language.tokens import content_tokens

__all__ = ["HAN_NAME", "entities"]

_SURNAMES = "李王张刘陈杨赵吴周徐孙朱胡郭林何罗郑梁谢宋唐许邓韩冯曹彭萧蔡潘董袁蒋杜苏魏程吕丁沈"
HAN_NAME = regex.compile(
    rf"(?:[小老阿](?![时学区心说师是家板人公婆姨])\p{{Han}}|[{_SURNAMES}](?![多末时处地子木围边一二三四五六日天])\p{{Han}})"
)
"""How people are called in Chinese chat: 小, 老, 阿 or a surname with one more character."""

_LETTER = r"(?:(?!\p{Han})[\p{L}\p{M}\p{N}])"
"""Of a word that ends where Chinese begins: `Amy` in `Amy养了猫`."""
_WORD = rf"\p{{Lu}}{_LETTER}*(?:['’-]\p{{Lu}}{_LETTER}*)*"
_FORMS = regex.compile(
    r"[“\"](?P<quoted>[^”\"\n]{1,60})[”\"]|《(?P<title>[^》\n]{1,60})》|「(?P<corner>[^」\n]{1,60})」"
    r"|(?<![\p{L}\p{N}])(?P<handle>@[\p{L}\p{N}_.-]*[\p{L}\p{N}_])"
    r"|(?<![\p{L}\p{N}_-])(?P<identifier>(?:\p{L}+-?\d|\d+-?\p{Lu})[\p{L}\p{N}-]*)(?![\p{L}\p{N}])"
    rf"|(?<!{_LETTER}|['’])(?P<capital>(?:(?:Dr|Mr|Mrs|Ms|St)\.\s)?{_WORD}(?:\s(?:(?:of|de|van|von|du|la)\s(?:the\s)?)?{_WORD})*)"
    r"|(?:名叫|叫做|叫作|取名|名字[叫是]|叫)(?P<called>[\p{Han}]{1,4}?)(?=[的了是在，。！？、,.!?\s]|我|她|他|它|$)"
)
_CALENDAR = frozenset(
    (
        "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
        "september october november december"
    ).split()
)
_NO_NAME = frozenset(
    (
        "hi hey hello thanks thank yes yeah no ok okay wow oh ah well please sorry congrats great good nice cool today "
        "yesterday tomorrow tonight i'm i've i'll i'd let maybe never always someone everyone dear welcome since sure "
        "last next sounds haha lol looking went forget remember tell"
    ).split()
)
_SAYS_NAME = regex.compile(
    r"['’]s\b|,|\p{Han}|\s+(?:(?:and|or|&)\s+\p{Lu}|(?:is|was|has|had|will|would|can|did|does|says|said|told|went|got|came|and\s+I|also|just|never"
    r"|always|\p{Ll}{3,}(?:ed|es|s))\b)"
)
_UNLIKE_NAME = regex.compile(r"(?:\p{Lu}\p{Ll}*(?:ing|ly))$")


def entities(text: str) -> tuple[str, ...]:
    """Names in order of their first occurrence, each once, as they stand in the text.

    Found are spans of capitalised words, what stands in quotation marks or 《》, handles with `@`, identifiers with a
    digit (`KL1234`, `B-17`), and Chinese names after 叫 and the like or of the usual forms. The first word of a
    sentence is a name only where what follows speaks for it, or where it is capitalised elsewhere too; weekdays and
    months are none, and text in capitals throughout gives no capitalised spans. Unlike a tagger it knows no types and
    misses names in small letters.

    Example:
        >>> entities("Kim and I saw “Wild Tides” in New Harbor on Friday with @ana_k")
        ('Kim', 'Wild Tides', 'New Harbor', '@ana_k')
    """
    openings = {start for start, _ in sentence_spans(text)}
    shouted = text == text.upper()
    found: dict[str, str] = {}
    matches = list(_FORMS.finditer(text))
    inside = {match["capital"] for match in matches if match["capital"] and match.start() not in openings}
    for match in matches:
        if match["capital"]:
            name = "" if shouted else _capital_span(match, text, match.start() in openings, inside)
        else:
            name = next(group for group in match.groups() if group is not None).strip()
        if name:
            found.setdefault(name.casefold(), name)
    known = "".join(found)
    for name in HAN_NAME.findall(text):
        if name not in known:
            found.setdefault(name, name)
    return tuple(sorted(found.values(), key=text.find))


def _capital_span(match: regex.Match[str], text: str, opens: bool, inside: set[str | None]) -> str:
    words = match["capital"].split(" ")
    while words and _no_name(words[0]):
        words, opens = words[1:], False
    while words and _no_name(words[-1]):
        words.pop()
    name = " ".join(words)
    if not opens or len(words) != 1 or name in inside or (name.isupper() and len(name) > 1):
        return name
    return name if _SAYS_NAME.match(text, match.end()) and not _UNLIKE_NAME.match(name) else ""


def _no_name(word: str) -> bool:
    lowered = word.lower().replace("’", "'")
    return lowered in _CALENDAR or lowered in _NO_NAME or not content_tokens(word) or lowered in {"of", "de", "the"}
