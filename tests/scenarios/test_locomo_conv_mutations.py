"""Damaged LoCoMo and LoCoMo-Conv files: a table says what each damage leads to, and nothing else may happen."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from mnemoscope.scenarios.opening import open_source
from tests.scenarios.locomo_conv_files import cluster, dialog, locomo, written
from tests.scenarios.mutations import NOTED, REFUSED, SAME, VALID, Loaded, Mutation, Rule, Small, check, small_mutations

_REWRITE = r"\[\]\.qa\[\]\."
_UNREAD = _REWRITE + r"((rewrite|implicit|counterfactual)_(reason|error))"
_ENTRY = _REWRITE + r"supportive_memory\[\]\."
_GONE = "dropped-key null"
_DAMAGED = "dropped-key other-type null huge-integer nested-list"

HISTORY = (
    Rule(_GONE, r"\[\]\.conversation\.session_\d\[\]\.blip_caption", VALID),
    Rule("dropped-key", r"\[\]\.conversation\.session_\d", NOTED, "date-without-turns"),
)
QUESTIONS = (
    Rule(_GONE, _REWRITE + "answer", NOTED, "missing-answer"),
    Rule(_GONE, _REWRITE + "evidence", NOTED, "empty-evidence"),
    Rule(_GONE, _REWRITE + "adversarial_answer", NOTED, "neither-answer-nor-trap"),
    Rule("huge-integer", _REWRITE + "(answer|adversarial_answer)", NOTED, "number-as-answer"),
    Rule("huge-integer", _REWRITE + "category", NOTED, "unknown-category"),
)
REWRITES = (
    Rule(_DAMAGED, _UNREAD, SAME),
    Rule("null", _REWRITE + "dialog_query", NOTED, "missing-dialog"),
    Rule(_GONE, _REWRITE + "implicit_query", NOTED, "missing-implicit"),
    Rule(_GONE, _REWRITE + "counterfactual_query", NOTED, "missing-counterfactual"),
    Rule(_GONE, _REWRITE + "asserted_wrong", NOTED, "no-asserted-premise"),
    Rule(_GONE, _REWRITE + "naturalness", NOTED, "naturalness-unknown"),
    Rule(_GONE, _REWRITE + r"\w*subject_speaker_name", SAME),
    Rule(_GONE, _REWRITE + "(expected_memory_use|supportive_memory)", VALID),
    Rule(_GONE, _ENTRY + "n_systems", SAME),
    Rule("huge-integer", _ENTRY + "n_systems", NOTED, "supportive-count-differs"),
    Rule(_GONE, _ENTRY + "source_systems", NOTED, "supportive-count-differs"),
)
COMPOSED = (
    Rule(_DAMAGED, r"\[\]\.rewrite_(reason|error)", SAME),
    Rule(_GONE, r"\[\]\.composed_query", NOTED, "clusters-without-utterance"),
    Rule(_GONE, r"\[\]\.subject_speaker_name", SAME),
    Rule(_GONE, r"\[\]\.expected_memory_use", VALID),
    Rule("huge-integer", r"\[\]\.member_facts\[\]\.answer", NOTED, "number-as-answer"),
    Rule("huge-integer", r"\[\]\.member_facts\[\]\.category", NOTED, "unknown-category"),
)
SUPPORTIVE = (
    Rule("dropped-key", r"0:\d", VALID),
    Rule(_GONE, r"0:\d\[\]\.n_systems", SAME),
    Rule("huge-integer", r"0:\d\[\]\.n_systems", NOTED, "supportive-count-differs"),
    Rule(_GONE, r"0:\d\[\]\.source_systems", NOTED, "supportive-count-differs"),
)
OVERLAY = (Rule("huge-integer", r"\[\]\.answer", VALID),)
"""A corrected answer may be any number: the notice of the correction shows it."""

FIXES: list[dict[str, Any]] = [
    {"sample_id": "talk-1", "qa_index": 0, "action": "fix", "answer": "oil", "reason": "聞いた", "source": "own"},
    {"sample_id": "talk-1", "qa_index": 1, "action": "exclude", "reason": "unclear", "source": "own"},
]
FIXES.append({**FIXES[0], "qa_index": 3, "evidence": ["D1:1"]})
del FIXES[2]["answer"]


def small(role: str, value: Any, rules: tuple[Rule, ...], ids: tuple[str, ...] = ()) -> Small:
    """One of the files of LoCoMo-Conv, damaged, beside whole ones."""

    def load(data: bytes) -> Loaded:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            damaged = folder / f"{role}.json"
            damaged.write_bytes(data)
            if role == "locomo-alone":
                return Loaded.of(open_source(f"locomo:{damaged}"))
            if role == "dialog":
                return Loaded.of(open_source(f"locomo-conv:{damaged}"))
            main = written(folder, "main.json", dialog())
            return Loaded.of(open_source(f"locomo-conv:{main},{role}={damaged}"))

    return Small(value, load, rules, ids, file=f"{role}.json")


def in_words(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The files without an answer that is a number already, so that a number in its place is news."""
    for sample in samples:
        sample["qa"][3]["answer"] = "in 2021"
    return samples


def supportive() -> dict[str, Any]:
    entry = {"dia_id": "D1:2", "n_systems": 1, "source_systems": ["BM25 é"]}
    return {"0:0": [entry, {**entry, "dia_id": "D2:2"}], "0:1": [entry]}


FILES = {
    "locomo-alone": small(
        "locomo-alone",
        in_words(locomo()),
        (*HISTORY, *QUESTIONS, Rule("dropped-key", r"\[\]\.sample_id", VALID), Rule("null", r"\[\]\.sample_id", VALID)),
        (r"\[\]\.sample_id", r"\[\]\.conversation\.session_1\[\]\.dia_id"),
    ),
    "dialog": small(
        "dialog",
        in_words(dialog()),
        (*HISTORY, *QUESTIONS, *REWRITES),
        (r"\[\]\.sample_id", r"\[\]\.conversation\.session_1\[\]\.dia_id"),
    ),
    "composed": small(
        "composed",
        [cluster(0, 0), cluster(0, 1), cluster(1, 0)],
        COMPOSED,
        (r"\[\]\.cluster_id", r"\[\]\.member_facts\[\]\.q_idx"),
    ),
    "supportive": small("supportive", supportive(), SUPPORTIVE),
    "overlay": small("overlay", FIXES, OVERLAY, (r"\[\]\.qa_index",)),
}


@pytest.mark.parametrize("name", FILES)
def test_the_undamaged_files_load(name: str) -> None:
    undamaged = FILES[name].undamaged
    assert sum(len(scenario.probes) for scenario in undamaged.scenarios) >= 8
    assert not undamaged.notices.keys() & {rule.notice for rule in FILES[name].rules} - {"number-as-answer"}


@settings(max_examples=100, deadline=None)
@given(small_mutations(FILES["dialog"]))
def test_damaged_rewritings(mutation: Mutation) -> None:
    check(FILES["dialog"], mutation)


@settings(max_examples=100, deadline=None)
@given(small_mutations(FILES["composed"]))
def test_damaged_clusters(mutation: Mutation) -> None:
    check(FILES["composed"], mutation)


@settings(max_examples=100, deadline=None)
@given(small_mutations(FILES["locomo-alone"]))
def test_damaged_locomo(mutation: Mutation) -> None:
    check(FILES["locomo-alone"], mutation)


@pytest.mark.parametrize("name", ["supportive", "overlay"])
def test_damaged_small_files(name: str) -> None:
    @settings(max_examples=50, deadline=None)
    @given(small_mutations(FILES[name]))
    def damaged(mutation: Mutation) -> None:
        check(FILES[name], mutation)

    damaged()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_thousand_damages(name: str) -> None:
    @settings(max_examples=1000, deadline=None)
    @given(small_mutations(FILES[name]))
    def damaged(mutation: Mutation) -> None:
        check(FILES[name], mutation)

    damaged()


def test_a_locomo_file_beside_the_main_one_is_checked_too() -> None:
    damaged = small("locomo", locomo(), ())
    for path in ((0, "conversation"), (0, "qa", 0, "question"), (1, "qa", 3, "category")):
        check(damaged, Mutation("dropped-key", path, 0))
    assert damaged.rule("dropped-key", (0, "conversation")).outcome == REFUSED
