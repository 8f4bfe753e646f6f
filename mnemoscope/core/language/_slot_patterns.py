"""The open list of patterns that slots are read by: whose clause it is, and what is said of them."""
# ruff: noqa: E501 - a pattern is read more easily on one line

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import regex

from mnemoscope.core.language.entities import HAN_NAME

__all__ = [
    "BARE",
    "CHINESE",
    "CHINESE_HEAD",
    "ENGLISH",
    "ENGLISH_HEAD",
    "HYPOTHETICAL",
    "OPPOSITES",
    "OWNED",
    "OWNER_HEAD",
    "SINGLE",
    "VALUE_END",
    "Predicate",
]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A pattern, matched right after the subject and what comes between them."""

    slot: str
    pattern: regex.Pattern[str]
    """Groups: `value`; `over` and `not` where the words themselves say that it no longer holds, or does not."""
    ends: bool = False
    """It says that the slot's value, or any value, no longer holds."""


SINGLE = frozenset("lives-in works-at works-as studies birthday married-to dating from name diet".split())
"""Slots that hold one value at a time."""
OPPOSITES: Mapping[str, str] = MappingProxyType({"likes": "dislikes", "dislikes": "likes"})

HYPOTHETICAL = regex.compile(
    r"\b(?:if|wish(?:es|ed)?|imagine|suppose|pretend|as though|unless|whether|would|could|might|maybe|perhaps|almost)\b"
    r"|如果|要是|假如|假装|希望|也许|可能|差点",
    regex.IGNORECASE,
)
"""From here on nothing is stated."""

VALUE_END = regex.compile(
    r"[,.;:!?()\n…–—]|-\s|\s-|\s(?:and\s+(?:i|we|you|he|she|they|it|my|have|had|am|was|got|then|now|just|also|\p{L}+ed"
    r"|(?:live|work|love|like|hate|want|own|keep|play|prefer|enjoy|plan|stud)(?:s|ies|y)?)"
    r"|but|because|since|when|while|so|though|although|now|nowadays|currently|these\s+days|today|yesterday|tonight"
    r"|anymore|any\s+more|any\s+longer|(?:last|this|next)\s+(?:night|week|weekend|month|year|spring|summer|fall|autumn"
    r"|winter|\p{L}+day)|for\s+(?:a|the|over|about|\d+|two|three|four|five|ten|many)\s+\p{L}+|\d+\s+\p{L}+\s+ago"
    r"|(?:a|two|three|four|five|six|ten)\s+\p{L}+\s+ago|too|as\s+well|lol|haha|with\s+(?:my|our|his|her|the))\b"
    r"|[，。；：！？、（）]|但是?|因为|所以|然后|而且",
    regex.IGNORECASE,
)
"""Where a value ends."""

_RELATION = (
    r"(?:(?:little|big|older|younger|elder|best|ex|twin|step)[- ]?)?(?:sister|brother|mother|father|mom|mum|dad|wife"
    r"|husband|son|daughter|partner|girlfriend|boyfriend|friend|neighbou?r|cousin|uncle|aunt|colleague|boss|roommate"
    r"|grandmother|grandfather|grandma|grandpa|niece|nephew|coworker|fianc[ée]e?)"
)
_OWNER = r"(?P<owner>my|our|your|(?-i:\p{Lu}[\p{L}]+)['’]s)"
_ADVERB = (
    r"(?:now|currently|just|recently|also|really|still|actually|absolutely|always|finally|officially|totally|truly"
    r"|already|both|only|mostly|mainly|even|since|very|so|quite|completely|definitely|honestly|kind\s+of)"
)
ENGLISH_HEAD = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}'’])(?:(?P<first>i|we)|(?P<second>you)|{_OWNER}\s+(?P<relation>{_RELATION})"
    r"(?:,?\s+(?-i:\p{Lu}\p{L}+),?)?"
    r"|(?P<carried>and|but)|(?<=^|[,;.:]\s|\b(?:and|but|that|because|since|while|as|said|so)\s)(?P<name>(?-i:(?!(?:I|We|You|And|But|He|She|They|It|My|Our|Your|The|This|That|If|When|Not)\b)"
    r"\p{Lu}\p{L}+)))(?![\p{L}\p{N}])"
    rf"(?:,?\s+{_ADVERB})*"
    r"(?:['’](?:m|ve|re|s|d(?=\s+(?:never|no\s+longer)))|\s+(?P<past>was|were|had|used\s+to\s+be)\b|\s+(?:am|are|is|do|does|did|(?:have|has)(?!\s+(?:an?|one|two|three|four|five|six|some|no|any|my|our|another|to|\d+)\b))\b)?"
    r"(?P<plain>n['’]?t|\s+not\b)?"
    r"(?:\s+(?P<plain>don['’]?t|doesn['’]?t|didn['’]?t|haven['’]?t|hasn['’]?t|aren['’]?t|isn['’]?t|ain['’]?t)\b)?"
    rf"(?:,?\s+{_ADVERB})*"
    r"(?:\s+(?P<never>never)\b|\s+(?P<over>no\s+longer|used\s+to|stopped|quit(?=\s+\p{L}+ing)|gave\s+up(?=\s+\p{L}+ing))\b)?"
    rf"(?:\s+(?:been|be|a\s+lot|{_ADVERB}))*\s+",
    regex.IGNORECASE,
)
"""A subject and what stands between it and its predicate: adverbs, auxiliaries, negation."""

_BE = rf"(?<=(?:['’](?:m|re|s)|\b(?:am|are|is|not|longer|be|been|{_ADVERB}))\s)"
BARE = regex.compile(
    r"(?:live|work|like|love|enjoy|adore|hate|dislike|prefer|own|keep|plan|intend|study|major|have|come|going)\b",
    regex.IGNORECASE,
)
"""A verb that no single third person stands before: the capitalised word is no subject (`Events like these`)."""

_OVER = r"(?:.*?\b(?P<over>any\s?more|any\s+longer))?"
_REST = rf"(?P<value>[^\n]+?)(?=\s+any\s?more\b|\s+any\s+longer\b|$){_OVER}"
_PLACE = rf"(?P<value>(?-i:\p{{Lu}}|[a-z]+(?=[\s,.!]*$)|(?:a|the)\s+\p{{L}}+)[^\n]*?)(?=\s+any\s?more\b|\s+any\s+longer\b|$){_OVER}"
_PETS = (
    r"(?:dogs?|pupp(?:y|ies)|cats?|kittens?|rabbits?|bunn(?:y|ies)|hamsters?|parrots?|birds?|budgies?|fish|goldfish"
    r"|turtles?|tortoises?|horses?|pon(?:y|ies)|snakes?|geckos?|lizards?|guinea\s+pigs?|ferrets?|chickens?|goats?"
    r"|greyhounds?|beagles?|retrievers?|poodles?|corgis?|terriers?|shepherds?|spaniels?|tabb(?:y|ies))"
)
_CHILDREN = r"(?:sons?|daughters?|kids?|child(?:ren)?|bab(?:y|ies)|twins|toddlers?|boys?|girls?)"
_NUMBER = r"(?:(?:(?P<not>no)|any|an?|one|two|three|four|five|six|some|my|our|another|\d+)\s+)?"
_QUALIFIER = r"(?:(?!(?:to|by|been|seen|with|for|the|at)\b)\p{L}+\s+){0,2}?"
_NOT_FOR = r"(?!['’]|\s+(?:food|toys?|beds?|litter|trees?|person|people|lovers?|shows?|parks?|shelters?|sitters?|treats?|allerg\p{L}+|books?|clothes|room)\b)"
_WORKER = (
    r"(?:nurse|chef|cook|coach|pilot|judge|clerk|guide|student|consultant|assistant|accountant|architect|mechanic|vet"
    r"|freelance|analyst|librarian|plumber|barista|midwife|surgeon|model|priest|therapist|(?!(?:\p{L}*ever|rather|after|under|over|better|other|another|matter|reminder|sucker|stranger|minor|lover|sister"
    r"|brother|mother|father|daughter|partner|beginner|member|winner|dinner|summer|weather|computer|instant|important"
    r"|different|\p{L}+ier)\b)"
    r""
    r"\p{L}{2,}(?:er|or|ist|ian|ant))"
)


def _english(slot: str, pattern: str, *, ends: bool = False) -> Predicate:
    return Predicate(slot, regex.compile(pattern, regex.IGNORECASE), ends)


ENGLISH: tuple[Predicate, ...] = (
    _english("lives-in", rf"(?:liv(?:es?|ing)|resid(?:es?|ing)|based|settled(?:\s+down)?)\s+(?:in|at)\s+{_REST}"),
    _english(
        "lives-in",
        rf"(?:moved|relocated)\s+(?:back\s+|over\s+|out\s+|here\s+)?(?:from\s+[^\n]+?\s+)?to\s+(?!tears\b){_PLACE}",
    ),
    _english("works-at", rf"(?:work(?:s|ing)?|employed)\s+at\s+{_REST}"),
    _english("works-at", rf"(?:work(?:s|ing)?|employed)\s+for\s+{_PLACE}"),
    _english("works-at", rf"(?:got|started|took|landed)\s+an?\s+(?:new\s+)?(?:job|position)\s+(?:at|with)\s+{_REST}"),
    _english("works-at", r"(?:quit|left|lost|resigned\s+from)\s+(?:my|our|your|the|his|her|their)\s+(?:old\s+)?(?:job|position)(?:\s+at\s+(?P<value>[^\n]+))?", ends=True),
    _english("works-as", rf"(?:work(?:s|ing)?|employed)\s+as\s+(?:an?\s+)?{_REST}"),
    _english("works-as", rf"(?:{_BE}|(?:became|become)\s+)an?\s+(?P<value>(?:\p{{L}}+\s+){{0,2}}{_WORKER})(?=\s*(?:$|[,.;:!–—-]|(?:in|at|for|with|by|now|and|from|on|here|any\s?more)\b)){_OVER}"),
    _english("works-as", r"(?:retired|got\s+laid\s+off|got\s+fired)\b", ends=True),
    _english("studies", rf"(?:study(?:ing)?|studies|major(?:s|ing)?\s+in)\s+(?!(?:a\s+lot|really|real|very|so|hard|for|at|in|with|are|is|and)\b){_REST}"),
    _english("birthday", rf"born\s+on\s+{_REST}"),
    _english("from", rf"(?:{_BE}|comes?\s+)(?:originally\s+)?from\s+{_PLACE}"),
    _english("from", rf"(?:born|grew\s+up)\s+in\s+{_PLACE}"),
    _english("married-to", r"(?:got\s+)?married\s+(?:to\s+)?(?!(?:in|on|at|for|with|last|next|now)\b)(?P<value>(?-i:\p{Lu}\p{L}+(?:\s\p{Lu}\p{L}+)?))"),
    _english("married-to", r"(?:got\s+)?(?:divorced|separated)\b(?:\s+from\s+(?P<value>[^\n]+))?", ends=True),
    _english("dating", rf"(?:dating|engaged\s+to|going\s+out\s+with)\s+{_REST}"),
    _english("dating", r"(?:broke|broken|split)\s+up\b(?:\s+with\s+(?P<value>[^\n]+))?", ends=True),
    _english("name", r"(?:called|named)\s+(?P<value>(?-i:\p{Lu}\p{L}+))"),
    _english("diet", r"(?:(?:became|went|turned)\s+)?(?:an?\s+)?(?P<value>vegan|vegetarian|pescatarian|gluten[- ]free|teetotal)\b(?:.*?\b(?P<over>any\s?more|any\s+longer))?"),
    _english("likes", rf"(?:lik(?:es?|ing)|lov(?:es?|ing)|enjoy(?:s|ing)?|adores?|fond\s+of|(?:a\s+)?(?:big\s+|huge\s+)?fan\s+of|into)\s+(?!how\b|that\b|when\b|what\b|it\b|you\b|and\b|or\b|was\b|is\b|are\b|ha[sd]\b|have\b|this\b|your\b|the\s+way\b|to\s+(?:see|hear)\b){_REST}"),
    _english("dislikes", rf"(?:hat(?:es?|ing)|dislik(?:es?|ing)|detests?|loathes?|can['’]?t\s+stand|cannot\s+stand)\s+(?!how\b|that\b|when\b|it\b|to\s+say\b|this\b){_REST}"),
    _english("prefers", rf"prefer(?:s|ring)?\s+{_REST}"),
    _english("allergic-to", rf"(?:(?:severely|badly|deathly|very)\s+)?allergic\s+to\s+{_REST}"),
    _english("allergic-to", r"(?:have|has|got)\s+(?:got\s+)?an?\s+(?P<value>\p{L}+)\s+allergy\b"),
    _english("has-pet", rf"(?:have|has|got|adopted|own(?:s|ed)?|keeps?|bought)\s+(?:got\s+)?{_NUMBER}(?P<value>{_QUALIFIER}{_PETS}\b{_NOT_FOR}(?:,?\s+(?:named|called)\s+(?-i:\p{{Lu}}[\p{{L}}]*(?:\s+and\s+\p{{Lu}}\p{{L}}*)?))?){_OVER}"),
    _english("has-child", rf"(?:have|has|got)\s+(?:got\s+)?{_NUMBER}(?P<value>{_QUALIFIER}{_CHILDREN}\b{_NOT_FOR}(?:,?\s+(?:named|called)\s+(?-i:\p{{Lu}}[\p{{L}}]*(?:\s+and\s+\p{{Lu}}\p{{L}}*)?))?){_OVER}"),
    _english("owns", rf"(?:own(?:s|ing)?|bought|purchased)\s+(?:an?\s+(?:new\s+)?|my\s+(?:own\s+|first\s+))(?!{_PETS}\b){_REST}"),
    _english("plans-to", r"(?:plan(?:s|ning)?|going|intend(?:s|ing)?)\s+(?:on|to)\s+(?!(?:an?|the|my|our|your|his|her|this|that|some|be)\b)(?P<value>(?-i:\p{Ll})[^\n]+)"),
)  # fmt: skip
OWNER_HEAD = regex.compile(rf"(?<![\p{{L}}\p{{N}}'’]){_OWNER}\s+", regex.IGNORECASE)
OWNED: tuple[Predicate, ...] = (
    _english("birthday", r"birthday(?:['’]s|\s+is)\s+(?:on\s+)?(?P<value>(?:the\s+)?[^\n]*(?:\d|first|second|third|th\b)[^\n]*)"),
    _english("name", r"name(?:['’]s|\s+is)\s+(?P<value>(?-i:\p{Lu}\p{L}+))"),
    _english("married-to", r"(?:wife|husband|spouse)(?:['’]s\s+name)?(?:\s+is|,|\s+called|\s+named)?(?:\s+called|\s+named)?\s+(?P<value>(?-i:\p{Lu}\p{L}+))"),
    _english("has-pet", rf"(?P<value>(?:\p{{L}}+\s+)?{_PETS}(?:\s+is)?,?\s+(?:(?:named|called)\s+)?(?-i:\p{{Lu}}\p{{L}}+))\b(?!\s+(?:sadly\s+)?(?:died|passed))"),
    _english("has-pet", rf"(?P<value>{_PETS}(?:\s+(?-i:\p{{Lu}}\p{{L}}+))?)\s+(?:sadly\s+)?(?:died|passed\s+away)", ends=True),
)  # fmt: skip
"""What is said of something of somebody's, matched right after its owner."""

_HAN_RELATION = "妈妈?|爸爸?|姐姐?|妹妹?|哥哥?|弟弟?|老公|老婆|丈夫|妻子|儿子|女儿|男朋友|女朋友|朋友|同事|邻居|室友|奶奶|爷爷|外婆|外公|父亲|母亲"
_HAN_ADVERB = "(?:现在|目前|已经|刚刚?|最近|一直|还是?|也|都|就|真的?|真|其实|最|很|特别|非常|比较|平时|今年|去年|上个?[周月]|昨天|今天|后来)"
CHINESE_HEAD = regex.compile(
    rf"(?:(?P<who>我们?|咱们?|你|您|他们?|她们?|它)(?:的?(?P<relation>{_HAN_RELATION}))?|(?P<name>{HAN_NAME.pattern})"
    rf"|(?:^|(?<=[，,。；\s]))){_HAN_ADVERB}*(?P<past>以前|曾经?|小时候)?"
    rf"(?:(?P<over>不再|再也不|戒了?)|(?P<never>从来?不|没有?(?=[养住在])|不))?{_HAN_ADVERB}*"
)
"""A Chinese subject, or the start of a clause that carries the last one on."""


def _chinese(slot: str, pattern: str, *, ends: bool = False) -> Predicate:
    return Predicate(slot, regex.compile(pattern), ends)


_HAN_VALUE = r"(?P<value>[^，。；！？、\s]+?)"
_HAN_END = r"(?P<over>了)?(?=[，。；！？、\s~～]|$)"
_HAN_STOP = r"(?=了?(?:[，。；！？、\s~～]|$))"
CHINESE: tuple[Predicate, ...] = (
    _chinese("lives-in", rf"(?:住在|定居在?|住){_HAN_VALUE}{_HAN_STOP}"),
    _chinese("lives-in", rf"(?:从[^，。]+?)?(?:搬家?[到去]了?|搬进了?){_HAN_VALUE}{_HAN_STOP}"),
    _chinese("works-at", rf"在{_HAN_VALUE}(?P<not>不)?(?:工作|上班){_HAN_STOP}"),
    _chinese("works-at", r"辞职了?|离职了?|失业了?", ends=True),
    _chinese("works-as", r"(?:是|当上?了?|做)(?:一?[名个位])?(?P<value>[^，。；！？、\s的]{0,8}?(?:[^老]师|老师|医生|护士|律师|教授|记者|经理|会计|学生|司机|程序员|演员|作家|画家|警察))"),
    _chinese("studies", rf"(?:在读|学的?是|主修|专业是){_HAN_VALUE}{_HAN_STOP}"),
    _chinese("birthday", rf"的?生日[是在]{_HAN_VALUE}{_HAN_STOP}"),
    _chinese("from", rf"(?:来自|老家在|出生[在于]){_HAN_VALUE}{_HAN_STOP}"),
    _chinese("name", r"(?:名叫|名字[叫是]|叫)(?P<value>\p{Han}{1,4}?)(?=[，。；！？、\s]|$)"),
    _chinese("married-to", rf"[和跟与]{_HAN_VALUE}结婚了?"),
    _chinese("married-to", r"离婚了?|[和跟与](?P<value>[^，。；！？、\s]+?)离婚", ends=True),
    _chinese("dating", rf"[和跟与]{_HAN_VALUE}(?:谈恋爱|交往|在一起)"),
    _chinese("dating", r"[和跟与](?P<value>[^，。；！？、\s]+?)分手|分手了?", ends=True),
    _chinese("diet", r"(?:开始)?(?P<value>吃素|素食主义者|是素食者)"),
    _chinese("likes", rf"(?:喜欢|爱(?=[吃喝看玩听打])){_HAN_VALUE}{_HAN_END}"),
    _chinese("dislikes", rf"(?:讨厌|受不了|不喜欢){_HAN_VALUE}{_HAN_STOP}"),
    _chinese("prefers", rf"更喜欢{_HAN_VALUE}{_HAN_STOP}"),
    _chinese("allergic-to", rf"对{_HAN_VALUE}(?P<not>不)?(?:严重)?过敏"),
    _chinese("has-pet", rf"(?:养了?|(?P<not>没)?有|领养了?)(?:[一二两三四几]?[只条个匹])?(?P<value>[^，。；！？、\s]{{0,6}}?(?:猫|狗|兔子?|仓鼠|鹦鹉|乌龟|鱼|鸟)(?:名?叫\p{{Han}}{{1,4}})?){_HAN_STOP}"),
    _chinese("has-child", rf"(?P<not>没)?有(?:[一二两三四几]?个)?(?P<value>[^，。；！？、\s]{{0,4}}?(?:儿子|女儿|孩子|宝宝)(?:名?叫\p{{Han}}{{1,4}})?){_HAN_STOP}"),
    _chinese("owns", rf"(?:买了|有)一(?:辆|套|台|架|把){_HAN_VALUE}{_HAN_STOP}"),
    _chinese("plans-to", rf"(?:打算|计划|准备){_HAN_VALUE}{_HAN_STOP}"),
)  # fmt: skip
