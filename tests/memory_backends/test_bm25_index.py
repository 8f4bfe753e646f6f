"""BM25: the published formula, every script, and nothing without a shared token."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import ItemId
from mnemoscope.memory_backends.indexes.lexical import Bm25Index

TEXTS = ["the kiln is in the shed", "tea in the shed and tea in the house", "a cello", "the the the", ""]
IDS = [ItemId(f"t{n}") for n in range(len(TEXTS))]


def index_of(texts: list[str], method: Literal["lucene", "atire"] = "lucene") -> Bm25Index:
    index = Bm25Index(method)
    index.upsert([ItemId(f"t{n}") for n in range(len(texts))], texts)
    return index


def formula(texts: list[str], query: str, method: str, k1: float = 1.5, b: float = 0.75) -> dict[str, float]:
    docs = [text.split() for text in texts]
    mean = sum(map(len, docs)) / len(docs)
    scores = {}
    for n, doc in enumerate(docs):
        total = 0.0
        for term in query.split():
            df = sum(term in d for d in docs)
            if not df:
                continue
            tf, norm = doc.count(term), k1 * (1 - b + b * len(doc) / mean)
            if method == "lucene":
                total += math.log(1 + (len(docs) - df + 0.5) / (df + 0.5)) * tf / (tf + norm)
            else:
                total += math.log(len(docs) / df) * tf * (k1 + 1) / (tf + norm)
        if total > 0:
            scores[f"t{n}"] = total
    return scores


@pytest.mark.parametrize("method", ["lucene", "atire"])
@pytest.mark.parametrize("query", ["tea shed", "the", "tea tea house", "kiln unknown"])
def test_scores_are_those_of_the_formula(method: Literal["lucene", "atire"], query: str) -> None:
    found = dict(index_of(TEXTS, method).search(query, 10))
    assert found == pytest.approx(formula(TEXTS, query, method), abs=1e-6)


def test_every_script_is_found_and_english_ranks_as_with_plain_words(case_dir: Callable[[str], Path]) -> None:
    case = json.loads((case_dir("UN-01") / "memories_queries.json").read_text(encoding="utf-8"))
    memories = case["memories"]
    index, plain = Bm25Index(), Bm25Index()
    index.upsert([ItemId(m["id"]) for m in memories], [m["text"] for m in memories])
    english = [m for m in memories if m["id"].startswith("en")]
    words = [" ".join(re.findall("[a-z0-9]+", m["text"].lower())) for m in english]
    plain.upsert([ItemId(m["id"]) for m in english], words)
    for query in case["queries"]:
        hits = index.search(query["q"], 1)
        assert (hits[0][0] if hits else None) == query["top1"], query
        assert all(score > 0 for _, score in hits)
        if (query["top1"] or "").startswith("en"):
            ranked = [i for i, _ in index.search(query["q"], 8) if i.startswith("en")]
            assert ranked == [i for i, _ in plain.search(query["q"], 8)]


def test_items_without_a_shared_token_are_no_hits() -> None:
    index = index_of(TEXTS)
    for query in ("", "   ", "???", "zebra", "😀"):
        assert index.search(query, 10) == []
    assert [i for i, _ in index.search("cello", 10)] == ["t2"]
    assert index.search("cello", 0) == []


@pytest.mark.parametrize("texts", [[], [""], ["", "  "], ["???"]])
def test_a_corpus_without_tokens_is_safe(texts: list[str]) -> None:
    assert index_of(texts).search("tea", 3) == []


def test_one_text_is_found_by_lucene() -> None:
    assert [i for i, _ in index_of(["café au lait"]).search("the café", 3)] == ["t0"]
    assert index_of(["", "tea"]).search("tea", 3)[0][0] == "t1"


def test_ties_at_the_last_place_are_all_returned() -> None:
    index = index_of(["tea", "milk", "tea", "tea"])
    assert [i for i, _ in index.search("tea", 2)] == ["t0", "t2", "t3"]


def test_replacing_and_removing_equal_a_fresh_index() -> None:
    index = index_of(["tea", "old words", "milk tea"])
    index.search("tea", 1)
    index.upsert([ItemId("t1")], ["tea tea cake"])
    index.remove([ItemId("t0")])
    fresh = Bm25Index()
    fresh.upsert([ItemId("t1"), ItemId("t2")], ["tea tea cake", "milk tea"])
    assert index.search("tea cake", 5) == fresh.search("tea cake", 5)
    assert index.search("old", 5) == []
    assert len(index) == 2
    with pytest.raises(KeyError, match="t0"):
        index.remove([ItemId("t0")])


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(BackendError, match="1 ids"):
        Bm25Index().upsert([ItemId("a")], ["x", "y"])
    with pytest.raises(ValueError, match="lucene or atire"):
        Bm25Index("okapi")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="b is 2"):
        Bm25Index(b=2)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    index_of(TEXTS).search("tea", 3)
    assert capfd.readouterr() == ("", "")


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=20))
def test_any_text_gives_only_positive_scores_best_first(texts: list[str], query: str) -> None:
    scores = [score for _, score in index_of(texts).search(query, 5)]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
