"""MemUse's files: responses, judge reports of positives and negatives, and rows that hold replies beside verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mnemoscope.core.errors import DataError
from mnemoscope.imports.rows import RecordedReply, RecordedVerdict, Row, Stub, reply_of, yes_or_no
from mnemoscope.scenarios.reading import Fields

__all__ = ["judged_rows", "report", "responses"]

_MOST_QUESTIONS = 1000
"""Of one instance; a number beyond it is damage."""
_GROUNDING = {0: "ungrounded", 1: "partly grounded", 2: "grounded"}


def responses(document: Fields, path: Path, notes: list[str]) -> Iterator[Row]:
    """Read a responses file: one natural reply per instance, and one reply per fact question where there are any.

    The list of direct answers is aligned with the instance's own questions by the benchmark's definition.

    Raises:
        DataError: A field of the wrong type.
    """
    natural = Fields(document.file, "natural", document.fields("natural").values)
    for instance_id in natural.values:
        yield _row(document, f"natural.{instance_id}", instance_id, "natural", reply=reply_of(natural, instance_id))
    if document.values.get("direct_qa") is None:
        return
    direct = Fields(document.file, "direct_qa", document.fields("direct_qa").values)
    for instance_id in direct.values:
        for place, answer in enumerate(direct.sequence(instance_id)):
            record = f"direct_qa.{instance_id}[{place}]"
            reply = reply_of(Fields(document.file, record, {"reply": answer}), "reply")
            yield _row(document, record, instance_id, f"q{place}", reply=reply)


def report(document: Fields, path: Path, notes: list[str]) -> Iterator[Row]:
    """Read a judge report: ids and labels, no texts.

    `natural_integration` is a verdict on the natural reply; `reference` and `direct_qa` are verdicts on a fact
    question, so that they are averaged over questions as the benchmark does. A null is no verdict, unless a whole
    column is null because it was not scored. For negatives, `fabricated-recall` is 1 where an earlier conversation
    was brought up and nothing of it was grounded.

    Raises:
        DataError: A field of the wrong type, a label that contradicts another, or a question that occurs twice.
    """
    found = [*_instances(document), *_questions(document)]
    _check_summary(document, found, path, notes)
    yield from found


def judged_rows(records: Iterator[Fields], path: Path, notes: list[str]) -> Iterator[Row]:
    """Read rows of `{system, instance_id, question_idx, natural_reply, direct_answer, verdict_…}`.

    Raises:
        DataError: A field of the wrong type, or two rows of one instance that disagree about its natural reply.
    """
    seen: dict[tuple[str, str], tuple[object, object]] = {}
    for record in records:
        system, instance_id = record.optional_text("system") or "", record.text("instance_id")
        place = record.integer("question_idx")
        common = (record.values.get("natural_reply"), record.values.get("verdict_natural_integration"))
        first = seen.setdefault((system, instance_id), common)
        if first != common:
            raise record.wrong("natural_reply", f"the reply and verdict of the instance's first row, {first!r}")
        if first is common:
            integration = (yes_or_no(record, "verdict_natural_integration", "natural-integration", "reply"),)
            said = reply_of(record, "natural_reply")
            yield _row(record, record.record, instance_id, "natural", said, integration, system)
        verdicts = (
            yes_or_no(record, "verdict_direct", "direct-qa", "reply"),
            yes_or_no(record, "verdict_reference", "reference", "natural"),
        )
        said = reply_of(record, "direct_answer")
        yield _row(record, record.record, instance_id, f"q{place}", said, verdicts, system)


def _row(
    at: Fields,
    record: str,
    instance_id: str,
    kind: str,
    reply: RecordedReply | None = None,
    verdicts: tuple[RecordedVerdict, ...] = (),
    source: str = "",
) -> Row:
    probe_id = f"{instance_id}/{kind}"
    style = "dialog" if kind == "natural" else "question"
    stub = Stub("memuse", instance_id, instance_id, probe_id, "dialog" if style == "dialog" else "question")
    return Row(at.file, record, probe_id, instance_id, source=source, reply=reply, verdicts=verdicts, stub=stub)


def _instances(document: Fields) -> Iterator[Row]:
    labels = document.fields("per_instance")
    for instance_id, value in labels.values.items():
        entry = Fields.of(value, file=document.file, record=f"per_instance.{instance_id}")
        verdicts = _recall(entry) if "unprompted_recall" in entry.values else _integration(entry)
        yield _row(document, entry.record, instance_id, "natural", verdicts=verdicts)


def _integration(entry: Fields) -> tuple[RecordedVerdict, ...]:
    if "natural_integration" not in entry.values:
        raise DataError(
            "a label is missing", file=entry.file, record=entry.record, field="natural_integration", seen=entry.values
        )
    return (yes_or_no(entry, "natural_integration", "natural-integration", "reply"),)


def _recall(entry: Fields) -> tuple[RecordedVerdict, ...]:
    recalled = yes_or_no(entry, "unprompted_recall", "unprompted-recall", "reply")
    grounding = entry.values.get("grounding")
    if grounding is not None and (type(grounding) is not int or grounding not in _GROUNDING):
        raise entry.wrong("grounding", "0, 1, 2 or null")
    if recalled.score is None:
        return (recalled, RecordedVerdict("fabricated-recall", "reply", "missing", None, "invalid"))
    if recalled.score == 0:
        if grounding is not None:
            raise entry.wrong("grounding", "null, because nothing was recalled")
        return (recalled, RecordedVerdict("fabricated-recall", "reply", "nothing recalled", 0.0))
    if grounding is None:
        return (recalled, RecordedVerdict("fabricated-recall", "reply", "missing", None, "invalid"))
    label, fabricated = _GROUNDING[grounding], float(grounding == 0)
    return (recalled, RecordedVerdict("fabricated-recall", "reply", label, fabricated))


def _questions(document: Fields) -> Iterator[Row]:
    if document.values.get("per_sub_question") is None:
        return
    entries = [
        Fields.of(value, file=document.file, record=f"per_sub_question[{place}]")
        for place, value in enumerate(document.sequence("per_sub_question"))
    ]
    # A column that is null throughout was not asked for: the responses had no direct answers.
    columns = {
        name: metric
        for name, metric in (("reference", "reference"), ("direct_qa", "direct-qa"))
        if any(entry.values.get(name) is not None for entry in entries)
    }
    for entry in entries:
        instance_id, place = entry.text("instance_id"), entry.integer("sub_q_idx")
        if not 0 <= place < _MOST_QUESTIONS:
            raise entry.wrong("sub_q_idx", f"a number from 0 to {_MOST_QUESTIONS - 1}")
        record = Fields(entry.file, f"{entry.record} {instance_id} q{place}", entry.values)
        verdicts = tuple(
            yes_or_no(record, name, metric, "natural" if name == "reference" else "reply")
            for name, metric in columns.items()
        )
        yield _row(document, record.record, instance_id, f"q{place}", verdicts=verdicts)


_SUMMARY = {
    "natural_integration": "natural-integration",
    "reference": "reference",
    "direct_qa": "direct-qa",
    "unprompted_recall_rate": "unprompted-recall",
    "fabricated_recall_rate": "fabricated-recall",
}


def _check_summary(document: Fields, rows: list[Row], path: Path, notes: list[str]) -> None:
    """Say where the file's own summary is not what its labels give."""
    if not isinstance(summary := document.values.get("summary"), Mapping):
        return
    scores: dict[str, list[float]] = {}
    for row in rows:
        for verdict in row.verdicts:
            if verdict.score is not None:
                scores.setdefault(verdict.metric, []).append(verdict.score)
    for name, metric in _SUMMARY.items():
        said, given = summary.get(name), scores.get(metric)
        if isinstance(said, int | float) and given and round(sum(given) / len(given), 4) != said:
            rate = f"{sum(given):g}/{len(given)} = {sum(given) / len(given):.4f}"
            notes.append(f"{path.name}: its summary says {name} {said}, its labels give {rate}; the labels are used")
