"""memory-arena's result files: answers, judge scores and the ids of what was retrieved, one file per strategy and seed.

A file is `{"strategy", "recall_records": [{"question_id", "answer", "error", "supporting_session_ids",
"supporting_turn_ids", "score": {"accuracy", "judge_score", "judge_rationale"}}, …]}`. Its ids of sessions and turns
are LongMemEval's own, under which the loader here does not name them, so what was retrieved is kept without
provenance and retrieval metrics are "n/a". `judge_score` is divided by 100; `accuracy` is the composite that the file
derives from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mnemoscope.imports.plain import finite_number
from mnemoscope.imports.rows import RecordedItem, RecordedRetrieval, RecordedVerdict, Row, Stub, reply_of
from mnemoscope.scenarios.reading import Fields

__all__ = ["rows"]

_LARGEST = 100.0


def rows(document: Fields, path: Path, notes: list[str]) -> Iterator[Row]:
    """Read one result file.

    Raises:
        DataError: A field of the wrong type, or a score outside its range.
    """
    strategy = document.text("strategy")
    for place, value in enumerate(document.sequence("recall_records")):
        record = Fields.of(value, file=document.file, record=f"recall_records[{place}]")
        question_id = record.text("question_id")
        failed = record.values.get("error") or None
        if failed is not None and failed is not True and not isinstance(failed, str):
            raise record.wrong("error", "true, false or a text")
        said = "the strategy failed" if failed is True else failed
        yield Row(
            file=document.file,
            record=f"{record.record} {question_id}",
            probe_id=question_id,
            source=strategy,
            reply=reply_of(record, "answer", error=said),
            retrieval=_retrieval(record),
            verdicts=_verdicts(record, said),
            stub=Stub("memory-arena", question_id, question_id, question_id, "question"),
        )


def _retrieval(record: Fields) -> RecordedRetrieval | None:
    for name in ("supporting_turn_ids", "supporting_session_ids"):
        if record.values.get(name):
            ids = record.texts(name)
            items = tuple(RecordedItem(written, None, (written,)) for written in dict.fromkeys(ids))
            return RecordedRetrieval(items, len(items))
    return None


def _verdicts(record: Fields, failed: str | None) -> tuple[RecordedVerdict, ...]:
    if failed is not None:
        cause = "answer-error:recorded"
        return tuple(RecordedVerdict(name, "reply", cause, None, "error") for name in ("judge-score", "accuracy"))
    if record.values.get("score") is None:
        return ()
    score = record.fields("score")
    score = Fields(score.file, f"{record.record} score", score.values)
    rationale = score.optional_text("judge_rationale") or ""
    return (
        _share(score, "judge_score", "judge-score", _LARGEST, rationale),
        _share(score, "accuracy", "accuracy", 1.0),
    )


def _share(score: Fields, name: str, metric: str, largest: float, rationale: str = "") -> RecordedVerdict:
    value = finite_number(score, name)
    if value is None:
        return RecordedVerdict(metric, "reply", "missing", None, "invalid")
    if not 0 <= value <= largest:
        raise score.wrong(name, f"a number from 0 to {largest:g}")
    return RecordedVerdict(metric, "reply", "scored", value / largest, raw=rationale)
