"""Matched rows to finished cells: replies judged by the offline rules, foreign verdicts kept beside them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import cast

from mnemoscope.core.identity import ItemId, TurnId
from mnemoscope.core.spec import parse_spec
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge
from mnemoscope.evaluators.metrics.registry import default_metrics
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.imports.matching import Found, Target
from mnemoscope.imports.rows import RecordedItem, RecordedReply, RecordedRetrieval, RecordedVerdict
from mnemoscope.memory_backends.budgeting import item_tokens
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Retrieval, Source
from mnemoscope.runfile.records import CellRecord
from mnemoscope.runfile.rows import NO_REPLY, CellKey
from mnemoscope.scenarios.records import Probe, Scenario

__all__ = ["MISSING", "CellMaker"]

MISSING = "missing: no row of the imported files is about this probe"
_OF_TEXTS = frozenset({"recall-tokens", "recall-text", "retained"})
"""Metrics that read the texts of memories, and mean nothing where a file does not give them."""
_OF_RETRIEVAL = frozenset({"retrieval", "retrieval-text"})
"""Families of metrics that need no reply."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A reply with what the metrics must know about it."""

    reply: Reply
    said: bool
    """There is a reply, or a failure in its place."""
    texts: bool
    """The texts of all retrieved memories are known."""


class CellMaker:
    """Makes the cells of one imported system.

    Args:
        system: Its name.
        found: What the files say.
        judged: Whether replies and retrievals are scored here; False where only verdicts were imported.
    """

    def __init__(self, system: str, found: Found, *, judged: bool) -> None:
        self._system, self._found, self._judged = system, found, judged
        self.unknown_sources = 0
        """Retrieved ids that name nothing in their scenario."""
        self._history: tuple[Scenario, _Units] | None = None
        self.renamed: set[str] = set()
        """Metrics of foreign verdicts that the offline rules score too."""

    async def cell(
        self, scenario: Scenario, probe: Probe, replicate: int, recorded: Mapping[str, str] = MappingProxyType({})
    ) -> CellRecord:
        """The cell of one probe; a probe that no row is about is a failed cell.

        Args:
            scenario: The probe's scenario.
            probe: The probe.
            replicate: Which of its replies.
            recorded: Metrics that the files hold for probes of its kind, with the key of their judge; one that is
                missing here is a failed verdict, not a no.
        """
        target = Target(str(scenario.scenario_id), str(probe.probe_id), replicate)
        answer = self._answer(scenario, probe, target)
        verdicts: list[Verdict] = []
        if self._judged:
            case = EvaluationCase(
                probe=probe,
                gold=scenario.gold_by_probe[probe.probe_id],
                reply=answer.reply,
                history=scenario.turns[: probe.cut.seq],
            )
            verdicts += (await _evaluator(answer.said, answer.texts).evaluate(case)).verdicts
        taken = {verdict.metric for verdict in verdicts}
        labels = self._found.verdicts.get(target, [])
        there = {verdict.metric for verdict, _ in labels}
        labels = [*labels, *((_missing(metric), key) for metric, key in recorded.items() if metric not in there)]
        verdicts += [self._verdict(one, key, taken) for one, key in labels]
        cause = answer.reply.error.partition(":")[0] if answer.reply.error else None
        name = CellKey(self._system, target.scenario_id, target.probe_id, replicate)
        return CellRecord(name, answer.reply, 0.0, verdicts, error_cause=cause)

    def _answer(self, scenario: Scenario, probe: Probe, target: Target) -> _Answer:
        recorded = self._found.retrievals.get(target)
        retrieval = None if recorded is None else self._retrieval(recorded, scenario, probe)
        texts = recorded is None or all(item.text is not None for item in recorded.items)
        said = self._found.replies.get(target)
        if said is None and target in self._found.targets:
            return _Answer(Reply("", HiddenTrace(reasoning=NO_REPLY), retrieval, None), False, texts)
        said = said or RecordedReply(None, MISSING)
        if said.text is None:
            reply = Reply("", HiddenTrace(), retrieval, said.plan, status="error", error=said.error)
        else:
            reply = Reply(said.text, HiddenTrace(reasoning=said.reasoning), retrieval, said.plan)
        return _Answer(reply, True, texts)

    def _retrieval(self, found: RecordedRetrieval, scenario: Scenario, probe: Probe) -> Retrieval:
        units = self._units(scenario, probe)
        items = tuple(self._item(item, units, rank) for rank, item in enumerate(found.items, start=1))
        given = items[: found.given]
        return Retrieval(
            items=items,
            given=found.given,
            context_tokens=sum(item_tokens(item) for item in given),
            ranked=found.ranked,
            truncated=found.truncated,
        )

    def _units(self, scenario: Scenario, probe: Probe) -> _Units:
        if self._history is None or self._history[0] is not scenario:
            sessions = {str(s.session_id): tuple(str(turn.turn_id) for turn in s.turns) for s in scenario.sessions}
            turns = frozenset(str(turn.turn_id) for turn in scenario.turns)
            self._history = (scenario, _Units(turns, sessions))
        known = self._history[1]
        pool = () if probe.pool is None else (item.item_id for item in probe.pool.items)
        return _Units(known.single.union(pool, (turn.turn_id for turn in probe.recent_turns)), known.sessions)

    def _item(self, item: RecordedItem, units: _Units, rank: int) -> MemoryItem:
        sources = item.sources if item.sources is not None else self._sources(item.named, units)
        return MemoryItem(
            id=ItemId(item.item_id),
            kind=cast("ItemKind", item.kind),
            text=item.text or "",
            sources=sources,
            observed_at=item.observed_at,
            score=item.score,
            rank=rank,
        )

    def _sources(self, named: Sequence[str], units: _Units) -> tuple[Source, ...]:
        """Turns and pool items are cited; a session stands for all its turns; what is unknown proves nothing."""
        found: dict[str, Source] = {}
        for name in named:
            if name in units.single:
                found.setdefault(name, Source(TurnId(name), "cited", 1 / len(named)))
            elif name in units.sessions:
                turns = units.sessions[name]
                for turn_id in turns:
                    found.setdefault(turn_id, Source(TurnId(turn_id), "session", 1 / len(named) / len(turns)))
            else:
                self.unknown_sources += 1
                found.setdefault(name, Source(TurnId(name), "unknown", 1 / len(named)))
        return tuple(found.values())

    def _verdict(self, verdict: RecordedVerdict, key: str, taken: Container[str]) -> Verdict:
        metric = verdict.metric
        if metric in taken:
            self.renamed.add(metric)
            metric = f"recorded({metric})"
        return Verdict(
            metric=metric,
            subject=verdict.subject,
            label=verdict.label,
            score=verdict.score,
            status=verdict.status,
            judge_key=key,
            raw=verdict.raw,
            quote=verdict.quote,
        )


@dataclass(frozen=True, slots=True)
class _Units:
    """What a memory of a scenario may be made from."""

    single: frozenset[str]
    sessions: dict[str, tuple[str, ...]]


def _missing(metric: str) -> RecordedVerdict:
    return RecordedVerdict(metric, "reply", "missing", None, "error", raw="the file has no verdict on this probe")


@lru_cache(maxsize=4)
def _evaluator(said: bool, texts: bool) -> Evaluator:
    metrics = default_metrics()
    if not said:
        metrics = tuple(metric for metric in metrics if metric.family in _OF_RETRIEVAL)
    if not texts:
        metrics = tuple(metric for metric in metrics if parse_spec(metric.name).name not in _OF_TEXTS)
    return Evaluator(metrics, open_judge("offline", JudgePorts()))
