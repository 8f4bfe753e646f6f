"""Architectures by name: parameters, what is stored, what is found and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from mnemoscope.core.errors import ConfigError, UnknownNameError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.nodes.read import fuse_ranks
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.memory_backends.budgeting import RANKED
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query
from mnemoscope.scenarios.records import Gold, MemoryPool, PoolItem
from tests.graphs.graph_tools import START, Golds, fed, opened, ports, turn

HARBOUR = [turn(n, text) for n, text in enumerate(("the boat is blue", "we saw a heron", "boat, boat", "soup"))]


async def retrieved(name: str, query: Query, budget: Budget | None = None, turns: list = HARBOUR, **given: object):
    backend = await fed(name, turns, ports(**given))
    return await backend.retrieve(query, budget or Budget(), START + timedelta(days=9))


def ids(found: object) -> list[str]:
    return [item.id for item in found.items]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("dense", "dense"),
        ("dense(window=1)", "dense"),
        ("dense(3,1)", "dense(window=3,overlap=1)"),
        ("bm25(method=atire, window=2)", "bm25(window=2,method=atire)"),
        ("hybrid(depth=20)", "hybrid(depth=20)"),
        ("recent(20)", "recent"),
        ("recent(n=5)", "recent(n=5)"),
    ],
)
def test_names_carry_what_differs_and_read_back(text: str, name: str) -> None:
    assert create_architecture(text).name == name
    assert create_architecture(name).name == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dense(window=0)", "window is 0; it must be a whole number from 1 to 50"),
        ("bm25(window=3,overlap=3)", "overlap is 3; it must be a whole number from 0 to window - 1, here 2"),
        ("bm25(method=okapi)", "method is 'okapi'; it must be one of lucene, atire"),
        ("hybrid(depth=1.5)", "depth is 1.5; it must be a whole number from 1 to 1,000"),
        ("recent(n=true)", "n is True"),
        ("none(3)", "architecture none(3)"),
    ],
)
def test_bad_parameters_name_the_range(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        create_architecture(text)
    assert said in str(error.value)


def test_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as error:
        create_architecture("densee")
    assert error.value.nearest[0] == "dense"


def test_all_are_listed_and_described() -> None:
    assert set(ARCHITECTURES.names()) >= {
        "none", "oracle", "recent", "full-context", "pool", "bm25", "dense", "hybrid",
        "random", "compressed", "summary", "lc", "rag", "mem0", "mem0-v1-style", "mem0-v2-style",
    }  # fmt: skip
    assert all(create_architecture(name).summary for name in ARCHITECTURES)
    assert [name for name in ARCHITECTURES if create_architecture(name).capabilities.privileged] == ["oracle"]


@pytest.mark.parametrize("name", ["dense", "dense(window=3,overlap=1)", "hybrid(window=2)"])
async def test_what_is_to_be_embedded_is_what_is_embedded(name: str) -> None:
    class Recorder(HashEmbedder):
        async def embed(self, texts, purpose):
            seen.extend(texts)
            return await super().embed(texts, purpose)

    turns = [turn(n, f"remark {n}", f"s{n // 4}") for n in range(10)]
    seen: list[str] = []
    backend = await fed(name, turns, ports(Recorder(64)))
    assert seen == list(create_architecture(name).texts_to_embed(turns))
    assert backend.estimate(turns).embedded_texts == len(seen) == (await backend.stats()).usage.embedded_texts


async def test_windows_repeat_the_date_and_share_their_sources() -> None:
    backend = await fed("bm25(window=2)", HARBOUR[:2])
    (item,) = [item async for item in backend.items()]
    assert item.text == "[8 May 2023, 13:56] Amy: the boat is blue\n[8 May 2023, 13:57] Amy: we saw a heron"
    assert [(s.turn_id, s.method, s.weight) for s in item.sources] == [("t0", "verbatim", 0.5), ("t1", "verbatim", 0.5)]
    assert (item.id, item.kind, item.observed_at) == ("t0..t1", "chunk", HARBOUR[1].at)


async def test_bm25_finds_only_what_shares_a_word() -> None:
    found = await retrieved("bm25", Query("boat"))
    assert ids(found) == ["t2", "t0"]
    assert [item.rank for item in found.items] == [1, 2]
    assert found.rendered.splitlines()[0] == "[8 May 2023, 13:58] Amy: boat, boat"


async def test_ranking_goes_deeper_than_what_is_given() -> None:
    turns = [turn(n, f"boat number {n} " + "in the old harbour " * 5) for n in range(400)]
    shallow = await retrieved("bm25", Query("boat"), Budget(k=3, depth_tokens=0), turns)
    deep = await retrieved("bm25", Query("boat"), Budget(k=3, depth_tokens=10_000), turns)
    assert (shallow.given, len(shallow.items), deep.given) == (3, RANKED, 3)
    assert 250 < len(deep.items) < 400
    assert ids(deep)[:RANKED] == ids(shallow)


async def test_equal_scores_are_ordered_by_time_and_marked_at_the_cut() -> None:
    turns = [turn(n, "the same words") for n in (3, 1, 2, 0)]
    found = await retrieved("bm25", Query("same words"), Budget(k=3), turns)
    assert ids(found) == ["t0", "t1", "t2", "t3"]
    assert found.tied_at_cut


def item(name: str, seq: int) -> MemoryItem:
    return MemoryItem(id=name, kind="turn", text=name, sources=(), observed_at=None, seq_from=seq, seq_to=seq)


def test_reciprocal_ranks_are_added_and_every_item_comes_once() -> None:
    a, b, c = item("a", 0), item("b", 1), item("c", 2)
    fused = [(found.id, score) for found, score in fuse_ranks([a, b], [b, c])]
    assert fused == [("b", round(1 / 62 + 1 / 61, 6)), ("a", round(1 / 61, 6)), ("c", round(1 / 62, 6))]
    assert [found.id for found, _ in fuse_ranks([c, a], [a, c])] == ["a", "c"]


async def test_hybrid_is_the_fusion_of_dense_and_bm25() -> None:
    turns = [turn(n, f"{'boat' if n % 3 else 'heron'} {n} by the {'quay' if n % 2 else 'pier'}") for n in range(40)]
    budget = Budget(k=10, depth_tokens=100_000)
    query = Query("the boat by the quay 7")
    dense, words = [await retrieved(name, query, budget, turns) for name in ("dense", "bm25")]
    fused = fuse_ranks(dense.items[:5], words.items[:5])
    found = await retrieved("hybrid(depth=5)", query, budget, turns)
    assert [(i.id, i.score) for i in found.items[: len(fused)]] == [(i.id, score) for i, score in fused]
    assert len(found.items) == 40 and len({i.id for i in found.items}) == 40
    assert {i.score for i in found.items[len(fused) :]} == {None}
    short = await retrieved("hybrid(depth=5)", query, replace(budget, depth_tokens=10), turns)
    assert ids(short) == ids(found)[:10]


async def test_full_context_keeps_order_ignores_k_and_cuts_the_oldest() -> None:
    found = await retrieved("full-context", Query("boat"), Budget(k=1))
    assert ids(found) == ["t0", "t1", "t2", "t3"] and found.given == 4 and not found.truncated
    short = await retrieved("full-context", Query("boat"), Budget(k=1, max_tokens=22))
    assert ids(short) == ["t2", "t3"] and short.truncated and short.context_tokens <= 22


async def test_recent_drops_by_policy_what_falls_out_of_its_window() -> None:
    backend = await opened("recent(n=2)")
    receipts = [await backend.write(one) for one in HARBOUR]
    assert receipts[1].dropped == {}
    assert receipts[2].dropped == {"t0": "policy"} and set(receipts[2].turn_ids) == {"t0", "t2"}
    found = await backend.retrieve(Query("boat"), Budget(k=1), None)
    assert ids(found) == ["t2", "t3"] and found.given == 2
    stats = await backend.stats()
    assert (stats.turns_covered, stats.turns_dropped, stats.tombstones) == (2, {"policy": 2}, 2)


async def test_oracle_finds_turns_sessions_and_pool_memories_in_order() -> None:
    turns = [turn(n, f"remark {n}", f"s{n // 2}") for n in range(6)]
    golds = Golds(
        by_turn=Gold(evidence=("t4", "t1", "t9")),
        by_session=Gold(evidence=("s1",), evidence_unit="session"),
        by_role=Gold(roles={"t0": "irr", "t3": "nice", "t5": "must"}),
    )
    backend = await fed("oracle", turns, ports(gold=golds))
    found = {name: ids(await backend.retrieve(Query("?", probe_id=name), Budget(k=1), None)) for name in golds.by_probe}
    assert found == {"by_turn": ["t1", "t4"], "by_session": ["t2", "t3"], "by_role": ["t3", "t5"]}


async def test_an_unprivileged_memory_is_never_given_gold() -> None:
    backend = await opened("bm25", ports(gold=Golds()))
    assert backend._context.ports.gold is None
    privileged = await opened("oracle", ports(gold=Golds()))
    assert privileged._context.ports.gold is not None


async def test_pool_is_given_whole_as_it_stands() -> None:
    entries = tuple(PoolItem(item_id=f"m{n}", text=f"fact {n}") for n in (2, 0, 1))
    found = await retrieved("pool", Query("fact", pool=MemoryPool(items=entries)), Budget(k=1))
    assert ids(found) == ["m2", "m0", "m1"] and found.given == 3
    assert found.rendered == "fact 2\nfact 0\nfact 1"
    assert [s.turn_id for i in found.items for s in i.sources] == ["m2", "m0", "m1"]
    assert ids(await retrieved("pool", Query("fact"))) == []


async def test_pool_memories_written_as_turns_are_the_bare_facts() -> None:
    facts = [turn(n, f"fact {n}", "pool", "memory") for n in range(3)]
    backend = await fed("bm25(window=3)", facts)
    stored = [(item.id, item.text, dict(item.attrs)) async for item in backend.items()]
    assert stored == [(f"t{n}", f"fact {n}", {"session": "pool"}) for n in range(3)]
