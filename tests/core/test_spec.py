"""Names with parameters read and write the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, parse_spec, split_outside

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,6}){0,2}", fullmatch=True)
WORDS = st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True).filter(lambda w: w not in ("true", "false", "nan", "inf"))
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    WORDS.filter(lambda w: w != "infinity"),
)


@given(
    NAMES, st.lists(VALUES, max_size=3), st.dictionaries(WORDS.map(lambda w: w.replace("-", "_")), VALUES, max_size=3)
)
def test_round_trip(name: str, args: list[str], kwargs: dict[str, str]) -> None:
    spec = Spec(name, tuple(args), kwargs)
    assert parse_spec(str(spec)) == spec


@pytest.mark.parametrize("text", ["recall@10", "top-k(2)", "dense(window=3,overlap=1)", "a-mem-style(mode=llm)"])
def test_written_as_read(text: str) -> None:
    assert str(parse_spec(text)) == text


def test_reference_to_a_file() -> None:
    assert parse_spec("plans/mine.py:Planner(3)") == Spec("plans/mine.py:Planner", (3,))


@pytest.mark.parametrize("text", ["", "Two Words", "dense(", "x(a=1,2)", "x(a=1,a=2)"])
def test_other_shapes_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_spec(text)


def test_a_value_may_be_a_name_with_parameters() -> None:
    text = "panel(offline+llm(votes=3,model=openai(model=tiny,temperature=0)),most=2)"
    spec = parse_spec(text)
    assert spec.args == ("offline+llm(votes=3,model=openai(model=tiny,temperature=0))",)
    assert spec.kwargs == {"most": 2}
    assert str(spec) == text
    assert split_outside(str(spec.args[0]), "+") == ["offline", "llm(votes=3,model=openai(model=tiny,temperature=0))"]


@given(NAMES, NAMES, st.dictionaries(WORDS.map(lambda w: w.replace("-", "_")), VALUES, min_size=1, max_size=3))
def test_nested_round_trip(outer: str, inner: str, kwargs: dict[str, str]) -> None:
    nested = str(Spec(inner, (), kwargs))
    for spec in (Spec(outer, (nested,)), Spec(outer, (), {"of": nested, "n": 1})):
        assert parse_spec(str(spec)) == spec


@pytest.mark.parametrize("path", ["notes(1.jsonl", "notes).jsonl", ":-)"])
def test_parentheses_that_do_not_pair_up_are_ordinary(path: str) -> None:
    assert parse_spec(f"recorded(file={path},n=1)").kwargs == {"file": path, "n": 1}
