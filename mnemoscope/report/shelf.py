"""What a report shows of each memory at one probe: what it held of the gold, and what it gave back to whom."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mnemoscope.comparison.merging import Member, RunSet
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.report.attempts import RETRIEVAL, Attempt, attempt_of, verdict_line
from mnemoscope.report.outcomes import CellOutcomes
from mnemoscope.runfile.rows import CellKey, CellRow, LaneKey, StoredReply
from mnemoscope.scenarios.records import Probe

__all__ = ["ItemLine", "MemoryGroup", "Shelf"]

STORED_SHOWN = 6
GIVEN_SHOWN = 12
"""A whole history handed over is not repeated for every probe: the best ranks, and where gold stands."""
_KEPT = 64
"""Memories whose items are kept between probes."""


@dataclass(frozen=True, slots=True)
class ItemLine:
    """One memory, as stored or as given."""

    item_id: str
    kind: str
    text: str
    sources: tuple[str, ...]
    is_gold: bool
    is_tombstone: bool
    rank: int | None = None
    score: str = ""


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """The systems that share a memory and got the same from it."""

    memory: str
    stored: tuple[ItemLine, ...]
    stored_more: int
    all_forgotten: bool
    """Every stored memory with gold is a tombstone."""
    stored_known: bool
    """False where the run file holds no audit of the memory."""
    given: tuple[ItemLine, ...]
    """The first of the memories handed over, and all among them that hold gold."""
    n_given: int
    n_given_gold: int
    ranked: int
    gold_below: tuple[int, ...]
    """Ranks behind the given ones at which gold stands."""
    queries: tuple[str, ...]
    notes: tuple[str, ...]
    scores: tuple[tuple[str, str], ...]
    """Retrieval metrics and their scores."""
    context_tokens: int
    attempts: tuple[Attempt, ...]


class Shelf:
    """Reads cells with their texts, and keeps what the last memories held.

    Args:
        runs: The run files.
        outcomes: Every cell's outcome.
    """

    def __init__(self, runs: RunSet, outcomes: CellOutcomes) -> None:
        self._runs = runs
        self._outcomes = outcomes
        self._systems = runs.systems()
        self._ended = {(member.label, lane.key) for member, lane in runs.lanes()}
        self._held: OrderedDict[tuple[str, LaneKey], tuple[MemoryItem, ...]] = OrderedDict()

    def groups(self, scenario_id: str, probe: Probe, gold: Collection[str]) -> tuple[MemoryGroup, ...]:
        """Every system at one probe, grouped by memory and by what it was given, in the order of systems."""
        found: dict[tuple[object, ...], list[tuple[Attempt, StoredReply, CellRow]]] = {}
        held: dict[tuple[object, ...], tuple[Member, LaneKey]] = {}
        for system in self._systems:
            for member in self._runs.members_of(system.name):
                named = CellKey(member.stored[system.name], scenario_id, probe.probe_id, 0)
                cell = member.run.cell(named)
                if cell is None:
                    continue
                reply = member.run.reply_of(cell)
                lane = member.run.lane_of(named, system.memory)
                key = (member.label, lane, *_given_key(reply))
                held.setdefault(key, (member, lane))
                outcome = self._outcomes[scenario_id, probe.probe_id].get(system.name, "missing")
                found.setdefault(key, []).append((attempt_of(member, system, cell, reply, outcome), reply, cell))
        return tuple(self._group(*held[key], probe, gold, rows) for key, rows in found.items())

    def _group(
        self,
        member: Member,
        lane: LaneKey,
        probe: Probe,
        gold: Collection[str],
        rows: Sequence[tuple[Attempt, StoredReply, CellRow]],
    ) -> MemoryGroup:
        items = self._items(member, lane)
        hits = [item for item in items or () if _hits(item, gold) and item.seq_from < max(probe.cut.seq, 1)]
        retrieval = rows[0][1].retrieval
        ranking = retrieval.ranking if retrieval else ()
        given = retrieval.given if retrieval else ()
        below = [ref.rank for ref in ranking[len(given) :] if any(source.turn_id in gold for source in ref.sources)]
        lines = [_item_line(item, gold) for item in given]
        flags = ("truncated", "tied_at_cut", "blank_query", "mutated")
        return MemoryGroup(
            memory=lane.memory,
            stored=tuple(_item_line(item, gold) for item in hits[:STORED_SHOWN]),
            stored_more=max(0, len(hits) - STORED_SHOWN),
            all_forgotten=bool(hits) and not any(item.is_live for item in hits),
            stored_known=items is not None,
            given=tuple(lines[n] for n in range(len(lines)) if n < GIVEN_SHOWN or lines[n].is_gold),
            n_given=len(lines),
            n_given_gold=sum(line.is_gold for line in lines),
            ranked=len(ranking),
            gold_below=tuple(below[:10]),
            queries=tuple(query.text for query in rows[0][1].queries if query.text != probe.text),
            notes=tuple(flag for flag in flags if retrieval is not None and getattr(retrieval, flag)),
            scores=tuple(
                (v.metric, line.score if line.status == "scored" else line.label)
                for v in member.run.verdicts_of(rows[0][2])
                if v.subject == RETRIEVAL and (line := verdict_line(v))
            ),
            context_tokens=rows[0][2].context_tokens,
            attempts=tuple(attempt for attempt, _, _ in rows),
        )

    def _items(self, member: Member, lane: LaneKey) -> tuple[MemoryItem, ...] | None:
        """What a memory held at the history's end; None where it never came to it."""
        key = (member.label, lane)
        if key not in self._ended:
            return None
        if key not in self._held:
            self._held[key] = member.run.items_of(lane)
        self._held.move_to_end(key)
        while len(self._held) > _KEPT:
            self._held.popitem(last=False)
        return self._held[key]


def _given_key(reply: StoredReply) -> tuple[object, ...]:
    if reply.retrieval is None:
        return ()
    return (tuple((item.id, item.score) for item in reply.retrieval.given), tuple(q.text for q in reply.queries))


def _hits(item: MemoryItem, gold: Collection[str]) -> bool:
    return any(source.turn_id in gold for source in item.sources)


def _item_line(item: MemoryItem, gold: Collection[str]) -> ItemLine:
    return ItemLine(
        item_id=item.id,
        kind=item.kind,
        text=item.text,
        sources=tuple(dict.fromkeys(source.turn_id for source in item.sources)),
        is_gold=_hits(item, gold),
        is_tombstone=not item.is_live,
        rank=item.rank,
        score="" if item.score is None else f"{item.score:.3f}",
    )
