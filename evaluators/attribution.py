"""Loss attribution: for each gold fact, the first stage on the way into the reply that lost it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import UseDetector
from mnemoscope.evaluators._text_route import in_items, in_store, in_turns, what_text_tells
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.offline import examine
from mnemoscope.evaluators.metrics.strategic import planned_sources
from mnemoscope.evaluators.metrics.timing import kept_back
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, GoldFact

__all__ = ["STAGES", "FactLoss", "Stage", "attribute"]

Stage = Literal["not-stored", "not-retrieved", "not-planned", "not-said", "wrong", "unknown", "kept"]
STAGES: tuple[Stage, ...] = ("not-stored", "not-retrieved", "not-planned", "not-said", "wrong", "unknown", "kept")
"""In the order in which a fact can be lost. `unknown` is lost at a stage that cannot be told, as neither provenance nor
text tells it; `kept` is the outcome where it was not lost."""


@dataclass(frozen=True, slots=True)
class FactLoss:
    """Where one gold fact of one cell went."""

    fact_id: str
    stage: Stage
    """The first stage that lost it; `wrong` is said, but contradicted or given to somebody else."""
    routes: Mapping[str, bool | None]
    """What each stage found: `stored_provenance`, `stored_text`, `retrieved_provenance`, `retrieved_text`, `planned`,
    `said`, `right`, `in_session`; None where a route cannot tell."""
    disagreement: bool
    """The routes by provenance and by text differ on storing or retrieving."""
    non_monotone: bool
    """A later stage has it although an earlier one lost it: said though not retrieved or not planned."""


def attribute(case: EvaluationCase, detector: UseDetector) -> tuple[FactLoss, ...]:
    """Follow each gold fact through the stages.

    A fact is *stored* where every one of its sources is among the sources of a live item (any method but unknown),
    *retrieved* where the given items name them all, *planned* where the must and nice slots' memories do (a profile
    without a plan plans all that it is given), *said* where the detector finds it in the visible text, or where the
    text says nearly that and clashes with it (`wrong`). A second route decides storing and retrieving by text: the
    sources' texts stand verbatim in the items, or one item uses the fact as the detector sees it. Provenance decides
    where the fact has sources and the items name any. Elsewhere text decides as far as it can: a hit counts, and a miss
    counts where the detector sees some turn of the history state the fact, or where the memory holds nothing. Where
    nothing tells whether the fact was stored or retrieved, a reply that has it right kept it, and any other lost it at
    a stage that is `unknown`. MemUse's gold is of this kind: it names no turns. Facts whose sources all lie in the
    current session, or without sources one that a turn of it states, are nobody's loss in storing, retrieving and
    planning: every system is given that session. Where gold is told by session, any turn of a source session names it.

    Gold with roles wants every must fact and any one nice fact. So the nice facts count as one, the one that came
    furthest: kept where any of them is, else lost where the last of them was.

    Args:
        case: The cell. Attribution of a failed cell is empty: nothing is known about it. Of an excluded one, which was
            not asked, every fact is unknown.
        detector: The scoring detector; never the one that sits in `verify`.

    Returns:
        One entry per gold fact that the moment calls for, in the gold's order, and one for all nice facts at the end:
        the counts over stages add up to their number. A fact with windows that are not open now is not wanted, so
        that its absence is no loss.
    """
    if case.reply.status == "error":
        return ()
    silent = kept_back(case.gold, case.probe)
    losses: list[FactLoss] = []
    nice: list[FactLoss] = []
    for fact in case.gold.facts:
        if fact.fact_id not in silent:
            (nice if _is_nice(case.gold, fact) else losses).append(_follow(case, fact, detector))
    return (*losses, max(nice, key=lambda loss: STAGES.index(loss.stage))) if nice else tuple(losses)


def _is_nice(gold: Gold, fact: GoldFact) -> bool:
    return any(gold.roles.get(ItemId(source)) == "nice" for source in fact.sources)


def _follow(case: EvaluationCase, fact: GoldFact, detector: UseDetector) -> FactLoss:
    if case.reply.status == "excluded":
        return FactLoss(fact.fact_id, "unknown", {}, disagreement=False, non_monotone=False)
    retrieval = case.reply.retrieval
    given = retrieval.given_items if retrieval is not None else ()
    wanted = frozenset(fact.sources) - case.recent_ids
    in_session = not wanted if fact.sources else in_turns(case.probe.recent_turns, fact, detector)
    held = case.stored.sources | _pool_sources(case)
    stored = None if _nameless(case.stored.live) or not wanted else wanted <= _with_sessions(case, held)
    retrieved = None if _nameless(given) or not wanted else wanted <= _with_sessions(case, _sources(given))
    stored_text: bool | None = in_store(case, fact, wanted, detector)
    retrieved_text: bool | None = in_items(case, fact, wanted, given, detector)
    if not in_session and None in (stored, retrieved):
        told = what_text_tells(case, fact, stored=bool(stored_text), retrieved=bool(retrieved_text), detector=detector)
        stored_text = told.stored if stored is None else stored_text
        retrieved_text = told.retrieved if retrieved is None else retrieved_text
    is_stored = stored if stored is not None else stored_text
    is_retrieved = retrieved if retrieved is not None else retrieved_text
    is_planned = _planned(case, fact, wanted, given, detector, is_retrieved)
    finding = examine(case.reply.visible_text, fact.text)
    used = detector.detect(case.reply.visible_text, fact.text).used
    said = used or finding.clash is not None
    stage = _stage((in_session or is_stored, in_session or is_retrieved, in_session or is_planned, said, used))
    routes: dict[str, bool | None] = {
        "stored_provenance": stored,
        "stored_text": stored_text,
        "retrieved_provenance": retrieved,
        "retrieved_text": retrieved_text,
        "planned": is_planned,
        "said": said,
        "right": used,
        "in_session": in_session,
    }
    disagree = stored not in (None, stored_text) or retrieved not in (None, retrieved_text)
    return FactLoss(fact.fact_id, stage, routes, disagree and not in_session, said and stage in STAGES[:3])


def _stage(passed: Sequence[bool | None]) -> Stage:
    """The first stage that lost a fact; unknown where an earlier one that cannot be told may have."""
    for stage, ok in zip(STAGES, passed, strict=False):
        if ok is None:
            return "unknown" if False in passed else "kept"
        if not ok:
            return stage
    return "kept"


def _planned(
    case: EvaluationCase,
    fact: GoldFact,
    wanted: frozenset[str],
    given: tuple[MemoryItem, ...],
    detector: UseDetector,
    is_retrieved: bool | None,
) -> bool | None:
    plan = case.reply.plan
    if plan is None:
        return is_retrieved
    sources = planned_sources(plan, given)
    if wanted and not _nameless(given):
        return wanted <= _with_sessions(case, sources)
    chosen = tuple(item for item in given if item.id in sources)
    return in_items(case, fact, wanted, chosen, detector) or (None if is_retrieved is None else False)


def _nameless(items: tuple[MemoryItem, ...]) -> bool:
    return bool(items) and not any(s.method != "unknown" for item in items for s in item.sources)


def _sources(items: tuple[MemoryItem, ...]) -> frozenset[str]:
    named = {s.turn_id for item in items for s in item.sources if s.method != "unknown"}
    return frozenset(named) | {item.id for item in items}


def _with_sessions(case: EvaluationCase, named: frozenset[str]) -> frozenset[str]:
    """The named ids, and where gold is told by session the sessions of the named turns."""
    if case.gold.evidence_unit != "session":
        return named
    return named | {case.turns[name].session_id for name in named if name in case.turns}


def _pool_sources(case: EvaluationCase) -> frozenset[str]:
    """Pool items that a memory hands over as given, without storing them."""
    retrieval = case.reply.retrieval
    if case.stored.live or retrieval is None or not case.pool_texts:
        return frozenset()
    return _sources(retrieval.items) & frozenset(case.pool_texts)
