"""LoCoMo-Conv's files: rewritten questions, in the official file or as a list of jobs, joined with LoCoMo's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.loaders.locomo_conversation import Sample
from mnemoscope.scenarios.loaders.locomo_question import category_of
from mnemoscope.scenarios.reading import Fields, JsonFile

__all__ = ["REWRITES", "DialogFile", "RewriteFields", "RewrittenRow", "RewrittenSample", "read_dialog_file"]


@dataclass(frozen=True, slots=True)
class RewriteFields:
    """The fields of one style in a row of the official file."""

    query: str
    speaker: str
    error: str


REWRITES: Mapping[str, RewriteFields] = {
    "dialog": RewriteFields("dialog_query", "subject_speaker", "rewrite_error"),
    "implicit": RewriteFields("implicit_query", "implicit_subject_speaker", "implicit_error"),
    "counterfactual": RewriteFields("counterfactual_query", "counterfactual_subject_speaker", "counterfactual_error"),
}
"""Styles that rewrite one question; each has a subject speaker of its own."""

_JOB_FIELDS = ("question", "answer", "evidence", "category", "adversarial_answer")


@dataclass(frozen=True, slots=True)
class RewrittenRow:
    """One question with its rewritings."""

    number: int
    """Its place among LoCoMo's questions of the conversation."""
    fields: Fields
    remarks: tuple[tuple[str, str], ...]
    """Kind and detail of what was odd about the join."""


@dataclass(frozen=True, slots=True)
class RewrittenSample:
    """One conversation with its rewritten questions."""

    number: int
    """Its place among LoCoMo's conversations, which cluster ids and supportive memories refer to."""
    sample: Sample
    """The conversation, with all of LoCoMo's questions where the LoCoMo file is given."""
    rows: tuple[RewrittenRow, ...]


@dataclass(frozen=True, slots=True)
class DialogFile:
    """The main file, joined with LoCoMo."""

    samples: tuple[RewrittenSample, ...]
    styles: tuple[str, ...]
    """Styles that the file is made of; a row that lacks one of these is noted."""
    clusters: Sequence[object] | None
    """Composed clusters that the file itself holds; None where it holds none."""
    reference: tuple[Sample, ...]
    """LoCoMo's conversations in LoCoMo's order: those of the LoCoMo file, or the file's own."""


def read_dialog_file(file: JsonFile, locomo: Sequence[Sample] | None) -> DialogFile:
    """Join the main file with LoCoMo.

    Args:
        file: The official rewritings, or the official job list (`{"meta", "samples": {"dialog": […], …}}`).
        locomo: LoCoMo's conversations; None where the user gave no LoCoMo file.

    Returns:
        Conversations in the file's order, each with the rows that the file holds.

    Raises:
        DataError: The file is none of the two, carries no conversations and no LoCoMo file is given, or a row is not
            one of LoCoMo's.
    """
    value = file.value
    if isinstance(value, dict) and "samples" in value:
        return _from_jobs(Fields(str(file.path), "top level", value), locomo)
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise DataError("the file holds no conversation", file=file.path)
    fields = [Fields.of(entry, file=str(file.path), record=f"sample {index}") for index, entry in enumerate(entries)]
    if "member_facts" in fields[0].values:
        raise DataError("these are composed clusters", file=file.path, fix="give the file as composed=PATH")
    seen: set[str] = set()
    for entry in fields:
        sample_id = entry.text("sample_id")
        if not sample_id.strip():
            raise entry.wrong("sample_id", "a text that is not blank")
        if sample_id in seen:
            raise DataError("a sample id occurs twice", file=file.path, record=sample_id, field="sample_id")
        seen.add(sample_id)
    samples = tuple(_sample(entry, index, locomo) for index, entry in enumerate(fields))
    reference = tuple(locomo) if locomo is not None else tuple(sample.sample for sample in samples)
    return DialogFile(samples, tuple(REWRITES), None, reference)


def _sample(entry: Fields, index: int, locomo: Sequence[Sample] | None) -> RewrittenSample:
    sample_id = entry.text("sample_id")
    entry = Fields(entry.file, sample_id, entry.values)
    rows = entry.sequence("qa")
    own = entry.fields("conversation") if "conversation" in entry.values else None
    if locomo is None:
        if own is None:
            raise _without_conversation(entry)
        read = [_numbered(row, entry, number, number) for number, row in enumerate(rows)]
        return RewrittenSample(index, Sample(sample_id, own, rows), tuple(read))
    number = next((number for number, sample in enumerate(locomo) if sample.sample_id == sample_id), None)
    if number is None:
        known = ", ".join(sample.sample_id for sample in locomo)
        raise DataError(
            "the LoCoMo file has no such conversation",
            file=entry.file,
            record=sample_id,
            field="sample_id",
            fix=f"it has {known}",
        )
    found = locomo[number]
    sample = Sample(sample_id, own or found.conversation, found.questions)
    return RewrittenSample(number, sample, _joined(rows, entry, found))


def _without_conversation(entry: Fields) -> DataError:
    return DataError(
        "the rewritten questions come without their conversation",
        file=entry.file,
        record=entry.record,
        field="conversation",
        fix=f"add the LoCoMo file: locomo-conv:{entry.file},locomo=locomo10.json",
    )


def _joined(rows: Sequence[object], entry: Fields, found: Sample) -> tuple[RewrittenRow, ...]:
    """Give each row the number that its question has in LoCoMo; texts repeat, so each number is given once."""
    asked = [_reference(value, found, number) for number, value in enumerate(found.questions)]
    numbers: dict[tuple[str, int], list[int]] = {}
    for number, reference in enumerate(asked):
        numbers.setdefault(_key(reference), []).append(number)
    joined = []
    for position, value in enumerate(rows):
        row = _numbered(value, entry, position, position).fields
        free = numbers.get(_key(row), [])
        if not free:
            raise DataError(
                "the question is not one of LoCoMo's, or is given more often than there",
                file=row.file,
                record=row.record,
                field="question",
                seen=row.text("question"),
                fix=f"rows are matched by question and category with {found.conversation.file}",
            )
        alike = [n for n in free if _ids(asked[n]) == _ids(row)] or free
        number = position if position in alike else alike[0]
        free.remove(number)
        joined.append(
            _numbered(_completed(row, asked[number]), entry, position, number, _differences(row, asked[number]))
        )
    return tuple(joined)


def _reference(value: object, found: Sample, number: int) -> Fields:
    return Fields.of(value, file=found.conversation.file, record=f"{found.sample_id} qa {number}")


def _key(row: Fields) -> tuple[str, int]:
    return row.text("question").strip(), category_of(row, lambda kind, detail: None)


def _ids(row: Fields) -> list[str]:
    """Evidence as the rewritten file has it: split at `;`, nothing else changed."""
    raw = row.texts("evidence") if row.values.get("evidence") is not None else ()
    return [part for text in raw for part in (piece.strip() for piece in text.split(";")) if part]


def _completed(row: Fields, reference: Fields) -> dict[str, object]:
    trap = reference.values.get("adversarial_answer")
    given = {} if trap is None or "adversarial_answer" in row.values else {"adversarial_answer": trap}
    return {**row.values, **given}


def _differences(row: Fields, reference: Fields) -> tuple[tuple[str, str], ...]:
    remarks = []
    if "adversarial_answer" in reference.values and "adversarial_answer" not in row.values:
        remarks.append(("trap-from-locomo", "adversarial_answer is taken from the LoCoMo file"))
    if row.values.get("answer") != reference.values.get("answer") and "answer" in row.values:
        seen, other = row.values["answer"], reference.values.get("answer")
        remarks.append(("differs-from-locomo", f"answer {seen!r} is used, LoCoMo has {other!r}"))
    if _ids(row) != _ids(reference):
        remarks.append(("differs-from-locomo", f"evidence {_ids(row)} is used, LoCoMo has {_ids(reference)}"))
    return tuple(remarks)


def _numbered(
    value: object, entry: Fields, position: int, number: int, remarks: tuple[tuple[str, str], ...] = ()
) -> RewrittenRow:
    place = f"{entry.record} qa {position}"
    record = place if number == position else f"{place} (question {number})"
    return RewrittenRow(number, Fields.of(value, file=entry.file, record=record), remarks)


def _from_jobs(top: Fields, locomo: Sequence[Sample] | None) -> DialogFile:
    """The official job list: one entry per style and question, without the generator's notes."""
    if locomo is None:
        raise _without_conversation(top)
    jobs = top.fields("samples")
    unknown = [style for style in jobs.values if style not in (*REWRITES, "composed")]
    if unknown:
        raise DataError("an unknown style", file=top.file, record="samples", field=unknown[0])
    merged: dict[tuple[int, int], dict[str, object]] = {}
    for style, names in REWRITES.items():
        if style in jobs.values:
            for place, value in enumerate(jobs.sequence(style)):
                _merge_job(Fields.of(value, file=top.file, record=f"{style} job {place}"), names, merged, locomo)
    styles = tuple(style for style in REWRITES if jobs.values.get(style))
    absent = {REWRITES[style].query: None for style in styles}
    samples = []
    for number in sorted({number for number, _ in merged}):
        found = locomo[number]
        entry = Fields(top.file, found.sample_id, {})
        own = {
            question: {**absent, **values} for (owner, question), values in sorted(merged.items()) if owner == number
        }
        rows = tuple(_numbered(values, entry, question, question) for question, values in own.items())
        samples.append(RewrittenSample(number, found, rows))
    if not samples:
        raise DataError("the file holds no job", file=top.file, record="samples")
    clusters = jobs.sequence("composed") if "composed" in jobs.values else None
    return DialogFile(tuple(samples), styles, clusters, tuple(locomo))


def _merge_job(
    job: Fields, names: RewriteFields, merged: dict[tuple[int, int], dict[str, object]], locomo: Sequence[Sample]
) -> None:
    key = (job.integer("sample_idx"), job.integer("q_idx"))
    if not 0 <= key[0] < len(locomo):
        raise job.wrong("sample_idx", f"a number from 0 to {len(locomo) - 1}")
    questions = locomo[key[0]].questions
    if not 0 <= key[1] < len(questions):
        raise job.wrong("q_idx", f"a number from 0 to {len(questions) - 1}")
    reference = _reference(questions[key[1]], locomo[key[0]], key[1])
    if _key(job) != _key(reference):
        raise DataError(
            "the question is not the one of that number in LoCoMo",
            file=job.file,
            record=job.record,
            field="question",
            seen=job.text("question"),
            fix=f"there it is {reference.text('question')!r}",
        )
    row = merged.setdefault(key, {name: job.values[name] for name in _JOB_FIELDS if job.values.get(name) is not None})
    if names.query in row:
        raise DataError(
            "a question has two jobs of one style", file=job.file, record=job.record, field="q_idx", seen=key
        )
    row[names.query] = job.text("query")
    row[names.speaker] = job.text("subject_speaker")
