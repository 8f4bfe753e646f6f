"""Retrieval as a ranking of sessions or turns: hit of all, reciprocal rank, nDCG, and LongMemEval's own variants.

A ranking of memories is read as a ranking of distinct units (sessions where the gold names sessions, else turns or
pool items), each at the place where a memory first names it. With G the gold units:

- ``all-hit@k``: 1 where G lies within the units behind the first k *memories* (PRAGMA, arXiv 2609.09664)
- ``mrr@k``: 1 / place of the first gold unit among the first k *units*, 0 where there is none
- ``ndcg@k``: sum over the first k units of ``rel_i / log2(i + 1)``, divided by its largest possible value
- ``recall-any@k``, ``recall-all@k``: 1 where some, or all, of G lie within the first k distinct *units*: memories are
  read on until k of them are seen (LongMemEval's turn-to-session conversion; arXiv 2410.10813, retrieval evaluation)
- ``ndcg(k,gains=longmemeval)``: LongMemEval's gains ``rel_1 + sum over i >= 2 of rel_i / log2(i)``, in which places 1
  and 2 weigh the same

``unit=session`` maps gold turns to their sessions; it is the default of the LongMemEval variants, where `unit=gold`
keeps the turns. ``provenance`` as in `recall`. Read all of them per stratum: the number of gold units differs by
question type, and with it how hard a full hit is.

Deviations: PRAGMA's release does not define its retrieval metrics; these are the session-level ones of its paper's
table. LongMemEval indexes user turns only; here a memory indexes what it indexes. Exclusions as in `retrieval`;
memories in the conversation's order have no places and are left out of `mrr` and `ndcg`, and of the others where they
were cut. Rankings are kept ten memories deep or as deep as the run's budget asks: a larger k needs a larger `--k`, and
the figures say how many units were seen.

Trivial policies: returning nothing scores 0; returning everything in one memory scores 1 on `all-hit`, and on the
others as well as its order of sources does; a random order scores k / history on `recall-any` for one gold unit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, Value
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.metrics._gold import expects_retrieval, has_provenance, methods_of
from mnemoscope.evaluators.metrics._ranking import UNITS, holds_at_most, places_of, size_of, wanted
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.metrics.retrieval import NOT_INFORMATIVE, label_of, store_size
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.record import MemoryItem, Retrieval
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["AllHit", "Mrr", "Ndcg", "RecallAll", "RecallAny", "dcg", "ndcg"]

_RULE = "ranking-1"
_GAINS = ("standard", "longmemeval")


class _Ranked(ABC):
    """What the metrics of this module share.

    Args:
        k: Cut-off, in memories or units.
        unit: `gold` or `session`.
        provenance: `strict` or `loose`.
    """

    family = "ranking"
    lower_is_better = False
    _base: ClassVar[str]
    _unit: ClassVar[str] = "gold"
    _needs_order: ClassVar[bool] = False

    def __init__(self, k: int, unit: str = "", provenance: str = "strict") -> None:
        self.k, self.unit = size_of(self._base, k), unit or self._unit
        if self.unit not in UNITS:
            raise ConfigError(f"unit is {unit!r}; it is {' or '.join(UNITS)}")
        self._methods = methods_of(provenance)
        options: dict[str, Value] = {}
        if self.unit != self._unit:
            options["unit"] = self.unit
        if provenance != "strict":
            options["provenance"] = provenance
        self.name = str(Spec(self._base, (k,), options, at=True))

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Probes with gold evidence, or whose evidence is missing or broken."""
        return expects_retrieval(gold, probe)

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Probes without gold that could be found."""
        gold = wanted(case, self.unit)
        return self._excluded(gold.reason, {"in_session": gold.in_session}) if gold.reason is not None else None

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `retrieval`."""
        return [self.exclusion(case) or self._verdict(case)]

    def _verdict(self, case: EvaluationCase) -> Verdict:
        retrieval = case.reply.retrieval
        if retrieval is None:
            return self._excluded("no retrieval")
        if not retrieval.ranked and (self._needs_order or self._cuts(case, retrieval)):
            return self._excluded("no ranking to cut")
        if not has_provenance(retrieval.items):
            return self._excluded("n/a")
        gold = wanted(case, self.unit).ids
        places = self._places(case, retrieval.items)
        score = self._score(places, gold)
        figures = {"k": self.k, "gold": len(gold), "units": len(places), "hits": len(gold.intersection(places))}
        label = NOT_INFORMATIVE if self._holds_all(case) else label_of(score)
        return scored(self.name, score, label, subject="retrieval", judge_key=_RULE, figures=figures)

    def _places(self, case: EvaluationCase, items: Sequence[MemoryItem]) -> tuple[str, ...]:
        """The units that count, best first."""
        return places_of(case, items, self._methods, self.unit, self.k)

    def _cuts(self, case: EvaluationCase, retrieval: Retrieval) -> bool:
        """Whether k leaves out something that was handed over."""
        return len(places_of(case, retrieval.items, self._methods, self.unit, self.k + 1)) > self.k

    def _holds_all(self, case: EvaluationCase) -> bool:
        """Whether k units are all that there are."""
        return holds_at_most(case, self.unit, self.k)

    @abstractmethod
    def _score(self, places: Sequence[str], gold: frozenset[str]) -> float: ...

    def _excluded(self, reason: str, figures: Mapping[str, object] | None = None) -> Verdict:
        return excluded(self.name, reason, subject="retrieval", judge_key=_RULE, figures=figures)


class AllHit(_Ranked):
    """`all-hit@k`: every gold unit is behind the first k memories."""

    _base = "all-hit"

    def _places(self, case: EvaluationCase, items: Sequence[MemoryItem]) -> tuple[str, ...]:
        return places_of(case, items[: self.k], self._methods, self.unit)

    def _cuts(self, case: EvaluationCase, retrieval: Retrieval) -> bool:
        return min(self.k, len(retrieval.items)) < retrieval.given

    def _holds_all(self, case: EvaluationCase) -> bool:
        return 0 < store_size(case) <= self.k

    def _score(self, places: Sequence[str], gold: frozenset[str]) -> float:
        return float(gold <= frozenset(places))


class Mrr(_Ranked):
    """`mrr@k`: reciprocal place of the first gold unit; `mrr` is `mrr@10`."""

    _base = "mrr"
    _needs_order = True

    def __init__(self, k: int = 10, unit: str = "", provenance: str = "strict") -> None:
        super().__init__(k, unit, provenance)

    def _score(self, places: Sequence[str], gold: frozenset[str]) -> float:
        return next((1 / place for place, unit in enumerate(places, 1) if unit in gold), 0.0)


class Ndcg(_Ranked):
    """`ndcg@k`: discounted gain over the best possible one.

    Args:
        k: Cut-off, in units.
        gains: `standard` or `longmemeval`; the latter ranks sessions unless told otherwise.
        unit: `gold` or `session`.
        provenance: `strict` or `loose`.
    """

    _base = "ndcg"
    _needs_order = True

    def __init__(self, k: int, gains: str = "standard", unit: str = "", provenance: str = "strict") -> None:
        if gains not in _GAINS:
            raise ConfigError(f"gains is {gains!r}; it is {' or '.join(_GAINS)}")
        self.gains = gains
        own_unit = "session" if gains == "longmemeval" else "gold"
        super().__init__(k, unit or own_unit, provenance)
        options: dict[str, Value] = {} if gains == "standard" else {"gains": gains}
        if self.unit != own_unit:
            options["unit"] = self.unit
        if provenance != "strict":
            options["provenance"] = provenance
        self.name = str(Spec(self._base, (k,), options, at=True))

    def _score(self, places: Sequence[str], gold: frozenset[str]) -> float:
        return ndcg([unit in gold for unit in places], len(gold), self.k, self.gains)


class RecallAny(_Ranked):
    """`recall-any@k`: some gold session is among the first k sessions."""

    _base = "recall-any"
    _unit = "session"

    def _score(self, places: Sequence[str], gold: frozenset[str]) -> float:
        return float(not gold.isdisjoint(places))


class RecallAll(_Ranked):
    """`recall-all@k`: every gold session is among the first k sessions."""

    _base = "recall-all"
    _unit = "session"

    def _score(self, places: Sequence[str], gold: frozenset[str]) -> float:
        return float(gold <= frozenset(places))


def ndcg(relevant: Sequence[bool], n_gold: int, k: int, gains: str = "standard") -> float:
    """Normalised discounted gain of a ranking of distinct units, 0–1.

    Args:
        relevant: Whether each place holds a gold unit, best first.
        n_gold: Number of gold units, at least 1.
        k: Places that count.
        gains: `standard` or `longmemeval`.

    Example:
        >>> ndcg([False, True], 1, 10, "longmemeval")
        1.0
    """
    return dcg(relevant[:k], gains) / dcg([True] * min(n_gold, k), gains)


def dcg(relevant: Sequence[bool], gains: str = "standard") -> float:
    """Discounted gain of binary relevances."""
    shift = 0 if gains == "longmemeval" else 1
    return sum(1 / max(1.0, math.log2(place + shift)) for place, hit in enumerate(relevant, 1) if hit)
