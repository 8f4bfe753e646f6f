"""Yes or no and choices from what judges write: published failing inputs first, then more of their kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.evaluators.judges.parsing import as_choice, as_yes_no, choice, yes_no

CaseDir = Callable[[str], Path]


def entries(folder: Path, name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def test_letters_are_whole_tokens_said_as_a_verdict(case_dir: CaseDir) -> None:
    folder = case_dir("JD-01")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found = {}
    for entry in entries(folder, "judge_outputs.jsonl"):
        parsed = choice(entry["raw"], "ABC")  # type: ignore[arg-type]
        assert (parsed.value is None) == (parsed.problem is not None)
        found[entry["id"]] = parsed.value or "unparseable"
    assert found == expected["labels"]


def test_yes_and_no_are_tokens_with_negation(case_dir: CaseDir) -> None:
    folder = case_dir("JD-02")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found = {
        entry["id"]: yes_no(entry["raw"]).value or "unparseable" for entry in entries(folder, "judge_outputs.jsonl")
    }  # type: ignore[arg-type]
    assert found == expected["verdicts"]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The response does not mention it: no", "no"),
        ("Yes. The reply has no errors.", "yes"),
        ("Yes - it names the stall.", "yes"),
        ("Is it there? Not at first sight. Verdict: **yes**", "yes"),
        ("No\n\nFinal answer: Yes", "yes"),
        ("Final answer: Yes\nNo", None),
        ("Answer: yes, or rather no", None),
        ("The answer is not yes", None),
        ("The verdict isn't: yes", None),
        ("yes/no", None),
        ("Yes and no.", None),
        ("I know nothing of eyes", None),
        ("<answer>no</answer>", "no"),
        (r"So the result is $\boxed{\text{yes}}$.", "yes"),
        ("“Ｎｏ”", "no"),
        ("\ufeff y\u200bes ", "yes"),
        ("是的，回复提到了摊位。", "yes"),
        ("不是，他说是周二", "no"),
        ("答案：没有", "no"),
        ("结论是“否”。", "no"),
        ("并没有", "no"),
        ("是的，但是没有提到", None),
        ("是否提到", None),
        ("不是是", None),
        ('{"verdict": "false"}', "no"),
        ('{"VERDICT": "No."}', "no"),
        ('{"verdict": 1}', None),
        ('{"verdict": null}', None),
        ('{"verdict": "yes, but"}', None),
        ('{"verdict": "yes", "answer": "no"}', None),
        ('{"verdict": "yes", "answer": "The stall is 47B."}', "yes"),
        ('{"verdict": "yes"} {"verdict": "no"}', None),
        ('{"verdict": "yes", "verdict": "no"}', None),
        ('{"verdict": "yes", "reason": "it sa', None),
        ('{"shown": true}', "yes"),
        ('{"shown": true, "sure": false}', None),
        ('The reply says no such thing. {"verdict": true}', "yes"),
    ],
)
def test_yes_no(text: str, label: str | None) -> None:
    parsed = yes_no(text)
    assert parsed.value == label, parsed.problem


def test_a_field_that_is_asked_for_is_the_only_one_read() -> None:
    text = '{"situation_tied": "YES", "fact_used": "NO"}'
    assert yes_no(text, field="situation_tied").value == "yes"
    assert yes_no(text, field="fact_used").value == "no"
    missing = yes_no(text, field="verdict")
    assert missing.problem is not None
    assert missing.problem.kind == "missing"
    assert yes_no('{"Fact_Used": "NO"}', field="fact_used").repairs == ("key-case",)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("c", "C"),
        ("[[B]]", "B"),
        ("B) it hedges", "B"),
        ("The correct label is B because it hedges.", "B"),
        ("Verdict: B\nReason: it mentions A", "B"),
        ("Label: A\nOn reflection it states the truth.\nFinal answer: C", "C"),
        ("Option A was tempting.\nB", "B"),
        ("答案：Ｂ", "B"),
        ("我选C。", "C"),
        ('{"label": "b", "quote": "Answer: A"}', "B"),
        ("A user asked about the stall.", None),
        ("a, as in a stall", None),
        ("A reply that names vitamin C", None),
        ("Answer: A or B", None),
        ("Not C.", None),
        ("The answer is not C", None),
        ("B, though A fits", None),
        ("C\nA", None),
        ("Category: Corrected", None),
        ('{"label": "D"}', None),
        ('{"label": ["B"]}', None),
    ],
)
def test_choices_of_one_letter(text: str, label: str | None) -> None:
    parsed = choice(text, ("A", "B", "C"))
    assert parsed.value == label, parsed.problem


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("not used", "not used"),
        ("Used.", "used"),
        ("Verdict: Not used", "not used"),
        ("The fact is used, not ignored", None),
        ("used, not used", None),
        ("misused", None),
    ],
)
def test_choices_of_words_prefer_the_longest_label(text: str, label: str | None) -> None:
    assert choice(text, ("used", "not used")).value == label


def test_a_tie_is_no_part_of_a_patient_reply() -> None:
    assert choice("Both are patient.", ("A", "B", "TIE")).value is None
    assert choice("tie", ("A", "B", "TIE")).value == "TIE"


def test_json_values_by_themselves() -> None:
    assert [as_yes_no(one).value for one in (True, "false", "no", 0, None, [], "perhaps")] == [
        "yes", "no", "no", None, None, None, None,
    ]  # fmt: skip
    assert as_yes_no("false").repairs == ("string-boolean",)
    assert as_choice("(b)", "AB").value == "B"
    assert as_choice("x", ("x", "X")).value == "x"
