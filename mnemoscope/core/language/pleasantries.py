"""Clauses that only please: praise, thanks, sympathy and good wishes, which tell nothing about anybody."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from mnemoscope.core.language.tokens import content_tokens

__all__ = ["is_pleasantry"]

_OPENING = r"(?:(?:wow|whoa|oh|ah|aw+|yeah|yes|yep|yup|haha|hey|hi|and|but|so|well|man|gosh|ok|okay)\b[\s,!.~…-]*)*"
_VERY = r"(?:(?:so|really|very|super|truly|just|totally|completely|absolutely|always|all|also)\s+)*"
_GLAD = r"(?:glad|happy|sorry|great|good|nice|lovely|wonderful|awesome|pleased|relieved|thrilled)"
_FORMULA = regex.compile(
    rf"{_OPENING}(?:(?:i|we)(?:['’]m|['’]re|\s+am|\s+are)\s+|it(?:['’]s|\s+(?:is|was))\s+)?{_VERY}(?:"
    rf"{_GLAD}\s+to\s+(?:hear|know)\b"
    rf"|{_GLAD}\s+(?:you|that\s+you)\b"
    rf"|{_GLAD}\s+(?:to\s+(?:see|meet)|seeing|meeting|to\s+(?:talk|chat|catch\s+up)|talking|chatting)(?:\s+(?:to|with))?"
    r"(?:\s+you)?\b(?=[^\p{L}]*$|\s+(?:again|too|today|so)\b)"
    r"|(?:proud|happy|excited|thrilled|glad|sorry|rooting)\s+(?:of|for|about)\s+you\b"
    r"|here\s+for\s+you\b"
    r"|(?:thanks|thank\s+you|thx)(?=[^\p{L}]*$|[,!.]|\s+(?:so\s+much|a\s+lot|a\s+bunch|again|for\s+(?:\p{L}+ing|your|the"
    r"\s+(?:\p{L}+\s+)?(?:words?|support|tips?|advice|love|encouragement|reminder|offer))|to\s+you)\b)"
    r"|(?:congrats|congratulations|kudos|good\s+luck|best\s+of\s+luck|well\s+done|way\s+to\s+go|you['’]re\s+welcome)\b"
    r"|(?:i\s+)?(?:can['’]t|cannot)\s+wait\s+to\s+(?:see|hear|meet)\s+(?:you|what|how|more|it|them)\b"
    r"|(?:i\s+)?(?:look(?:ing)?\s+forward\s+to)\s+(?:it|that|(?:hearing|seeing)\s+(?:you|from|more|about|how|what|it))\b"
    r"|(?:have|enjoy)\s+(?:fun|a\s+(?:\p{L}+\s+)?(?:day|night|evening|weekend|time|one|trip)|it|yourself|the\s+rest)\b"
    r"|(?:take\s+care|stay\s+(?:safe|strong|positive|well|in\s+touch)|keep\s+(?:it\s+up|going|up\s+the|in\s+touch"
    r"|(?:me|us)\s+(?:posted|updated)|shining|being)|let\s+me\s+know|hang\s+in|no\s+(?:problem|worries)|any\s*time)\b"
    r"|(?:talk|speak|see|catch|chat)\s+(?:to\s+|with\s+)?(?:you|ya)\s+(?:soon|later|again|then|around|next)\b"
    r"|(?:i\s+)?miss(?:ed)?\s+(?:you|ya|talking|chatting|our\s+(?:talk|chat)s?)\b"
    r"|long\s+time\s+no\b|you(?:['’]ve|\s+have)?\s+got\s+this\b"
    rf"|(?:i|we)\s+{_VERY}(?:agree|understand|hear\s+you|get\s+(?:it|that)|bet|hope\s+so|think\s+so"
    r"|(?:love|like|appreciate)\s+(?:it|that|this|you))\b(?=[^\p{L}]*$|[,!.]|\s+with\s+you\b|\s+too\b|\s+so\s+much\b)"
    r"|(?:hope|wish(?:ing)?)\s+(?:you|it\s+goes|all\s+goes)\b|i\s+hope\s+you\b"
    r"|sounds?\s+(?:like\s+(?:a\s+plan|(?:you|a|an|it)\b)|good|great)\b"
    r")",
    regex.IGNORECASE,
)
_CHINESE = regex.compile(
    r"(?:哇+|嗯+|哈+|啊+|哦+|对|是[的啊呀]|好[的呀啊]|那)?[，,！!\s]*(?:"
    r"(?:真的?|非常|很|太|好)?(?:谢谢|感谢|多谢)(?:你|您|你们|大家)?(?:们)?的?"
    r"(?:分享|关心|支持|鼓励|帮助|帮忙|提醒|建议|倾听|理解|陪伴|夸奖|祝福)?"
    r"|我?(?:真|好|很|太|也|都)*(?:为|替)你(?:们)?(?:感到)?(?:高兴|开心|骄傲|自豪|难过)"
    r"|祝(?:你|您|福)\p{Han}{0,10}|恭喜(?:你|您|\p{Han}{0,8})|加油"
    r"|我?(?:真|好|很|太)?(?:高兴|开心)(?:听到|认识|见到|和你|能和你)\p{Han}{0,6}"
    r"|(?:你|您|听起来|听上去|看起来|这|那|这个|那个)?(?:也|都|可)?(?:真的?|太|好|很|超|挺|非常)+(?:是)?"
    r"(?:棒|厉害|美|漂亮|可爱|酷|了不起|勇敢|贴心|温柔|善良|坚强|不错|好|有趣|有意思|精彩|感人|温馨|难得|羡慕|不容易)"
    r"|辛苦(?:你|您)?|(?:下次|回头|改天|以后|有空)(?:再|一起)?(?:聊|见)|保重(?:身体)?|(?:多|好好)?注意(?:身体|安全|休息)"
    r"|(?:你|您)?(?:别|不用|不必|不要)(?:客气|谢|担心|放在心上)|没(?:问题|关系|事)|不客气"
    r"|我(?:也|完全|很|都)*(?:同意|赞同|这么(?:想|觉得)|理解|明白|懂)(?:你)?(?:的(?:感受|心情|想法))?"
    r")(?:了|啊|呀|哦|哟|呢|吧|的|啦|哒)*[\p{P}\p{S}\s]*",
)
_PRAISE = frozenset(
    (
        "yeah yes yep yup nope ok okay oh ah aw aww wow whoa haha hahaha ha lol hmm mm gosh god omg goodness man dude "
        "thanks thank thx cool nice great awesome amazing wonderful fantastic lovely sweet perfect good well fine glad "
        "happy sure right indeed exactly absolutely totally definitely truly beautiful interesting sound sounds agree "
        "agreed understand true congrats congratulations welcome please sorry fun funny pretty super quite hope luck "
        "best gorgeous stunning adorable cute inspiring inspirational brave strong kind thoughtful proud impressive "
        "incredible powerful special brilliant excited exciting thankful grateful appreciate appreciated touching "
        "heartwarming breathtaking magical delightful superb marvelous marvellous terrific phenomenal remarkable "
        "fabulous admirable awe cheers bravo kudos hear hearing heard see seeing seen look looks looking seem seems "
        "must wait keep safe enjoy enjoyed blast guess bet mean means way stuff lot kinda sort kind much ever even "
        "already yet too big huge real big-time always never love loved loving feel feels feeling think job"
    ).split()
)
_COURTESIES = _PRAISE | frozenset(
    (
        "story words word support advice help kindness concern friend day weekend evening night time trip work step "
        "sharing asking listening letting telling stay everything encouragement question questions try turns turn "
        "chat chatting talk talking soon later today"
    ).split()
)
"""What stands behind a fixed phrase without telling anything."""
_FIRST = regex.compile(r"\b(?:i|we|my|our|me|us|mine)\b|\bi['’]|[我咱]", regex.IGNORECASE)
_EXACT = regex.compile(r"\p{N}")


def is_pleasantry(clause: str, names: Sequence[str] = ()) -> bool:
    """Whether a clause only pleases the one it is said to: it praises, thanks, agrees, sympathises or wishes well.

    It is one where nothing is left of it without fixed phrases (`Glad to hear that`, 谢谢你的分享), words of praise and
    the names of those who talk (`That's gorgeous, Mel!`). `Glad to hear that you moved` tells something and is none. Of
    what speakers say about themselves only fixed phrases count (`I totally agree`); a clause with a figure never does.

    Args:
        clause: As it was said, in English or Chinese; other languages have no pleasantries here.
        names: Of those who talk; three letters of one are enough.

    Example:
        >>> is_pleasantry("That's gorgeous, Mel!", ["Melanie"]), is_pleasantry("The dress is blue, Mel!", ["Melanie"])
        (True, False)
    """
    if _EXACT.search(clause):
        return False
    said = clause.strip()
    opening = _FORMULA.match(rest := _without_opening_name(said, names))
    if opening is not None and _only(_COURTESIES, rest[opening.end() :], names):
        return True
    return _CHINESE.fullmatch(said) is not None or (not _FIRST.search(said) and _only(_PRAISE, said, names))


def _only(words: frozenset[str], text: str, names: Sequence[str]) -> bool:
    return all(word in words or _is_name(word, names) for word in content_tokens(text))


def _without_opening_name(clause: str, names: Sequence[str]) -> str:
    name, comma, rest = clause.partition(",")
    return rest.lstrip() if comma and _is_name(name.strip().lower(), names) else clause


def _is_name(word: str, names: Sequence[str]) -> bool:
    return any(name.lower() == word or (len(word) >= 3 and name.lower().startswith(word)) for name in names)
