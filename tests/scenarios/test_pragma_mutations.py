"""Damaged PRAGMA folders: each class of damage to each file has one right outcome."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.scenarios.loaders.pragma import open_pragma
from mnemoscope.scenarios.source import LoadRequest
from tests.scenarios.mutations import (
    MUTATIONS,
    NOTED,
    SAME,
    VALID,
    Loaded,
    Mutation,
    Rule,
    Small,
    check,
    places,
    small_mutations,
)
from tests.scenarios.pragma_files import small_files, write_files

RULES = {
    "full_sessions.json": (
        Rule("dropped-key", r"\[\]\.(session_types|topics)", VALID),
        Rule("null", r"\[\]\.topics\[\]", VALID),
        Rule("huge-integer", r"\[\]\.user_id", NOTED, "user-without-queries"),
    ),
    "metadata.json": (
        Rule("dropped-key null", r"\[\]\.persona", SAME),
        Rule("huge-integer", r"\[\]\.user_id", NOTED, "queries-without-history"),
    ),
    "response_metrics.json": (
        Rule("dropped-key null", r"\[\]\.query_type", SAME),
        # nothing reads the evidence here: metadata.json has it with its sessions
        Rule("dropped-key null other-type huge-integer nested-list", r"\[\]\.evidence(\[\])?", SAME),
        Rule("huge-integer", r"\[\]\.user_id", NOTED, "query-without-rubric"),
    ),
    "query_data.json": (
        Rule("dropped-key null", r"\[\]\.persona", SAME),
        Rule("huge-integer", r"\[\]\.user_id", NOTED, "fact-without-session"),
    ),
}


def small(name: str) -> Small:
    """The folder with one file to be damaged."""
    files = small_files()
    for row in files["full_sessions.json"]:  # all of one type, so that a text is no other type anywhere
        row["topics"] = [topic or "none" for topic in row["topics"]]

    def load(data: bytes) -> Loaded:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), files)
            (Path(folder) / name).write_bytes(data)
            return Loaded.of(open_pragma(LoadRequest("pragma", Path(folder))))

    ids = (r"\[\]\.user_id",) if name in ("full_sessions.json", "query_data.json") else ()
    return Small(value=files[name], load=load, rules=RULES[name], ids=ids, file=name)


SMALL = {name: small(name) for name in RULES}


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_mutations(data: st.DataObject) -> None:
    damaged = SMALL[data.draw(st.sampled_from(sorted(SMALL)))]
    check(damaged, data.draw(small_mutations(damaged)))


@pytest.mark.parametrize("kind", MUTATIONS)
@pytest.mark.parametrize("name", sorted(SMALL))
def test_every_place_of_every_class(name: str, kind: str) -> None:
    for path in places(SMALL[name].value, kind, ids=SMALL[name].ids):
        check(SMALL[name], Mutation(kind, path, 0))


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.data())
def test_many_mutations(data: st.DataObject) -> None:
    damaged = SMALL[data.draw(st.sampled_from(sorted(SMALL)))]
    check(damaged, data.draw(small_mutations(damaged)))
