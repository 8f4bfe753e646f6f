"""LoCoMo-Conv's files: responses, retrieval caches and scores, numbered by conversation and question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mnemoscope.core.errors import DataError
from mnemoscope.evaluators.verdict import JUDGE_ERROR
from mnemoscope.imports.plain import finite_number
from mnemoscope.imports.rows import (
    Conversation,
    RecordedItem,
    RecordedReply,
    RecordedRetrieval,
    RecordedVerdict,
    Row,
    Stub,
    reply_of,
    text_key,
)
from mnemoscope.scenarios.loaders.locomo_conv_ids import CONVERSATIONS
from mnemoscope.scenarios.reading import Fields

__all__ = ["responses", "retrievals", "scores"]

_STYLES = ("dialog", "implicit", "counterfactual")
_FIELD = re.compile(r"queries_solutions_(dialog|implicit|counterfactual)_query", re.ASCII)
_FOLDER = re.compile(r"sample_(\d+)", re.ASCII)
_TURN = re.compile(r"\s*D(\d+):(\d+)\s*", re.ASCII)
_PROVENANCE = ("retrieved_chunk_dia_ids", "retrieved_dia_ids", "retrieved_metadata")


def responses(records: Iterator[Fields], path: Path, notes: list[str]) -> Iterator[Row]:
    """Read response records. The visible reply of a chain-of-thought record is its `response_only`, never its notes.

    Raises:
        DataError: A field is missing or of the wrong type.
    """
    for record in records:
        style = record.optional_text("style") or _style_of_field(record)
        row = _named(record, style, _number(record))
        query = record.optional_text("query") or record.optional_text("composed_query")
        yield replace(row, query=query, source=_condition(record), reply=_reply(record))


def retrievals(records: Iterator[Fields], path: Path, notes: list[str]) -> Iterator[Row]:
    """Read a retrieval cache: `sample_<i>/queries_solutions_<field>.json`, or `composed_solutions.json`.

    The folder's name gives the conversation where rows do not, and the file's name the style.

    Raises:
        DataError: A field is missing or of the wrong type, or the names do not say what the rows leave out.
    """
    named, folder = _FIELD.fullmatch(path.stem), _FOLDER.fullmatch(path.parent.name)
    for record in records:
        style = record.optional_text("style") or (named[1] if named else _style_of_field(record))
        number = _number(record) if "sample_idx" in record.values else (int(folder[1]) if folder else None)
        query = record.optional_text("query") or record.optional_text("composed_query")
        yield replace(_named(record, style, number), query=query, retrieval=_retrieval(record))


def scores(records: Iterator[Fields], path: Path, notes: list[str]) -> Iterator[Row]:
    """Read scores: `fact_score` (0, 0.5 or 1) and `coverage_score`; a record with `error` is a failed verdict.

    Raises:
        DataError: A field is missing or of the wrong type, or a score outside 0 to 1.
    """
    for record in records:
        composed = record.values.get("cluster_id") is not None
        style = "composed" if composed else record.text("style")
        metric, name = ("composed-coverage", "coverage_score") if composed else ("fact-score", "fact_score")
        if name not in record.values and "error" not in record.values:
            raise DataError("a score is missing", file=record.file, record=record.record, field=name)
        value, error = finite_number(record, name), record.optional_text("error")
        if value is not None and not 0 <= value <= 1:
            raise record.wrong(name, "a number from 0 to 1")
        if error is not None:
            verdict = RecordedVerdict(metric, "reply", f"{JUDGE_ERROR}recorded", None, "error", raw=error)
        elif value is None:
            verdict = RecordedVerdict(metric, "reply", "missing", None, "invalid")
        else:
            verdict = RecordedVerdict(metric, "reply", "scored", value)
        yield replace(_named(record, style, _number(record)), source=_condition(record), verdicts=(verdict,))


def _named(record: Fields, style: str | None, number: int | None) -> Row:
    cluster = record.optional_text("cluster_id")
    if cluster is not None:
        suffix = cluster
    else:
        if style not in _STYLES:
            fix = f"give style or query_field; {', '.join(_STYLES)}, or a cluster_id"
            raise DataError(
                "a row that does not say its style", file=record.file, record=record.record, field="style", fix=fix
            )
        question = record.integer("q_idx")
        if question < 0:
            raise record.wrong("q_idx", "a number from 0")
        suffix = f"q{question}/{style}"
    known = number is not None and 0 <= number < len(CONVERSATIONS)
    scenario_id = CONVERSATIONS[number] if known and number is not None else f"conversation-{number}"
    probe_style = "composed" if cluster is not None else style
    stub = Stub("locomo-conv", scenario_id, scenario_id, f"{scenario_id}/{suffix}", probe_style)  # type: ignore[arg-type]
    return Row(record.file, record.record, suffix, conversation=Conversation(number, suffix), stub=stub)


def _number(record: Fields) -> int | None:
    return None if record.values.get("sample_idx") is None else record.integer("sample_idx")


def _style_of_field(record: Fields) -> str | None:
    field = record.optional_text("query_field")
    return None if field is None else field.removesuffix("_query")


def _condition(record: Fields) -> str:
    parts = [record.optional_text("variant"), record.optional_text("system")]
    k = record.values.get("k")
    return "/".join([*(part for part in parts if part), *([str(record.integer("k"))] if k is not None else [])])


def _reply(record: Fields) -> RecordedReply:
    error = record.optional_text("error")
    if record.values.get("response_only") is None:
        return reply_of(record, "response", error=error)
    visible = reply_of(record, "response_only", error=error)
    return RecordedReply(visible.text, visible.error, reasoning=record.optional_text("response") or "")


def _retrieval(record: Fields) -> RecordedRetrieval:
    docs = record.texts("docs")
    sources = _sources(record, len(docs))
    numbers = record.sequence("scores") if record.values.get("scores") is not None else ()
    if numbers and len(numbers) != len(docs):
        raise record.wrong("scores", f"a number per doc ({len(docs)})")
    scored = [finite_number(Fields(record.file, record.record, {"scores": n}), "scores") for n in numbers]
    items = tuple(
        RecordedItem(text_key(doc, *named), doc, named, score=scored[place] if scored else None)
        for place, (doc, named) in enumerate(zip(docs, sources, strict=True))
    )
    return RecordedRetrieval(items, len(items))


def _sources(record: Fields, docs: int) -> list[tuple[str, ...]]:
    name = next((name for name in _PROVENANCE if record.values.get(name) is not None), None)
    if name is None:
        return [()] * docs
    values = record.sequence(name)
    if len(values) != docs:
        raise record.wrong(name, f"an entry per doc ({docs})")
    found = []
    for place, value in enumerate(values):
        if isinstance(value, dict):
            entry = Fields.of(value, file=record.file, record=f"{record.record} {name}[{place}]")
            ids: object = (entry.optional_text("dia_ids") or "").split(",")
        else:
            ids = [value] if isinstance(value, str) else value
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise record.wrong(name, "turn ids, or lists of them")
        found.append(tuple(_turn_id(one) for one in ids if one.strip()))
    return found


def _turn_id(text: str) -> str:
    """`D30:05` is `D30:5`, and spaces around it mean nothing."""
    match = _TURN.fullmatch(text)
    return f"D{int(match[1])}:{int(match[2])}" if match else text.strip()
