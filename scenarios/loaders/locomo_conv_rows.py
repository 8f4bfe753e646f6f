"""LoCoMo-Conv's rewritten questions: one row becomes up to three probes, each in its own style and voice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import ProbeId
from mnemoscope.scenarios.answer_leak import LEAK_LIMITS, answer_leak
from mnemoscope.scenarios.loaders.locomo_conv_files import REWRITES, RewrittenRow
from mnemoscope.scenarios.loaders.locomo_conv_supportive import SupportiveFile, supportive_memory
from mnemoscope.scenarios.loaders.locomo_conversation import Conversation
from mnemoscope.scenarios.loaders.locomo_overlay import Overlay
from mnemoscope.scenarios.loaders.locomo_question import clean_text, read_question
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import FalsePremise, Gold, GoldFact, Probe, Style
from mnemoscope.scenarios.source import DataReport, LoadMode

__all__ = ["Reading", "Utterance", "leak_stratum", "read_row", "speaker_named", "utterance_of"]

_NATURALNESS = ("high", "medium", "low")
_STYLES: tuple[Style, ...] = ("dialog", "implicit", "counterfactual")


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading the rows of one conversation needs."""

    talk: Conversation
    number: int
    """The conversation's place in LoCoMo."""
    mode: LoadMode
    report: DataReport
    overlay: Overlay
    supportive: SupportiveFile


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a user says, and who says it."""

    text: str
    speaker: str


@dataclass(frozen=True, slots=True)
class _Question:
    """One row as LoCoMo's question, as published or corrected."""

    row: Fields
    memories: Fields
    """What holds its supportive memories."""
    gold: Gold
    report: DataReport
    """Where notices about its gold go."""


def read_row(row: RewrittenRow, styles: Sequence[str], reading: Reading) -> Iterator[tuple[Probe, Gold]]:
    """The probes of one row, with their gold.

    Args:
        row: The row.
        styles: Styles that its file is made of.
        reading: The conversation and the settings.

    Yields:
        A probe per style that the row has an utterance for; a missing one is noted.

    Raises:
        DataError: A field is missing or of the wrong type.
    """
    talk, report = reading.talk, reading.report
    for kind, detail in row.remarks:
        report.note(kind, row.fields.record, detail)
    name = f"{talk.sample_id}/q{row.number}"
    memories = reading.supportive.of(row.fields, (reading.number, row.number), report)
    published = _question(row.fields, memories, name, reading, report)
    corrected: _Question | None = published
    correction = reading.overlay.of(talk.sample_id, row.number)
    if correction is not None:
        correction.note(report, row.fields.record)
        fixed = correction.applied_to(row.fields)
        excluded = correction.action == "exclude"
        corrected = None if excluded else _question(fixed, memories, name, reading, DataReport())
    for style in _STYLES:
        utterance = _rewriting(row.fields, style, published.gold, reading) if style in styles else None
        if utterance is None:
            continue
        probe_id = ProbeId(f"{name}/{style}")
        gold = _styled(published, style, probe_id, utterance, talk)
        other: Gold | None = gold
        if corrected is not published:
            other = _styled(corrected, style, probe_id, utterance, talk) if corrected is not None else None
        merged = reading.overlay.merged(gold, other)
        report.counts[f"{style} probes"] += 1
        yield _probe(probe_id, style, utterance, talk), merged


def utterance_of(row: Fields, query: str, speaker: str, reading: Reading) -> Utterance | None:
    """What a field says and in whose voice; None where it is null or blank.

    Raises:
        DataError: The text or its speaker is of the wrong type, or the speaker is neither of the two.
    """

    def note(kind: str, detail: str) -> None:
        reading.report.note(kind, row.record, detail)

    written = row.optional_text(query)
    if written is None or not written.strip():
        return None
    text = clean_text(written, query, note, clean=reading.mode != "strict-release")
    return Utterance(text, speaker_named(row, speaker, reading))


def speaker_named(row: Fields, field: str, reading: Reading) -> str:
    """The name behind `speaker_a` or `speaker_b`; a name in the row that differs is noted, the role decides."""
    role = row.text(field)
    if role not in reading.talk.speakers:
        raise row.wrong(field, "speaker_a or speaker_b")
    name, written = reading.talk.speakers[role], row.optional_text(f"{field}_name")
    if written is not None and written != name:
        reading.report.note("speaker-name-differs", row.record, f"{field}_name is {written!r}, {role} is {name}")
    return name


def leak_stratum(style: str, text: str, answers: Sequence[str]) -> tuple[str, ...]:
    """`leaks-answer` or `no-leak` by the style's limit; nothing where it cannot be computed."""
    leak = answer_leak(text, answers)
    if leak is None:
        return ()
    return ("leaks-answer",) if leak > LEAK_LIMITS[style] else ("no-leak",)


def _rewriting(row: Fields, style: Style, gold: Gold, reading: Reading) -> Utterance | None:
    names = REWRITES[style]
    if style == "dialog" and names.query not in row.values:
        raise DataError(
            "a field is missing",
            file=row.file,
            record=row.record,
            field=names.query,
            fix="expected LoCoMo-Conv's rewritten questions (locomo10_dialog.json)",
        )
    utterance = utterance_of(row, names.query, names.speaker, reading)
    if style == "counterfactual" and gold.unanswerable:
        if utterance is not None:
            detail = "an adversarial question has no counterfactual rewriting; left out"
            reading.report.note("counterfactual-of-adversarial", row.record, detail)
        return None
    if utterance is None:
        why = row.values.get(names.error)
        detail = f"no {names.query}" + (f": the generator reported {why!r}" if why else "")
        reading.report.note(f"missing-{style}", row.record, f"{detail}; no probe")
    return utterance


def _probe(probe_id: ProbeId, style: Style, utterance: Utterance, talk: Conversation) -> Probe:
    return Probe(
        probe_id=probe_id,
        style=style,
        speaker=utterance.speaker,
        text=utterance.text,
        cut=talk.moment.cut,
        now=talk.moment.now,
    )


def _question(row: Fields, memories: Fields, name: str, reading: Reading, report: DataReport) -> _Question:
    _, gold = read_question(row, ProbeId(name), reading.talk.moment, reading.mode, report)
    return _Question(row, memories, gold, report)


def _styled(question: _Question, style: Style, probe_id: ProbeId, utterance: Utterance, talk: Conversation) -> Gold:
    """The question's gold as one style sees it."""
    base, row, report = question.gold, question.row, question.report
    facts = tuple(GoldFact(fact_id=f"{probe_id}/answer", text=f.text, sources=f.sources) for f in base.facts)
    leak = leak_stratum(style, utterance.text, base.answers)
    changes: dict[str, object] = {"facts": facts, "strata": (style, *base.strata, *leak)}
    if style == "dialog":
        changes["strata"] = (style, *base.strata, *leak, *_naturalness(row, report))
    elif style == "implicit":
        changes["expected"] = row.optional_text("expected_memory_use") or base.expected
        changes["supportive"] = supportive_memory(question.memories, base, talk.moment.turns, report)
    elif row.values.get("asserted_wrong") is None:
        report.note("no-asserted-premise", row.record, "asserted_wrong is not given; no premise to correct")
    elif base.answers:
        wrong = row.text("asserted_wrong")
        changes["false_premise"] = FalsePremise(asserted=wrong, truth=base.answers[0], sources=base.evidence)
    return base.model_copy(update=changes)


def _naturalness(row: Fields, report: DataReport) -> tuple[str, ...]:
    """The generator's rating of its own dialog rewriting."""
    rating = row.optional_text("naturalness")
    if rating in _NATURALNESS:
        return (f"naturalness-{rating}",)
    if "rewrite_error" in row.values or rating is not None:
        report.note("naturalness-unknown", row.record, f"naturalness is {rating!r}; in no stratum of it")
    return ()
