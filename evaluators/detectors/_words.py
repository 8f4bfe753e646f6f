"""Word lists of the offline detectors: what weighs little, what negates, what refuses, who stands for whom."""

from __future__ import annotations

from functools import lru_cache

import regex
import snowballstemmer

__all__ = [
    "CLAUSE",
    "LIGHT",
    "NEGATING_TOKENS",
    "NEGATION",
    "PRONOUNS",
    "REFUSAL",
    "RELATIONS",
    "SENTENCE",
    "canonical",
]

_STEMMER = snowballstemmer.stemmer("porter")

_SYNONYMS = (
    "kid child children toddler", "mom mum mother", "dad father", "movie film", "buy bought purchase purchased",
    "begin began begun start started", "photo picture photograph", "big large huge", "trip journey travel",
    "job work employment", "pup puppy", "bike bicycle", "allergic allergy", "daily everyday", "teach taught",
    "run ran", "swim swam swum", "write wrote written", "eat ate eaten", "drive drove driven", "speak spoke spoken",
    "see saw seen", "give gave given", "find found", "leave left", "lose lost", "win won", "meet met", "sell sold",
    "build built", "tell told", "think thought", "feel felt", "keep kept", "grow grew grown", "fly flew flown",
    "break broke broken", "choose chose chosen", "catch caught", "draw drew drawn", "spend spent", "move relocate",
    "like love enjoy adore", "adopt adopted", "neighbour neighbor", "colour color", "favourite favorite",
)  # fmt: skip
_LIGHT_WORDS = (
    "like likes love loves enjoy enjoys use uses used want wants plan plans feel feels felt find finds found start "
    "starts started recently currently try tries tried take takes took keep keeps think thinks believe believes value "
    "values appreciate appreciates help helps new time shortly week day days around well called named name often "
    "usually sometimes always considers include includes become became experience way work works good great way people"
)


@lru_cache(maxsize=65_536)
def _stem(token: str) -> str:
    return str(_STEMMER.stemWord(token)) if token.isascii() and token.isalpha() else token


_GROUP = {_stem(word): _stem(group.split()[0]) for group in _SYNONYMS for word in group.split()}


@lru_cache(maxsize=65_536)
def canonical(token: str) -> str:
    """A token's Porter stem, or its group's stem where everyday synonyms and irregular forms are known."""
    stem = _stem(token)
    return _GROUP.get(stem, stem)


NEGATING_TOKENS = frozenset({"cannot", "cant", "never", "without", "none", "nobody", "hardly", "unable"})
"""Words that only negate: they set polarity and are no content."""

LIGHT = frozenset(canonical(word) for word in _LIGHT_WORDS.split())
"""Words that say little about which fact it is; they weigh half."""

NEGATION = regex.compile(
    r"\b(?:not|never|cannot|cant|without|neither|nor|none|nobody|hardly|no|avoid\w*|stop\w*|quit\w*|refus\w+|lack\w*|"
    r"unable|fail\w*)\b|n['’]t\b"
    r"|(?:不(?![错过仅但久]|一会)|(?<!差)没(?!问题)|未(?![来必])|(?<![特分告区差级])别(?!人)|并非|无法|从不)"
)
"""What turns a clause into its opposite."""

REFUSAL = regex.compile(
    r"\bnot (?:been )?mention|\bno (?:information|record|memory|mention|idea)\b"
    r"|(?:n['’]t|do not) (?:know|recall|remember|mention|tell|told|say|come up)\b"
    r"|(?:n['’]t|do not) have (?:any|a|that|enough)\b.{0,20}\b(?:information|record|memor|note|idea)"
    r"|n['’]t (?:think|believe)\b.{0,60}\b(?:came up|come up|mention|told|said)"
    r"|\bnot (?:sure|certain|aware)|\bunsure\b|\bnever (?:told|mentioned|said)|\bnot (?:told|said)\b"
    r"|\bcan(?:not|['’]?t) (?:say|tell|find|recall)|\bunknown\b"
    r"|没有?(?:提到|提及|提过|说过|记录|告诉|印象|相关信息)|未(?:提到|提及)"
    r"|不(?:知道|记得|清楚|确定|太清楚)|(?:想|记)不起来?"
)
"""A clause that says that something is not known; it never counts as use."""

CLAUSE = regex.compile(
    r"(?<!\d),|,(?!\d)|[;:()—–]|\s-\s|\b(?:but|although|though|because|whereas|however)\b|[，；：（）]|但是?|不过|可是|因为"
)
SENTENCE = regex.compile(
    r"(?<=[。！？!?…])|(?<=(?<!\b(?:Mr|Mrs|Ms|Dr|St|Mt|vs|etc|[A-Z]|a\.m|p\.m))\.)(?=\s|[\"”’)]|$)|\n+"
)

PRONOUNS = {
    "first": regex.compile(r"\b(?:i|me|my|mine|myself|we|our|us)\b|[我咱]"),
    "second": regex.compile(r"\b(?:you|your|yours|yourself)\b|[你您]"),
    "third": regex.compile(
        r"\b(?:he|she|they|him|her|his|hers|their|them|it|its|himself|herself|themselves|who)\b|[他她它]"
    ),
}
"""Pronouns by person; one kind stands for one person named in a fact."""
RELATIONS = frozenset(
    canonical(word)
    for word in (
        "neighbour friend brother sister mother father son daughter cousin uncle aunt colleague boss roommate partner "
        "husband wife boyfriend girlfriend grandmother grandfather grandma grandpa niece nephew coworker teammate"
    ).split()
) | {"邻居", "朋友", "同事", "哥哥", "弟弟", "姐姐", "妹妹", "妈妈", "爸爸", "奶奶", "爷爷", "室友"}
"""A fact about somebody's relation is not about the person who is spoken to."""
