"""What MemUse's evaluators know: judge inputs of both versions kept apart, facts, and tags for odd instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import Gold, GoldFact
from mnemoscope.scenarios.source import DataReport

__all__ = [
    "DIRECT_QA",
    "NATURAL",
    "NEGATIVE_EXPECTED",
    "ODD_INSTANCES",
    "SubQuestion",
    "is_negative",
    "natural_gold",
    "question_gold",
]

NATURAL, DIRECT_QA = "natural", "direct-qa"
"""Strata of the two ways of asking: a turn that a reply should remember by itself, and a question outright."""

NEGATIVE_EXPECTED = "Replies to the turn itself and brings up no earlier conversation."

ODD_INSTANCES = {
    "pos_030": "odd: never discussed",
    "pos_033": "odd: no content cue",
    "pos_034": "odd: no content cue",
    "pos_035": "odd: no content cue",
    "pos_045": "odd: nothing to recall",
    "pos_046": "odd: nothing to recall",
    "pos_051": "odd: world knowledge",
    "pos_066": "odd: no content cue",
    "pos_068": "odd: shared trigger",
    "pos_069": "odd: shared trigger",
}
"""Instances whose meaning is odd, with the stratum that tells them; they are kept."""

_EVENTS = {"user_re_provision": "re-provision", "user_memory_probe": "memory-probe"}


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One fact question of an instance."""

    fact_id: str
    question: str
    answer: str


def is_negative(row: Fields, target: Fields) -> bool:
    """Whether no memory is called for; `event_type` says so, or `memory_needed`.

    Raises:
        DataError: The two disagree.
    """
    by_event = row.text("event_type") == "no_memory_cue"
    needed = target.values.get("memory_needed")
    if needed is not None and not isinstance(needed, bool):
        raise target.wrong("memory_needed", "true or false")
    if by_event if needed is True else (needed is False and not by_event):
        raise DataError(
            "event_type and memory_needed disagree",
            file=row.file,
            record=row.record,
            field="memory_needed",
            seen=needed,
        )
    return by_event


def sub_questions(target: Fields) -> tuple[SubQuestion, ...]:
    """The fact questions, in file order."""
    found = []
    for position, value in enumerate(target.sequence("sub_questions")):
        entry = Fields.of(value, file=target.file, record=f"{target.record} target.sub_questions[{position}]")
        for name in ("question", "answer"):
            if not entry.text(name).strip():
                raise entry.wrong(name, "a text that is not blank")
        found.append(SubQuestion(f"q{position}", entry.text("question").strip(), entry.text("answer").strip()))
    return tuple(found)


def natural_gold(
    row: Fields, target: Fields, trigger: str, strata: Sequence[str], report: DataReport
) -> tuple[Gold, tuple[SubQuestion, ...]]:
    """Gold of the natural reply to a trigger, and the instance's fact questions.

    `judge_inputs` holds what the benchmark's judges see, in full; cutting `expected@…` to 300 characters is theirs:
    `cue@1.1` (the whole turn) and `expected@1.1` (the reference paragraph); `cue@1.2` (the span) and `expected@1.2`,
    where the file has them; `question@q0`, …, one per fact; for negatives `cue` and `prior_summaries`.

    Raises:
        DataError: The target is not as the format says.
    """
    if is_negative(row, target):
        inputs = {"cue": trigger, "prior_summaries": _prior_summaries(row, target, report)}
        gold = Gold(expected=NEGATIVE_EXPECTED, judge_inputs=inputs, strata=(NATURAL, "negative", *strata))
        return gold, ()
    asked = sub_questions(target)
    if not asked:
        report.note("no-sub-questions", row.record, "no facts are asked about")
    inputs = {"cue@1.1": trigger, "expected@1.1": target.text("ground_truth").strip()}
    cue, expected = target.optional_text("judge_trigger"), target.optional_text("judge_expected")
    if cue is not None and expected is not None:
        inputs |= {"cue@1.2": cue.strip(), "expected@1.2": expected.strip()}
    elif cue is not None or expected is not None:
        missing = "judge_expected" if expected is None else "judge_trigger"
        report.note(
            "half-of-judge-inputs", row.record, f"{missing} is missing; only the inputs of version 1.1 are kept"
        )
    else:
        report.counts["without judge inputs 1.2"] += 1
    inputs |= {f"question@{entry.fact_id}": entry.question for entry in asked}
    own = [NATURAL, "positive", _event(row, report), *strata]
    gold = Gold(
        facts=tuple(GoldFact(fact_id=entry.fact_id, text=entry.answer) for entry in asked),
        unanswerable="odd: never discussed" in strata,
        expected=inputs.get("expected@1.2", inputs["expected@1.1"]),
        judge_inputs=inputs,
        strata=tuple(own),
    )
    return gold, asked


def question_gold(entry: SubQuestion, natural: Gold) -> Gold:
    """Gold of one fact question, asked outright."""
    return Gold(
        answers=(entry.answer,),
        facts=(GoldFact(fact_id=entry.fact_id, text=entry.answer),),
        judge_inputs={f"question@{entry.fact_id}": entry.question},
        strata=(DIRECT_QA, *natural.strata[1:]),
    )


def _event(row: Fields, report: DataReport) -> str:
    event = row.text("event_type")
    if event not in _EVENTS:
        report.note("unknown-event-type", row.record, f"event_type {event!r} is kept as a stratum of its own")
    return _EVENTS.get(event, event)


def _prior_summaries(row: Fields, target: Fields, report: DataReport) -> str:
    if target.values.get("prior_session_summaries") is None:
        report.note("no-prior-summaries", row.record, "recalled things cannot be checked against summaries")
        return ""
    trigger, lines = row.integer("trigger_session_idx"), []
    for position, value in enumerate(target.sequence("prior_session_summaries")):
        entry = Fields.of(value, file=row.file, record=f"{row.record} target.prior_session_summaries[{position}]")
        number, date, summary = entry.integer("session_idx"), entry.text("date"), entry.text("summary")
        if number >= trigger:
            report.note("summary-after-trigger", entry.record, f"session {number} is not over yet; left out")
        else:
            lines.append(f"Session {number} ({date}): {summary.strip()}")
    return "\n".join(lines)
