"""Damaged chat logs: each class of damage has one right outcome, for JSON Lines, message lists and CSV."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.loaders.chatlog import open_chatlog
from mnemoscope.scenarios.source import LoadRequest
from tests.scenarios.mutations import (
    NOTED,
    REFUSED,
    SAME,
    VALID,
    Loaded,
    Mutation,
    Rule,
    Small,
    check,
    mutate_text,
    small_mutations,
)

ROWS = [
    {"speaker": "Mira", "role": "user", "time": "2024-03-01T09:00:00Z", "text": "I adopted a cat.", "id": 1},
    {"speaker": "Bot", "role": "assistant", "time": "2024-03-01T09:01:00Z", "text": "太好了！", "id": 2},
    {"speaker": "Mira", "role": "user", "time": "2024-03-05T10:00:00Z", "text": "It sleeps.", "id": 3},
]
LISTS = [
    {
        "id": "a",
        "created_at": "2024-03-01T09:00:00Z",
        "messages": [{"role": "user", "content": "I adopted a cat."}, {"role": "assistant", "content": "太好了！"}],
    },
    {"id": "b", "created_at": "2024-03-05T10:00:00Z", "messages": [{"role": "user", "content": "It sleeps."}]},
]
CSV = 'speaker,role,time,text\nMira,user,2024-03-01T09:00:00Z,"I adopted, 猫"\nBot,assistant,2024-03-01T09:01:00Z,ok\n'


def loader(name: str):  # type: ignore[no-untyped-def]
    def load(data: bytes) -> Loaded:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / name
            file.write_bytes(data)
            return Loaded.of(open_chatlog(LoadRequest("chatlog", file)))

    return load


LINES = Small(
    value=ROWS,
    load=loader("log.jsonl"),
    rules=(
        Rule("repeated-key not-a-number truncated", r".*", REFUSED),
        Rule("*", r"\[\]\.id", SAME),
        Rule("dropped-key null", r"\[\]\.time", NOTED, "time-inherited"),
        Rule("dropped-key null", r"\[\]\.role", VALID),
        Rule("dropped-key null", r"\[\]\.speaker", VALID),
    ),
    lines=True,
    file="log.jsonl",
)
CONVERSATIONS = Small(
    value=LISTS,
    load=loader("log.json"),
    rules=(
        Rule("repeated-key not-a-number", r".*", REFUSED),
        Rule("dropped-key null huge-integer", r"\[\]\.id", VALID),
        Rule("duplicate-id", r"\[\]\.id", VALID),
        Rule("dropped-key null", r"\[\]\.created_at", NOTED, "time-inherited"),
    ),
    ids=(r"\[\]\.id",),
    file="log.json",
)


@settings(max_examples=100, deadline=None)
@given(small_mutations(LINES))
def test_damaged_lines(mutation: Mutation) -> None:
    check(LINES, mutation)


@settings(max_examples=100, deadline=None)
@given(small_mutations(CONVERSATIONS))
def test_damaged_message_lists(mutation: Mutation) -> None:
    check(CONVERSATIONS, mutation)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(small_mutations(LINES))
def test_a_thousand_damaged_lines(mutation: Mutation) -> None:
    check(LINES, mutation)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(small_mutations(CONVERSATIONS))
def test_a_thousand_damaged_message_lists(mutation: Mutation) -> None:
    check(CONVERSATIONS, mutation)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["truncated", "wrong-encoding", "byte-order-mark", "crlf"]), st.integers(0, 2**16))
def test_damaged_csv(kind: str, seed: int) -> None:
    data = mutate_text(CSV, kind, random.Random(seed))
    load = loader("log.csv")
    whole = load(CSV.encode())
    try:
        loaded = load(data)
    except DataError as error:
        assert kind in ("truncated", "wrong-encoding")
        assert "log.csv" in error.file
        assert error.record is not None or kind == "wrong-encoding" or data.count(b"\n") < 2
        return
    if kind == "truncated":
        # CSV has no end mark: a file cut inside its last column is a whole one but for its last line end
        assert loaded.notices["no-final-line-end"] == 1
        assert data.decode().rsplit("\n", 1)[-1].count(",") >= 3
    else:
        assert kind in ("byte-order-mark", "crlf")
        assert loaded.content() == whole.content()
        assert loaded.notices == whole.notices
