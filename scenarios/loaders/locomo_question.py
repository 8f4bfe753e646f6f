"""LoCoMo's questions: one row becomes a probe, which an assistant may see, and gold, which it may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from mnemoscope.core.identity import ProbeId
from mnemoscope.scenarios.loaders.locomo_evidence import Evidence, TurnIndex, resolve_evidence
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import Cut, Gold, GoldFact, Probe
from mnemoscope.scenarios.source import DataReport, LoadMode

__all__ = [
    "ADVERSARIAL",
    "CATEGORY_NAMES",
    "Moment",
    "Note",
    "answer_of",
    "category_of",
    "clean_text",
    "read_question",
]

CATEGORY_NAMES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
ADVERSARIAL_EXPECTED = "Rejects the premise, or says that it was not mentioned."

_ZERO_WIDTH = re.compile("[\u200b\u2060\ufeff]")
"""Joiners (U+200D) are left alone: emoji sequences need them."""

Note = Callable[[str, str], None]
"""Takes a kind and a detail."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a conversation's questions are asked: after its last turn."""

    cut: Cut
    now: datetime | None
    turns: TurnIndex


def read_question(
    row: Fields, probe_id: ProbeId, moment: Moment, mode: LoadMode, report: DataReport
) -> tuple[Probe, Gold]:
    """Read one row of `qa`.

    The gold behaviour of category 5 is to reject the premise; `adversarial_answer` is the trap, never an answer.

    Args:
        row: The row; its record is named in errors and notices.
        probe_id: The id to give.
        moment: When it is asked.
        mode: How evidence is read; `strict-release` also leaves texts as published.
        report: Where counts and notices go.

    Returns:
        The probe and its gold.

    Raises:
        DataError: A field is missing or of the wrong type.
    """

    def note(kind: str, detail: str) -> None:
        report.note(kind, row.record, detail)

    clean = mode != "strict-release"
    question = clean_text(row.text("question"), "question", note, clean=clean)
    category = category_of(row, note)
    answer = answer_of(row, "answer", note, clean=clean)
    report.counts["integer answers"] += type(row.values.get("answer")) is int
    trap = answer_of(row, "adversarial_answer", note, clean=clean)
    evidence = _evidence(row, moment.turns, mode, report, note)
    _census(category, answer, trap, report, note)
    answerable = answer is not None and category != ADVERSARIAL
    probe = Probe(probe_id=probe_id, style="question", speaker="asker", text=question, cut=moment.cut, now=moment.now)
    gold = Gold(
        answers=() if answer is None else (answer,),
        evidence=evidence.turn_ids,
        unresolvable=evidence.unresolvable,
        facts=(GoldFact(fact_id=f"{probe_id}/answer", text=answer or "", sources=evidence.turn_ids),)
        if answerable
        else (),
        trap=trap,
        unanswerable=category == ADVERSARIAL,
        expected=ADVERSARIAL_EXPECTED if category == ADVERSARIAL else None,
        strata=_strata(category),
    )
    return probe, gold


def _category_name(category: int) -> str:
    return CATEGORY_NAMES.get(category, f"unknown({category})")


def _strata(category: int) -> tuple[str, ...]:
    name = _category_name(category)
    return (name, "non-adversarial") if category in CATEGORY_NAMES and category != ADVERSARIAL else (name,)


def clean_text(text: str, field: str, note: Note, *, clean: bool) -> str:
    """A text without zero-width characters and surrounding white space.

    Args:
        text: As the file has it.
        field: Its name, for the notice.
        note: Told of dropped characters.
        clean: False leaves the text as published.
    """
    if not clean:
        return text
    visible, dropped = _ZERO_WIDTH.subn("", text)
    if dropped:
        note("zero-width-stripped", f"{dropped} zero-width characters dropped from {field}")
    return visible.strip()


def category_of(row: Fields, note: Note) -> int:
    """The category of a row; digits in a text are read as a number, and noted.

    Raises:
        DataError: No whole number.
    """
    value = row.values.get("category")
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        note("category-as-text", f"category {value!r} read as a number")
        value = int(value)
    elif not isinstance(value, int) or isinstance(value, bool):
        raise row.wrong("category", "a number from 1 to 5")
    if value not in CATEGORY_NAMES:
        note("unknown-category", f"category {value} is kept apart as {_category_name(value)}")
    return value


def answer_of(row: Fields, field: str, note: Note, *, clean: bool) -> str | None:
    """An answer as a text; None where the field is absent, null or blank. Numbers are read as texts, and noted.

    Raises:
        DataError: Neither a text nor a number.
    """
    value = row.values.get(field)
    if isinstance(value, int | float) and not isinstance(value, bool):
        note("number-as-answer", f"{field} {value} read as a text")
        value = str(value)
    elif value is not None and not isinstance(value, str):
        raise row.wrong(field, "a text or a number")
    return (clean_text(value, field, note, clean=clean) or None) if value is not None else None


def _evidence(row: Fields, turns: TurnIndex, mode: LoadMode, report: DataReport, note: Note) -> Evidence:
    raw = row.texts("evidence") if row.values.get("evidence") is not None else ()
    evidence = resolve_evidence(raw, turns, mode)
    for kind, detail in evidence.remarks:
        note(kind, detail)
    if not raw:
        report.counts["empty evidence lists"] += 1
        note("empty-evidence", "no evidence is given; left out of recall")
    with_or_without = "with" if evidence.turn_ids else "without"
    report.counts[f"questions {with_or_without} resolvable evidence"] += 1
    report.counts["unresolvable evidence ids"] += len(evidence.unresolvable)
    return evidence


def _census(category: int, answer: str | None, trap: str | None, report: DataReport, note: Note) -> None:
    report.counts["questions"] += 1
    report.counts[f"category {category} {_category_name(category)}"] += 1
    if answer is None:
        report.counts["missing answers"] += 1
    if category == ADVERSARIAL:
        if answer is None and trap is None:
            note("neither-answer-nor-trap", "adversarial row without trap or answer")
        elif answer is not None:
            note(
                "adversarial-with-answer", f"answer {answer!r} is kept beside the trap; rejecting the premise is right"
            )
    elif answer is None:
        note("missing-answer", f"no answer in a row of category {category}")
