"""Shortening without a model: whole sentences, chosen by a score, in the order in which they were said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import regex

from mnemoscope.core.language.claims import claims
from mnemoscope.core.language.sentences import split_sentences
from mnemoscope.core.language.tokens import content_tokens, lexical_tokens
from mnemoscope.memory_backends.record import Source

__all__ = ["Passage", "central", "closest_to", "count_words", "cut_at_sentence", "extract", "telling"]

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that sentences are taken from."""

    text: str
    lead: str
    """What stands before its sentences, such as `Ada: `; it is written once."""
    sources: tuple[Source, ...]


def extract(
    passages: Sequence[Passage], score: Callable[[str], float], limit: int, size: Callable[[str], int]
) -> tuple[str, tuple[Passage, ...]]:
    """The best sentences that fit, each passage's on a line of its own.

    Sentences are taken by falling score, of equals the earlier one; one that does not fit any more is passed over, and
    one that was taken before is not repeated. The first sentence is always taken.

    Args:
        passages: Where sentences come from, in order.
        score: Of one sentence; higher is better.
        limit: The largest size of the result.
        size: Of a text.

    Returns:
        The text, and the passages that have a sentence in it or a repetition of one.
    """
    sentences = [(at, sentence) for at, passage in enumerate(passages) for sentence in split_sentences(passage.text)]
    order = sorted(range(len(sentences)), key=lambda i: (-round(score(sentences[i][1]), 9), i))
    chosen: set[int] = set()
    repeats: dict[str, int] = {}
    echoes: set[int] = set()
    for i in order:
        at, sentence = sentences[i]
        key = " ".join(lexical_tokens(sentence)) or sentence
        if key in repeats:
            if repeats[key] in chosen:
                echoes.add(at)
            continue
        repeats[key] = i
        if not chosen or size(_written(passages, sentences, chosen | {i})) <= limit:
            chosen.add(i)
    used = {sentences[i][0] for i in chosen} | echoes
    return _written(passages, sentences, chosen), tuple(passages[at] for at in sorted(used))


def central(texts: Sequence[str], names: Collection[str] = ()) -> Callable[[str], float]:
    """A score of how much a sentence says of what these texts speak of: the mean weight of its words.

    A word weighs the share of the texts that have it; short sentences are damped.

    Args:
        texts: What is spoken of.
        names: Of those who speak: everyone says them, and they tell nothing.
    """
    named = {word for name in names for word in content_tokens(name)}
    having = Counter(word for text in texts for word in set(content_tokens(text)) - named)

    def score(sentence: str) -> float:
        words = set(content_tokens(sentence)) - named
        return sum(having[word] for word in words) / (len(words) + 3)

    return score


def closest_to(query: str) -> Callable[[str], float]:
    """A score of how much of a question's words a sentence has, 0–1."""
    wanted = set(content_tokens(query))

    def score(sentence: str) -> float:
        return len(wanted & set(content_tokens(sentence))) / len(wanted) if wanted else 0.0

    return score


def telling(text: str) -> str:
    """The sentences of a text that say something, without greetings, questions and backchannels; all if none does.

    Example:
        >>> telling("Hi Bo! I moved to Bergen. How are you?")
        'I moved to Bergen.'
    """
    return " ".join(sentence for sentence in split_sentences(text) if claims(sentence).kept) or text


def count_words(text: str) -> int:
    """Words of spaced scripts; two characters of an unspaced one count as a word."""
    unspaced = len(_UNSPACED.findall(text))
    return len(_WORD.findall(_UNSPACED.sub(" ", text))) + (unspaced + 1) // 2


def cut_at_sentence(text: str, limit: int, size: Callable[[str], int]) -> str:
    """The longest beginning of whole sentences within a limit; at least the first sentence."""
    kept = ""
    for sentence in split_sentences(text):
        longer = f"{kept} {sentence}".strip()
        if kept and size(longer) > limit:
            break
        kept = longer
    return kept


def _written(passages: Sequence[Passage], sentences: Sequence[tuple[int, str]], chosen: set[int]) -> str:
    lines: dict[int, list[str]] = {}
    for i in sorted(chosen):
        at, sentence = sentences[i]
        lines.setdefault(at, []).append(sentence)
    return "\n".join(passages[at].lead + " ".join(parts) for at, parts in lines.items())
