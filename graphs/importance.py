"""How much a user's turn matters for later: given scores where all turns have one, else a documented fallback."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Literal, get_args

import regex

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Turn

__all__ = [
    "GIVEN",
    "IMPORTANCE_SOURCES",
    "SAID",
    "Heard",
    "ImportanceSource",
    "given_importance",
    "salience",
    "take_share",
]

ImportanceSource = Literal["auto", "given", "salience"]
IMPORTANCE_SOURCES: tuple[ImportanceSource, ...] = get_args(ImportanceSource)
GIVEN = "importance"
"""Key of `Turn.meta`, and of an item's attributes: a score that came with the data."""
SAID = "said"
"""Key of an item's attributes: what the user said in it, without times and names; empty where only others spoke."""

_RARITY, _CUES, _NAMES = 0.5, 0.3, 0.2
_FIRST_PERSON = regex.compile(r"\b(?:i|i'm|i’m|i've|i’ve|my|mine|me|we|our)\b", regex.IGNORECASE)
_DISCLOSURE = regex.compile(
    r"\b(?:live|lived|moved|moving|born|grew up|married|divorced|engaged|pregnant|work|job|study|studied|graduated|"
    r"allergic|allergy|diagnosed|vegan|vegetarian|favou?rite|prefer|love|loved|hate|afraid|adopted|bought|started|"
    r"quit|planning|plan to|going to|want to|hope to|promised|birthday|anniversary|named|called|sister|brother|"
    r"mother|father|mom|mum|dad|wife|husband|son|daughter|partner|friend|dog|cat)\b",
    regex.IGNORECASE,
)
_CHINESE_DISCLOSURE = regex.compile(
    r"(?:我|我们|咱们)[^。！？]{0,8}(?:住|搬|出生|结婚|离婚|怀孕|工作|上班|学|毕业|过敏|确诊|吃素|最喜欢|喜欢|讨厌|怕|养|"
    r"买|开始|辞|打算|计划|想|希望|答应|生日|叫|姐|妹|哥|弟|妈|爸|妻|丈夫|儿子|女儿|朋友|狗|猫)"
)
_NUMBER = regex.compile(r"\d|[一二三四五六七八九十百千两][个年月日岁号点天次]")
_NAME = regex.compile(r"(?<=[\p{L}\p{N},;:] )\p{Lu}\p{Ll}+|《[^》]+》")


def given_importance(turns: Sequence[Turn]) -> str | None:
    """The highest score that the user's turns among these were given; None where one of them has none.

    Raises:
        ConfigError: A score is no number.
    """
    scores = [turn.meta.get(GIVEN) for turn in turns if turn.role != "assistant"]
    if not scores or None in scores:
        return None
    return max((score for score in scores if score is not None), key=_number)


def salience(texts: Sequence[str]) -> list[float]:
    """The fallback: 0.5 · z(rarity) + 0.3 · self-disclosure + 0.2 · name or number, over the texts given and no others.

    Rarity is the sum of ln(N / n) over a text's different content words, n of the N texts having the word, and z its
    distance from the mean in standard deviations. Self-disclosure is a first person together with a word of someone's
    life (English), or the like in Chinese. It follows the shape of MemUse's importance model without its training,
    and is no replacement for it.

    Args:
        texts: What users said, each the words of one exchange.

    Returns:
        A score per text, any sign, comparable within one call only.
    """
    words = [set(content_tokens(text)) for text in texts]
    having = Counter(word for own in words for word in own)
    rarity = [sum(math.log(len(texts) / having[word]) for word in sorted(own)) for own in words]
    mean, spread = (fmean(rarity), pstdev(rarity)) if rarity else (0.0, 0.0)
    return [_weighed(text, rare - mean, spread) for text, rare in zip(texts, rarity, strict=True)]


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said so far, as counts: enough to tell how salient the next text is, at the same cost at any time."""

    texts: int = 0
    having: Mapping[str, int] = field(default_factory=dict)
    """Content word to the number of texts that have it."""
    mean: float = 0.0
    """Of the texts' rarity, each as it was when the text came in."""
    squares: float = 0.0
    """Sum of squared distances from that mean."""

    def hear(self, text: str) -> tuple[float, Heard]:
        """The salience of one more text, and what has been heard with it.

        As `salience`, with two differences that a stream asks for: a text is held against those before it and itself,
        never against later ones, and rarity is measured in ln N, so that it does not grow with the history alone: a new
        word counts 1, one that every text has 0.
        """
        texts, own = self.texts + 1, set(content_tokens(text))
        having = {**self.having, **{word: self.having.get(word, 0) + 1 for word in own}}
        rare = sum(1 - math.log(having[word]) / math.log(max(texts, 2)) for word in sorted(own))
        mean = self.mean + (rare - self.mean) / texts
        squares = self.squares + (rare - self.mean) * (rare - mean)
        heard = Heard(texts, having, mean, squares)
        return _weighed(text, rare - mean, math.sqrt(squares / texts)), heard


def take_share(exchanges: Sequence[MemoryItem], share: int, source: ImportanceSource) -> tuple[MemoryItem, ...]:
    """The most important share of exchanges, in their own order; of equals, the earlier ones.

    Scores rest on these exchanges alone, so a later turn can never change what an earlier moment had within reach.

    Args:
        exchanges: Everything said so far, in order. Those in which no user speaks count only where all are taken.
        share: Per cent, 1–100; a fraction of an exchange counts as a whole one.
        source: `given` scores, `salience`, or `auto`: given ones where every exchange has one.

    Raises:
        ConfigError: Scores must be given and are not.
    """
    if share == 100:
        return tuple(exchanges)
    spoken = [item for item in exchanges if item.attrs.get(SAID)]
    scores = _scores(spoken, source)
    best = sorted(range(len(spoken)), key=lambda i: (-scores[i], i))[: math.ceil(share * len(spoken) / 100)]
    return tuple(spoken[i] for i in sorted(best))


def _scores(spoken: Sequence[MemoryItem], source: ImportanceSource) -> list[float]:
    given = [item.attrs.get(GIVEN) for item in spoken]
    if source != "salience" and None not in given:
        return [_number(score) for score in given if score is not None]
    if source == "given":
        lacking = next(item for item, score in zip(spoken, given, strict=True) if score is None)
        raise ConfigError(
            f"no importance is given for {lacking.id}; load the corpus that has it, or use importance=salience"
        )
    return salience([item.attrs[SAID] for item in spoken])


def _weighed(text: str, distance: float, spread: float) -> float:
    rarity = distance / spread if spread else 0.0
    named = bool(_NAME.search(text) or _NUMBER.search(text))
    return round(_RARITY * rarity + _CUES * _discloses(text) + _NAMES * named, 9)


def _discloses(text: str) -> bool:
    in_english = _FIRST_PERSON.search(text) and _DISCLOSURE.search(text)
    return bool(in_english or _CHINESE_DISCLOSURE.search(text))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"importance {text!r} is no number")
    return value
