"""Rows of our own export: reply, ranking with provenance, plan and verdicts, all of one cell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import cast, get_args

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import TurnId
from mnemoscope.evaluators.verdict import VerdictStatus
from mnemoscope.exports.cells import CELL_RECORD
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.imports.plain import finite_number, replicate_of
from mnemoscope.imports.rows import (
    RecordedItem,
    RecordedReply,
    RecordedRetrieval,
    RecordedVerdict,
    Row,
    Stub,
    reply_of,
)
from mnemoscope.memory_backends.record import PROVENANCE_ORDER, ItemKind, Source
from mnemoscope.runfile.codec import plan_from
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import Style

__all__ = ["rows"]


def rows(records: Iterator[Fields], path: Path, notes: list[str]) -> Iterator[Row]:
    """Read cells as `mnemoscope export --format jsonl` writes them.

    Raises:
        DataError: A row of another kind, or a field of the wrong type.
    """
    for record in records:
        if record.values.get("record") != CELL_RECORD:
            raise record.wrong("record", f"{CELL_RECORD}, as in the first row")
        scenario_id, probe_id = record.text("scenario_id"), record.text("probe_id")
        style = record.text("style")
        if style not in get_args(Style):
            raise record.wrong("style", f"one of {', '.join(get_args(Style))}")
        yield Row(
            file=record.file,
            record=record.record,
            probe_id=probe_id,
            scenario_id=scenario_id,
            replicate=replicate_of(record),
            query=record.text("utterance"),
            source=record.text("system"),
            reply=_reply(record),
            retrieval=None if record.values.get("retrieval") is None else _retrieval(record.fields("retrieval")),
            verdicts=tuple(_verdict(one) for one in _entries(record, "verdicts")),
            stub=Stub(record.text("benchmark"), scenario_id, record.text("cluster"), probe_id, cast("Style", style)),
        )


def _entries(record: Fields, name: str) -> list[Fields]:
    return [
        Fields.of(value, file=record.file, record=f"{record.record} {name}[{place}]")
        for place, value in enumerate(record.sequence(name))
    ]


def _reply(record: Fields) -> RecordedReply | None:
    status = record.text("status")
    if status not in ("ok", "error", "excluded"):
        raise record.wrong("status", "ok, error or excluded")
    if status == "error":
        return RecordedReply(None, record.optional_text("error") or "error: no cause was recorded")
    if record.optional_text("reply") is None:
        return None
    found = reply_of(record, "reply")
    plan = None if record.values.get("plan") is None else _plan(record.fields("plan"))
    return RecordedReply(found.text, found.error, plan=plan)


def _plan(plan: Fields) -> ResponsePlan:
    try:
        return plan_from(json.dumps(dict(plan.values)))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"not a response plan: {error}", file=plan.file, record=plan.record, field="plan", seen=dict(plan.values)
        ) from None


def _retrieval(found: Fields) -> RecordedRetrieval:
    items = tuple(_item(entry) for entry in _entries(found, "items"))
    given = found.integer("given")
    if not 0 <= given <= len(items):
        raise found.wrong("given", f"a number of leading items, 0 to {len(items)}")
    return RecordedRetrieval(items, given, _flag(found, "ranked"), _flag(found, "truncated"))


def _item(entry: Fields) -> RecordedItem:
    kind = entry.text("kind")
    if kind not in get_args(ItemKind):
        raise entry.wrong("kind", f"one of {', '.join(get_args(ItemKind))}")
    sources = tuple(_source(value, entry) for value in entry.sequence("sources"))
    return RecordedItem(
        entry.text("id"),
        entry.text("text"),
        sources=sources,
        score=finite_number(entry, "score"),
        kind=kind,
        observed_at=_time(entry, "observed_at"),
    )


def _time(entry: Fields, name: str) -> datetime | None:
    text = entry.optional_text(name)
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise entry.wrong(name, "a time in ISO 8601, or null") from None


def _source(value: object, entry: Fields) -> Source:
    match value:
        case [str(turn_id), str(method), int() | float() as weight] if method in PROVENANCE_ORDER:
            if 0 <= weight <= 1:
                return Source(TurnId(turn_id), method, float(weight))
    raise DataError(
        "expected [turn id, method, weight]", file=entry.file, record=entry.record, field="sources", seen=value
    )


def _flag(found: Fields, name: str) -> bool:
    value = found.values.get(name)
    if not isinstance(value, bool):
        raise found.wrong(name, "true or false")
    return value


def _verdict(entry: Fields) -> RecordedVerdict:
    status, score = entry.text("status"), finite_number(entry, "score")
    if status not in get_args(VerdictStatus):
        raise entry.wrong("status", f"one of {', '.join(get_args(VerdictStatus))}")
    if (score is None) == (status == "scored"):
        raise entry.wrong("score", "a number where the status is scored, and null elsewhere")
    raw = json.dumps({"judge_key": entry.text("judge_key"), "raw": entry.text("raw")}, ensure_ascii=False)
    return RecordedVerdict(
        metric=entry.text("metric"),
        subject=entry.text("subject"),
        label=entry.text("label"),
        score=score,
        status=cast("VerdictStatus", status),
        raw=raw,
        quote=entry.text("quote"),
    )
