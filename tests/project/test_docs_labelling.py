"""The page on labels: its rows are read, one for each task, and its table says what the reader demands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.core.errors import DataError
from mnemoscope.evaluators.calibration.labels import question_of, read_labels, task_of
from mnemoscope.evaluators.judges.question import TASKS, Task
from mnemoscope.evaluators.judges.scales import LABELS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "labelling.md").read_text(encoding="utf-8")
(ROWS,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
TABLE = {
    task: (needs, labels)
    for task, needs, labels in re.findall(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]+) \|", PAGE, flags=re.MULTILINE)
}


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    file = tmp_path / "labels.jsonl"
    file.write_text(ROWS, encoding="utf-8")
    return file


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_there_is_one_row_of_each_task_and_it_is_read(labels: Path) -> None:
    rows = read_labels([labels]).rows
    assert [task_of(row.metric) for row in rows] == list(TASKS)
    assert [question_of(row).task for row in rows] == list(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_the_table_has_the_labels_and_the_needed_fields(task: Task, tmp_path: Path) -> None:
    needs, said = TABLE[task]
    assert named(said) == list(LABELS[task])
    row = json.loads(ROWS.splitlines()[TASKS.index(task)])
    for field in set(row) - {"id", "cluster", "metric", "reply", "label"}:
        file = tmp_path / f"without-{field}.jsonl"
        file.write_text(json.dumps({**row, field: ""}), encoding="utf-8")
        if field in named(needs):
            with pytest.raises(DataError, match=f"needs a field .*field {field}"):
                read_labels([file])
        else:
            assert read_labels([file]).rows
    assert set(named(needs)) <= set(row)


def test_its_command_runs_and_names_what_is_left_out(
    labels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = re.findall(r"^\$ (mnemoscope .*)$", PAGE, flags=re.MULTILINE)
    monkeypatch.chdir(labels.parent)
    assert main([*shlex.split(command)[1:], "--embedder", "hash(dim=64)", "--json"]) == 0
    out, err = capsys.readouterr()
    found = {one["metric"]: one for one in json.loads(out)["metrics"]}
    assert {"answer", "use", "refusal"} <= set(found)
    assert all("1 row" in one["cautions"] for one in found.values() if one["n"])
    assert "does not judge" in err and "quality" in err and "quality" not in found
