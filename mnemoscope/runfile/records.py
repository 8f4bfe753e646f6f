"""What is written to a run file, and how it becomes rows."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from mnemoscope.config import RunConfig
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.core.ports import Span
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.reply import Reply
from mnemoscope.memory_backends.budgeting import item_tokens
from mnemoscope.memory_backends.record import MemoryItem, Retrieval, Stats
from mnemoscope.runfile import codec
from mnemoscope.runfile.rows import CellKey, LaneKey, LaneStatus, SystemRow
from mnemoscope.scenarios.records import Scenario

__all__ = [
    "CellRecord",
    "LaneRecord",
    "LossRecord",
    "Manifest",
    "Piece",
    "Pieces",
    "PlannedScenario",
    "cell_row",
    "lane_row",
    "packed_retrieval",
    "scenario_sha",
    "verdict_row",
    "write_plan",
]

_KEY_DIGITS = 16
_UNRANKED = tuple(name for name in MemoryItem.__slots__ if name not in ("score", "rank"))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known before the first cell: how the file came about."""

    config: RunConfig
    version: str
    created_at: datetime
    host: Mapping[str, str]
    packages: Mapping[str, str]
    keys: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlannedScenario:
    """A scenario and those of its probes that are asked."""

    scenario: Scenario
    source_spec: str
    probe_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LossRecord:
    """Where one gold fact went."""

    fact_id: str
    stage: str
    routes: Mapping[str, bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellRecord:
    """A finished cell, failed ones included."""

    key: CellKey
    reply: Reply
    ms: float
    verdicts: Sequence[Verdict] = ()
    judging: Mapping[str, Usage] = field(default_factory=dict)
    """Name of a judge to what its verdicts cost."""
    losses: Sequence[LossRecord] = ()
    spans: Sequence[Span] = ()
    error_cause: str | None = None


@dataclass(frozen=True, slots=True)
class LaneRecord:
    """A lane at its end. `stats` is None where the memory failed before it could be audited."""

    key: LaneKey
    status: LaneStatus
    written: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    stats: Stats | None = None
    items: Sequence[MemoryItem] = ()
    usage: Usage = Usage()
    ingest_ms: float = 0.0
    node_ms: Mapping[str, float] = field(default_factory=dict)
    unknown_share: float | None = None
    error: str | None = None
    error_cause: str | None = None


class Piece(NamedTuple):
    """A memory's content, kept once per run whoever stored or retrieved it."""

    key: str
    tokens: int
    body: str


class Pieces:
    """Memories to pieces; a memory that was seen before, under whatever rank, is not encoded again."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[MemoryItem, Piece]] = {}

    def of(self, items: Sequence[MemoryItem]) -> list[Piece]:
        """One piece per memory, in order."""
        return [self._one(item) for item in items]

    def _one(self, item: MemoryItem) -> Piece:
        seen = self._seen.get(item.id)
        if seen and all(getattr(seen[0], name) == getattr(item, name) for name in _UNRANKED):
            return seen[1]
        body = codec.item_text(item)
        piece = Piece(sha256_of(body)[:_KEY_DIGITS], item_tokens(item), body)
        self._seen[item.id] = (item, piece)
        return piece


def cell_row(cell: CellRecord) -> tuple[object, ...]:
    """All columns of a cell but its retrieval, in the writer's order."""
    reply, retrieval = cell.reply, cell.reply.retrieval
    return (
        *cell.key,
        reply.status,
        reply.error,
        cell.error_cause,
        codec.reply_text(reply),
        None if reply.plan is None else codec.plan_text(reply.plan),
        codec.usage_text(reply.usage),
        reply.usage.cache_hits,
        retrieval.given if retrieval else 0,
        retrieval.context_tokens if retrieval else 0,
        round(cell.ms, 3),
    )


def packed_retrieval(retrieval: Retrieval, pieces: Sequence[Piece]) -> bytes:
    """A retrieval with references to pieces in the place of its memories."""
    return codec.pack(
        {
            "ranking": [
                [item.id, piece.key, codec.rounded(item.score)]
                for item, piece in zip(retrieval.items, pieces, strict=True)
            ],
            "given": retrieval.given,
            "context_tokens": retrieval.context_tokens,
            "rendered": sha256_of(retrieval.rendered),
            "ranked": retrieval.ranked,
            "truncated": retrieval.truncated,
            "tied_at_cut": retrieval.tied_at_cut,
            "blank_query": retrieval.blank_query,
            "mutated": retrieval.mutated,
            "answer": retrieval.answer,
            "parse_failures": retrieval.parse_failures,
            "usage": json.loads(codec.usage_text(retrieval.usage)),
        }
    )


def verdict_row(verdict: Verdict) -> tuple[object, ...]:
    """All columns of a verdict but its cell; a score that is no number becomes an error, never a 0."""
    score = codec.rounded(verdict.score)
    status, raw = verdict.status, verdict.raw
    if score is None and verdict.score is not None:
        status, raw = "error", f"score was {verdict.score}; {raw}"
    return (
        verdict.metric,
        verdict.subject,
        verdict.judge_key,
        verdict.label,
        score,
        status,
        verdict.prompt_sha,
        raw,
        verdict.quote,
        codec.rounded(verdict.agreement),
        canonical_json(list(verdict.flags)),
    )


def lane_row(lane: LaneRecord) -> tuple[object, ...]:
    """All columns of a lane."""
    stats = lane.stats
    return (
        *lane.key,
        lane.status,
        lane.error,
        lane.error_cause,
        lane.written,
        stats.turns_covered if stats else 0,
        stats.turns_forgotten if stats else 0,
        stats.turns_deferred if stats else 0,
        canonical_json(dict(stats.turns_dropped) if stats else {}),
        canonical_json(dict(lane.skipped)),
        codec.rounded(lane.unknown_share),
        codec.stats_text(stats) if stats else None,
        codec.usage_text(lane.usage),
        lane.usage.cache_hits,
        round(lane.ingest_ms, 3),
        canonical_json({name: round(ms, 3) for name, ms in lane.node_ms.items()}),
    )


def scenario_sha(scenario: Scenario) -> str:
    """A hash of everything in a scenario: what a resumed run compares with the file it reads again."""
    return sha256_of(scenario.model_dump_json())


def write_plan(
    db: sqlite3.Connection,
    manifest: Manifest,
    systems: Sequence[SystemRow],
    scenarios: Iterable[PlannedScenario],
) -> None:
    """Store what is known before the first cell."""
    settings: dict[str, object] = {
        "config": manifest.config.model_dump(mode="json"),
        "config_hash": manifest.config.content_hash(),
        "version": manifest.version,
        "created_at": manifest.created_at.isoformat(),
        "finished_at": None,
        "wall_seconds": 0.0,
        "status": "running",
        "host": dict(manifest.host),
        "packages": dict(manifest.packages),
        "keys": dict(manifest.keys),
    }
    db.executemany("INSERT INTO meta VALUES (?,?)", [(k, canonical_json(v)) for k, v in settings.items()])
    db.executemany(
        "INSERT INTO system VALUES (?,?,?,?,?,?,?,?,?,?)",
        [
            (
                *(s.name, s.position, s.memory, s.profile, s.evidence_class, s.mode, int(s.privileged)),
                *(codec.capabilities_text(s.capabilities), s.summary, s.profile_summary),
            )
            for s in systems
        ],
    )
    for position, planned in enumerate(scenarios):
        _write_scenario(db, position, planned)


def _write_scenario(db: sqlite3.Connection, position: int, planned: PlannedScenario) -> None:
    scenario = planned.scenario
    body = scenario.model_dump_json()
    db.execute(
        "INSERT INTO scenario VALUES (?,?,?,?,?,?,?,?,?)",
        (
            *(scenario.scenario_id, position, scenario.cluster, scenario.benchmark, planned.source_spec),
            *(len(scenario.turns), scenario.card.model_dump_json(), sha256_of(body), zlib.compress(body.encode(), 6)),
        ),
    )
    asked = set(planned.probe_ids)
    rows = []
    for number, probe in enumerate(scenario.probes):
        if probe.probe_id in asked:
            gold = scenario.gold_by_probe[probe.probe_id]
            strata = canonical_json(list(gold.strata))
            rows.append((scenario.scenario_id, probe.probe_id, number, probe.style, strata, len(gold.facts)))
    db.executemany("INSERT INTO probe VALUES (?,?,?,?,?,?)", rows)
