"""Strict YAML: what it keeps as text, and what it refuses with line and column."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.loaders import native_yaml
from mnemoscope.scenarios.loaders.native_yaml import read_yaml
from tests.strategies import texts


def test_only_true_false_and_null_are_not_text() -> None:
    text = "[no, On, y, 2022, 012, 1_000, 18:30, 2024-05-08, 0x1f, .nan, 1e3, <<, true, False, null, ~, 'true']"
    assert read_yaml(text, "f.yaml").value == [
        *("no", "On", "y", "2022", "012", "1_000", "18:30", "2024-05-08", "0x1f", ".nan", "1e3", "<<"),
        *(True, False, None, None, "true"),
    ]


def test_values_know_their_lines() -> None:
    document = read_yaml("a:\n  - x\n  - b: y\n    c:\n", "f.yaml")
    assert document.value == {"a": ["x", {"b": "y", "c": None}]}
    assert [document.line(path) for path in (("a", 0), ("a", 1, "b"), ("a", 1, "c"), ("a", 1, "none", 7))] == [
        2,
        3,
        4,
        3,
    ]


@pytest.mark.parametrize(
    ("text", "what", "place"),
    [
        ("", "the file is empty", None),
        ("# nothing but a remark\n", "the file is empty", None),
        ("a: 1\nb: 2\na: 3\n", "the key 'a' is given twice", "line 3, column 1"),
        ("a: {b: 1, b: 1}\n", "the key 'b' is given twice", "line 1, column 11"),
        ("a: &x [1]\nb: *x\n", "the alias *x is not supported", "line 2, column 4"),
        ("a: !!python/object:os.system x\n", "the tag tag:yaml.org,2002:python/object:os.system", "line 1, column 4"),
        ("a: !!int 5\n", "the tag tag:yaml.org,2002:int is not supported", "line 1, column 4"),
        ("a: !!binary aGk=\n", "the tag tag:yaml.org,2002:binary is not supported", "line 1, column 4"),
        ("? [a]\n: b\n", "a key is not text", "line 1, column 3"),
        ("a: 1\n---\nb: 2\n", "a second document starts here", "line 2, column 1"),
        ("a: b: c\n", "not YAML", "line 1, column 5"),
        ("a:\n\t- b\n", "not YAML", "line 2, column 1"),
        ("a: [1, 2\n", "not YAML", "line 2, column 1"),
        ("a: 'x\n", "not YAML", "line 2, column 1"),
        ("a: @x\n", "not YAML", "line 1, column 4"),
        ("a: 1\nb: x\x00y\n", "a character that YAML does not allow", "line 2, column 5"),
    ],
)
def test_garbage_is_refused_with_its_place(text: str, what: str, place: str | None) -> None:
    with pytest.raises(DataError) as caught:
        read_yaml(text, "mine.yaml")
    assert what in caught.value.what
    assert (caught.value.file, caught.value.record) == ("mine.yaml", place)


def test_a_tab_and_a_stray_colon_get_advice_of_their_own() -> None:
    with pytest.raises(DataError, match="indent with spaces, not with tabs"):
        read_yaml("a:\n\t- b\n", "f.yaml")
    with pytest.raises(DataError, match="put text that holds a colon and a space in quotes"):
        read_yaml("text: he said: no\n", "f.yaml")


@pytest.mark.parametrize("parser", ["CSafeLoader", "SafeLoader"])
def test_nesting_without_end_is_refused(monkeypatch: pytest.MonkeyPatch, parser: str) -> None:
    monkeypatch.setattr(native_yaml, "_LOADER", getattr(yaml, parser))
    with pytest.raises(DataError, match="nested too deeply"):
        read_yaml("[" * 5_000 + "]" * 5_000, "f.yaml")


def test_expanding_aliases_are_refused_before_they_expand() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    with pytest.raises(DataError, match="alias"):
        read_yaml(bomb, "f.yaml")


@given(texts)
def test_any_text_is_read_or_refused_as_data(text: str) -> None:
    try:
        read_yaml(text, "f.yaml")
    except DataError as error:
        assert error.file == "f.yaml"


@given(texts)
def test_quoted_text_comes_back_as_written(text: str) -> None:
    written = json.dumps({"text": text})
    if "\\ud" in written:
        return  # JSON writes characters beyond the first plane as surrogate pairs, which YAML does not read
    assert read_yaml(written.replace("\x7f", "\\x7f"), "f.yaml").value == {"text": text}


def test_both_parsers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a:\n  - 'x: y'\n  - |\n    two\n    lines\n  - {b: no, c: 名字 🌱}\n"
    fast = read_yaml(text, "f.yaml")
    monkeypatch.setattr(native_yaml, "_LOADER", yaml.SafeLoader)
    assert read_yaml(text, "f.yaml") == fast
    with pytest.raises(DataError, match="line 2"):
        read_yaml("a: 1\nb: x\x00y\n", "f.yaml")
