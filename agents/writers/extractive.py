"""The offline writer: it replies with the memories' own words and makes nothing up."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.agents.writers.framing import Language, Unit, language_of, read_units, sentences
from mnemoscope.agents.writers.stems import stem
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.core.ports import Draft, Point, WritingTask

__all__ = ["ExtractiveWriter"]

_MOST_OFFERED = 2
_NEAR_BEST = 0.5
"""A second offered sentence must match at least this share of what the best one matches."""
_NEUTRAL = {"en": "I hear you. Please go on.", "zh": "好的，我在听，请继续。"}
_UNKNOWN = {"en": "That was not mentioned in anything I know.", "zh": "据我所知，这件事没有提到过。"}
_OTHERWISE = {"en": "Actually, that is not how it was.", "zh": "其实不是这样的。"}
_PLAINLY = {"en": "Put plainly:", "zh": "直接说："}
_CLOSED = re.compile(r"[.!?…。！？][\"”’'）)\]」』]*$")
_IMAGE_ONLY = re.compile(r"^\[image: (?P<caption>.*)\]$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Offer:
    """One sentence that the writer may choose."""

    place: tuple[int, int, int]
    """Point, unit and sentence: the order in which memories were given."""
    unit: Unit
    text: str
    stems: frozenset[str]


class ExtractiveWriter:
    """Deterministic replies in English or Chinese, without a model.

    What is required is stated whole, one sentence per memory. Of what is offered it states at most two sentences:
    those that share most with the utterance, rare words weighing more. Corrections come first. Where memories are
    offered and none fits, it says that the matter was not mentioned; where there is nothing to say, it stays neutral.
    """

    @property
    def key(self) -> str:
        """Name and version of the rules."""
        return "extractive-1"

    async def write(self, task: WritingTask) -> Draft:
        """Write the reply."""
        return Draft(_compose(task))


def _compose(task: WritingTask) -> str:
    language = language_of(task.utterance, *(point.text for point in task.points))
    spoken = [point for point in task.points if not point.silent]
    corrections = [point for point in spoken if point.truth_for is not None]
    required = [point for point in spoken if point.required and point.truth_for is None]
    offered = [point for point in spoken if not point.required and point.truth_for is None]
    if task.hold:
        corrections, offered = [], []
    lines: list[str] = [_OTHERWISE[language]] if corrections else []
    for point in (*corrections, *required):
        lines += _stated(point, language, plainly=point.slot_id in task.unmet)
    lines += _chosen(offered, task, language)
    if not lines:
        lines.append(_UNKNOWN[language] if offered else _NEUTRAL[language])
    return ("" if language == "zh" else " ").join(dict.fromkeys(lines))


def _stated(point: Point, language: Language, *, plainly: bool) -> list[str]:
    units = read_units(point.text)
    if not plainly:
        return [_sentence(unit, language) for unit in units]
    return [f"{_PLAINLY[language]} {_plain_sentence(unit, language)}" for unit in units]


def _sentence(unit: Unit, language: Language) -> str:
    """A natural sentence that keeps every word of the unit; the time of day is not part of what was said."""
    text = _one_line(unit.text)
    if unit.speaker is None:
        return _closed(text, language)
    day = unit.day(language)
    image = _IMAGE_ONLY.match(text)
    if language == "zh":
        lead = f"{day}，{unit.speaker}" if day else unit.speaker
        return _closed(f"{lead}分享了一张图片：{image['caption']}", "zh") if image else f"{lead}说：“{text}”。"
    lead = f"On {day} {unit.speaker}" if day else unit.speaker
    if image:
        return _closed(f"{lead} shared an image: {image['caption']}", "en")
    return f"{lead} said: “{text}”" + ("" if _CLOSED.search(text) else ".")


def _plain_sentence(unit: Unit, language: Language) -> str:
    text = _closed(_one_line(unit.text), language)
    if unit.speaker is None:
        return text
    day = unit.day(language)
    return f"{unit.speaker} ({day}): {text}" if day else f"{unit.speaker}: {text}"


def _one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip())


def _closed(text: str, language: Language) -> str:
    return text if _CLOSED.search(text) else text + ("。" if language == "zh" else ".")


def _chosen(offered: Sequence[Point], task: WritingTask, language: Language) -> list[str]:
    avoided = {sentence for text in task.avoid for unit in read_units(text) for sentence in sentences(unit.text)}
    offers = [offer for offer in _offers(offered) if offer.text not in avoided]
    wanted = {stem(token) for token in content_tokens(task.utterance)}
    names = {stem(token) for offer in offers for token in content_tokens(offer.unit.speaker or "")}
    spread = Counter(word for offer in offers for word in offer.stems)
    weight = {word: math.log((len(offers) + 1) / spread[word]) for word in wanted & spread.keys()}
    scored = [
        (sum(sorted(weight[word] for word in offer.stems & weight.keys())), offer)
        for offer in offers
        if (offer.stems & weight.keys()) - names
    ]
    scored.sort(key=lambda pair: (-round(pair[0], 9), pair[1].place))
    best = [offer for score, offer in scored[:_MOST_OFFERED] if score >= _NEAR_BEST * scored[0][0]]
    return [_sentence(unit, language) for unit in _joined(best)]


def _offers(points: Sequence[Point]) -> list[_Offer]:
    offers: dict[tuple[str | None, tuple[int, int, int] | None, str], _Offer] = {}
    for number, point in enumerate(points):
        for place, unit in enumerate(read_units(point.text)):
            for order, text in enumerate(sentences(unit.text)):
                stems = frozenset(stem(token) for token in content_tokens(f"{unit.speaker or ''} {text}"))
                offer = _Offer((number, place, order), unit, text, stems)
                offers.setdefault((unit.speaker, unit.date, text), offer)
    return list(offers.values())


def _joined(best: Sequence[_Offer]) -> list[Unit]:
    """The chosen sentences, those of one turn together again in their own order."""
    by_unit: dict[tuple[int, int], list[_Offer]] = {}
    for offer in best:
        by_unit.setdefault(offer.place[:2], []).append(offer)
    units = []
    for chosen in by_unit.values():
        text = " ".join(offer.text for offer in sorted(chosen, key=lambda offer: offer.place))
        units.append(Unit(text, chosen[0].unit.speaker, chosen[0].unit.date))
    return units
