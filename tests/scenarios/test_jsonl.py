"""JSON Lines: line ends, marks, blank lines, and every bad line an error with its number or a counted skip."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.jsonl import open_jsonl
from mnemoscope.scenarios.source import DataReport


def read(path: Path, **choices: object) -> tuple[list[tuple[int, object]], DataReport]:
    report = DataReport()
    lines = open_jsonl(path, **choices)  # type: ignore[arg-type]
    return [(line.number, line.value) for line in lines.read(report)], report


def test_ds_14_a_cut_last_line(case_dir: Callable[[str], Path]) -> None:
    expected = json.loads((case_dir("DS-14") / "expected.json").read_text(encoding="utf-8"))
    path = case_dir("DS-14") / "cut.jsonl"
    found = []
    with pytest.raises(DataError) as caught:
        for line in open_jsonl(path).read(DataReport()):
            found.append(line.value["id"])  # type: ignore[index]  # noqa: PERF401
    assert found == expected["records"]
    assert str(caught.value.record).startswith(f"line {expected['errors'][0]['line']} ")
    assert caught.value.fix == "the line seems to be cut short"
    values, report = read(path, lenient=True)
    assert [number for number, _ in values] == [1, 3]
    assert report.counts["skipped lines"] == expected["skipped_in_report"]
    assert [(n.kind, n.where) for n in report.notices] == [("skipped-line", "cut.jsonl line 4")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_line_ends_and_marks(tmp_path: Path, end: str, encoding: str) -> None:
    path = tmp_path / "a.jsonl"
    raw = end.join(['{"a": "猫\u2028x"}', "", "  ", '{"a": 2}', ""]).encode(encoding)
    path.write_bytes(raw)
    values, report = read(path)
    assert values == [(1, {"a": "猫\u2028x"}), (4, {"a": 2})]
    assert report.notices == []
    assert open_jsonl(path).sha256 == hashlib.sha256(raw).hexdigest()


@pytest.mark.parametrize(
    ("raw", "place", "what"),
    [
        (b'{"a": 1}\n{"a": 2},\n', "line 2 column 9", "Extra data"),
        (b'{"a": 1}\n{"a": NaN}\n', "line 2 a", "NaN is no JSON number"),
        (b'{"a": 1}\n{"a": 1, "a": 2}\n', "line 2 top level", 'the key "a" is given 2 times'),
        (b'{"a": 1}\n\n{"a": "\xe9"}\n', "line 3 byte 7", "not UTF-8"),
        (b'{"a": "\\ud800"}\n', "line 1 a", "half of a surrogate pair"),
    ],
)
def test_a_bad_line_says_where(tmp_path: Path, raw: bytes, place: str, what: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    with pytest.raises(DataError, match=what) as caught:
        read(path)
    assert str(caught.value.record) == place
    assert caught.value.file == str(path)
    if what.startswith("the key"):
        values, report = read(path, lenient=True)
        assert values[-1] == (2, {"a": 2})
        assert report.notice_counts == {"repeated-key": 1}


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b'[\n{"a": 1}\n]\n', "a JSON list, not JSON Lines"),
        (b'[{"a": 1},\n{"a": 2}]\n', "a JSON list, not JSON Lines"),
        ('{"a": 1}\n'.encode("utf-16-le"), "not UTF-8"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, raw: bytes, what: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    with pytest.raises(DataError, match=what):
        read(path)


def test_missing_files_and_encodings(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        open_jsonl(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match="a folder, not a file"):
        open_jsonl(tmp_path)
    (tmp_path / "a.jsonl").write_bytes('{"a": "猫"}\n'.encode("gb18030"))
    assert read(tmp_path / "a.jsonl", encoding="gb18030")[0] == [(1, {"a": "猫"})]
    with pytest.raises(ConfigError, match="unknown encoding"):
        read(tmp_path / "a.jsonl", encoding="klingon")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_load_or_say_why(tmp_path_factory: pytest.TempPathFactory, raw: bytes, lenient: bool) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n' + raw)
    try:
        values, report = read(path, lenient=lenient)
    except DataError as error:
        assert error.file == str(path)
        assert not lenient
    else:
        assert values[0] == (1, {"a": 1})
        assert len(values) + report.counts["skipped lines"] <= 2 + raw.count(b"\n") + raw.count(b"\r")
