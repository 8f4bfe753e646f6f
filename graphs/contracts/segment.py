"""Contract `segment`: where a stretch of talk passes from one topic to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, pstdev
from typing import cast

from mnemoscope.core.language.keyphrases import keyphrases
from mnemoscope.core.language.tokens import content_tokens, lexical_tokens
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import numbered_turns, says_something, section
from mnemoscope.scenarios.records import Turn

__all__ = ["SEGMENT", "Segment", "Stretch", "topic_of"]

AROUND = 2
"""Turns on either side of a gap whose words are compared."""
PHRASES = 3
"""Keyphrases that make a topic."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is cut into segments."""

    turns: tuple[Turn, ...]
    fewest: int = 2
    """Turns that a segment should have; fewer where it cannot be otherwise."""
    most: int = 8
    """Turns that a segment has at most."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Turns about one topic."""

    start: int
    """Number of its first turn."""
    end: int
    """Number of its last turn."""
    topic: str


_INSTRUCTION = (
    "Divide the numbered turns of a conversation into segments, each about one topic. Segments follow one another "
    "without gaps and without overlaps, from the first turn to the last; a segment has two to eight turns, an answer "
    "stays with its question. Name the topic of each in a few words, in the language of the turns. Reply as JSON: "
    '{"segments": [{"start": 1, "end": 4, "topic": "…"}, {"start": 5, "end": 7, "topic": "…"}]}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "segments": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "start": {"type": "integer"},
                    "end": {"type": "integer"},
                    "topic": {"type": "string"},
                },
                "required": ["start", "end", "topic"],
            },
        }
    },
    "required": ["segments"],
}


def topic_of(turns: Sequence[Turn]) -> str:
    """The phrases that say most of what some turns are about; their first words where none does."""
    text = "\n".join(turn.content for turn in turns)
    # people who talk to each other say each other's names; a topic is what else they say
    names = {word for turn in turns for word in lexical_tokens(turn.speaker)}
    phrases = [one for one in keyphrases(text, limit=2 * PHRASES) if not names.issuperset(lexical_tokens(one))]
    return ", ".join(phrases[:PHRASES]) or " ".join(text.split()[:PHRASES])


def _show(given: Stretch) -> str:
    return section("Turns", numbered_turns(given.turns))


def _rule(given: Stretch) -> Mapping[str, object]:
    segments = []
    start = 1
    for end in _ends(given):
        topic = topic_of(given.turns[start - 1 : end])
        segments.append({"start": start, "end": end, "topic": topic})
        start = end + 1
    return {"segments": segments}


def _ends(given: Stretch) -> list[int]:
    """Last turns of the segments: of all divisions the one whose cuts fall where the talk holds together least.

    A cut is worth making where the words of both sides have less in common than in most gaps (the stricter cutoff
    of TextTiling, Hearst 1997: mean less one standard deviation).
    """
    words = [set(content_tokens(turn.content)) for turn in given.turns]
    gaps = [_common(words[max(0, at - AROUND) : at], words[at : at + AROUND]) for at in range(1, len(words))]
    cutoff = fmean(gaps) - pstdev(gaps) if gaps else 0.0
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(words) + 1):
        ways = []
        for start in range(max(0, end - given.most), end):
            cut = gaps[start - 1] - cutoff if start else 0.0
            # being too short costs more than any cut can gain
            short = 2.0 if end - start < given.fewest else 0.0
            ways.append((round(best[start][0] + cut + short, 9), start))
        best.append(min(ways))
    ends = [len(words)]
    while (start := best[ends[-1]][1]) > 0:
        ends.append(start)
    return ends[::-1]


def _common(before: Sequence[set[str]], after: Sequence[set[str]]) -> float:
    """Cosine of two sets of words, 0–1."""
    one, other = set().union(*before), set().union(*after)
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0


def _read(value: Mapping[str, object], given: Stretch) -> Reading[tuple[Segment, ...]]:
    last = len(given.turns)
    segments: list[Segment] = []
    rejected = 0
    for entry in sorted(cast("list[Mapping[str, int]]", value["segments"]), key=lambda entry: entry["start"]):
        start, end, topic = entry["start"], entry["end"], " ".join(str(entry["topic"]).split())
        topic = topic if says_something(topic) else ""
        reached = segments[-1].end if segments else 0
        if not reached < start <= end <= last:
            rejected += 1
            continue
        rejected += (start > reached + 1) + (not topic)
        if segments:
            segments[-1] = replace(segments[-1], end=start - 1)
        segments.append(Segment(start if segments else 1, end, topic))
    if not segments or segments[-1].end < last:
        rejected += 1
        segments = [*segments[:-1], replace(segments[-1], end=last)] if segments else [Segment(1, last, "")]
    pieces = [piece for segment in segments for piece in _pieces(segment, given.most)]
    named = [one if one.topic else replace(one, topic=topic_of(given.turns[one.start - 1 : one.end])) for one in pieces]
    return Reading(tuple(named), rejected + len(pieces) - len(segments))


def _pieces(segment: Segment, most: int) -> list[Segment]:
    """A segment in pieces of nearly equal length, none above the limit."""
    length = segment.end - segment.start + 1
    count = math.ceil(length / most)
    starts = [segment.start + length * place // count for place in range(count + 1)]
    return [replace(segment, start=start, end=after - 1) for start, after in pairwise(starts)]


SEGMENT: Contract[Stretch, tuple[Segment, ...]] = Contract(
    name="segment",
    version=1,
    phase="extract",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
"""The answer divides all turns: a gap goes to the segment before it, and what is too long is cut; both are counted."""
