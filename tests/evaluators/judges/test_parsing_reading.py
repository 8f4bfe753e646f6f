"""Why a reply has no verdict: cut, empty, refused, filtered; and what of it is thinking."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.evaluators.judges.parsing import choice, items, level, visible_text, yes_no
from mnemoscope.evaluators.judges.parsing.labels import as_yes_no


def test_a_cut_empty_refused_or_filtered_reply_is_no_verdict(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("JD-03")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found, labels = {}, []
    for line in (folder / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        parsed = yes_no(entry["content"], finish_reason=entry["finish_reason"])
        if parsed.problem is not None:
            found[entry["id"]] = f"judge_error:{parsed.problem.kind}"
            continue
        labels.append(parsed.value)
        flagged = " (complete token although finish_reason=length; flagged)" if "cut-off" in parsed.repairs else ""
        found[entry["id"]] = f"{parsed.value}{flagged}"
    assert found == expected["status"]
    rate = {"scored": len(labels), "yes": labels.count("yes"), "judge_errors": len(found) - len(labels)}
    assert rate == expected["rate"]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("length", "truncated"),
        ("MAX_TOKENS", "truncated"),
        ("max_tokens", "truncated"),
        ("content_filter", "filtered"),
        ("SAFETY", "filtered"),
        ("refusal", "refused"),
        ("stop", "empty"),
        (None, "empty"),
    ],
)
@pytest.mark.parametrize("text", ["", None, " \n", "<think>", "```\n```"])
def test_nothing_visible_is_named_by_why_the_reply_ended(text: str | None, reason: str | None, kind: str) -> None:
    problem = yes_no(text, finish_reason=reason).problem
    assert problem is not None
    assert problem.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can’t assist with that.",
        "I cannot help with grading this.",
        "As an AI, I have no opinion on this.",
        "I am unable to judge this reply; yes or no would be wrong.",
        "抱歉，我无法评估这个回复。",
    ],
)
def test_refusals_are_told_from_replies_that_cannot_be_read(text: str) -> None:
    problem = yes_no(text).problem
    assert problem is not None
    assert problem.kind == "refused"


def test_a_verdict_about_a_refusal_is_a_verdict() -> None:
    assert yes_no("Yes: the reply says that it cannot answer.").value == "yes"
    assert yes_no('{"verdict": "no", "quote": "I can\'t help with that"}').value == "no"


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<think>yes?</think>no", "no"),
        ("<THINKING>\nyes\n</THINKING>\n\nno", "no"),
        ("<reasoning effort='low'>yes</reasoning>no", "no"),
        ("[THINK]yes[/THINK]no", "no"),
        ("◁think▷yes◁/think▷no", "no"),
        ("<|begin_of_thought|>yes<|end_of_thought|>no", "no"),
        ("<|channel|>analysis<|message|>yes?<|end|><|start|>assistant<|channel|>final<|message|>no", "no"),
        ("yes, I think</think>no", "no"),
        ("<think>it writes <think> itself</think>no", "no"),
        ("<think>a<think>b</think>yes</think>no", "no"),
        ("yes<think>a</think>b</think>no", "no"),
        ("no<think>but yes", "no"),
        ("<think>yes yes yes", ""),
        ("no<|im_end|>", "no"),
        ("```\n<think>yes</think>\nno\n```", "no"),
        ("<think>yes</think>```json\n{}\n```", "{}"),
        ('{"quote": "</think>", "verdict": "no"}', '{"quote": "</think>", "verdict": "no"}'),
    ],
)
def test_thinking_is_not_visible(text: str, visible: str) -> None:
    assert visible_text(text)[0] == visible


def test_an_early_guess_in_thinking_never_counts() -> None:
    for opening, closing in (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("", "</thinking>")):
        assert yes_no(f"{opening}Answer: yes. Final answer: yes{closing}no").value == "no"
        assert choice(f'{opening}{{"label": "A"}}{closing}{{"label": "C"}}', "ABC").value == "C"


def test_a_number_at_the_end_of_a_cut_reply_may_have_lost_digits() -> None:
    assert level("Score: 1", (0, 1), finish_reason="stop").value == 1
    cut = level("Score: 1", (0, 1), finish_reason="length").problem
    assert cut is not None
    assert cut.kind == "truncated"
    whole = level('{"score": 1}', (0, 1), finish_reason="length")
    assert (whole.value, whole.repairs) == (1, ("cut-off",))


def test_facts_that_a_cut_reply_does_not_reach_are_truncated_not_missing() -> None:
    text = '{"judgments": [{"fact": 1, "covered": true}]}'
    for reason, kind in (("length", "truncated"), ("stop", "missing")):
        problem = items(text, ["1", "2"], as_yes_no, finish_reason=reason).by_id["2"].verdict.problem
        assert problem is not None
        assert problem.kind == kind
