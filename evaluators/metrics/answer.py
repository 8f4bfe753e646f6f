"""LoCoMo's official answer metrics, word for word in their arithmetic.

- ``answer-f1``: token F1 after the official normaliser (commas dropped, lower case, punctuation dropped, the articles
  a, an, the, and `and` removed, white space collapsed) and Porter stemming (LoCoMo, arXiv 2402.17753, section 5, and
  its released evaluation). Rules by category, read from the gold's strata: `multi-hop` splits reply and gold at commas
  and takes the mean over gold parts of the best F1 over reply parts; `open-domain` cuts the gold at the first `;`; all
  others take the plain F1. With several accepted answers, the best one counts.
- ``adversarial``: 1 where the lower-cased reply contains "no information available" or "not mentioned", else 0.

Deviations: a question without a gold answer is left out; the official script would fail on it. The official score of
`adversarial` does not credit a reply that rejects the false premise in other words; the label does (`refused`,
`premise rejected`, `fooled`, `answered`), and the score stays official. The trap is only ever compared with the reply.

Trivial policies: the constant "not mentioned" scores 1 on `adversarial` and about 0 on `answer-f1`; dumping the
memory scores near 0 on both; an empty reply scores 0 on both.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.phrases import names_in, negates, refuses
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

if TYPE_CHECKING:
    from nltk.stem import PorterStemmer

__all__ = ["Adversarial", "AnswerF1", "answer_f1", "answered_adversarially", "normalise", "token_f1"]

_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_OVERLAID = {"corrected-gold", "excluded-by-overlay"}
"""Strata of a set whose gold an overlay corrects."""
_YOU = re.compile(r"\b(?:you|your|i|my|me)\b", re.IGNORECASE)


def normalise(text: str) -> str:
    """LoCoMo's normaliser.

    Example:
        >>> normalise("The cat, and a Dog!")
        'cat dog'
    """
    plain = text.replace(",", "").lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def token_f1(reply: str, gold: str) -> float:
    """F1 of stemmed tokens as multisets, 0–1.

    Example:
        >>> token_f1("on 7 May 2023", "7 May 2023")
        0.8571428571428571
    """
    said, wanted = _tokens(reply), _tokens(gold)
    same = sum((Counter(said) & Counter(wanted)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(said), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def answer_f1(reply: str, gold: str, strata: tuple[str, ...] = ()) -> float:
    """F1 under the rule of the question's category, 0–1.

    Args:
        reply: The visible reply.
        gold: The accepted answer.
        strata: The gold's strata; `multi-hop` and `open-domain` have rules of their own.
    """
    if "multi-hop" in strata:
        parts = [part.strip() for part in reply.split(",")]
        wanted = [part.strip() for part in gold.split(",")]
        return sum(max(token_f1(part, one) for part in parts) for one in wanted) / len(wanted)
    if "open-domain" in strata:
        gold = gold.split(";", maxsplit=1)[0].strip()
    return token_f1(reply, gold)


def answered_adversarially(reply: str) -> bool:
    """LoCoMo's rule for its adversarial questions."""
    lowered = reply.lower()
    return "no information available" in lowered or "not mentioned" in lowered


class AnswerF1:
    """`answer-f1`: for questions with an accepted answer.

    The label tells an answer that is given to another person than the question asks about (`misattributed`) from one
    that is merely wrong (`miss`); the score is official in either case. Where an overlay corrects the gold,
    `answer-f1(gold=published)` scores the same replies against the gold as published, excluded questions included.

    Args:
        gold: `corrected` (the gold as loaded) or `published`.
    """

    family = "answer"
    lower_is_better = False

    def __init__(self, gold: str = "corrected") -> None:
        if gold not in ("corrected", "published"):
            raise ConfigError(f"gold is {gold!r}; it is corrected or published")
        self._published = gold == "published"
        self.name = str(Spec("answer-f1", (), {"gold": gold} if self._published else {}))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Questions that can be answered; for the published gold, questions of a set that an overlay was laid over."""
        if self._published and not _OVERLAID & set(gold.strata):
            return False
        return probe.style == "question" and probe.pool is None and not self._read(gold).unanswerable

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Questions whose answer is not known."""
        known = self._read(case.gold).answers
        return None if known else excluded(self.name, "no gold answer", judge_key="locomo-f1-1")

    def _read(self, gold: Gold) -> Gold:
        return gold.published or gold if self._published else gold

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        reply, gold = case.reply.visible_text, self._read(case.gold)
        score = max(answer_f1(reply, answer, gold.strata) for answer in gold.answers)
        label = "exact" if score >= 1 else "overlap" if score > 0 else "miss"
        if score > 0 and is_misattributed(reply, case.probe.text, gold.answers):
            label = "misattributed"
        return [scored(self.name, score, label, judge_key="locomo-f1-1", figures={"words": len(reply.split())})]


class Adversarial:
    """`adversarial`: for questions whose premise is false or that nothing answers."""

    name = "adversarial"
    family = "answer"
    lower_is_better = False

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Unanswerable questions."""
        return probe.style == "question" and gold.unanswerable

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        reply = case.reply.visible_text
        score = float(answered_adversarially(reply))
        label = adversarial_label(reply, case.probe.text, case.gold.trap)
        return [scored(self.name, score, label, judge_key="locomo-adversarial-1")]


def adversarial_label(reply: str, question: str, trap: str | None) -> str:
    """What a reply to an unanswerable question does.

    Returns:
        `refused`: says that it is not known or never came up. `premise rejected`: denies something of the question, or
        gives the trap to somebody else by name. `fooled`: gives the trap. `answered`: says something else. `empty`.
    """
    if not reply.strip():
        return "empty"
    if answered_adversarially(reply) or refuses(reply):
        return "refused"
    known = set(content_tokens(f"{question} {trap or ''}"))
    rejects = negates(reply) or bool(names_in(reply) - known)
    said = set(content_tokens(reply))
    if trap is not None and (wanted := set(content_tokens(trap))) and wanted <= said:
        return "premise rejected" if rejects else "fooled"
    return "premise rejected" if negates(reply) else "answered"


def is_misattributed(reply: str, question: str, answers: tuple[str, ...]) -> bool:
    """Whether an answer is given to whoever is spoken to, although the question is about people it names.

    It needs a question with two named people, of whom the reply names none while it says `you` or `I`.
    """
    asked = names_in(question)
    given = any(set(content_tokens(a)) <= set(content_tokens(reply)) for a in answers if content_tokens(a))
    return given and len(asked) >= 2 and not asked & names_in(reply) and _YOU.search(reply) is not None


def _tokens(text: str) -> list[str]:
    return [_stem(word) for word in normalise(text).split()]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(_porter().stem(word))


@lru_cache(maxsize=1)
def _porter() -> PorterStemmer:
    from nltk.stem import PorterStemmer  # takes seconds to load, and only this metric needs it

    return PorterStemmer()
