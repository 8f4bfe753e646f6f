"""Values to the text and bytes of the run file and back: canonical JSON, scores to 1e-6, no pickle."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from mnemoscope.core.identity import ItemId, canonical_json
from mnemoscope.core.ports import Span
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.plan import Conflict, ResponsePlan, Slot
from mnemoscope.graphs.reply import Reply
from mnemoscope.memory_backends.record import Capabilities, MemoryItem, Query, Source, Stats

__all__ = [
    "capabilities_from",
    "capabilities_text",
    "decoded",
    "item_from",
    "item_text",
    "or_none",
    "pack",
    "plan_from",
    "plan_text",
    "queries_from",
    "reply_text",
    "rounded",
    "spans_from",
    "spans_packed",
    "stats_from",
    "stats_text",
    "unpack",
    "usage_from",
    "usage_text",
]

_LEVEL = 6


def rounded(score: float | None) -> float | None:
    """A score to 1e-6, `-0.0` as `0.0`; None stays None and so does what is not finite."""
    if score is None or not math.isfinite(score):
        return None
    return round(float(score), 6) + 0.0


def pack(value: object) -> bytes:
    """Canonical JSON, compressed: equal values give equal bytes."""
    return zlib.compress(canonical_json(value).encode(), _LEVEL)


def unpack(data: bytes) -> Any:
    """What `pack` was given."""
    return json.loads(zlib.decompress(data))


def decoded(row: Sequence[Any], decoders: Mapping[int, Callable[[Any], object]]) -> list[Any]:
    """A row with the columns that have a decoder, by place, decoded."""
    return [decoders[place](value) if place in decoders else value for place, value in enumerate(row)]


def or_none(decode: Callable[[str], object]) -> Callable[[str | None], object]:
    """A decoder that leaves None as it is."""
    return lambda text: None if text is None else decode(text)


def usage_text(usage: Usage) -> str:
    """Usage without cache hits, which depend on what earlier runs left behind."""
    return canonical_json(
        {
            "calls": dict(usage.calls_by_phase),
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
            "embedded": usage.embedded_texts,
            "cached": usage.cached_tokens,
            "estimated": usage.estimated_calls,
        }
    )


def usage_from(text: str, cache_hits: int = 0) -> Usage:
    """What `usage_text` was given, with the cache hits that were kept apart."""
    data = json.loads(text)
    return Usage(
        data["calls"],
        data["prompt"],
        data["completion"],
        data["embedded"],
        cache_hits,
        data["cached"],
        data["estimated"],
    )


def plan_text(plan: ResponsePlan) -> str:
    """A plan as canonical JSON."""
    return canonical_json(asdict(plan))


def plan_from(text: str) -> ResponsePlan:
    """What `plan_text` was given."""
    data = json.loads(text)
    return ResponsePlan(
        planner=data["planner"],
        slots=tuple(Slot(**slot) for slot in data["slots"]),
        moves=tuple(data["moves"]),
        conflicts=tuple(Conflict(**conflict) for conflict in data["conflicts"]),
        speak=data["speak"],
    )


def reply_text(reply: Reply) -> str:
    """A reply's texts as canonical JSON, without plan, retrieval and usage, which have columns of their own."""
    trace = reply.hidden_trace
    return canonical_json(
        {
            "text": reply.visible_text,
            "queries": [[q.text, q.asker, q.pool_ids, q.probe_id] for q in trace.queries],
            "drafts": trace.drafts,
            "reasoning": trace.reasoning,
            "fallback": trace.fallback,
            "realised": dict(reply.realised),
        }
    )


def queries_from(rows: Sequence[Sequence[Any]]) -> tuple[Query, ...]:
    """The queries of a stored reply."""
    return tuple(
        Query(text, asker, pool_ids=None if pool is None else tuple(pool), probe_id=probe)
        for text, asker, pool, probe in rows
    )


def item_text(item: MemoryItem) -> str:
    """A memory's content as canonical JSON: all of it but its id, its score and its rank."""
    return canonical_json(
        {
            "kind": item.kind,
            "text": item.text,
            "sources": [[s.turn_id, s.method, rounded(s.weight)] for s in item.sources],
            "observed_at": _time(item.observed_at),
            "valid_from": _time(item.valid_from),
            "valid_to": _time(item.valid_to),
            "seq": [item.seq_from, item.seq_to],
            "version": item.version,
            "supersedes": item.supersedes,
            "links": item.links,
            "attrs": dict(item.attrs),
        }
    )


def item_from(item_id: str, text: str, score: float | None = None, rank: int | None = None) -> MemoryItem:
    """The memory that `item_text` described."""
    data = json.loads(text)
    return MemoryItem(
        id=ItemId(item_id),
        kind=data["kind"],
        text=data["text"],
        sources=tuple(Source(*source) for source in data["sources"]),
        observed_at=_time_from(data["observed_at"]),
        valid_from=_time_from(data["valid_from"]),
        valid_to=_time_from(data["valid_to"]),
        seq_from=data["seq"][0],
        seq_to=data["seq"][1],
        version=data["version"],
        supersedes=data["supersedes"],
        links=tuple(data["links"]),
        attrs=data["attrs"],
        score=score,
        rank=rank,
    )


def stats_text(stats: Stats) -> str:
    """An audit as canonical JSON."""
    data: dict[str, object] = {name: getattr(stats, name) for name in Stats.__slots__ if name != "usage"}
    data["provenance_width_mean"] = rounded(stats.provenance_width_mean)
    for name in ("items_by_kind", "turns_dropped", "provenance_methods"):
        data[name] = dict(getattr(stats, name))
    return canonical_json({**data, "usage": json.loads(usage_text(stats.usage))})


def stats_from(text: str) -> Stats:
    """What `stats_text` was given, without cache hits."""
    data = json.loads(text)
    return Stats(**{**data, "usage": usage_from(json.dumps(data["usage"]))})


def capabilities_text(capabilities: Capabilities) -> str:
    """Capabilities as canonical JSON."""
    return canonical_json(asdict(capabilities))


def capabilities_from(text: str) -> Capabilities:
    """What `capabilities_text` was given."""
    return Capabilities(**json.loads(text))


def spans_packed(spans: Sequence[Span]) -> bytes:
    """Spans, compressed; their times are in no hash."""
    return zlib.compress(
        canonical_json(
            [[s.name, round(s.ms, 3), s.input_size, s.output, _usage_all(s.usage), s.error] for s in spans]
        ).encode(),
        1,
    )


def spans_from(data: bytes) -> tuple[Span, ...]:
    """What `spans_packed` was given."""
    return tuple(
        Span(name, ms, size, output, Usage(*usage) if usage else Usage(), error)
        for name, ms, size, output, usage, error in json.loads(zlib.decompress(data))
    )


def _usage_all(usage: Usage) -> list[object] | None:
    if usage == Usage():
        return None
    counts = [getattr(usage, name) for name in Usage.__slots__ if name != "calls_by_phase"]
    return [dict(usage.calls_by_phase), *counts]


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _time_from(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
