"""Damaged MemUse files: each class of damage has one right outcome, and it is that one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from mnemoscope.scenarios.loaders.memuse import open_memuse
from mnemoscope.scenarios.source import LoadRequest
from tests.scenarios.mutations import NOTED, REFUSED, SAME, VALID, Loaded, Mutation, Rule, Small, check, small_mutations
from tests.scenarios.test_memuse_loader import negative, positive


def load(data: bytes) -> Loaded:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.jsonl"
        file.write_bytes(data)
        return Loaded.of(open_memuse(LoadRequest("memuse", file)))


_HIDDEN = r"\[\]\.(matched_positive|target\.pcd_score)"
RULES = (
    Rule("repeated-key not-a-number", r".*", REFUSED),
    Rule("dropped-key null other-type huge-integer nested-list", _HIDDEN, SAME),
    Rule("dropped-key null", r"\[\]\.target\.judge_(trigger|expected)", NOTED, "half-of-judge-inputs"),
    Rule("dropped-key null", r"\[\]\.target\.prior_session_summaries", NOTED, "no-prior-summaries"),
    Rule("dropped-key null", r"\[\]\.target\.memory_needed", VALID),
    Rule("huge-integer", r"\[\]\.target\.prior_session_summaries\[\]\.session_idx", NOTED, "summary-after-trigger"),
)
SMALL = Small(
    value=[positive(), negative()],
    load=load,
    rules=RULES,
    ids=(r"\[\]\.instance_id", r"\[\]\.input\.sessions\[\]\.session_idx"),
    lines=True,
    file="small.jsonl",
)


@settings(max_examples=100, deadline=None)
@given(small_mutations(SMALL))
def test_a_damaged_file_has_the_outcome_of_its_class(mutation: Mutation) -> None:
    check(SMALL, mutation)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(small_mutations(SMALL))
def test_a_thousand_damaged_files(mutation: Mutation) -> None:
    check(SMALL, mutation)
