"""Verdicts per fact are joined by id; axes by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mnemoscope.evaluators.judges.parsing import Items, as_level, as_yes_no, axes, items
from mnemoscope.evaluators.judges.parsing.release import locomo_coverage

AXES = ("faithfulness", "relevance", "engagement")
THREE = (0.0, 0.5, 1.0)


def said(found: Items[str]) -> dict[str, object]:
    out: dict[str, object] = {}
    for fact, item in found.by_id.items():
        problem = item.verdict.problem
        out[fact] = f"judge_error:{problem.kind}" if problem else item.verdict.value == "yes"
    return out


def coverage(covered: dict[str, object]) -> object:
    """As the case writes it: a share where all facts are judged, else counts with their n."""
    judged = [one for one in covered.values() if isinstance(one, bool)]
    if len(judged) == len(covered):
        return round(sum(judged) / len(judged), 4)
    return f"{sum(judged)}/{len(judged)} judged (n_facts {len(covered)})"


def test_shorter_longer_and_reordered_lists(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("JD-11")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    ids = [str(one + 1) for one in range(expected["facts_per_item"])]
    seen = {}
    for line in (folder / "judge_json.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        found = items(json.dumps({"judgments": entry["judgments"]}), ids, as_yes_no)
        seen[entry["id"]] = {"covered": said(found), "coverage": coverage(said(found))}
        if "note" in expected["result"][entry["id"]]:
            assert expected["result"][entry["id"]].pop("note") == "extra fact 4 ignored and counted"
            assert found.ignored == 1
        else:
            assert found.ignored == 0
        if entry["id"] in expected["positional_join_would_say"]:
            by_position = locomo_coverage(json.dumps({"judgments": entry["judgments"]}), len(ids))
            assert by_position is not None
            assert by_position[0] is True
            assert said(found)["1"] is False
    assert seen == expected["result"]


@pytest.mark.parametrize(
    "text",
    [
        '{"judgments": [{"fact": "b", "covered": "no"}, {"fact": "a", "covered": "true"}]}',
        '[{"id": "b", "verdict": false}, {"id": "a", "verdict": true}]',
        '{"a": true, "b": false}',
        '{"judgments": {"b": {"covered": false}, "a": {"covered": true}}}',
        "```json\n[{'fact_id': 'b', 'stated': False,}, {'fact_id': 'a', 'stated': True}]\n```",
    ],
)
def test_forms_of_a_list(text: str) -> None:
    assert said(items(text, ["a", "b"], as_yes_no)) == {"a": True, "b": False}


def test_quotes_are_handed_on() -> None:
    text = '{"facts": [{"fact": 7, "covered": true, "quote": "stall 47B"}]}'
    item = items(text, ["7"], as_yes_no, list_field="facts", field="covered").by_id["7"]
    assert (item.verdict.value, item.fields["quote"]) == ("yes", "stall 47B")


def test_a_boolean_is_no_id() -> None:
    found = items('[{"fact": true, "covered": true}]', ["True", "1"], as_yes_no)
    assert [item.verdict.value for item in found.by_id.values()] == [None, None]
    assert found.ignored == 1


def test_one_facts_problem_is_no_other_facts() -> None:
    text = (
        '[{"fact": 1, "score": 2}, {"fact": 2, "score": "2/2"}, {"fact": 3}, {"score": 1}, {"fact": true, "score": 1}]'
    )
    found = items(text, ["1", "2", "3", "4"], partial(as_level, levels=(0, 1, 2)))
    kinds = [(item.verdict.value, item.verdict.problem and item.verdict.problem.kind) for item in found.by_id.values()]
    assert kinds == [(2.0, None), (None, "wrong-type"), (None, "missing"), (None, "missing")]
    assert found.ignored == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("All are covered.", "unparseable"),
        ('{"judgments": [{"fact": 1, "covered": tr', "unparseable"),
        ('{"judgments": [true, false]}', "missing"),
        ('{"judgments": "none"}', "missing"),
        ("I can't assist with judging this.", "refused"),
    ],
)
def test_a_reply_that_cannot_be_read_is_a_problem_for_every_fact(text: str, kind: str) -> None:
    for item in items(text, ["1", "2"], as_yes_no).by_id.values():
        assert item.verdict.problem is not None
        assert item.verdict.problem.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        '{"faithfulness": 1, "relevance": 0.5, "engagement": 0}',
        '{"Engagement": "0", "Faithfulness": "1.0", "Relevance": 0.5, "reason": "short"}',
        '{"scores": {"faithfulness": {"score": 1, "quote": "a"}, "relevance": 0.5, "engagement": 0}}',
        "Faithfulness: 1\n- **Relevance**: 0.5 (mostly)\nengagement = 0",
    ],
)
def test_axes(text: str) -> None:
    assert [one.value for one in axes(text, AXES, THREE).values()] == [1.0, 0.5, 0.0]


def test_an_axis_has_its_own_problem() -> None:
    found = axes('{"faithfulness": 1, "relevance": 2}', AXES, THREE)
    assert [one.value for one in found.values()] == [1.0, None, None]
    assert [one.problem.kind for one in found.values() if one.problem] == ["out-of-range", "missing"]
    twice = axes("Relevance: 1\nRelevance: 0", ("relevance",), THREE)["relevance"]
    assert twice.problem is not None
    assert twice.problem.kind == "duplicate"
    nothing = axes("It is fine.", AXES, THREE)
    assert {one.problem.kind for one in nothing.values() if one.problem} == {"unparseable"}
