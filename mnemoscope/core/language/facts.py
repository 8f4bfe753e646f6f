"""A clause as a fact that can be read on its own: who said it, when, about whom, and what its time words mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType

import regex

from mnemoscope.core.language.display import conversation_day
from mnemoscope.core.language.moments import moments

__all__ = ["as_said", "caption_text", "fact_text", "statement_of", "undated"]

_QUOTED = regex.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》")
_FRAME = regex.compile(r"[^\n]{1,80}? \(\d{1,2} \p{Lu}\p{Ll}+ \d{1,4}\): ")
_RESOLVED = regex.compile(r" \[(?:week(?:end)? of )?[\p{L}\d ]{0,18}\d\]")
_VERBS: Mapping[str, str] = MappingProxyType(
    {"am": "is", "are": "is", "have": "has", "do": "does", "haven't": "hasn't", "don't": "doesn't", "aren't": "isn't"}
    | {"weren't": "wasn't", "were": "was", "'m": "is", "'re": "is", "'ve": "has", "'ll": "will"}
)
_AGREES = r"(?:['’](?:m|re|ve|ll)|\s+(?:am|are|were|have|do|(?:have|do|are|were)n['’]t))"
_FIRST = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}'’@/])(?:(?P<subject>(?<!\b(?:War|Part|Phase|Type|Chapter|Level|Vitamin) )i(?![.&/]))"
    rf"(?P<verb>{_AGREES}(?![\p{{L}}\p{{N}}'’]))?"
    r"|(?P<owner>my|(?<!\b(?:a|the|coal|gold) )mine)|(?P<object>me|myself))(?![\p{L}\p{N}])"
    r"|(?P<han>(?<![自忘小大本])我(?![们俩国行方校市]))",
    regex.IGNORECASE,
)
_PERSON = regex.compile(r"(?:i|we|you|my|me|your)", regex.IGNORECASE)
_SECOND = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}'’@/])(?:(?P<subject>you(?!\s+(?:know|see|guys|all|both)\b))"
    rf"(?P<verb>{_AGREES}(?![\p{{L}}\p{{N}}'’]))?"
    r"|(?P<owner>yours?)|(?P<object>yourself))(?![\p{L}\p{N}])"
    r"|(?P<han>[你您](?![们俩]))",
    regex.IGNORECASE,
)


def fact_text(clause: str, *, speaker: str, addressee: str | None, at: datetime | None) -> str:
    """Render a clause so that it says by itself who, to whom and when.

    `I, me, my, 我` become the speaker and `you, your, 你` the addressee; `am, have, do` and contractions next to them
    agree, other verbs keep their form. `we` and 我们 stay, since nobody can tell whom they include, and so does
    everything in quotation marks. Relative time words stay too and their meaning follows in brackets.

    Args:
        clause: A clause as it was said.
        speaker: Who said it.
        addressee: To whom; second persons stay as they are where it is unknown.
        at: When it was said; None leaves dates out.

    Returns:
        `{speaker} ({date}): {clause}`, or `{speaker}: {clause}` without a date.

    Example:
        >>> from datetime import UTC
        >>> at = datetime(2023, 5, 8, tzinfo=UTC)
        >>> fact_text("I ran a charity race yesterday", speaker="Amy", addressee=None, at=at)
        'Amy (8 May 2023): Amy ran a charity race yesterday [7 May 2023]'
    """
    quoted = [match.span() for match in _QUOTED.finditer(clause)]
    edits = [*_persons(_FIRST, clause, speaker), *(_persons(_SECOND, clause, addressee) if addressee else ())]
    edits = [edit for edit in edits if not any(start <= edit[0] < end for start, end in quoted)]
    if at is not None:
        edits += [(moment.end, moment.end, f" [{moment.resolved}]") for moment in moments(clause, at)]
    rendered, done = "", 0
    for start, end, new in sorted(edits):
        rendered += clause[done:start] + new
        done = end
    return f"{_lead(speaker, at)}: {rendered}{clause[done:]}"


def caption_text(caption: str, *, speaker: str, at: datetime | None) -> str:
    """Render the caption of an image that somebody shared.

    Example:
        >>> caption_text("a lake at dawn", speaker="Amy", at=None)
        'Amy shared an image: a lake at dawn'
    """
    return f"{_lead(speaker, at)} shared an image: {caption}"


def statement_of(fact: str) -> str:
    """What a rendered fact states, without the frame of who said it when; a text that is not framed stays as it is.

    Example:
        >>> statement_of("Amy (8 May 2023): Amy ran a charity race yesterday [7 May 2023]")
        'Amy ran a charity race yesterday [7 May 2023]'
    """
    frame = _FRAME.match(fact)
    return fact[frame.end() :] if frame else fact


def undated(fact: str, *, speaker: str, at: datetime | None) -> str:
    """A rendered fact without the date in its frame, so that what was said twice has one form.

    Example:
        >>> from datetime import UTC
        >>> undated("Amy (8 May 2023): Amy love hiking", speaker="Amy", at=datetime(2023, 5, 8, tzinfo=UTC))
        'Amy: Amy love hiking'
    """
    lead = _lead(speaker, at)
    return speaker + fact[len(lead) :] if fact.startswith(lead) else fact


def as_said(fact: str, *, speaker: str, addressee: str | None = None) -> str:
    """A rendered fact as its speaker could have said it: the statement, with persons for the names of the two.

    `fact_text` leaves verbs as they are (`Amy live in Oslo`), so that only the one who reads them as said by the
    speaker knows that they fit. The name stays where it is told (`called Amy`) or acted upon (`to Amy`).

    Example:
        >>> as_said("Amy (8 May 2023): Amy live in Oslo and Amy's sister lives in Rome", speaker="Amy")
        'I live in Oslo and my sister lives in Rome'
    """
    said = _spoken(_RESOLVED.sub("", statement_of(fact)), speaker, "I", "my", "我")
    return said if addressee is None else _spoken(said, addressee, "you", "your", "你")


def _spoken(text: str, name: str, person: str, owner: str, han: str) -> str:
    if name not in text or len(name) < 2 or _PERSON.fullmatch(name):
        return text

    def spoken(match: regex.Match[str]) -> str:
        return owner if match["owns"] else person if match["han"] is None else han

    return _named(name).sub(spoken, text)


@lru_cache(maxsize=256)
def _named(name: str) -> regex.Pattern[str]:
    word = r"[[\p{L}\p{N}]--\p{Han}]"
    return regex.compile(
        rf"(?<!{word}|['’@/]|\b(?:to|with|for|of|from|by|at|about|named|called|is|am)\s|叫)"
        rf"{regex.escape(name)}(?:(?P<owns>['’]s(?=\s\p{{L}}))|(?P<han>(?=\p{{Han}}))|(?!{word}))",
        regex.VERSION1,
    )


def _lead(speaker: str, at: datetime | None) -> str:
    return speaker if at is None else f"{speaker} ({conversation_day(at)})"


def _persons(pattern: regex.Pattern[str], clause: str, name: str) -> Iterator[tuple[int, int, str]]:
    for match in pattern.finditer(clause):
        yield match.start(), match.end(), _person(match, name)


def _person(match: regex.Match[str], name: str) -> str:
    if match["owner"]:
        return f"{name}'s"
    if not match["verb"]:
        return name
    return f"{name} {_VERBS[match['verb'].strip().lower().replace('’', chr(39))]}"
