"""A compiled memory: receipts, deferral, failing endpoints, snapshots, forks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from mnemoscope.core.errors import BackendError, ConfigError, EmbedderMismatchError
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, create_architecture, read_graph, write_graph
from mnemoscope.graphs.compiled import GraphBackend
from mnemoscope.graphs.coverage import Ledger
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.item_store import ItemStore
from mnemoscope.memory_backends.record import Budget, Capabilities, MemoryItem, Query, Retrieval, Scope, Source
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn

TURNS = [turn(n, f"remark {n} about the boat") for n in range(8)]


async def test_a_turn_waits_for_its_window_and_is_settled_with_it() -> None:
    backend = await opened("bm25(window=3,overlap=1)")
    receipts = [await backend.write(one) for one in TURNS[:4]]
    assert [receipt.deferred for receipt in receipts] == [("t0",), ("t1",), (), ("t3",)]
    assert receipts[2].added == ("t0..t2",) and set(receipts[2].turn_ids) == {"t0", "t1", "t2"}
    rest = await backend.flush("session_end", "s1", None)
    assert (rest.turn_ids, rest.added, rest.deferred) == (("t3",), ("t2..t3",), ())
    assert (await backend.flush("history_end", None, None)).turn_ids == ()


async def test_the_end_of_another_session_and_sleep_close_no_window() -> None:
    backend = await opened("bm25(window=3)")
    await backend.write(TURNS[0])
    assert (await backend.flush("session_end", "s9", None)).deferred == ("t0",)
    assert (await backend.flush("sleep", None, None)).deferred == ("t0",)


async def test_a_turn_is_written_once() -> None:
    backend = await opened("bm25")
    await backend.write(TURNS[0])
    with pytest.raises(BackendError, match="written before"):
        await backend.write(TURNS[0])
    assert (await backend.stats()).turns_written == 1


async def test_an_endpoint_that_fails_defers_turns_in_order_until_it_answers() -> None:
    flaky = FlakyEmbedder(2, 3)
    backend = await opened("dense", ports(flaky))
    receipts = [await backend.write(one) for one in TURNS[:4]]
    assert [receipt.deferred for receipt in receipts] == [(), ("t1",), ("t2",), ()]
    assert receipts[3].added == ("t1", "t2", "t3") and set(receipts[3].turn_ids) == {"t1", "t2", "t3"}
    steady = await fed("dense", TURNS[:4])
    await backend.flush("history_end", None, None)
    assert [i.id async for i in backend.items()] == [i.id async for i in steady.items()]


async def test_deferred_turns_survive_a_snapshot() -> None:
    flaky = FlakyEmbedder(2)
    backend = await opened("dense", ports(flaky))
    for one in TURNS[:2]:
        await backend.write(one)
    other = await opened("dense")
    await other.restore(await backend.snapshot())
    assert (await other.stats()).turns_deferred == 1
    assert (await other.flush("history_end", None, None)).added == ("t1",)


async def test_an_end_that_cannot_be_reached_raises_and_may_be_tried_again() -> None:
    backend = await opened("dense(window=3)", ports(FlakyEmbedder(1)))
    await backend.write(TURNS[0])
    with pytest.raises(BackendError, match=r"still deferred; timeout: down \(turns t0\)") as error:
        await backend.flush("history_end", None, None)
    assert error.value.turn_ids == ("t0",)
    assert (await backend.flush("history_end", None, None)).added == ("t0",)


async def test_a_memory_that_an_endpoint_keeps_turns_from_is_neither_asked_nor_forked() -> None:
    backend = await opened("dense", ports(FlakyEmbedder(2)))
    for one in TURNS[:2]:
        await backend.write(one)
    with pytest.raises(BackendError, match=r"^retrieve: an endpoint keeps turns from the memory; timeout: down"):
        await backend.retrieve(Query("boat"), Budget(), None)
    with pytest.raises(BackendError, match=r"^fork: .* \(turns t1\)$"):
        await backend.fork()
    await backend.write(TURNS[2])
    assert len((await backend.retrieve(Query("boat"), Budget(), None)).items) == 3
    await (await backend.fork()).close()


async def test_a_missed_session_end_is_made_up_for() -> None:
    backend = await opened("dense(window=3)", ports(FlakyEmbedder(1)))
    await backend.write(TURNS[0])
    assert (await backend.flush("session_end", "s1", None)).deferred == ("t0",)
    receipt = await backend.write(turn(1, "another session", "s2"))
    assert receipt.added == ("t0",) and receipt.deferred == ("t1",)


def broken(**nodes: object) -> GraphBackend:
    architecture = Architecture(
        "broken",
        "for tests",
        Capabilities(),
        write_graph(nodes),
        read_graph({"fail": fails}),
        lambda _: ItemStore(),
    )
    return GraphBackend(architecture)


async def fails(state: object, runtime: object) -> dict[str, object]:
    raise ZeroDivisionError("by zero")


async def loses(state: object, runtime: object) -> dict[str, object]:
    return {}


async def invents(state: object, runtime: object) -> dict[str, object]:
    item = MemoryItem("x", "fact", "invented", (Source("t99", "cited"),), None)
    runtime.context.store.put([item])
    return {"added": ("x",)}


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (fails, "ZeroDivisionError: by zero"),
        (loses, "neither covered, deferred nor dropped"),
        (invents, "never written"),
    ],
)
async def test_a_graph_that_loses_or_invents_turns_is_stopped(node: object, said: str) -> None:
    backend = broken(node=node)
    await backend.open(Scope("test"), ports())
    with pytest.raises(BackendError, match=said) as error:
        await backend.write(TURNS[0])
    assert error.value.phase == "write"
    assert (await backend.stats()).turns_written == 0


async def test_a_read_that_fails_names_its_phase() -> None:
    backend = broken(node=loses)
    await backend.open(Scope("test"), ports())
    with pytest.raises(BackendError, match="retrieve: ZeroDivisionError"):
        await backend.retrieve(Query("boat"), Budget(), None)


def test_drops_need_a_reason() -> None:
    ledger = Ledger()
    ledger.enter("t1")
    with pytest.raises(BackendError, match="without a reason"):
        ledger.drop({"t1": ""}, "write")


async def test_blank_queries_are_marked_and_find_nothing() -> None:
    for name in ("full-context", "bm25", "dense"):
        backend = await fed(name, TURNS)
        assert await backend.retrieve(Query(" \u200b\n"), Budget(), None) == Retrieval((), 0, blank_query=True)


async def test_snapshots_fit_only_their_architecture_scope_and_embedder() -> None:
    snapshot = await (await fed("dense", TURNS)).snapshot()
    with pytest.raises(BackendError, match="snapshot is of dense, not of bm25"):
        await (await opened("bm25")).restore(snapshot)
    with pytest.raises(BackendError, match="scope"):
        await (await opened("dense", scope="other")).restore(snapshot)
    with pytest.raises(EmbedderMismatchError, match="64 dimensions"):
        await (await opened("dense", ports(HashEmbedder(32)))).restore(snapshot)
    damaged = replace(snapshot, data=snapshot.data[:-1])
    with pytest.raises(BackendError, match="damaged"):
        await (await opened("dense")).restore(damaged)


async def test_forks_are_alike_and_apart() -> None:
    backend = await fed("bm25(window=3)", TURNS[:4])
    before = (await backend.snapshot()).sha256
    fork = await backend.fork()
    assert (await fork.snapshot()).sha256 == before
    await fork.write(turn(9, "more"))
    assert (await backend.snapshot()).sha256 == before
    assert (await fork.stats()).turns_written == 5


async def test_usage_counts_embedded_texts_by_write_and_read() -> None:
    backend = await opened("dense")
    assert (await backend.write(TURNS[0])).usage == Usage(embedded_texts=1)
    assert (await backend.retrieve(Query("boat"), Budget(), None)).usage == Usage(embedded_texts=1)
    assert (await backend.stats()).usage == Usage(embedded_texts=1)


async def test_opening_needs_what_the_architecture_needs_and_happens_once() -> None:
    with pytest.raises(ConfigError, match="dense needs an embedder"):
        await opened("dense", replace(ports(), embedder=None))
    backend = await opened("bm25")
    with pytest.raises(BackendError, match="open already"):
        await backend.open(Scope("test"), ports())
    with pytest.raises(BackendError, match="not open"):
        await create_architecture("bm25").backend().write(TURNS[0])


async def test_stats_of_a_forgotten_turn() -> None:
    backend = await fed("bm25", TURNS[:3])
    backend._context.store.invalidate("t1", at=START + timedelta(hours=1))
    stats = await backend.stats()
    assert (stats.items_by_kind, stats.tombstones, stats.turns_forgotten) == ({"turn": 2}, 1, 1)
    assert (stats.turns_covered, stats.provenance_width_mean, stats.provenance_methods) == (3, 1.0, {"verbatim": 2})
    assert stats.bytes == len((await backend.snapshot()).data)


async def test_a_mutating_read_is_pure_on_a_fork_and_live_on_itself() -> None:
    async def touch(state: object, runtime: object) -> dict[str, object]:
        runtime.context.store.invalidate("t0", at=START)
        return {"retrieval": Retrieval((), 0)}

    plain = create_architecture("bm25")
    closed = 0

    class Watched(ItemStore):
        def close(self) -> None:
            nonlocal closed
            closed += 1

    touching = replace(
        plain,
        capabilities=Capabilities(mutating_read=True),
        read=read_graph({"touch": touch}),
        new_store=lambda _: Watched(),
    )
    backend = touching.backend()
    await backend.open(Scope("test"), ports())
    await backend.write(TURNS[0])
    before = (await backend.snapshot()).sha256
    for _ in range(2):
        assert not (await backend.retrieve(Query("boat"), Budget(), None, "pure")).mutated
    assert closed == 2
    assert (await backend.snapshot()).sha256 == before
    assert (await backend.retrieve(Query("boat"), Budget(), None, "live")).mutated
    assert (await backend.snapshot()).sha256 != before


async def test_writes_at_once_are_taken_one_by_one() -> None:
    backend = await opened("dense(window=2)")
    receipts = await asyncio.gather(*(backend.write(one) for one in TURNS))
    assert [receipt.deferred for receipt in receipts[:2]] == [("t0",), ()]
    assert (await backend.stats()).turns_covered == 8


async def test_a_graph_without_an_exit_is_stopped_with_the_turn_s_id() -> None:
    async def idle(state: object, runtime: object) -> dict[str, object]:
        return {}

    backend = broken(idle=idle)
    graph = backend.architecture.write
    graph.add_conditional_edges("idle", lambda _: "idle", {"idle": "idle"})
    await backend.open(Scope("test"), ports())
    with pytest.raises(BackendError, match=r"stopped after 50 steps \(turns t0\)"):
        await backend.write(TURNS[0])
