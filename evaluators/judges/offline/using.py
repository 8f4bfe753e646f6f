"""Does a reply use a fact in its own words? A second look, where the detector sees no use.

The detector asks for nearly all of a fact's words. The second look asks for enough of them, or for enough of its
meaning, and for nothing that speaks against it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import regex

from mnemoscope.core.language.tokens import has_unspaced_script, lexical_tokens
from mnemoscope.core.ports import Embedder
from mnemoscope.evaluators.detectors._words import CLAUSE, RELATIONS, canonical
from mnemoscope.evaluators.detectors.offline import Finding, examine
from mnemoscope.evaluators.detectors.reading import SentenceReading, clean, read_fact, read_reply, sentences_of
from mnemoscope.evaluators.judges.offline.answering import Said, Veto, is_shotgun, names_another
from mnemoscope.evaluators.judges.offline.clashing import (
    LINKS,
    MONTHS,
    is_calendar,
    is_of_relative,
    is_replaced,
    is_taken_back,
    months_of,
    opening_words,
)
from mnemoscope.evaluators.judges.offline.likeness import Content, Evidence, Passage, content_of, passages_of
from mnemoscope.evaluators.judges.offline.rules import Features, Rules

__all__ = ["SURE", "WORTH_A_LOOK", "Look", "look", "nearer", "rule_of"]

SURE = 0.7
"""Probability above which a reply uses a fact. One half would do for replies that say something else altogether; two
memories of one person share so many words that only more is safe."""
WORTH_A_LOOK = 0.25
"""Coverage from which likeness is computed: with fewer of the fact's words, likeness shows the topic at most."""
_FIGURE_WEIGHT = 3.0
_MONTH_WEIGHT = 0.5
_MOST_CLAUSES = 3
_MOST_WINDOWS = 24
_SOMEBODY_DID = regex.compile(
    r"\p{Lu}\p{L}+ (?:ate|began|broke|brought|built|came|caught|chose|drew|drove|fell|felt|flew|forgot|found|gave|grew"
    r"|heard|held|hid|hurt|kept|knew|left|let|lent|meant|paid|put|ran|rode|said|sang|sat|sent|slept|sold|spent|spoke"
    r"|stood|swam|taught|thought|threw|woke|wore|wrote)\b"
)
"""Verbs after which the detector does not take a capitalised first word for a name."""
_COMPOUND = regex.compile(r"\w+(?:-\w+)+")
"""`me-time` speaks to nobody."""
_SPOKEN = frozenset({"first", "second"})


class Look(NamedTuple):
    """What is seen of a fact in a reply."""

    finding: Finding
    """By the detector."""
    said: Said
    """By the second look; without likeness until `nearer` adds it."""

    def holds(self, rules: Rules, fact: str) -> bool:
        """Whether either sees use, and nobody else is said to be the one."""
        if self.finding.used:
            return self.said.veto != "another person"
        return self.said.probability(rules, rule_of(fact)) > SURE


def rule_of(fact: str) -> str:
    """The fitted rule for the script of a fact."""
    return "use-unspaced" if has_unspaced_script(fact) else "use"


def look(heard: str, fact: str) -> Look:
    """Both looks at a fact, by words.

    The second one takes the sentence that holds most of the fact without its subject, who may stand behind a pronoun.
    English replies that speak neither of `you` nor of `I` are lists of statements, and English facts without any name
    are answers of a few words; both are left to the detector.

    Args:
        heard: What is heard of the reply.
        fact: A plain sentence.
    """
    finding = examine(heard, fact)
    plain = clean(fact)
    if finding.used:
        subject = read_fact(plain).subject or ""
        another = names_another(heard, plain, subject.title()) or is_of_relative(finding.quote, plain)
        veto: Veto = "another person" if another else ""
        return Look(finding, Said(Evidence(passage=finding.quote), Features(finding.coverage, None), veto))
    if not has_unspaced_script(plain) and not (_names_somebody(plain) and _speaks(heard)):
        return Look(finding, Said(Evidence(), Features(0.0, None), "no statement to somebody"))
    best, evidence = _best(heard, plain)
    veto = "nothing said" if best is None else _veto_of(heard, plain, best, evidence, finding)
    return Look(finding, Said(evidence, Features(evidence.recall, None), veto))


def _names_somebody(fact: str) -> bool:
    """Whether a fact says whom it is about; an answer in a few words (`a blue one`) does not."""
    return any(not is_calendar(name) for name in read_fact(fact).names) or _SOMEBODY_DID.match(fact) is not None


def _speaks(heard: str) -> bool:
    return any(s.pronouns & _SPOKEN for s in read_reply(_COMPOUND.sub(" ", heard)))


async def nearer(seen: Look, fact: str, embedder: Embedder) -> Look:
    """The same look with likeness of meaning: of the nearest one to three clauses of its passage.

    The fact is compared as it would be said to the person it is about, `You have a cat` for `Vera has a cat`. Scripts
    without spaces are left as they are.
    """
    windows = _windows(seen.said.evidence.passage)
    if has_unspaced_script(fact) or not windows:
        return seen
    rows = await embedder.embed([_spoken(fact), *windows], "document")
    similarity = round(float(np.clip(rows[1:] @ rows[0], 0.0, 1.0).max()), 4)
    features = Features(seen.said.features.coverage, similarity)
    return seen._replace(said=seen.said._replace(features=features))


def _best(heard: str, fact: str) -> tuple[Passage | None, Evidence]:
    wanted, reading = content_of(fact), read_fact(fact)
    unspaced, width = reading.unspaced, reading.sentences
    subject = reading.subject or ""
    skip = frozenset(subject) if unspaced else frozenset(map(canonical, lexical_tokens(subject)))
    weights = {u: _weight(u, w) for u, w in wanted.weights.items() if u not in skip}
    best: tuple[Passage | None, Evidence] = (None, Evidence())
    most = -1.0
    for passage in passages_of(heard):
        if not unspaced and len(sentences_of(passage.text)) > width:
            continue  # what two sentences share with a fact is seldom one statement
        recall, opposed = _held(passage.content, wanted, weights)
        if recall * (1 - opposed) > most:
            most = recall * (1 - opposed)
            best = passage, Evidence(recall=round(recall, 6), opposed=opposed, passage=passage.text)
    return best


def _weight(unit: str, weight: float) -> float:
    """Dates are compared, not counted: replies leave them out, and memories of one day share them."""
    if unit in LINKS:
        return 0.0
    return _MONTH_WEIGHT if unit in MONTHS else weight


def _held(said: Content, wanted: Content, weights: dict[str, float]) -> tuple[float, float]:
    agreed = opposed = 0.0
    for unit, weight in weights.items():
        if (polarity := said.polarity.get(unit)) is not None:
            same = bool(polarity & wanted.polarity[unit])
            agreed, opposed = agreed + weight * same, opposed + weight * (not same)
    marks = wanted.figures.marks
    agreed += _FIGURE_WEIGHT * len(marks & said.figures.marks)
    total = sum(weights.values()) + _FIGURE_WEIGHT * len(marks)
    found = agreed + opposed
    return (found / total if total else 0.0), (opposed / found if found else 0.0)


def _veto_of(heard: str, fact: str, best: Passage, evidence: Evidence, finding: Finding) -> Veto:
    wanted, text = content_of(fact), best.text
    reading = read_fact(fact)
    figures, said = wanted.figures, best.content.figures
    if evidence.opposed >= 0.5 or (finding.clash == "negation" and not reading.unspaced):
        return "opposite"
    if is_taken_back(text):
        return "taken back"
    months, other = months_of(fact), months_of(text)
    other_date = said.dates and figures.dates and not any(said.shares_date(date) for date in figures.dates)
    other_mark = said.marks - figures.marks and figures.marks and not figures.marks & said.marks
    if other_mark or other_date or finding.clash == "date" or (months and other and not months & other):
        return "another figure"
    if finding.clash == "person" or names_another(heard, fact, (reading.subject or "").title()):
        return "another person"
    if is_of_relative(text, fact) or _is_of_others(text, fact, read_reply(text)):
        return "another person"
    if not reading.unspaced and is_shotgun(text, fact):
        return "shotgun"
    return "another word" if not reading.unspaced and is_replaced(text, fact) else ""


def _is_of_others(text: str, fact: str, passage: tuple[SentenceReading, ...]) -> bool:
    """Whether a passage is about another name or relation, or about nobody for whom a pronoun stands."""
    reading = read_fact(fact)
    opening = opening_words(text)
    names = {n for s in passage for n in s.names if n not in opening and not is_calendar(n)}
    wanted = {n for n in reading.names if n != reading.subject and not is_calendar(n)}
    strangers = names - reading.names
    if wanted and strangers and not wanted & names:
        return True
    relations, others = (RELATIONS & set(content_of(side).weights) for side in (fact, text))
    if relations and others and not relations & others:
        return True
    if reading.unspaced:
        return False
    pronouns = frozenset(kind for s in passage for kind in s.pronouns)
    named = bool(reading.subject) and str(reading.subject) in text.lower()
    if not pronouns & _SPOKEN and not ("third" in pronouns and not named and not strangers):
        return True
    subjects = {s.subject for s in passage if s.subject is not None}
    return bool(reading.subject and not named and subjects - reading.names - opening)


@lru_cache(maxsize=16_384)
def _spoken(fact: str) -> str:
    plain = clean(fact)
    subject = read_fact(plain).subject
    if subject is None:
        return f"You {plain}"
    rest = regex.sub(rf"^\W*{regex.escape(subject)}(?:'s)?\s*", "", plain, flags=regex.IGNORECASE)
    return f"You {rest}"


@lru_cache(maxsize=16_384)
def _windows(passage: str) -> tuple[str, ...]:
    found = [passage] if passage else []
    for sentence in sentences_of(passage):
        clauses = [part.strip() for part in CLAUSE.split(sentence) if part and part.strip()]
        for width in range(1, _MOST_CLAUSES + 1):
            found += [", ".join(clauses[i : i + width]) for i in range(len(clauses) - width + 1)]
    return tuple(dict.fromkeys(found))[:_MOST_WINDOWS]
