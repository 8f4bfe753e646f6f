"""The published ways of reading, flaws included, and how far they depart from ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mnemoscope.core.errors import UnknownNameError
from mnemoscope.evaluators.judges.parsing import (
    RELEASES,
    choice,
    cut_reference,
    cut_references,
    differences,
    release_parser,
    yes_no,
)
from mnemoscope.evaluators.judges.parsing.release import Kind, locomo_coverage

CaseDir = Callable[[str], Path]


def replies(folder: Path) -> dict[str, str]:
    lines = (folder / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    return {entry["id"]: entry["raw"] for entry in map(json.loads, lines)}


def test_published_yes_no_readings_reply_by_reply(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("JD-02") / "expected.json").read_text(encoding="utf-8"))
    said = replies(case_dir("JD-02"))
    for mode, name in (("substring (LongMemEval)", "longmemeval"), ("prefix (MemUse)", "memuse")):
        read = release_parser(name).readers["yes-no"]
        assert {subject: read(text) for subject, text in said.items()} == expected["paper_exact_modes"][mode]
        found = differences(said, yes_no, read)
        strict = expected["verdicts"]
        published = expected["paper_exact_modes"][mode]
        assert found.replies == len(said)
        assert [one.subject for one in found.differing] == [y for y in said if strict[y] != published[y]]


def test_the_first_letter_reading_turns_answers_into_a(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("JD-01") / "expected.json").read_text(encoding="utf-8"))
    said = replies(case_dir("JD-01"))
    read = release_parser("locomo-conv").readers["choice"]
    for subject, label in expected["first_character_parser_would_say"].items():
        assert read(said[subject]) == label
    differing = {one.subject for one in differences(said, partial(choice, labels="ABC"), read).differing}
    assert set(expected["first_character_parser_would_say"]) < differing
    assert differing.isdisjoint({"a00", "a03", "a05", "a06", "a10"})


@pytest.mark.parametrize(
    ("name", "kind", "text", "label"),
    [
        ("locomo-conv", "level", "10", 1.0),
        ("locomo-conv", "level", "0 out of 1", 1.0),
        ("locomo-conv", "level", "0.5 rather than 1.0", 1.0),
        ("locomo-conv", "level", "Score: 0.5", 0.5),
        ("locomo-conv", "level", "2", None),
        ("locomo-conv", "level", None, None),
        ("locomo-conv", "choice", "vague: c", "A"),
        ("locomo-conv", "choice", "???", None),
        ("locomo-conv", "yes-no", "I do NOT know. Yes", "no"),
        ("locomo-conv", "yes-no", "Yesterday, no", "yes"),
        ("locomo-conv", "yes-no", "unclear", None),
        ("locomo-conv", "preference", "B is more patient", "TIE"),
        ("locomo-conv", "preference", "Not a tie: <verdict> b </verdict>", "B"),
        ("locomo-conv", "preference", "Reply one", None),
        (
            "locomo-conv",
            "axes",
            '```json\n{"faithfulness": true, "relevance": "0.5", "engagement": 0}\n```',
            (1, 0.5, 0),
        ),
        ("locomo-conv", "axes", '{"faithfulness": 2, "relevance": 1, "engagement": 0}', None),
        ("locomo-conv", "axes", '{"faithfulness": 1}', None),
        ("locomo-conv", "axes", f'{{"faithfulness": {"9" * 400}, "relevance": 1, "engagement": 0}}', None),
        ("memuse", "yes-no", " YES!", "yes"),
        ("memuse", "yes-no", "**Yes**", "no"),
        ("memuse", "yes-no", None, "no"),
        ("memuse", "level", "Label: 2 of 2", 2.0),
        ("memuse", "level", "[session 12] grounded", 1.0),
        ("memuse", "level", "grounded", 0.0),
        ("memuse", "level", None, 0.0),
        ("longmemeval", "yes-no", "No, that was yesterday", "yes"),
        ("longmemeval", "yes-no", "", "no"),
        ("longmemeval", "yes-no", None, None),
    ],
)
def test_published_flaws(name: str, kind: Kind, text: str | None, label: object) -> None:
    assert release_parser(name).readers[kind](text) == label


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ('{"judgments": [{"covered": "false"}]}', (True, False)),
        ('```json\n{"judgments": [{"fact": 2, "covered": true}, 7, {}, {"covered": true}]}\n```', (True, False)),
        ("{}", (False, False)),
        ("[]", None),
        ("no JSON", None),
        (None, None),
    ],
)
def test_published_coverage_is_positional(text: str | None, covered: tuple[bool, ...] | None) -> None:
    assert locomo_coverage(text, 2) == covered


def test_expected_texts_are_cut_in_one_mode_only(case_dir: CaseDir) -> None:
    folder = case_dir("JD-16")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    references = {entry["id"]: entry["ground_truth"] for entry in map(json.loads, lines)}
    assert {r: len(references[r]) for r in expected["lengths"]} == expected["lengths"]

    exact = expected["paper_exact_mode"]
    limits = {name: release.reference_limit for name, release in RELEASES.items()}
    assert limits == {"locomo-conv": None, "memuse": exact["reference_cut_at"], "longmemeval": None}
    cut, affected = cut_references(references, exact["reference_cut_at"])
    assert list(affected) == exact["affected_items"]
    assert {len(cut[r]) for r in affected} == {exact["reference_cut_at"]}
    assert all("47B" in references[r] and "47B" not in cut[r] for r in affected)
    assert cut["r2"] == references["r2"]
    assert cut_reference(references["r1"]) == references["r1"][:300]


def test_an_unknown_release_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown release parser 'locomo'; nearest: locomo-conv"):
        release_parser("locomo")
