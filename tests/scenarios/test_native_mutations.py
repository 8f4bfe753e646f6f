"""Damaged native files: whatever is done to a small valid file, it loads or says as a DataError where it is wrong."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.loaders.native import open_native, validate_native
from mnemoscope.scenarios.loaders.native_yaml import read_yaml
from mnemoscope.scenarios.source import LoadRequest

TEXT = """\
id: 小店
participants:
  - {name: 阿岚, role: user}
  - {name: Aide, role: assistant}
sessions:
  - at: 2024-03-01 09:00
    turns:
      - speaker: 阿岚
        text: "我开了一家小店，卖旧书。"
      - speaker: Aide
        text: What is it called?
probes:
  - id: shop
    style: question
    after: s1
    now: 2024-04-01
    ask: What do I sell?
    gold:
      answers: [旧书]
      evidence: [s1t1]
      facts:
        - {id: books, text: 阿岚卖旧书。, sources: [s1t1]}
"""
VALUE: dict[str, Any] = read_yaml(TEXT, "small").value  # type: ignore[assignment]
OPTIONAL = {("probes", 0, "gold", key) for key in ("answers", "evidence", "facts")}


def outcome(data: bytes, name: str) -> DataError | None:
    """How the file loads; anything but a DataError is raised. Loading and validating must agree."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(data)
        problems = validate_native(file)
        try:
            list(open_native(LoadRequest("native", file)))
        except DataError as error:
            assert problems, "it does not load, and validation finds nothing"
            assert error.file == str(file)
            return error
        assert problems == []
        return None


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [inner for key, child in value.items() for inner in paths(child, (*path, key))]
    if isinstance(value, list):
        return found + [inner for key, child in enumerate(value) for inner in paths(child, (*path, key))]
    return found


def parent(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


PATHS = paths(VALUE)
KEYS = [path for path in PATHS if isinstance(path[-1], str)]


def test_the_undamaged_file_loads_as_yaml_and_as_json() -> None:
    assert outcome(TEXT.encode(), "small.yaml") is None
    assert outcome(as_json(VALUE), "small.json") is None


@pytest.mark.parametrize("path", KEYS, ids=str)
def test_a_dropped_key_is_missed(path: tuple[str | int, ...]) -> None:
    value = copy.deepcopy(VALUE)
    del parent(value, path)[path[-1]]
    error = outcome(as_json(value), "small.json")
    if path in OPTIONAL:
        assert error is None
    else:
        assert error is not None
        assert error.field is not None


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(PATHS),
    st.sampled_from([None, True, 7, 1.5, [], {}, [None], {"x": "y"}, "", " ", "no such thing"]),
)
def test_another_type_or_value_is_refused_with_its_place(path: tuple[str | int, ...], other: object) -> None:
    value = copy.deepcopy(VALUE)
    parent(value, path)[path[-1]] = other
    error = outcome(as_json(value), "small.json")
    if error is None:
        # free text may be anything that is not blank; what is optional may be left empty
        free = isinstance(other, str) and path[-1] in ("text", "ask", "id", 0)
        assert free or (other in (None, [], {}) and (path in OPTIONAL or path[-1] in ("answers", "evidence", "facts")))
    else:
        assert error.field is not None


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(TEXT.encode()) - 1))
def test_a_truncated_yaml_file_never_passes_in_silence(length: int) -> None:
    error = outcome(TEXT.encode()[:length], "small.yaml")
    if error is None:
        # YAML has no end mark: a file cut between two keys, with all that is required before them, is a whole file
        assert length >= TEXT.encode().index("[旧书]".encode()) + len("[旧书]".encode())
        assert TEXT.encode()[:length].rstrip()[-1:] in b"]}"


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(as_json(VALUE)) - 1))
def test_a_truncated_json_file_is_refused(length: int) -> None:
    assert outcome(as_json(VALUE)[:length], "small.json") is not None


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([path for path in KEYS if isinstance(parent(VALUE, path)[path[-1]], str)]))
def test_a_repeated_key_is_refused(path: tuple[str | int, ...]) -> None:
    key, old = path[-1], parent(VALUE, path)[path[-1]]
    written = f"{json.dumps(key)}: {json.dumps(old, ensure_ascii=False)}"
    text = as_json(VALUE).decode()
    for name in ("small.json", "small.yaml"):
        error = outcome(text.replace(written, f"{written}, {written}", 1).encode(), name)
        assert error is not None
        assert str(key) in error.what
        assert error.record is not None


@settings(deadline=None, max_examples=60)
@given(st.binary(min_size=1, max_size=12), st.integers(0, len(TEXT)))
def test_foreign_bytes_load_only_where_the_file_is_still_text_of_its_format(junk: bytes, position: int) -> None:
    """Nothing but a DataError may be raised, which `outcome` sees to; and no damage may be guessed away."""
    readers = {"small.yaml": (TEXT.encode(), lambda text: text), "small.json": (as_json(VALUE), json.loads)}
    for name, (raw, read) in readers.items():
        damaged = raw[:position] + junk + raw[position:]
        error = outcome(damaged, name)
        if error is None:
            assert read(damaged.decode("utf-8-sig"))  # raises where the damage was passed over
        else:
            assert error.what


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16-le", "big5"])
@pytest.mark.parametrize("name", ["small.yaml", "small.json"])
def test_a_wrong_encoding_is_refused(encoding: str, name: str) -> None:
    text = TEXT if name.endswith("yaml") else as_json(VALUE).decode()
    error = outcome(text.encode(encoding, errors="replace"), name)
    assert error is not None
    assert "UTF-8" in error.what


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_marks_and_line_ends_load(mark: str, end: str) -> None:
    assert outcome((mark + TEXT.replace("\n", end)).encode(), "small.yaml") is None


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("name", ["small.yaml", "small.json"])
def test_not_a_number_is_not_a_time(number: str, name: str) -> None:
    text = as_json(VALUE).decode().replace('"2024-04-01"', number)
    error = outcome(text.encode(), name)
    assert error is not None
    assert "now" in f"{error.record} {error.field}"
