"""Levels, shares and indices: nothing is clamped, nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.evaluators.judges.parsing import choice, indices, items, level, share
from mnemoscope.evaluators.judges.parsing.labels import as_yes_no

THREE = (0.0, 0.5, 1.0)


def test_slips_of_form_are_mended_and_counted_and_wrong_values_are_not(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("JD-04")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found, mended = {}, []
    for line in (folder / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        assert entry["schema"] == "integer 1-5"
        parsed = level(entry["raw"], range(1, 6), field="score")
        found[entry["id"]] = "error" if parsed.value is None else parsed.value
        mended += [entry["id"]] if parsed.repairs else []
    assert found == expected["parsed"]
    assert mended == expected["repairs_counted"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("Score: 0.5", 0.5),
        ("**Score:** 1.0", 1.0),
        (".5", 0.5),
        ("Score - 0", 0.0),
        ("The score is 0.5 because it names one of them.", 0.5),
        ("评分：0.5", 0.5),
        ("<score>1</score>", 1.0),
        ('{"score": "0.5"}', 0.5),
        ('{"score": 1}', 1.0),
        ("10", None),
        ("", None),
        ("n/a", None),
        ("0 out of 1", None),
        ("0/1", None),
        ("50%", None),
        ("-1", None),
        ("0.75", None),
        ("0-1", None),
        ("0–1", None),
        ("0:1", None),
        (">=1", None),
        ("1,0", None),
        ("1. It names the stall.", None),
        ("Score: 1, perhaps 0.5", None),
        ("1\n0", None),
        ('{"score": true}', None),
        ('{"score": "true"}', None),
        ('{"score": NaN}', None),
        ('{"score": 1e999}', None),
        ('{"score": [1]}', None),
        ('{"score": 1, "score": 0}', None),
        (f'{{"score": {"9" * 400}}}', None),
    ],
)
def test_levels_of_a_three_step_scale(text: str, value: float | None) -> None:
    parsed = level(text, THREE)
    assert parsed.value == value, parsed.problem
    assert (parsed.value is None) == (parsed.problem is not None)


def test_the_kinds_of_problems_are_told_apart() -> None:
    kinds = {
        text: (problem.kind if (problem := level(text, THREE).problem) else None)
        for text in ("10", "", "n/a", '{"score": "4/5"}', '{"score": 11}', '{"grounding": 1, "tone": 1}')
    }
    assert kinds == {
        "10": "out-of-range",
        "": "empty",
        "n/a": "unparseable",
        '{"score": "4/5"}': "wrong-type",
        '{"score": 11}': "out-of-range",
        '{"grounding": 1, "tone": 1}': "missing",
    }


def test_the_acceptance_values_of_the_benchmarks_own_defects() -> None:
    assert [level(text, THREE).value for text in ("0.5", "Score: 0.5", "10", "", "n/a")] == [0.5, 0.5, None, None, None]
    assert [choice(text, "ABC").value for text in ("The answer is C", "A", "")] == ["C", "A", None]
    stringly = items('{"judgments": [{"fact": 1, "covered": "false"}]}', ["1"], as_yes_no)
    assert stringly.by_id["1"].verdict.value == "no"
    short = items('{"judgments": [{"fact": 1, "covered": true}]}', ["1", "2"], as_yes_no)
    assert short.by_id["2"].verdict.value is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.67", 0.67),
        ('{"coverage": 0.33}', 0.33),
        ("Score: 1", 1.0),
        ("0", 0.0),
        ("1.01", None),
        ("-0.1", None),
        ("67%", None),
        ("2/3", None),
        ("2 of 3", None),
        ('{"coverage": "67 %"}', None),
        ('{"coverage": false}', None),
    ],
)
def test_shares(text: str, value: float | None) -> None:
    assert share(text).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 3]", (1, 3)),
        ("[]", ()),
        ("3、1", (3, 1)),
        ("1 and 2.", (1, 2)),
        ("None.", ()),
        ("没有", ()),
        ('{"facts": [2, 1]}', (2, 1)),
        ('{"facts": ["2"]}', (2,)),
        ('{"facts": []}', ()),
        ("[2.0]", (2,)),
        ("[0]", None),
        ("[5]", None),
        ("[1, 9]", None),
        ("[1.5]", None),
        ("[true]", None),
        ("[[1]]", None),
        ('{"facts": 2}', None),
        ("1 to 3", None),
        ("facts 1 and 3", None),
        ("", None),
    ],
)
def test_indices(text: str, value: tuple[int, ...] | None) -> None:
    assert indices(text, 4).value == value


def test_an_index_said_twice_counts_once_and_is_noted() -> None:
    parsed = indices("[1, 2, 1]", 4)
    assert (parsed.value, parsed.repairs) == ((1, 2), ("repeated",))
