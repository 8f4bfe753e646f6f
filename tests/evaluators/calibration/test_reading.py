"""Calibration files are checked when they are read, and what rests on little says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.core.errors import DataError
from mnemoscope.evaluators.calibration.labels import read_labels
from mnemoscope.evaluators.calibration.library import Calibrations, bundled_calibrations, read_calibration
from mnemoscope.evaluators.calibration.record import Calibration, Rate

Document = dict


def document() -> Document:
    return bundled_calibrations()[0].model_dump(mode="json")


def first(document: Document) -> Document:
    return document["metrics"][0]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Document], Path]:
    def write(document: Document) -> Path:
        file = tmp_path / "mine.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        return file

    return write


def test_what_was_written_reads_back(written: Callable[[Document], Path]) -> None:
    assert read_calibration(written(document())) == bundled_calibrations()[0]


@pytest.mark.parametrize(
    ("field", "value", "named", "said"),
    [
        ("kappa", 5, "kappa", "less than or equal to 1"),
        ("kappa", float("nan"), "kappa", "finite"),
        ("kappa", float("inf"), "kappa", "finite"),
        ("agreement", 1.5, "agreement", "less than or equal to 1"),
        ("n", -3, "n", "greater than or equal to 0"),
        ("n", 2, "clusters", "more clusters than the 2 rows"),
        ("n", 20, "n_excluded", "add up to 20, not to the rows"),
        ("low", 0.95, "high", "below the lower one, 0.95"),
        ("low", None, "high", "both ends or none"),
        ("judge_key", "", "judge_key", "at least 1 character"),
        ("judge", {"right": -0.1}, "judge.right", "greater than or equal to 0"),
        ("sensitivity", {"count": 3, "n": 2, "value": 0.5}, "sensitivity.n", "fewer than the 3"),
    ],
)
def test_an_impossible_figure_is_refused_with_file_and_field(
    field: str, value: object, named: str, said: str, written: Callable[[Document], Path]
) -> None:
    wrong = document()
    assert field in first(wrong)
    first(wrong)[field] = value
    file = written(wrong)
    with pytest.raises(DataError) as caught:
        read_calibration(file)
    message = str(caught.value)
    assert str(file) in message and f"field metrics.0.{named}" in message, message
    assert said in message and "make it again" in message, message


def test_a_file_without_a_judge_key_is_bound_to_nothing(written: Callable[[Document], Path]) -> None:
    wrong = document()
    del first(wrong)["judge_key"]
    with pytest.raises(DataError, match=r"field metrics\.0\.judge_key"):
        read_calibration(written(wrong))


@pytest.mark.parametrize("version", [0, 2, "1.1"])
def test_another_version_is_named(version: object, written: Callable[[Document], Path]) -> None:
    with pytest.raises(DataError, match=r"version than 1 .*field schema_version; seen: .*update the program"):
        read_calibration(written({**document(), "schema_version": version}))


def test_a_calibration_of_nothing_is_none(written: Callable[[Document], Path]) -> None:
    with pytest.raises(DataError, match="field metrics"):
        read_calibration(written({**document(), "metrics": []}))


def changed(**fields: object) -> Calibration:
    (calibration,) = bundled_calibrations()
    one = next(metric for metric in calibration.metrics if metric.metric == "answer")
    return calibration.model_copy(update={"metrics": (one.model_copy(update=fields),)})


@pytest.mark.parametrize(
    ("fields", "cautions"),
    [
        ({}, ()),
        ({"n": 29}, ("29 rows",)),
        ({"n": 30, "clusters": 10}, ()),
        ({"clusters": 9}, ("9 clusters",)),
        ({"sensitivity": Rate.of(1, 4)}, ("4 rows that people accept",)),
        ({"specificity": Rate.of(0, 0)}, ("0 rows that people do not accept",)),
        ({"n": 8, "clusters": 2}, ("8 rows", "2 clusters")),
    ],
)
def test_a_calibration_on_little_carries_a_caution(fields: dict, cautions: tuple[str, ...]) -> None:
    calibration = changed(**fields)
    (one,) = calibration.metrics
    assert one.cautions == cautions
    kappa = Calibrations([calibration]).kappa("answer", one.judge_key)
    assert kappa is not None and kappa.cautions == cautions
    assert str(kappa).endswith("†") == bool(cautions)


ANSWER = {
    "id": "a",
    "cluster": "c",
    "metric": "answer",
    "question": "Whose?",
    "gold": "Ilse",
    "reply": "",
    "label": "wrong",
}


def labels_file(folder: Path, text: str) -> Path:
    file = folder / "labels.jsonl"
    file.write_text(text, encoding="utf-8")
    return file


def test_labels_run_no_code(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text("raise SystemExit('ran')\n", encoding="utf-8")
    file = labels_file(tmp_path, json.dumps({**ANSWER, "metric": f"{code}:Mine"}))
    with pytest.raises(DataError, match=r"reference to code.*line 1, field metric"):
        read_labels([file])


def test_a_label_given_twice_in_one_row_is_refused(tmp_path: Path) -> None:
    file = labels_file(tmp_path, "\n  " + json.dumps(ANSWER)[:-1] + ', "label": "right"}\n')
    with pytest.raises(DataError, match=r'key "label" is given 2 times.*line 2'):
        read_labels([file])


def test_an_axis_of_a_task_without_axes_is_refused(tmp_path: Path) -> None:
    file = labels_file(tmp_path, json.dumps({**ANSWER, "axis": "relevance"}))
    with pytest.raises(DataError, match=r"task answer has no axes.*line 1, field axis"):
        read_labels([file])
