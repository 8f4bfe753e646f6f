"""What a text is about, in its own words: runs of content words, weighed by how rare they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import regex

from mnemoscope.core.language.tokens import content_tokens, lexical_tokens

__all__ = ["Corpus", "keyphrases"]

_LONGEST = 3
_CAPITAL_BONUS = 1.5
_WORD = regex.compile(r"[\p{L}\p{N}--\p{Han}][[\p{L}\p{N}\p{M}'’-]--\p{Han}]*|\p{Han}+", regex.VERSION1)
_CAPITAL = regex.compile(r"\p{Lu}")
_HAN = regex.compile(r"\p{Han}")
_SENTENCE_END = regex.compile(r"[.!?…\n]")
_VAGUE = frozenset(
    (
        "ago always am another anyone anything around away back bit called came can't come day days didn't doesn't "
        "don't don’t dr else even ever every everyone everything feel feeling felt find first gave give going gonna "
        "good got great guess happy haven't hey hi hope i'd i'll i'm i've isn't it's it’s i’m i’ve keep kind know "
        "last later let's live lives living look looking many maybe might mr mrs ms must named need never new next "
        "nice okay old one people please pretty put quite right said saw say see seem since someone something "
        "sometimes soon start started still stuff sure take thank thanks that's that’s there's think thought time "
        "today told tomorrow took try trying two used want wanted way week went what's wonderful wow yeah year "
        "years yesterday yet you're you've"
    ).split()
)
_CALENDAR = frozenset("monday tuesday wednesday thursday friday saturday sunday dr mr mrs ms".split())
_HAN_BREAK = regex.compile(
    r"(?:成都|首都|上海|里斯本|过敏|过年|小说|会计|社会|机会|地[铁方图址]|和平|上班|下班|上学|想法|能力|被子|天下|跟前|对象)(*SKIP)(*FAIL)"
    r"|名叫|名字|昨天|前天|今天|明天|后天|现在|最近|以前|以后|已经|一直|还是|但是|因为|所以|如果|然后|什么|怎么|这个|那个|没有|觉得|可以|可能"
    r"|非常|特别|喜欢|打算|[一二两三四五六七八九十几][只个条位名件本次年月天岁]"
    r"|[的了是在我你他她它们这那有和与就都也很吗呢吧啊呀哦嗯着过地得把被让给对从到叫养去来说想要会能跟上下里只个不没还最]"
)
_LONGEST_HAN = 4


@dataclass(slots=True)
class Corpus:
    """In how many of the texts seen so far each token occurs; it grows with the conversation."""

    documents: int = 0
    having: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Corpus:
        """The frequencies in these texts."""
        corpus = cls()
        for text in texts:
            corpus.add(text)
        return corpus

    def add(self, text: str) -> None:
        """Count one more text."""
        self.documents += 1
        self.having.update(set(lexical_tokens(text)))

    def rarity(self, token: str) -> float:
        """Smoothed idf, ln((1 + N) / (1 + n)) + 1, at least 1; the same for all tokens of an empty corpus."""
        return math.log((1 + self.documents) / (1 + self.having[token])) + 1


def keyphrases(text: str, *, limit: int, corpus: Corpus | None = None) -> tuple[str, ...]:
    """The phrases that say most of what a text is about, best first, as they stand in it.

    Candidates are one to three neighbouring content words of one sentence part, in Chinese the pieces between function
    characters, cut into bigrams where they are long. A candidate scores the sum of its words' tf·idf over the root of
    their number, and half as much again with a capital that no sentence start explains. A phrase that shares a word
    with a better one is left out. It follows RAKE and YAKE in shape, not in their formulas.

    Args:
        text: Any text.
        limit: The most phrases, at least 0.
        corpus: Document frequencies; without one, all words are equally rare.

    Example:
        >>> keyphrases("I adopted a rescue greyhound in Bergen.", limit=2)
        ('Bergen', 'rescue greyhound')
    """
    frequencies = corpus or Corpus()
    runs = list(_runs(text))
    count = Counter(word.lower() for run in runs for word, _ in run)
    weight = {word: (1 + math.log(n)) * _rarity(word, frequencies) for word, n in count.items()}
    scored: dict[str, tuple[float, str, frozenset[str]]] = {}
    for run in runs:
        for phrase, words, capital in _candidates(run):
            score = sum(weight[word] for word in words) / math.sqrt(len(words)) * (_CAPITAL_BONUS if capital else 1.0)
            key = phrase.lower()
            if key not in scored or score > scored[key][0]:
                scored[key] = (score, scored[key][1] if key in scored else phrase, frozenset(words))
    chosen: list[str] = []
    taken: set[str] = set()
    for _, phrase, own in sorted(scored.values(), key=lambda item: -round(item[0], 9)):
        if len(chosen) >= limit:
            break
        if not own & taken:
            chosen.append(phrase)
            taken |= own
    return tuple(chosen)


_Run = list[tuple[str, bool]]
"""Neighbouring content words, each with whether its capital makes it a name."""


def _runs(text: str) -> Iterator[_Run]:
    run: _Run = []
    end, opens = 0, True
    for match in _WORD.finditer(text):
        between, word = text[end : match.start()], match[0]
        opens = opens if end == 0 else _SENTENCE_END.search(between) is not None
        end = match.end()
        han = _HAN.match(word) is not None
        if run and (han or between != " "):
            yield run
            run = []
        if han:
            yield from ([(piece, False)] for piece in _han_pieces(word))
        elif _tells(word, name := not opens and _CAPITAL.match(word) is not None):
            run.append((word, name))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _han_pieces(word: str) -> Iterator[str]:
    for piece in _HAN_BREAK.split(word):
        if 0 < len(piece) <= _LONGEST_HAN:
            yield piece
        else:
            yield from (piece[i : i + 2] for i in range(len(piece) - 1))


def _tells(word: str, name: bool) -> bool:
    lowered = word.lower()
    vague = lowered in _CALENDAR if name else lowered in _VAGUE or lowered.endswith("ly")
    return len(word) > 1 and not vague and bool(content_tokens(word))


def _candidates(run: _Run) -> Iterator[tuple[str, list[str], bool]]:
    for start in range(len(run)):
        for end in range(start + 1, min(start + _LONGEST, len(run)) + 1):
            piece = run[start:end]
            yield (
                " ".join(word for word, _ in piece),
                [word.lower() for word, _ in piece],
                any(name for _, name in piece),
            )


def _rarity(word: str, corpus: Corpus) -> float:
    tokens = lexical_tokens(word)
    return max(corpus.rarity(token) for token in tokens) if tokens else 1.0
