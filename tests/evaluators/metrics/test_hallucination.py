"""Hallucination: judged against the block that the system was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Question
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, Turn
from tests.evaluators.metrics.scripted import always, only

Make = Callable[..., EvaluationCase]


def question_of(case: EvaluationCase) -> Question:
    (question,) = METRICS.create("hallucination").questions(case)  # type: ignore[attr-defined]
    return question


def test_score_is_of_the_unsupported_and_lower_is_better(make_case: Make) -> None:
    case = make_case(reply="You have two dogs.", gold=Gold(unanswerable=True), style="implicit")
    assert only("hallucination", case, always("hallucination", "unsupported", 1.0)).score == 1.0
    assert only("hallucination", case, always("hallucination", "supported", 0.0)).score == 0.0
    assert METRICS.create("hallucination").lower_is_better
    failed = only("hallucination", case, always("hallucination", "truncated", None))
    assert (failed.status, failed.score) == ("invalid", None)


def test_the_context_is_what_was_given_and_not_what_was_ranked(
    make_case: Make, make_item: Callable[..., MemoryItem]
) -> None:
    items = [make_item("a", "The kiln broke."), make_item("b", "A cat named Pixel.")]
    case = make_case(gold=Gold(unanswerable=True, trap="dogs"), style="dialog", items=items, given=1)
    context = question_of(case).context
    assert "The kiln broke." in context and "Pixel" not in context and "dogs" not in repr(question_of(case))


def test_the_current_session_is_part_of_it_and_no_memory_is_an_empty_context(
    make_case: Make, make_turn: Callable[..., Turn]
) -> None:
    gold = Gold(unanswerable=True)
    assert question_of(make_case(gold=gold, style="dialog", items=None)).context == ""
    recent = [make_turn("t1", "I bought a drum."), make_turn("t2", "", 1)]
    assert question_of(make_case(gold=gold, style="dialog", recent=recent)).context.endswith("Mira: I bought a drum.")


def test_applies_to_what_nothing_answers(make_case: Make) -> None:
    metric = METRICS.create("hallucination")
    for style, unanswerable, applies in (
        ("dialog", True, True),
        ("implicit", True, True),
        ("question", True, False),
        ("dialog", False, False),
    ):
        assert metric.applies(Gold(unanswerable=unanswerable), make_case(style=style).probe) is applies


def test_hidden_drafts_are_not_judged(make_case: Make) -> None:
    case = make_case(reply="No idea.", gold=Gold(unanswerable=True), style="dialog")
    assert "hidden draft" not in repr(question_of(case))
    assert question_of(replace(case, reply=replace(case.reply, visible_text="Hm."))).reply == "Hm."
