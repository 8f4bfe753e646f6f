"""How a built user talks: sessions that differ only in whether the day's news is evidence or an everyday matter."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.scenarios.builders.trajectory_words import Aspect, Domain, Pair, Phrases, Words

__all__ = ["Item", "Talk", "Talker", "deal_items"]

_EXCHANGES, _SMALL = (3, 4), (1, 2)
_ITEMS_PER_SESSION = 2
_EVERY_ASIDE = 16
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Item:
    """Something that sessions ask about."""

    name: str
    domain: Domain
    aspects: tuple[Aspect, ...]

    @property
    def bare(self) -> str:
        """The name without an English article."""
        return self.name.removeprefix("an ").removeprefix("a ")

    @property
    def title(self) -> str:
        """The topic of a filler session on it."""
        return f"{self.domain.name}: {self.bare}"


@dataclass(frozen=True, slots=True)
class Talk:
    """One session and where its texts come from."""

    turns: tuple[tuple[str, str], ...]
    """Role and content."""
    tokens: int
    """By the project's estimate."""
    provenance: dict[str, object]

    def to_json(self) -> list[dict[str, str]]:
        """The turns as PRAGMA writes them."""
        return [{"role": role, "content": content} for role, content in self.turns]


def deal_items(words: Words, phrases: Phrases) -> list[Item]:
    """All items of the language in this user's order."""
    items = [
        Item(name, domain, family.aspects)
        for family in words.families
        for domain in family.domains
        for name in domain.items
    ]
    return phrases.rng.sample(items, len(items))


class Talker:
    """Writes one user's sessions; no turn is said twice."""

    def __init__(self, words: Words, phrases: Phrases, topic: str, sessions: int) -> None:
        self._words, self._phrases, self._topic = words, phrases, topic
        items = deal_items(words, phrases)
        self.items = items[:sessions]
        """The main item of each session."""
        own = [[item] for item in self.items]
        rest = items[sessions:]
        for place in range(sessions * (_ITEMS_PER_SESSION - 1)):
            if rest:
                own[place % sessions].append(rest.pop())
        self._streams = [deque(self._asked(items)) for items in own]
        self._spare = deque(self._asked(rest))
        self._general = deque(phrases.rng.sample(range(len(words.general)), len(words.general)))

    def session(self, place: int, *, fact: str | None = None, general: int = 0, tokens: int | None = None) -> Talk:
        """Write one session.

        Args:
            place: Which session; it decides what is asked about beside the day's news.
            fact: The day's news where it is evidence; None for an everyday matter.
            general: Exchanges about the user's topic in general, which say nothing of the user.
            tokens: Length to reach by the project's estimate; None for eight to eleven pairs of turns.

        Raises:
            LookupError: No exchange is left.
        """
        rng = self._phrases.rng
        words = self._words
        opening, closing = self._pair(words.open), self._pair(words.close)
        news, news_source, asked_source = self._news(fact, place)
        size = _size([opening, closing, *news])
        body: list[Pair] = []
        sources = [asked_source]
        for _ in range(min(general, len(self._general))):
            number = self._general.popleft()
            pair = words.general[number]
            body.append((self._about_topic(pair[0]), self._about_topic(pair[1])))
            sources.append(f"general[{number}]")
        exchanges, asides = rng.randint(*_EXCHANGES), self._asides(rng.randint(*_SMALL))
        size += _size([*body, *asides])
        while len(sources) < exchanges or (tokens is not None and size < tokens):
            pair, source = self._exchange(place)
            fresh = [pair, *self._asides(len(sources) % _EVERY_ASIDE == 0)]
            body.append(pair)
            asides.extend(fresh[1:])
            sources.append(source)
            size += _size(fresh)
        for pair in asides:
            body.insert(rng.randint(0, len(body)), pair)
        middle = rng.randint(len(body) // 3, max(len(body) // 3, 2 * len(body) // 3))
        pairs = [opening, *body[:middle], *news, *body[middle:], closing]
        turns = tuple(turn for said, answered in pairs for turn in (("user", said), ("assistant", answered)))
        provenance: dict[str, object] = {
            "news": news_source,
            "news_turn": 2 * (1 + middle),
            "exchanges": sources,
            "small_talk": len(asides),
        }
        return Talk(turns, size, provenance)

    def _news(self, fact: str | None, place: int) -> tuple[list[Pair], str, str]:
        """The day's news, a question back, and the way from its answer to the next matter."""
        words, phrases = self._words, self._phrases
        source = "fact"
        if fact is None:
            decoy, number = phrases.fresh(words.decoys)
            fact, source = words.first.replace("{did}", decoy), f"decoys[{number}]"
        told, frame = phrases.fresh(words.reveal, {"fact": fact})
        asked, answered = self._pair(words.react)
        (said, explained), asked_source = self._exchange(place)
        return [(told, asked), (_joined([answered, said]), explained)], f"reveal[{frame}] {source}", asked_source

    def _pair(self, pairs: Sequence[Pair]) -> Pair:
        """A pair of turns that are both new.

        Raises:
            LookupError: The templates give no other.
        """
        rng, phrases = self._phrases.rng, self._phrases
        for _ in range(_TRIES):
            template = rng.choice(pairs)
            said, answered = phrases.expand(template[0]), phrases.expand(template[1])
            if not (phrases.knows(said) or phrases.knows(answered)):
                phrases.take(said)
                phrases.take(answered)
                return said, answered
        raise LookupError("no pair is left")

    def _asides(self, count: int) -> list[Pair]:
        """Small talk, as long as there is some that was not had before."""
        try:
            return [self._pair(self._words.small) for _ in range(count)]
        except LookupError:
            return []

    def _about_topic(self, template: str) -> str:
        text = self._phrases.expand(template, {"topic": self._topic})
        text = text[:1].upper() + text[1:]
        self._phrases.take(text)
        return text

    def _exchange(self, place: int) -> tuple[Pair, str]:
        phrases, rng = self._phrases, self._phrases.rng
        while True:
            stream = self._streams[place] or self._spare or max(self._streams, key=len)
            if not stream:
                raise LookupError("no exchange is left")
            item, number, variant = stream.popleft()
            aspect = item.aspects[number]
            others = [name for name in item.domain.items if name != item.name]
            fields = {
                "item": item.name,
                "bare": item.bare,
                "part": rng.choice(item.domain.parts),
                "fault": rng.choice(item.domain.faults) if item.domain.faults else "",
                "other": rng.choice(others),
            }
            said = phrases.expand(aspect.ask[variant], fields)
            answered = _joined([phrases.fresh(group, fields)[0] for group in aspect.say])
            if not phrases.knows(said) and phrases.take(answered):
                phrases.take(said)
                return (said, answered), f"{item.title}[{number}][{variant}]"

    def _asked(self, items: Sequence[Item]) -> Iterator[tuple[Item, int, int]]:
        """Every aspect of every item, each in all wordings, wordings of one aspect far apart."""
        rng = self._phrases.rng
        for wording in range(3):
            for item in items:
                for number in rng.sample(range(len(item.aspects)), len(item.aspects)):
                    yield item, number, (wording + number) % 3


def _joined(sentences: Sequence[str]) -> str:
    separator = "" if sentences[0][-1:] in "。！？" else " "
    return separator.join(sentences)


def _size(pairs: Sequence[Pair]) -> int:
    return sum(estimate_tokens(pair) for pair in pairs)
