"""Repairs of structured replies: a closed list, each counted, and nothing that changes a meaning."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.structured import read_structured

WANTED = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "facts": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "string"}, "covered": {"type": "boolean"}}},
        },
    },
}


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"score": 4,}', {"score": 4}, ("trailing-comma",)),
        ('{"facts": [{"id": "a",},],}', {"facts": [{"id": "a"}]}, ("trailing-comma",)),
        ('{"why": "path C:\\data", "score": 4}', {"why": "path C:\\data", "score": 4}, ("bad-escape",)),
        ('{"why": "a\nb"}', {"why": "a\nb"}, ("control-character",)),
        ('{"why": "kept, } True \\n \\u00e9",}', {"why": "kept, } True \n é"}, ("trailing-comma",)),
        ("{'why': 'it\\'s \"so\"', 'ok': None}", {"why": 'it\'s "so"', "ok": None}, ("python-literal",)),
        ('{"ok": True, "why": "it\'s"}', {"ok": True, "why": "it's"}, ("python-literal",)),
        ("{'why': 'C:\\data'}", {"why": "C:\\data"}, ("python-literal", "bad-escape")),
        ('{"Score": "4"}', {"score": 4}, ("key-case", "string-number")),
        ('{"FACTS": [{"Covered": "false"}]}', {"facts": [{"covered": False}]}, ("key-case", "string-boolean")),
        ('{"x": 1, "x": 1}', {"x": 1}, ()),
    ],
)
def test_repairs(text: str, value: object, repairs: tuple[str, ...]) -> None:
    read = read_structured(text, WANTED)
    assert (read.value, read.repairs, read.problem) == (value, repairs, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"score": 1, "score": 2}', "the key 'score' stands twice with different values"),
        ('{"score": NaN}', "no JSON object in the reply"),
        ('{"score": 1e999}', "no JSON object in the reply"),
        ('{"score": "4/5"}', "score: '4/5' is not of type 'integer'"),
        ('{"score": 11}', "score: 11 is greater than the maximum of 5"),
        ('{"score": 4, "SCORE": 5, "Score": 4, "facts": 1}', "facts: 1 is not of type 'array'"),
        ("{'score': it's}", "no JSON object in the reply"),
        ('{"a": 1,, "b": 2}', "no JSON object in the reply"),
        ("{score: 4}", "no JSON object in the reply"),
    ],
)
def test_what_is_not_repaired(text: str, problem: str) -> None:
    read = read_structured(text, WANTED)
    assert (read.value, read.problem) == (None, problem)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4))
def test_sound_json_is_read_unchanged(value: dict[str, object]) -> None:
    read = read_structured(json.dumps(value, ensure_ascii=False), {"type": "object"})
    assert (read.value, read.repairs) == (value, ())


PRINTABLE = st.text(st.characters().filter(str.isprintable) | st.sampled_from("\n\t\\'\""), max_size=12)


@given(st.dictionaries(PRINTABLE, st.none() | st.booleans() | PRINTABLE, max_size=4))
def test_python_literals_mean_the_same(value: dict[str, object]) -> None:
    assert read_structured(repr(value), {"type": "object"}).value == value
