"""The labelled rows: what the manifest and the page about them claim is what the files hold."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

ROWS = Path(__file__).resolve().parents[3] / "evaluators" / "calibration" / "rows"
HALVES = ("development", "sealed")
LABELS = {
    "answer": ("right", "wrong"),
    "use": ("used", "not used"),
    "fact-use": ("full", "partial", "none"),
    "correction": ("corrected", "vague", "unaware", "wrong correction"),
    "refusal": ("refuses", "does not refuse"),
}
"""Closed; the first label is the positive one."""
FIELDS = {
    "answer": {"question", "gold"},
    "use": {"utterance", "fact"},
    "fact-use": {"utterance", "gold"},
    "correction": {"utterance", "premise", "gold"},
    "refusal": {"question"},
}
LEAST = {"answer": 100, "use": 80, "fact-use": 50, "correction": 60, "refusal": 30}
HAN = re.compile(r"[\u4e00-\u9fff]")
LATIN_WORD = re.compile(r"[A-Za-z]{3,}")
FILES = [f"{task}.{half}.jsonl" for task in LABELS for half in HALVES]

Kind = Literal[
    "paraphrase",
    "negation",
    "wrong-number",
    "wrong-date",
    "wrong-person",
    "partial-list",
    "hedge",
    "refusal",
    "topic-only",
    "verbatim",
    "cue-without-fact",
    "cue-with-wrong-fact",
    "long-right",
    "long-wrong",
    "shotgun",
    "code-switch",
    "instruction",
]


class Row(BaseModel):
    """One line of a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    cluster: str = Field(pattern=r"^(en|zh)(-[a-z]+){2}$")
    metric: Literal["answer", "use", "fact-use", "correction", "refusal"]
    reply: str = Field(min_length=3)
    question: str | None = None
    gold: str | None = None
    fact: str | None = None
    premise: str | None = None
    utterance: str | None = None
    label: str
    kind: Kind

    @property
    def language(self) -> str:
        return self.cluster[:2]

    @property
    def given(self) -> dict[str, str]:
        """All that a judge is shown besides the reply."""
        return self.model_dump(include={"question", "gold", "fact", "premise", "utterance"}, exclude_none=True)


@cache
def rows_of(name: str) -> tuple[Row, ...]:
    lines = (ROWS / name).read_text(encoding="utf-8").splitlines()
    return tuple(Row.model_validate_json(line) for line in lines)


def rows(task: str, *halves: str) -> list[Row]:
    return [row for half in halves or HALVES for row in rows_of(f"{task}.{half}.jsonl")]


def every_row() -> list[Row]:
    return [row for task in LABELS for row in rows(task)]


def half_of(cluster: str) -> str:
    """An even SHA-256 of the cluster's name goes to development, an odd one is sealed."""
    return HALVES[hashlib.sha256(cluster.encode()).digest()[-1] % 2]


def sha256(name: str) -> str:
    return hashlib.sha256((ROWS / name).read_bytes()).hexdigest()


def entry(name: str) -> dict[str, object]:
    """What the manifest says of one file."""
    held = rows_of(name)
    return {
        "sha256": sha256(name),
        "rows": len(held),
        "clusters": len({row.cluster for row in held}),
        "languages": dict(sorted(Counter(row.language for row in held).items())),
        "labels": dict(sorted(Counter(row.label for row in held).items())),
        "kinds": dict(sorted(Counter(row.kind for row in held).items())),
    }


def test_no_file_is_missing_or_extra() -> None:
    assert {path.name for path in ROWS.iterdir()} == {*FILES, "MANIFEST.json", "README.md"}


def test_manifest_says_what_the_files_hold() -> None:
    manifest = json.loads((ROWS / "MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest["files"] == {name: entry(name) for name in FILES}
    assert manifest["rows"] == len(every_row())
    assert manifest["clusters"] == len({row.cluster for row in every_row()})


def test_page_about_the_rows_says_what_they_are() -> None:
    page = (ROWS / "README.md").read_text(encoding="utf-8").splitlines()
    for name in FILES:
        task = name.split(".", maxsplit=1)[0]
        held = Counter(row.label for row in rows_of(name))
        labels = ", ".join(f"{label} {held[label]}" for label in LABELS[task])
        assert f"| `{name}` | {held.total()} | {labels} | `{sha256(name)}` |" in page
    counts = Counter((row.kind, row.language, half_of(row.cluster)) for row in every_row())
    for kind in {row.kind for row in every_row()}:
        cells = [counts[kind, language, half] for language in ("en", "zh") for half in HALVES]
        assert f"| {kind} | {' | '.join(map(str, cells))} |" in page


def test_ids_are_unique_and_no_reply_is_repeated() -> None:
    assert max(Counter(row.id for row in every_row()).values()) == 1
    assert max(Counter(row.reply for row in every_row()).values()) == 1
    assert all(row.id.startswith(f"{row.metric}-{row.cluster}-") for row in every_row())


@pytest.mark.parametrize("task", LABELS)
def test_labels_and_fields_are_those_of_the_task(task: str) -> None:
    assert len(rows(task)) >= LEAST[task]
    for row in rows(task):
        assert (row.metric, set(row.given)) == (task, FIELDS[task]), row.id
    assert {row.label for row in rows(task)} == set(LABELS[task])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("task", LABELS)
def test_each_half_is_balanced(task: str, half: str) -> None:
    held = rows(task, half)
    assert 0.35 <= sum(row.label == LABELS[task][0] for row in held) / len(held) <= 0.65


def test_rows_of_a_cluster_stay_in_one_half_and_share_what_is_asked() -> None:
    given = defaultdict(set)
    for name in FILES:
        for row in rows_of(name):
            assert half_of(row.cluster) == name.split(".")[1], row.id
            given[row.metric, row.cluster].add(tuple(sorted(row.given.items())))
    assert {key for key, asked in given.items() if len(asked) != 1} == set()
    assert 60 <= len(given) <= 80


@pytest.mark.parametrize("half", HALVES)
def test_every_cluster_holds_both_sides(half: str) -> None:
    labels = defaultdict(set)
    for task in LABELS:
        for row in rows(task, half):
            labels[task, row.cluster].add(row.label == LABELS[task][0])
    assert {key for key, sides in labels.items() if len(sides) != 2} == set()


@pytest.mark.parametrize("half", HALVES)
def test_each_kind_is_there_in_both_languages(half: str) -> None:
    held = [row for task in LABELS for row in rows(task, half)]
    kinds = {language: {row.kind for row in held if row.language == language} for language in ("en", "zh")}
    assert kinds["en"] == kinds["zh"] == {row.kind for row in every_row()}
    english = sum(row.language == "en" for row in held) / len(held)
    assert 0.5 <= english <= 0.7


def test_language_is_that_of_what_is_asked() -> None:
    for row in every_row():
        asked = "".join(row.given.values())
        assert bool(HAN.search(asked)) == (row.language == "zh"), row.id
        mixed = bool(HAN.search(row.reply)) and bool(LATIN_WORD.search(row.reply))
        assert mixed == (row.kind == "code-switch"), row.id


@pytest.mark.parametrize("kind", ["hedge", "negation", "code-switch", "instruction"])
def test_a_manner_of_speaking_does_not_give_the_label_away(kind: str) -> None:
    held = [row for row in every_row() if row.kind == kind]
    assert {row.label == LABELS[row.metric][0] for row in held} == {True, False}
