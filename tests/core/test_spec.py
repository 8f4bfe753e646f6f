"""Names with parameters read and write the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, parse_spec

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
