"""The trajectory builder's words: bundled templates in English and Chinese, and how one user draws from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.builders.trajectory_draws import Draws

__all__ = ["LANGUAGES", "Axis", "Domain", "Family", "Language", "Pair", "Phrases", "Topic", "Words", "load_words"]

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

_FOLDER = Path(__file__).resolve().parent / "data"
_CHOICE = re.compile(r"<([^<>]*)>")
_RANGE = re.compile(r"(\d+)-(\d+)", re.ASCII)
_FIELD = re.compile(r"\{(\w+)\}")
_TRIES = 12

Pair = tuple[str, str]
"""What is said and what is answered."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Topic(_Part):
    """What a user's events are about."""

    name: str
    tries: tuple[tuple[str, str], ...]
    """Attempts and how they ended; no two share an outcome, so that a mixture of two is false."""
    retold: tuple[tuple[str, str], ...]
    """The same in the same order as a user speaks of it later: no content word of any attempt or outcome comes back."""


class Axis(_Part):
    """A way of doing things that has two ends, neither of them better."""

    id: str
    poles: tuple[str, str]
    label: str
    levels: tuple[tuple[str, ...], ...]
    """From the first pole (0) to the second (4)."""
    choose: tuple[tuple[str, str], tuple[str, str]]
    """How a decision for either pole sounds."""


class Aspect(_Part):
    """One thing that is asked about an item, and the sentences of an answer."""

    ask: tuple[str, ...]
    say: tuple[tuple[str, ...], ...]


class Domain(_Part):
    """Items of one kind, with what belongs to them."""

    name: str
    items: tuple[str, ...]
    parts: tuple[str, ...]
    faults: tuple[str, ...] = ()


class Family(_Part):
    """Domains that are asked about in the same ways."""

    aspects: tuple[Aspect, ...]
    domains: tuple[Domain, ...]


class Words(_Part):
    """All templates of one language."""

    persona: str
    third: str
    first: str
    state: str
    event: str
    words_first: Mapping[str, str]
    words_third: Mapping[str, str]
    topics: tuple[Topic, ...]
    axes: tuple[Axis, ...]
    contexts: tuple[str, ...]
    ask1: tuple[str, ...]
    ask2: tuple[str, ...]
    ask3: tuple[str, ...]
    pieces: tuple[str, ...]
    ask4: tuple[str, ...]
    orgs: tuple[str, ...]
    roles: tuple[str, ...]
    open: tuple[Pair, ...]
    close: tuple[Pair, ...]
    small: tuple[Pair, ...]
    decoys: tuple[str, ...]
    reveal: tuple[str, ...]
    react: tuple[Pair, ...]
    general_topic: str
    general: tuple[Pair, ...]
    families: tuple[Family, ...]
    rubric: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class LoadedWords:
    """A language's templates and the hash of the file that they come from."""

    words: Words
    sha256: str


@cache
def load_words(lang: Language) -> LoadedWords:
    """The bundled templates of a language."""
    raw = (_FOLDER / f"trajectory_{lang}.yaml").read_bytes()
    return LoadedWords(Words.model_validate(yaml.safe_load(raw)), sha256_of(raw))


class Phrases:
    """One user's draws from the templates; what was drawn before is avoided."""

    def __init__(self, rng: Draws) -> None:
        self.rng = rng
        self._used: set[str] = set()

    def expand(self, template: str, fields: Mapping[str, str] | None = None) -> str:
        """Fill a template: `<a|b>` by one of several, `<3-9>` by a number, `{name}` by a field."""
        text = _CHOICE.sub(self._choice, template)
        return _FIELD.sub(lambda match: (fields or {}).get(match[1], match[0]), text)

    def fresh(self, templates: Sequence[str], fields: Mapping[str, str] | None = None) -> tuple[str, int]:
        """A text that this user has not had, from any of the templates.

        Returns:
            The text and the template's index. A text is repeated only where the templates give no other.
        """
        order = self.rng.sample(range(len(templates)), len(templates))
        text, index = "", order[0]
        for attempt in range(_TRIES):
            index = order[attempt % len(order)]
            text = self.expand(templates[index], fields)
            if self.take(text):
                break
        return text, index

    def knows(self, text: str) -> bool:
        """Whether a text was used before."""
        return text in self._used

    def take(self, text: str) -> bool:
        """Mark a text as used.

        Returns:
            False where it was used already.
        """
        if text in self._used:
            return False
        self._used.add(text)
        return True

    def _choice(self, match: re.Match[str]) -> str:
        if span := _RANGE.fullmatch(match[1]):
            return str(self.rng.randint(int(span[1]), int(span[2])))
        return self.rng.choice(str(match[1]).split("|"))
