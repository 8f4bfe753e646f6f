"""The store of items: versions and tombstones, time, stable order, snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import BackendError, EmbedderMismatchError
from mnemoscope.core.identity import ItemId, TurnId, sha256_of
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.indexes.exact import ExactVectorIndex
from mnemoscope.memory_backends.indexes.qdrant import QdrantVectorIndex
from mnemoscope.memory_backends.item_store import ItemStore, held_at, united_sources
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore

MAY, JUNE, JULY = (datetime(2023, month, 1, tzinfo=UTC) for month in (5, 6, 7))
X, Y = np.asarray([1, 0], np.float32), np.asarray([0, 1], np.float32)


def item(name: object, text: str = "same words", *, at: datetime | None = MAY, seq: int = 0) -> MemoryItem:
    sources = (Source(TurnId(f"D1:{name}"), "verbatim"),)
    return MemoryItem(ItemId(str(name)), "turn", text, sources, at, seq_from=seq, seq_to=seq)


def new_store() -> ItemStore:
    return ItemStore(ExactVectorIndex(2), lexical=True, embedder_id="e@2")


def stored(items: Sequence[MemoryItem], vector: Vectors = X) -> ItemStore:
    store = new_store()
    store.put(items, np.tile(vector, (len(items), 1)))
    return store


def ids(items: Sequence[MemoryItem]) -> list[str]:
    return [i.id for i in items]


def test_it_is_a_memory_store() -> None:
    store: MemoryStore = new_store()
    assert len(store) == 0


@pytest.mark.parametrize("order", [["50", "9", "30", "20"], ["20", "30", "9", "50"]])
def test_equal_scores_are_ordered_by_time_then_id_whatever_the_order_of_writing(order: list[str]) -> None:
    for _ in range(10):
        store = stored([item(name) for name in order])
        assert ids(store.search_vector(X, 3)) == ids(store.search_lexical("words", 3)) == ["20", "30", "50"]
        late = stored([item(name, at=MAY + timedelta(days=int(name)), seq=int(name)) for name in order])
        assert ids(late.search_vector(X, 3)) == ids(late.search_lexical("words", 3)) == ["9", "20", "30"]


def test_qdrant_gives_the_same_order() -> None:
    store = ItemStore(QdrantVectorIndex(2), embedder_id="e@2")
    store.put([item(name) for name in ("50", "9", "30", "20")], np.tile(X, (4, 1)))
    assert ids(store.search_vector(X, 3)) == ["20", "30", "50"]
    other = ItemStore(ExactVectorIndex(2), embedder_id="e@2")
    other.restore(store.snapshot())
    assert other.snapshot().data == store.snapshot().data
    store.close()


def test_found_items_carry_rank_and_rounded_score_and_stored_ones_do_not() -> None:
    store = new_store()
    store.put([item("a").ranked(7, 0.5), item("b")], np.asarray([[0.6, 0.8], [1, 0]], np.float32))
    found = store.search_vector(X, 5)
    assert [(i.id, i.rank, i.score) for i in found] == [("b", 1, 1.0), ("a", 2, 0.6)]
    assert (store.get(ItemId("a")).rank, store.get(ItemId("a")).score) == (None, None)


def test_k_may_exceed_the_store_or_be_zero_and_blank_queries_find_nothing() -> None:
    store = stored([item(n, f"words {n}") for n in range(20)])
    assert len(store.search_vector(X, 50)) == len(store.search_lexical("words", 50)) == 20
    assert store.search_vector(X, 0) == store.search_lexical("words", 0) == []
    for blank in ("", "  ", "???"):
        assert store.search_lexical(blank, 5) == []
    assert store.search_vector(np.zeros(2, np.float32), 5) == []
    assert new_store().search_vector(X, 3) == new_store().search_lexical("words", 3) == []


def test_an_update_keeps_the_old_version_and_searches_know_when_each_held() -> None:
    store = new_store()
    store.put([item("home", "lives in Oslo", seq=3)], X[None])
    store.put([item("pet", "has a cat", seq=4)], Y[None])
    new = store.update(
        ItemId("home"), text="lives in Bergen", sources=[Source(TurnId("D9:1"), "cited")], at=JULY, vector=X, seq=9
    )
    assert (new.id, new.version, new.supersedes, new.seq_from, new.seq_to) == ("home~2", 2, "home", 3, 9)
    assert [s.turn_id for s in new.sources] == ["D1:home", "D9:1"]
    old = store.get(ItemId("home"))
    assert (old.valid_to, old.text, old.is_live) == (JULY, "lives in Oslo", False)
    for search in (
        lambda now: store.search_vector(X, 1, now=now),
        lambda now: store.search_lexical("lives", 1, now=now),
    ):
        assert ids(search(JUNE)) == ["home"]
        assert ids(search(JULY)) == ids(search(None)) == ["home~2"]
        assert ids(search(MAY - timedelta(days=1))) == []
    assert ids(list(store.items())) == ["pet", "home~2"]
    assert ids(list(store.items(tombstones=True))) == ["home", "pet", "home~2"]
    assert store.update(new.id, text="lives in Voss", sources=[], at=JULY, vector=X).id == "home~3"
    with pytest.raises(BackendError, match="replaced or invalidated before"):
        store.update(ItemId("home"), text="x", sources=[], at=JULY, vector=X)


def test_invalidated_items_are_kept_and_no_longer_found() -> None:
    store = stored([item("a"), item("b"), item("c", at=None)])
    store.invalidate(ItemId("a"), at=JUNE)
    store.invalidate(ItemId("b"), at=None)
    store.invalidate(ItemId("c"), at=None)
    assert store.search_vector(X, 5) == []
    assert ids(store.search_vector(X, 5, now=MAY)) == ["a"]
    assert len(store) == 3
    assert not any(i.is_live for i in store.items(tombstones=True))
    with pytest.raises(KeyError):
        store.invalidate(ItemId("nobody"), at=JUNE)
    with pytest.raises(BackendError, match="before"):
        store.invalidate(ItemId("a"), at=JULY)


def test_side_tables_are_found_by_vector_and_change_no_word_statistics() -> None:
    facts = [item(n, text) for n, text in enumerate(("Amy has a boat", "the harbour is far", "a boat race"))]
    names = [replace(item(f"e{n}", "boat"), kind="entity") for n in range(4)]
    alone, beside = (ItemStore(ExactVectorIndex(2), True, "e@2", lexical_kinds=["turn"]) for _ in range(2))
    alone.put(facts, np.tile(X, (3, 1)))
    beside.put([*names, *facts], np.tile(X, (7, 1)))
    beside.amend(names[0].id, text="boat harbour", vector=X)
    for _ in range(2):
        assert beside.search_lexical("boat harbour", 9) == alone.search_lexical("boat harbour", 9)
        assert ids(beside.search_vector(X, 9, kinds=["entity"])) == ["e0", "e1", "e2", "e3"]
        beside.restore(beside.snapshot())


def test_items_that_do_not_hold_never_push_out_those_that_do() -> None:
    store = new_store()
    late = [item(f"late{n}", at=JULY, seq=n) for n in range(200)]
    store.put(late, np.tile(X, (200, 1)))
    held = [item(f"held{n}", "same words and others", seq=200 + n) for n in range(5)]
    store.put(held, np.tile(np.asarray([0.6, 0.8], np.float32), (5, 1)))
    assert ids(store.search_vector(X, 3, now=JUNE)) == ["held0", "held1", "held2"]
    assert ids(store.search_lexical("words", 10, now=JUNE)) == [f"held{n}" for n in range(5)]


def test_a_refused_put_changes_nothing() -> None:
    store = stored([item("a")])
    before = store.snapshot().sha256
    for items, vectors, message in [
        ([item("b"), item("a")], np.tile(X, (2, 1)), "'a' is already stored"),
        ([item("b"), item("b")], np.tile(X, (2, 1)), "'b' is already stored"),
        ([item("b")], None, "needs vectors"),
        ([item("b")], np.ones((1, 3), np.float32), "index of 2 dimensions"),
        ([item("b"), item("c")], X[None], "for 2 items"),
    ]:
        with pytest.raises(BackendError, match=message):
            store.put(items, vectors)
    assert store.snapshot().sha256 == before
    assert len(store.search_lexical("words", 9)) == 1
    with pytest.raises(BackendError, match="has no index for vectors"):
        ItemStore(lexical=True).put([item("b")], X[None])
    with pytest.raises(BackendError, match="no vector index"):
        ItemStore(lexical=True).search_vector(X, 1)
    with pytest.raises(BackendError, match="no lexical index"):
        ItemStore().search_lexical("a", 1)


def test_sources_are_united_by_turn_with_the_tightest_method() -> None:
    one, two = TurnId("D1:1"), TurnId("D1:2")
    united = united_sources([Source(one, "batch"), Source(two, "cited")], [Source(one, "verbatim", 0.5)])
    assert united == (Source(one, "verbatim", 0.5), Source(two, "cited"))


def test_a_search_leaves_the_snapshot_as_it_was_and_a_write_does_not() -> None:
    store = stored([item("a")])
    first = store.snapshot()
    store.search_vector(X, 1)
    store.search_lexical("words", 1)
    assert store.snapshot().sha256 == first.sha256 == sha256_of(first.data)
    store.invalidate(ItemId("a"), at=JULY)
    assert store.snapshot().sha256 != first.sha256


def test_restoring_and_going_on_equals_an_uninterrupted_run() -> None:
    through, parted = new_store(), new_store()
    for store in (through, parted):
        store.put([item("a"), item("b")], np.stack([X, Y]))
        store.invalidate(ItemId("b"), at=JUNE)
    resumed = stored([item("something else")])
    resumed.search_lexical("words", 1)
    resumed.restore(parted.snapshot())
    for store in (through, resumed):
        store.update(ItemId("a"), text="new", sources=[], at=JULY, vector=Y)
    assert resumed.snapshot() == through.snapshot()
    assert ids(resumed.search_vector(Y, 5)) == ["a~2"]
    assert resumed.search_lexical("something", 5) == []


def test_snapshots_that_do_not_fit_or_are_damaged_are_refused() -> None:
    snapshot = stored([item("a"), item("b")]).snapshot()
    store = stored([item("kept")])
    other = ItemStore(ExactVectorIndex(2), embedder_id="other@2")
    wide = ItemStore(ExactVectorIndex(3), embedder_id="e@3")
    with pytest.raises(EmbedderMismatchError, match="e@2 with 2 dimensions, the embedder is other@2 with 2"):
        other.restore(snapshot)
    with pytest.raises(EmbedderMismatchError, match="e@3 with 3"):
        wide.restore(snapshot)
    for data in (b"", snapshot.data[:-4], snapshot.data[:20], b"x" + snapshot.data, snapshot.data + b"1234"):
        with pytest.raises(BackendError, match="damaged"):
            store.restore(replace(snapshot, data=data))
        with pytest.raises(BackendError, match=r"no snapshot|cannot be read"):
            store.restore(replace(snapshot, data=data, sha256=sha256_of(data)))
    newer = bytearray(snapshot.data)
    newer[len(b"mnemoscope-store\x00")] = 99
    with pytest.raises(BackendError, match="format 99"):
        store.restore(replace(snapshot, data=bytes(newer), sha256=sha256_of(bytes(newer))))
    assert ids(list(store.items())) == ["kept"]
    assert ids(store.search_vector(X, 5)) == ["kept"]


any_text = st.text(st.characters(exclude_categories=[]), max_size=30)
times = st.none() | st.datetimes(timezones=st.just(UTC))
shares = st.floats(0, 1)


@st.composite
def memory_items(draw: st.DrawFn) -> list[MemoryItem]:
    names = draw(st.lists(any_text, max_size=6, unique=True))
    return [
        MemoryItem(
            ItemId(name), draw(st.sampled_from(["turn", "fact", "summary"])), draw(any_text),
            tuple(Source(TurnId(t), "batch", w) for t, w in draw(st.lists(st.tuples(any_text, shares), max_size=3))),
            draw(times), draw(times), draw(times), draw(st.integers(0, 9)), draw(st.integers(0, 9)),
            draw(st.integers(1, 3)), draw(st.none() | any_text.map(ItemId)),
            tuple(draw(st.lists(any_text.map(ItemId), max_size=2))),
            draw(st.dictionaries(any_text, any_text, max_size=2)),
        )
        for name in names
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(memory_items(), st.integers(0, 1000))
def test_any_content_survives_a_snapshot_and_equal_content_gives_equal_bytes(
    items: list[MemoryItem], seed: int
) -> None:
    vectors = np.random.default_rng(seed).standard_normal((len(items), 2)).astype(np.float32)
    store, one_by_one = new_store(), new_store()
    store.put(items, vectors)
    for place, one in enumerate(items):
        one_by_one.put([one], vectors[place : place + 1])
    assert one_by_one.snapshot() == store.snapshot()
    restored = new_store()
    restored.restore(store.snapshot())
    assert list(restored.items(tombstones=True)) == items
    assert np.array_equal(restored.vectors([i.id for i in items]), vectors)
    again = new_store()
    again.put(list(restored.items(tombstones=True)), restored.vectors([i.id for i in items]))
    assert again.snapshot() == store.snapshot()


@settings(deadline=None)
@given(st.permutations(range(8)), st.integers(1, 8))
def test_results_do_not_depend_on_the_order_of_writing(order: list[int], k: int) -> None:
    texts = ["tea", "tea and cake", "cake", "tea", "milk", "tea tea", "cake", "tea"]
    rows = np.asarray([[1, 0], [0.6, 0.8], [0, 1], [1, 0], [-1, 0], [1, 0], [0, 1], [0.8, 0.6]], np.float32)
    store, plain = new_store(), new_store()
    for n in order:
        store.put([item(n, texts[n], seq=n // 3)], rows[n : n + 1])
    for n in range(8):
        plain.put([item(n, texts[n], seq=n // 3)], rows[n : n + 1])
    assert store.search_vector(X, k) == plain.search_vector(X, k)
    assert store.search_lexical("tea cake", k) == plain.search_lexical("tea cake", k)


def test_seven_hundred_items_are_restored() -> None:
    store = ItemStore(ExactVectorIndex(384), lexical=True, embedder_id="e")
    rows = np.random.default_rng(0).standard_normal((700, 384)).astype(np.float32)
    store.put([item(n, f"words {n}", seq=n) for n in range(700)], rows)
    snapshot = store.snapshot()
    fresh = ItemStore(ExactVectorIndex(384), lexical=True, embedder_id="e")
    fresh.restore(snapshot)
    assert len(fresh) == 700


WHEN = st.sampled_from([None, MAY, JUNE, JULY])


@settings(deadline=None)
@given(st.lists(st.tuples(WHEN, WHEN, st.sampled_from(["turn", "fact", "cue"])), max_size=40), WHEN)
def test_what_held_and_what_is_of_a_kind_is_what_each_item_says(
    lives: list[tuple[datetime | None, datetime | None, ItemKind]], now: datetime | None
) -> None:
    store = new_store()
    for n, (at, until, kind) in enumerate(lives):
        store.put([replace(item(n, at=at), kind=kind)], X[None])
        if until is not None:
            store.invalidate(ItemId(str(n)), at=until)
    every = list(store.items(tombstones=True))
    assert store.held(now) == [one for one in every if held_at(one, now)]
    for kinds in (("fact",), ("turn", "cue")):
        of_kind = [one for one in every if one.kind in kinds]
        assert list(store.items(*kinds, tombstones=True)) == of_kind
        assert list(store.items(*kinds)) == [one for one in of_kind if one.is_live]
        assert store.held(now, *kinds) == [one for one in of_kind if held_at(one, now)]
        found = {one.id for one in store.search_vector(X, 40, now=now, kinds=kinds)}
        assert found == {one.id for one in of_kind if held_at(one, now)}
        assert {one.id for one in store.search_lexical("words", 40, now=now, kinds=kinds)} == found


def test_a_store_that_becomes_another_stands_alone() -> None:
    store = stored([item(1, "tea"), item(2, "cake", at=JUNE)])
    other = stored([item(9, "gone")])
    other.become(store)
    before = store.snapshot()
    assert other.snapshot() == before
    other.put([item(3, "tea and more tea")], Y[None])
    other.update(ItemId("1"), text="milk", sources=(), at=JULY, vector=Y)
    assert store.snapshot() == before
    assert ids(store.search_lexical("tea milk", 5)) == ids(store.search_vector(X, 1)) == ["1"]
    assert ids(other.search_lexical("milk", 5)) == ["1~2"]
    assert ids(other.search_vector(X, 5, now=MAY)) == ["1", "3"]
    store.put([item(4, "tea")], X[None])
    assert ids(other.search_lexical("tea", 5)) == ["3"]
