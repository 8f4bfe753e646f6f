"""Retrieval by text: is what the gold turns say still there in the items that came back?

- ``recall-text@k``: share of the gold turns whose text, stripped and lower-cased, is a substring of the lower-cased
  text of one of the first k items (LoCoMo-Conv, retrieval metric; the published rule also takes ids in an item's
  metadata, which `recall@k` does here). Short turns match anything that holds them, and rewritten memories match
  nothing: a figure for comparison with published ones, never the only one.
- ``retained@k``: share of the gold turns' distinct content tokens that occur in the first k items. It is fair to
  summaries and profiles, and blind to who said what.

Gold turns that are only a picture have no text and are left out of both. Exclusions as in `retrieval`.

Trivial policies: returning nothing scores 0 on both; returning everything scores 1 on both where texts are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.metrics._gold import expects_retrieval, gold_units
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.metrics.retrieval import label_of
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.record import Retrieval
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["RecallText", "Retained"]


class _ByText(ABC):
    family = "retrieval-text"
    lower_is_better = False
    _base: ClassVar[str]

    def __init__(self, k: int) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ConfigError(f"{self._base} takes a whole number of at least 1, not {k!r}")
        self.k = k
        self.name = str(Spec(self._base, (k,), at=True))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with gold evidence, or whose evidence is missing or broken."""
        return expects_retrieval(gold, probe)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without gold text that could be found."""
        return None if (reason := self._reason(case)) is None else self._excluded(reason)

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `retrieval`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        retrieval = case.reply.retrieval
        return [self._excluded("no retrieval") if retrieval is None else self._score(_gold_texts(case), retrieval)]

    def _reason(self, case: EvaluationCase) -> str | None:
        if (reason := gold_units(case).reason) is not None:
            return reason
        if case.gold.evidence_unit == "session":
            return "gold names sessions, not texts"
        return None if _gold_texts(case) else "gold has no text"

    @abstractmethod
    def _score(self, texts: list[str], retrieval: Retrieval) -> Verdict: ...

    def _excluded(self, reason: str) -> Verdict:
        return excluded(self.name, reason, subject="retrieval", judge_key=f"{self._base}-1")


class RecallText(_ByText):
    """`recall-text@k`: the published verbatim rule."""

    _base = "recall-text"

    def _score(self, texts: list[str], retrieval: Retrieval) -> Verdict:
        items = [item.text.lower() for item in retrieval.items[: self.k]]
        hits = sum(any(text.lower() in item for item in items) for text in texts)
        score = hits / len(texts)
        return scored(
            self.name,
            score,
            label_of(score),
            subject="retrieval",
            judge_key="recall-text-1",
            figures={"gold": len(texts), "hits": hits},
        )


class Retained(_ByText):
    """`retained@k`: the share of gold content tokens that survived."""

    _base = "retained"

    def _reason(self, case: EvaluationCase) -> str | None:
        reason = super()._reason(case)
        return reason or (None if _words_of(_gold_texts(case)) else "gold has no content words")

    def _score(self, texts: list[str], retrieval: Retrieval) -> Verdict:
        wanted, kept = _words_of(texts), _words_of(item.text for item in retrieval.items[: self.k])
        score = len(wanted & kept) / len(wanted)
        return scored(
            self.name,
            score,
            label_of(score),
            subject="retrieval",
            judge_key="retained-1",
            figures={"tokens": len(wanted)},
        )


def _gold_texts(case: EvaluationCase) -> list[str]:
    return [text for unit in sorted(gold_units(case).ids) if (text := case.source_text(unit)) is not None]


def _words_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(_words, texts))


@lru_cache(maxsize=32_768)
def _words(text: str) -> frozenset[str]:
    return frozenset(content_tokens(text))
