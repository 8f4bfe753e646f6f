"""Retrieval by provenance: did the items that came back come from the gold turns?

With G the gold units (turns; sessions or pool items where the gold is given so), R the units that the first k items
of the ranking name as sources, and H the units of the history so far:

- ``recall@k = |G ∩ R| / |G|`` (LoCoMo-Conv, retrieval metric; macro mean over probes)
- ``precision@k = |G ∩ R| / |R|``
- ``recall-tokens(N)``: recall of the leading items that fit whole into N tokens (`item_tokens`, as budgets count)
- ``recall-given``: recall of what was handed over, for memories that keep the conversation's order
- ``coverage@k = |R ∩ H| / |H|`` and ``lift@k = recall@k - coverage@k``: what recall is worth beyond handing over a lot

``provenance=strict`` (default) follows sources that are verbatim or cited, ``provenance=loose`` all but unknown ones.

Deviations from the published metric: text never counts here (see `recall_text`); probes without resolvable gold are
left out with a reason, never 0; questions that are unanswerable by design are left out, though they carry evidence;
gold inside the current session is left out; a memory that hands over more than fits, in the conversation's order, has
no ranking to cut and is left out; an architecture whose items name no source is "n/a", not 0. Where k is at least the
number of stored items, recall is true by construction and labelled "not informative".

Trivial policies: returning nothing has recall 0 (and no precision); returning everything has recall 1, coverage 1 and
lift 0; a random subset has lift 0 in expectation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.metrics._gold import (
    GoldUnits,
    expects_retrieval,
    gold_units,
    has_provenance,
    methods_of,
    units_of,
)
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.budgeting import item_tokens
from mnemoscope.memory_backends.record import MemoryItem, Retrieval
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["Coverage", "Lift", "Precision", "Recall", "RecallGiven", "RecallTokens", "fitting"]

NOT_INFORMATIVE = "not informative"
_RULE = "provenance-1"


class _ByProvenance(ABC):
    """What the metrics of this module share.

    Args:
        size: k items, or N tokens.
        provenance: `strict` or `loose`.
    """

    family = "retrieval"
    lower_is_better = False
    _base: ClassVar[str]
    _at: ClassVar[bool] = True
    _of_history: ClassVar[bool] = False
    """Needs turns to compare with."""

    def __init__(self, size: int, provenance: str = "strict") -> None:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ConfigError(f"{self._base} takes a whole number of at least 1, not {size!r}")
        self.size = size
        self._methods = methods_of(provenance)
        kwargs = {} if provenance == "strict" else {"provenance": provenance}
        self.name = str(Spec(self._base, (size,), dict(kwargs), at=self._at))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with gold evidence, or whose evidence is missing or broken."""
        return expects_retrieval(gold, probe)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without gold that could be found."""
        gold = gold_units(case)
        if gold.reason is not None:
            figures = {"in_session": gold.in_session, "unresolvable": len(case.gold.unresolvable)}
            return self._excluded(gold.reason, figures)
        return self._excluded("no history") if self._of_history and not case.history_units else None

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `retrieval`."""
        return [self.exclusion(case) or self._verdict(case, gold_units(case))]

    def _verdict(self, case: EvaluationCase, gold: GoldUnits) -> Verdict:
        retrieval = case.reply.retrieval
        if retrieval is None:
            return self._excluded("no retrieval")
        items = self._cut(retrieval)
        if not retrieval.ranked and len(items) < retrieval.given:
            return self._excluded("no ranking to cut")
        if not has_provenance(items):
            return self._excluded("n/a")
        return self._score(case, gold, items, units_of(case, items, self._methods))

    def _cut(self, retrieval: Retrieval) -> Sequence[MemoryItem]:
        return retrieval.items[: self.size]

    @abstractmethod
    def _score(
        self, case: EvaluationCase, gold: GoldUnits, items: Sequence[MemoryItem], found: frozenset[str]
    ) -> Verdict: ...

    def _excluded(self, reason: str, figures: Mapping[str, object] | None = None) -> Verdict:
        return excluded(self.name, reason, subject="retrieval", judge_key=_RULE, figures=figures)

    def _scored(self, score: float, label: str, figures: Mapping[str, object]) -> Verdict:
        return scored(self.name, score, label, subject="retrieval", judge_key=_RULE, figures=figures)

    def _informative(
        self, case: EvaluationCase, score: float, items: Sequence[MemoryItem]
    ) -> tuple[str, dict[str, object]]:
        store = store_size(case)
        figures: dict[str, object] = {"k": self.size, "store": store, "returned": len(items)}
        if store:
            figures["share_returned"] = round(len(items) / store, 6)
        return (NOT_INFORMATIVE if 0 < store <= self.size else label_of(score)), figures


class Recall(_ByProvenance):
    """`recall@k`: share of the gold units that the first k items of the ranking were made from."""

    _base = "recall"

    def _score(
        self, case: EvaluationCase, gold: GoldUnits, items: Sequence[MemoryItem], found: frozenset[str]
    ) -> Verdict:
        hits = gold.ids & found
        score = len(hits) / len(gold.ids)
        label, figures = self._informative(case, score, items)
        figures |= {"gold": len(gold.ids), "hits": len(hits), "in_session": gold.in_session}
        return self._scored(score, label, figures)


class RecallGiven(Recall):
    """`recall-given`: recall of everything that was handed to the assistant, ranked or not."""

    def __init__(self, provenance: str = "strict") -> None:
        super().__init__(1, provenance)
        self.name = str(Spec("recall-given", (), {} if provenance == "strict" else {"provenance": provenance}))

    def _cut(self, retrieval: Retrieval) -> Sequence[MemoryItem]:
        return retrieval.given_items

    def _informative(
        self, case: EvaluationCase, score: float, items: Sequence[MemoryItem]
    ) -> tuple[str, dict[str, object]]:
        store = store_size(case)
        figures: dict[str, object] = {"store": store, "returned": len(items)}
        return (NOT_INFORMATIVE if 0 < store <= len(items) else label_of(score)), figures


class Precision(_ByProvenance):
    """`precision@k`: share of the units behind the first k items that are gold; nothing returned has none."""

    _base = "precision"

    def _score(
        self, case: EvaluationCase, gold: GoldUnits, items: Sequence[MemoryItem], found: frozenset[str]
    ) -> Verdict:
        if not found:
            return self._excluded("nothing was retrieved")
        hits = gold.ids & found
        score = len(hits) / len(found)
        return self._scored(score, label_of(score), {"hits": len(hits), "units": len(found)})


class RecallTokens(_ByProvenance):
    """`recall-tokens(N)`: recall of the leading items that fit whole into N tokens; the first that does not ends it."""

    _base = "recall-tokens"
    _at = False

    def _cut(self, retrieval: Retrieval) -> Sequence[MemoryItem]:
        return fitting(retrieval.items, self.size)

    def _score(
        self, case: EvaluationCase, gold: GoldUnits, items: Sequence[MemoryItem], found: frozenset[str]
    ) -> Verdict:
        hits = gold.ids & found
        score = len(hits) / len(gold.ids)
        tokens = sum(map(item_tokens, items))
        figures = {"gold": len(gold.ids), "hits": len(hits), "items": len(items), "tokens": tokens}
        return self._scored(score, label_of(score), figures)


class Coverage(_ByProvenance):
    """`coverage@k`: share of the history so far that the first k items were made from."""

    _base = "coverage"
    _of_history = True

    def _score(
        self, case: EvaluationCase, gold: GoldUnits, items: Sequence[MemoryItem], found: frozenset[str]
    ) -> Verdict:
        history = case.history_units
        seen = len(found & history)
        return self._scored(seen / len(history), "share", {"units": seen, "history": len(history)})


class Lift(_ByProvenance):
    """`lift@k`: recall minus coverage, from -1 to 1."""

    _base = "lift"
    _of_history = True

    def _score(
        self, case: EvaluationCase, gold: GoldUnits, items: Sequence[MemoryItem], found: frozenset[str]
    ) -> Verdict:
        history = case.history_units
        recall, coverage = len(gold.ids & found) / len(gold.ids), len(found & history) / len(history)
        figures = {"recall": round(recall, 6), "coverage": round(coverage, 6)}
        return self._scored(recall - coverage, "difference", figures)


def fitting(items: Sequence[MemoryItem], tokens: int) -> Sequence[MemoryItem]:
    """The leading items that fit whole into a number of estimated tokens, counted as budgets count them."""
    used = 0
    for i, item in enumerate(items):
        used += item_tokens(item)
        if used > tokens:
            return items[:i]
    return items


def store_size(case: EvaluationCase) -> int:
    """Number of live items; a pool that is handed over counts as the store of its probe."""
    return len(case.stored.live) or len(case.pool_texts)


def label_of(score: float) -> str:
    """`hit`, `partial` or `miss`."""
    return "hit" if score >= 1 else "partial" if score > 0 else "miss"
