"""The scoring detector: a fixed rule that reads a reply and a fact, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mnemoscope.core.ports import Use
from mnemoscope.evaluators.detectors._words import RELATIONS
from mnemoscope.evaluators.detectors.reading import FactReading, SentenceReading, read_fact, read_reply

__all__ = ["Clash", "Finding", "OfflineUseDetector", "examine"]

Clash = Literal["number", "date", "negation", "person"]

_ENOUGH = 0.84
_ENOUGH_UNSPACED = 0.65
_NEARLY = 0.75
"""Share of the threshold from which a disagreement counts as one about this fact."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the best passage of a reply says about a fact."""

    coverage: float
    """Weighted share of the fact's content found in the passage, 0–1."""
    clash: Clash | None
    """What does not agree, although enough content is there."""
    quote: str
    enough: bool
    """Coverage reaches the threshold of the fact's script."""

    @property
    def used(self) -> bool:
        """Enough content, and nothing disagrees."""
        return self.enough and self.clash is None


class OfflineUseDetector:
    """Decides use from words, numbers, dates, negation and people.

    A fact is used where one sentence of the reply, or two neighbouring ones (as many as the fact has, if more), hold
    at least 84 % of the weight of its content words (65 % of the character bigrams in scripts without spaces) and
    nothing disagrees. Words count by stem; names and numbers weigh 2, words that say little weigh 0.75, dates 1. The
    person whom the fact is about may be named or stand behind a pronoun; another person in that place is a clash, and
    so are another number or date, and the opposite polarity. Clauses that say that something is not known do not
    count. The score is the coverage.

    Against the published detector (StratMem-Bench, section 4: three votes of a model that must quote): no paraphrase
    beyond stems and a few everyday synonyms is seen, so free replies are under-counted.
    """

    key = "offline-use-1"

    def detect(self, reply: str, fact: str) -> Use:
        """Whether the visible reply uses the fact; a blank reply or fact is never use."""
        finding = examine(reply, fact)
        return Use(finding.used, round(finding.coverage, 6), finding.quote if finding.used else "")


def examine(reply: str, fact: str) -> Finding:
    """The passage that comes closest to a fact, and what it gets wrong.

    Args:
        reply: The visible reply.
        fact: A plain sentence.

    Returns:
        The first passage that uses the fact, else the one that covers most of it.
    """
    wanted = read_fact(fact)
    sentences = read_reply(reply)
    best = Finding(0.0, None, "", False)
    if wanted.total == 0:
        return best
    for width in range(1, max(2, wanted.sentences) + 1):
        for start in range(len(sentences) - width + 1):
            found = _compare(sentences[start : start + width], wanted)
            if found.used:
                return found
            if (found.enough, found.coverage) > (best.enough, best.coverage):
                best = found
    return best


def _compare(passage: tuple[SentenceReading, ...], fact: FactReading) -> Finding:
    heard = [s.polarity_with_refusals if fact.of_doubt else s.polarity for s in passage]
    covered = [sum(w for token, w in fact.weights.items() if token in words) for words in heard]
    if not any(covered) and fact.weights:
        return Finding(0.0, None, "", False)
    core = passage[covered.index(max(covered))]
    found = sum(w for token, w in fact.weights.items() if any(token in words for words in heard))
    if found - max(covered) < 1.0:
        found = max(covered)
    dates, numbers, clash = _quantities(passage, fact)
    named, person_clash = _person(passage, core, fact)
    total = fact.total + (0.0 if named else 1.0) - _stood_for(core, heard, fact)
    coverage = min(1.0, (found + dates + numbers) / total) if total > 0 else 0.0
    threshold = _ENOUGH_UNSPACED if fact.unspaced else _ENOUGH
    body = total
    if person_clash:
        body -= fact.who + (0.0 if named else 1.0)
    elif clash:
        body -= fact.quantities.weight - dates - numbers
    near = body > 0 and (found + dates + numbers) / body >= threshold * _NEARLY
    clash = person_clash or clash or _polarity_clash(heard, fact)
    return Finding(coverage, clash if near else None, " ".join(s.text for s in passage), coverage >= threshold)


def _stood_for(core: SentenceReading, heard: list[Mapping[str, frozenset[bool]]], fact: FactReading) -> float:
    """Weight of named people for whom a pronoun stands: one per kind that the subject leaves free."""
    missing = [t for t in fact.name_tokens if t in fact.weights and not any(t in words for words in heard)]
    free = len(core.pronouns) - (fact.subject is not None and fact.subject not in core.names)
    if not missing or free < len(missing) or core.names - fact.names:
        return 0.0
    return sum(fact.weights[token] for token in missing)


def _quantities(passage: tuple[SentenceReading, ...], fact: FactReading) -> tuple[float, float, Clash | None]:
    wanted = fact.quantities
    said = [s.quantities for s in passage]
    clash: Clash | None = None
    dates = [d for q in said for d in q.dates]
    agreeing = sum(any(_compatible(date, other) for other in dates) for date in wanted.dates)
    if agreeing < len(wanted.dates) and dates:
        clash = "date"
    score = 0.0
    for mine, theirs in (
        (wanted.numbers, frozenset(n for q in said for n in q.numbers)),
        (wanted.weekdays, frozenset(w for q in said for w in q.weekdays)),
    ):
        score += 2.0 * len(mine & theirs)
        if mine - theirs and theirs - mine:
            clash = "number"
    return float(agreeing), score, clash


def _compatible(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return bool(pairs) and all(x == y for x, y in pairs)


def _person(
    passage: tuple[SentenceReading, ...], core: SentenceReading, fact: FactReading
) -> tuple[bool, Clash | None]:
    names = frozenset(name for s in passage for name in s.names)
    if (
        fact.of_relation
        and not (fact.names & names)
        and "third" not in core.pronouns
        and not _relation_said(passage, fact)
    ):
        return False, "person"
    if fact.subject is None:
        return True, None
    in_core = fact.subject in core.names or fact.subject in core.text.lower()
    if core.subject is not None and core.subject != fact.subject and not in_core:
        return False, "person"
    if in_core:
        return True, None
    if "third" in core.pronouns and not core.pronouns & {"first", "second"} and names and fact.subject not in names:
        others = {s.subject for s in passage if s.subject is not None}
        return (not others), ("person" if others else None)
    return bool(core.pronouns) or fact.subject in names, None


def _relation_said(passage: tuple[SentenceReading, ...], fact: FactReading) -> bool:
    return any(token in RELATIONS for token in fact.polarity if any(token in s.polarity for s in passage))


def _polarity_clash(heard: list[Mapping[str, frozenset[bool]]], fact: FactReading) -> Clash | None:
    agree = differ = 0.0
    for token, weight in fact.weights.items():
        said = frozenset(p for words in heard for p in words.get(token, ()))
        if said:
            same = bool(said & fact.polarity[token])
            agree, differ = agree + weight * same, differ + weight * (not same)
    return "negation" if differ > agree else None
