"""A clause as a fact that can be read on its own: who said it, when, about whom, and what its time words mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

import regex

from mnemoscope.core.language.display import conversation_day
from mnemoscope.core.language.moments import moments

__all__ = ["caption_text", "fact_text"]

_QUOTED = regex.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》")
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
