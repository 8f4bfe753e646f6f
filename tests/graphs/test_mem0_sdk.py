"""`mem0`, the package itself: what it loses in silence is counted here, and nothing leaves the machine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.compiled import GraphBackend
from mnemoscope.graphs.contracts.mem0_memories import PROMPT_TOKENS
from mnemoscope.memory_backends.adapters.mem0_package import load_mem0
from mnemoscope.memory_backends.adapters.mem0_store import Mem0Store
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Retrieval
from mnemoscope.scenarios.records import Turn
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn
from tests.graphs.recording import MEM0, MEM0_TURNS
from tests.graphs.replayed_model import ReplayedModel, ScriptedModel, recordings

DOWN = EndpointError("down", cause="server", retryable=True)
GOLDEN = Path(__file__).parent / "golden" / "replies"
BOUND, UNBOUND = GOLDEN / "mem0-gemma.jsonl", GOLDEN / "mem0-gemma-unbound.jsonl"
"""What Gemma 3 270M replied to the package, kept to the schema by a grammar, and not."""


def remembers(*texts: str) -> str:
    return json.dumps({"memory": [{"id": str(n), "text": text} for n, text in enumerate(texts)]}, ensure_ascii=False)


async def extracting(lines: Sequence[str | Exception], name: str = "mem0(infer=true,add_per=turn)") -> MemoryBackend:
    return await opened(name, replace(ports(), model=ScriptedModel(lines)))


def prompts(backend: MemoryBackend) -> list[str]:
    return cast("ScriptedModel", cast("GraphBackend", backend)._given.model).prompts


def store_of(backend: MemoryBackend) -> Mem0Store:
    return cast("Mem0Store", cast("GraphBackend", backend)._context.store)


async def stored(backend: MemoryBackend) -> list[MemoryItem]:
    return [item async for item in backend.items()]


async def asked(backend: MemoryBackend, text: str, days: float | None = None, k: int = 10) -> Retrieval:
    now = None if days is None else START + timedelta(days=days)
    return await backend.retrieve(Query(text), Budget(k=k), now)


def section(prompt: str, title: str) -> str:
    return prompt.partition(f"## {title}\n")[2].partition("\n\n## ")[0]


async def test_turns_are_stored_as_they_are_and_ranked_as_dense_ranks_them() -> None:
    turns = [turn(n, f"remark {n} about {what}") for n, what in enumerate(("the boat", "a violin", "boat races"))]
    package, own = await fed("mem0", turns), await fed("dense", turns)
    for text in ("boat", "violin lessons", "remark 2"):
        mine, theirs = await asked(package, text), await asked(own, text)
        assert [(i.id, i.text, i.score) for i in mine.items] == [
            (i.id, i.text, i.score) for i in theirs.items if (i.score or 0) >= 0.1
        ]
    assert (await package.stats()).usage.calls == 0


async def test_items_mirror_what_the_package_holds_also_after_a_restore() -> None:
    backend = await fed("mem0", [turn(n, f"remark {n}") for n in range(150)])
    fork = await backend.fork()
    for memory in (backend, fork):
        held = store_of(memory).client._mem0.get_all(filters={"user_id": "user"}, top_k=1_000)["results"]
        assert sorted(entry["memory"] for entry in held) == sorted(item.text for item in await stored(memory))
        assert len(held) == 150 and len((await asked(memory, "remark", k=1_000)).items) == 150
    await fork.close()


async def test_two_memories_are_open_at_once_and_know_nothing_of_each_other() -> None:
    one, other = await opened("mem0", scope="a"), await opened("mem0", scope="a b")
    await one.write(turn(0, "The boat is blue."))
    assert not await stored(other) and not (await asked(other, "boat")).items
    await other.close()
    assert [item.sources[0].turn_id for item in (await asked(one, "boat")).items] == ["t0"]


async def test_k_is_the_most_that_a_search_gives() -> None:
    backend = await fed("mem0(k=2)", [turn(n, f"remark {n} about the boat") for n in range(5)])
    assert len((await asked(backend, "the boat")).items) == 2


async def test_a_read_in_the_past_knows_nothing_of_later_turns() -> None:
    later = turn(1, "I moved to Bergen").model_copy(update={"at": START + timedelta(days=60)})
    undated = turn(2, "I live with two cats").model_copy(update={"at": None})
    backend = await fed("mem0", [turn(0, "I live in Oslo"), later, undated])
    assert {i.id for i in (await asked(backend, "live moved Oslo Bergen cats", 30)).items} == {"t0", "t2"}
    assert {i.id for i in (await asked(backend, "live moved Oslo Bergen cats")).items} == {"t0", "t1", "t2"}


async def test_the_extractor_is_told_the_day_of_the_conversation_and_never_today() -> None:
    backend = await extracting([remembers()])
    await backend.write(turn(0, "I ran a charity race yesterday"))
    await backend.write(turn(1, "Somewhere").model_copy(update={"at": None}))
    dates = [(section(p, "Observation Date"), section(p, "Current Date")) for p in prompts(backend)]
    assert [day for day, _ in dates] == ["2023-05-08", "unknown"]
    assert ["2023-05-08" in dates[0][1], "unknown" in dates[1][1]] == [True, True]


async def test_both_people_and_both_roles_reach_the_prompt_by_name() -> None:
    backend = await extracting([remembers("Amy has a cat.")], "mem0(infer=true)")
    await backend.write(turn(0, "I have a cat"))
    await backend.write(turn(1, "I have a dog", speaker="Bo").model_copy(update={"role": "assistant"}))
    assert section(prompts(backend)[0], "New Messages").split("\n") == [
        "user: Amy: I have a cat",
        "assistant: Bo: I have a dog",
        "",
    ]


async def test_what_contradicts_is_kept_beside_what_it_contradicts() -> None:
    backend = await extracting([remembers("Amy lives in Oslo."), remembers("Amy moved to Bergen.")])
    for n, text in enumerate(("I live in Oslo.", "I moved to Bergen.")):
        await backend.write(turn(n, text))
    assert [item.text for item in await stored(backend) if item.is_live] == [
        "Amy lives in Oslo.",
        "Amy moved to Bergen.",
    ]


UNREADABLE, NOTHING = "unreadable reply", "nothing to remember"


@pytest.mark.parametrize(
    ("reply", "kept", "failures", "dropped"),
    [
        ('```json\n{"memory": [{"text": "Amy has a cat."}]}\n```\nHope that helps!', 1, 0, None),
        ('<think>{"memory": 3}</think>{"memory": [{"text": "Amy has a cat."}]}', 1, 0, None),
        ('Sure: {"memory": [{"text": "Amy has a cat."}]}', 1, 0, None),
        ('{"memory": []}', 0, 0, NOTHING),
        ('{"facts": ["Amy has a cat."]}', 0, 1, UNREADABLE),
        ('[{"text": "Amy has a cat."}]', 0, 1, UNREADABLE),
        ('{"memory": null}', 0, 1, UNREADABLE),
        ('{"memory": {"text": "Amy has a cat."}}', 0, 1, UNREADABLE),
        ('{"memory": [{"text": "Amy has a cat."},]}', 0, 1, UNREADABLE),
        ("null", 0, 1, UNREADABLE),
        ("", 0, 1, UNREADABLE),
        ("I cannot help with that.", 0, 1, UNREADABLE),
        ("[" * 100_000, 0, 1, UNREADABLE),
        ('{"memory": ["Amy has a cat.", "Amy is glad."]}', 0, 2, UNREADABLE),
        ('{"memory": [{"text": 5}, {"text": " "}, {"id": "0"}, {"text": "Amy has a cat."}]}', 1, 3, None),
        ('{"memory": [{"text": "Amy has a cat.", "attributed_to": 7, "linked_memory_ids": ["99"]}]}', 1, 0, None),
        ('{"memory": [{"text": "Zoltan sails to Peru."}]}', 1, 0, None),
    ],
)
async def test_a_reply_is_read_as_the_package_reads_it_and_what_it_passes_over_is_counted(
    reply: str, kept: int, failures: int, dropped: str | None
) -> None:
    backend = await extracting([reply])
    receipt = await backend.write(turn(0, "I have a cat"))
    assert (len(receipt.added), receipt.parse_failures) == (kept, failures)
    assert receipt.dropped == ({} if dropped is None else {"t0": dropped})
    assert receipt.turn_ids == ("t0",) and receipt.deferred == ()
    (*sources,) = [source.method for item in await stored(backend) for source in item.sources]
    assert sources == (["unknown"] if "Zoltan" in reply else ["batch"] * kept)


async def test_a_memory_known_by_heart_is_no_new_one_and_gains_the_turn() -> None:
    backend = await extracting([remembers("Amy has a cat.", "Amy has a cat.")])
    receipts = [await backend.write(turn(n, "I have a cat")) for n in range(3)]
    assert [(receipt.added, receipt.updated) for receipt in receipts] == [
        (("memory-t0",), ()),
        ((), ("memory-t0",)),
        ((), ("memory-t0",)),
    ]
    (item,) = await stored(backend)
    assert [source.turn_id for source in item.sources] == ["t0", "t1", "t2"]
    assert (await backend.stats()).turns_covered == 3


async def test_eight_turns_with_one_fact_at_once_make_one_memory() -> None:
    backend = await extracting([remembers("Amy has a cat.")])
    await asyncio.gather(*(backend.write(turn(n, "I have a cat")) for n in range(8)))
    (item,) = await stored(backend)
    assert len(item.sources) == 8


@pytest.mark.parametrize(("per", "method", "batches"), [("pair", "batch", [2, 1]), ("session", "session", [3])])
async def test_a_batch_is_the_source_of_all_that_was_drawn_from_it(per: str, method: str, batches: list[int]) -> None:
    backend = await extracting(
        [remembers("Amy has a cat."), remembers("Amy has a dog.")], f"mem0(infer=true,add_per={per})"
    )
    for n in range(3):
        await backend.write(turn(n, "I have a cat and a dog"))
    await backend.flush("session_end", "s1", None)
    items = await stored(backend)
    assert [len(item.sources) for item in items] == batches
    assert {source.method for item in items for source in item.sources} == {method}
    assert all(sum(source.weight for source in item.sources) == pytest.approx(1) for item in items)


async def test_a_failing_model_leaves_the_package_as_it_was_and_the_turn_waiting() -> None:
    backend = await extracting([remembers("Amy has a cat."), DOWN, remembers("Amy has a dog.")])
    await backend.write(turn(0, "I have a cat"))
    before = store_of(backend).snapshot().sha256
    assert (await backend.write(turn(1, "I have a dog"))).deferred == ("t1",)
    assert store_of(backend).snapshot().sha256 == before
    assert (await backend.flush("history_end", None, None)).added == ("memory-t1",)
    assert section(prompts(backend)[1], "Last k Messages") == section(prompts(backend)[2], "Last k Messages") != ""


async def test_a_reply_that_was_cut_off_is_unreadable_and_no_outage() -> None:
    cut = EndpointError("cut off at 4000 tokens", cause="truncated")
    backend = await extracting([cut, remembers("Amy has a dog.")])
    receipts = [await backend.write(turn(n, f"I have a {pet}")) for n, pet in enumerate(("cat", "dog"))]
    assert [(r.dropped, r.parse_failures, r.deferred) for r in receipts] == [({"t0": UNREADABLE}, 1, ()), ({}, 0, ())]
    assert [item.text for item in await stored(backend)] == ["Amy has a dog."]


@pytest.mark.parametrize("call", [1, 2])
async def test_a_failing_embedder_loses_no_memory(call: int) -> None:
    given = replace(ports(FlakyEmbedder(call)), model=ScriptedModel([remembers("Amy has a cat.")]))
    backend = await opened("mem0(infer=true,add_per=turn)", given)
    assert (await backend.write(turn(0, "I have a cat"))).deferred == ("t0",)
    assert await stored(backend) == [] and store_of(backend).client.messages == []
    assert (await backend.flush("history_end", None, None)).added == ("memory-t0",)


async def test_without_a_model_extraction_says_what_to_add() -> None:
    backend = await opened("mem0(infer=true,add_per=turn)")
    with pytest.raises(ConfigError, match="--memory-model"):
        await backend.write(turn(0, "I have a cat"))


async def test_the_packages_message_buffer_survives_a_snapshot_with_its_quirk() -> None:
    backend = await extracting([remembers()], "mem0(infer=true,add_per=session)")
    for n in range(14):
        await backend.write(turn(n, f"remark {n}"))
    await backend.flush("session_end", "s1", None)
    fork = await backend.fork()
    for memory in (backend, fork):
        await memory.write(turn(20, "later", "s2"))
        await memory.flush("session_end", "s2", None)
    last = [section(prompt, "Last k Messages").strip().split("\n") for prompt in prompts(backend)[-2:]]
    # of fourteen messages in one call the package keeps the first ten, not the last ten
    assert last[0] == last[1] == [f"user: Amy: remark {n}" for n in range(10)]


async def test_what_is_spent_in_the_packages_thread_is_counted() -> None:
    backend = await extracting([remembers("Amy has a cat.", "Amy is glad.")])
    usage = (await backend.write(turn(0, "I have a cat"))).usage
    assert (usage.calls_by_phase, usage.prompt_tokens, usage.embedded_texts) == ({"extract": 1}, 9, 3)
    assert (await asked(backend, "cat")).usage.embedded_texts == 1


async def replayed(path: Path) -> MemoryBackend:
    about, recorded = recordings(path)
    assert about["model"] == "gemma-3-270m-q4_k_m.gguf" and len(str(about["sha256"])) == 64
    assert len(recorded) == len(MEM0_TURNS) == 2
    return await fed(MEM0[0], MEM0_TURNS, replace(ports(), model=ReplayedModel(path)))


async def test_a_real_reply_without_end_is_counted_and_what_one_copies_from_the_prompt_has_no_known_origin() -> None:
    backend = await replayed(BOUND)
    stats = await backend.stats()
    assert (stats.parse_failures, stats.turns_dropped, stats.turns_deferred) == (1, {UNREADABLE: 1}, 0)
    assert [(item.text, [(s.turn_id, s.method) for s in item.sources]) for item in await stored(backend)] == [
        ("User's first extracted memory", [("t1", "unknown")]),
        ("User's second extracted memory", [("t1", "unknown")]),
    ]


async def test_real_replies_that_no_grammar_binds_are_unreadable_and_no_turn_is_lost() -> None:
    backend = await replayed(UNBOUND)
    stats = await backend.stats()
    assert await stored(backend) == [] and stats.turns_deferred == 0
    assert (stats.parse_failures, stats.turns_dropped) == (2, {UNREADABLE: 2})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mem0(infer=yes)", "must be true or false"),
        ("mem0(infer=true,add_per=week)", "one of turn, pair, session"),
        ("mem0(add_per=session)", "add infer=true"),
        ("mem0(k=0)", "from 1 to 10,000"),
    ],
)
def test_bad_parameters_say_what_would_be_good(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        create_architecture(name)


@pytest.mark.parametrize("name", ["mem0", "mem0(k=20)", "mem0(infer=true,add_per=session)"])
def test_names_come_back(name: str) -> None:
    assert create_architecture(name).name == name


def test_the_estimate_knows_how_long_the_packages_prompt_is() -> None:
    real = estimate_tokens(load_mem0().ADDITIVE_EXTRACTION_PROMPT)
    assert abs(real - PROMPT_TOKENS) < 0.1 * PROMPT_TOKENS
    history: list[Turn] = [turn(n, f"remark {n}", f"s{n // 3}") for n in range(6)]
    calls = {
        per: create_architecture(f"mem0(infer=true,add_per={per})").asks(history).calls for per in ("turn", "pair")
    }
    assert calls == {"turn": 6, "pair": 4}
    assert create_architecture("mem0(infer=true,add_per=session)").asks(history).calls == 2


_ALONE = """
import asyncio, os, socket, sys, tempfile
from pathlib import Path

reached = []
for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, lambda self, *given: reached.append(given))
socket.getaddrinfo = lambda *given, **options: reached.append(given)
if "early" in sys.argv:  # somebody else has imported the package, with its telemetry on
    import mem0
before = dict(os.environ)

from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.conformance import conformance_ports
from mnemoscope.graphs.conformance.material import chat
from mnemoscope.memory_backends.record import Budget, Query, Scope

async def main():
    for name in ("mem0", "mem0(infer=true)"):
        backend = create_architecture(name).backend()
        await backend.open(Scope("s"), conformance_ports())
        for turn in chat(4):
            await backend.write(turn)
        await backend.flush("history_end", None, None)
        found = await backend.retrieve(Query("the harbour"), Budget(), None, "pure")
        assert found.items
        await (await backend.fork()).close()
        await backend.close()

asyncio.run(main())
assert dict(os.environ) == before, "the environment has changed"
print(reached)
"""


@pytest.mark.parametrize("how", ["late", pytest.param("early", marks=pytest.mark.slow)])
def test_nothing_leaves_the_machine_and_nothing_is_written(how: str, tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    kept = {"HOME": str(home), "TMPDIR": str(temporary), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, how], env=kept, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
    mine = [] if how == "late" else [home / ".mem0"]
    assert list(home.iterdir()) == mine and list(temporary.iterdir()) == []
    assert sorted(tmp_path.iterdir()) == [home, temporary]
