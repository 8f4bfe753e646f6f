"""Tokens of every script, cuts that tear nothing apart, and times in one form."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.language.display import clip, visible_controls
from mnemoscope.core.language.tokens import content_tokens, estimate_tokens, lexical_tokens

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


@given(st.text(alphabet="abcXYZ 0123456789.,!?'-", max_size=60))
def test_plain_english_is_letters_and_digits(text: str) -> None:
    assert list(lexical_tokens(text)) == re.findall(r"[a-z0-9]+", text.lower())


@given(st.text(max_size=80))
def test_content_tokens_are_lexical_tokens(text: str) -> None:
    assert set(content_tokens(text)) <= set(lexical_tokens(text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("我养了猫", ("我养", "养了", "了猫")),
        ("我的laptop", ("我的", "laptop")),
        ("犬", ("犬",)),
        ("café Zürich", ("café", "zürich")),
        (FAMILY, ()),
    ],
)
def test_tokens_by_script(text: str, tokens: tuple[str, ...]) -> None:
    assert lexical_tokens(text) == tokens


@given(st.text(max_size=40), st.text(max_size=40))
def test_estimate_grows_with_text(a: str, b: str) -> None:
    assert estimate_tokens(a + b) >= max(estimate_tokens(a), estimate_tokens(b))


@pytest.mark.parametrize("limit", range(5, 13))
def test_clip_never_tears_a_character(limit: int) -> None:
    clipped = clip(f"我们全家{FAMILY}去看海\U0001f30a再回家吃饭吧", limit)
    assert clipped.endswith("…")
    assert "�" not in clipped
    assert FAMILY in clipped or "\U0001f468" not in clipped


@given(st.text(max_size=30), st.integers(1, 40))
def test_clip_keeps_short_text(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert clipped == text or clipped.endswith("…")


@given(st.text(max_size=30), st.integers(1, 12))
def test_clip_counts_as_people_do(text: str, limit: int) -> None:
    characters = regex.findall(r"\X", text)
    cut = "".join(characters[: limit - 1]) + "…"
    assert clip(text, limit) == (text if len(characters) <= limit else cut)


def test_direction_controls_become_visible() -> None:
    assert visible_controls("invoice \u202egnp.exe") == "invoice ⟪RLO⟫gnp.exe"
