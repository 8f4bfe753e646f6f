"""Plain rows: an id with a reply, memories that were given, or a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

from mnemoscope.core.errors import DataError
from mnemoscope.evaluators.verdict import VerdictStatus
from mnemoscope.imports.rows import (
    RecordedItem,
    RecordedReply,
    RecordedRetrieval,
    RecordedVerdict,
    Row,
    Stub,
    reply_of,
    text_key,
)
from mnemoscope.scenarios.reading import Fields

__all__ = ["finite_number", "rows"]

_IDS = ("probe_id", "id", "question_id", "instance_id", "cluster_id")
_REPLIES = ("reply", "response", "answer")
_QUERIES = ("query", "utterance")


def rows(records: Iterator[Fields], path: Path, notes: list[str]) -> Iterator[Row]:
    """Read plain rows: `{id, reply}`, `{id, retrieved: […]}`, `{id, metric, score | verdict}`, in any combination.

    Raises:
        DataError: A row without an id, or a field of the wrong type.
    """
    for record in records:
        probe_id = _id(record)
        scenario_id = record.optional_text("scenario_id")
        cluster = record.optional_text("cluster") or scenario_id or probe_id
        stub = Stub("recorded", scenario_id or probe_id, cluster, probe_id, "question")
        yield Row(
            file=record.file,
            record=record.record,
            probe_id=probe_id,
            scenario_id=scenario_id,
            replicate=replicate_of(record),
            query=next((record.optional_text(name) for name in _QUERIES if record.values.get(name) is not None), None),
            source=record.optional_text("system") or "",
            reply=_reply(record),
            retrieval=_retrieval(record) if record.values.get("retrieved") is not None else None,
            verdicts=(_verdict(record),) if "metric" in record.values else (),
            stub=stub,
        )


def replicate_of(record: Fields) -> int:
    """The replicate of a row, 0 where it names none.

    Raises:
        DataError: Not a whole number from 0 to 999.
    """
    if record.values.get("replicate") is None:
        return 0
    number = record.integer("replicate")
    if not 0 <= number < 1000:
        raise record.wrong("replicate", "a whole number from 0 to 999")
    return number


def finite_number(record: Fields, name: str) -> float | None:
    """A number, or None where the field is absent or null.

    Raises:
        DataError: No number, or one that is not finite.
    """
    value = record.values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise record.wrong(name, "a number")
    try:
        number = float(value)
    except OverflowError:
        raise record.wrong(name, "a number") from None
    if not math.isfinite(number):
        raise record.wrong(name, "a finite number")
    return number


def _id(record: Fields) -> str:
    name = next((name for name in _IDS if record.values.get(name) is not None), None)
    if name is None:
        raise DataError(
            "a row without an id",
            file=record.file,
            record=record.record,
            field=_IDS[0],
            fix=f"rows are matched by id, never by position; give one of {', '.join(_IDS)}",
        )
    text = record.text(name)
    if not text.strip():
        raise record.wrong(name, "a text that is not blank")
    return text


def _reply(record: Fields) -> RecordedReply | None:
    """The first of `reply`, `response` and `answer`; a row's `answer` beside one of the others is often the gold."""
    name = next((name for name in _REPLIES if name in record.values), None)
    return None if name is None else reply_of(record, name, error=record.optional_text("error"))


def _retrieval(record: Fields) -> RecordedRetrieval:
    items = []
    for place, value in enumerate(record.sequence("retrieved")):
        if isinstance(value, str):
            items.append(RecordedItem(value, None, (value,)))
            continue
        entry = Fields.of(value, file=record.file, record=f"{record.record} retrieved[{place}]")
        named = entry.texts("turn_ids") if entry.values.get("turn_ids") is not None else ()
        text, own = entry.optional_text("text"), entry.optional_text("id")
        if own is None and text is None and not named:
            raise DataError("a memory without id, text and turn_ids", file=entry.file, record=entry.record, field="id")
        item_id = own or text_key(text or "", *named)
        items.append(RecordedItem(item_id, text, named or ((own,) if own else ()), score=finite_number(entry, "score")))
    return RecordedRetrieval(tuple(items), len(items))


def _verdict(record: Fields) -> RecordedVerdict:
    metric, subject = record.text("metric"), record.optional_text("subject") or "reply"
    if not metric.strip():
        raise record.wrong("metric", "a text that is not blank")
    status = record.optional_text("status")
    if status is not None and status not in get_args(VerdictStatus):
        raise record.wrong("status", f"one of {', '.join(get_args(VerdictStatus))}")
    score, label = finite_number(record, "score"), record.optional_text("label")
    if score is not None and not -1 <= score <= 1:
        raise record.wrong("score", "a share from 0 to 1, or a difference of shares; divide it by its largest value")
    if record.values.get("verdict") is not None:
        score, label = _said(record), label or str(record.values["verdict"]).lower()
    raw, quote = record.optional_text("raw") or "", record.optional_text("quote") or ""
    if status in (None, "scored") and score is None:
        return RecordedVerdict(metric, subject, label or "missing", None, "invalid", raw, quote)
    if status not in (None, "scored"):
        return RecordedVerdict(metric, subject, label or status, None, cast("VerdictStatus", status), raw, quote)
    return RecordedVerdict(metric, subject, label or "scored", score, "scored", raw, quote)


def _said(record: Fields) -> float:
    value = record.values["verdict"]
    if isinstance(value, bool):
        return float(value)
    if value in ("yes", "no"):
        return float(value == "yes")
    raise record.wrong("verdict", "true, false, yes or no")
