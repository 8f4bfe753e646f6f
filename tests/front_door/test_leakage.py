"""No leakage, by two proofs: canaries never arrive, and changing what is hidden changes no reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.agents.writers.extractive import ExtractiveWriter
from mnemoscope.config import RunConfig
from mnemoscope.core.ports import Draft, Vectors, WritingTask
from mnemoscope.engine import RunOutcome
from mnemoscope.graphs.assistant import Assistant
from mnemoscope.graphs.compiled import GraphBackend
from mnemoscope.graphs.reply import Reply
from mnemoscope.graphs.state import AssistantContext
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Retrieval, WriteReceipt
from mnemoscope.runfile import open_run
from mnemoscope.runfile.rows import CellKey
from mnemoscope.scenarios.records import Probe, Turn

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]

CANARY = "canary-7f3a"
OPEN = {
    "architectures": ("none", "recent", "full-context", "bm25", "dense", "hybrid"),
    "profiles": ("baseline", "slots"),
}
POOLS = {"architectures": ("pool", "bm25", "hybrid"), "profiles": ("baseline", "all", "top-k(2)")}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that memories, embedders, writers and assistants are given, as text."""
    arrived: list[str] = []
    write, retrieve, respond = GraphBackend.write, GraphBackend.retrieve, Assistant.respond
    compose, embed = ExtractiveWriter.write, HashEmbedder.embed

    async def spy_write(self: GraphBackend, turn: Turn) -> WriteReceipt:
        arrived.append(repr(turn))
        return await write(self, turn)

    async def spy_retrieve(self: GraphBackend, *args: Any, **named: Any) -> Retrieval:
        arrived.append(repr((args, named)))
        return await retrieve(self, *args, **named)

    async def spy_respond(self: Assistant, probe: Probe, context: AssistantContext) -> Reply:
        assert context.gold is None
        assert probe.style is None  # it names what is tested
        assert "/" not in probe.probe_id
        arrived.append(repr(probe))
        return await respond(self, probe, context)

    async def spy_compose(self: ExtractiveWriter, task: WritingTask) -> Draft:
        arrived.append(repr(task))
        return await compose(self, task)

    async def spy_embed(self: HashEmbedder, texts: Sequence[str], purpose: Any) -> Vectors:
        arrived.append(repr(texts))
        return await embed(self, texts, purpose)

    for owner, name, spy in (
        (GraphBackend, "write", spy_write),
        (GraphBackend, "retrieve", spy_retrieve),
        (Assistant, "respond", spy_respond),
        (ExtractiveWriter, "write", spy_compose),
        (HashEmbedder, "embed", spy_embed),
    ):
        monkeypatch.setattr(owner, name, spy)
    return arrived


def replies(path: Path) -> dict[CellKey, object]:
    """Everything that a run's systems said, planned, retrieved and stored."""
    with open_run(path) as run:
        assert not any(system.privileged for system in run.systems())
        assert all(row.status == "ok" for row in run.cells())
        found: dict[CellKey, object] = {row.key: run.reply_of(row) for row in run.cells()}
        return found | {CellKey(lane.memory, lane.scenario_id, "", 0): run.items_of(lane) for lane in run.lanes()}


def hide_canaries(samples: list[dict[str, Any]]) -> None:
    """Put a canary into every hidden string of LoCoMo-shaped data."""

    def spoiled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spoiled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [spoiled(inner) for inner in value]
        return f"{CANARY} {value}" if isinstance(value, str) else value

    for sample in samples:
        for question in sample["qa"]:
            for name in ("answer", "adversarial_answer"):
                if name in question:
                    question[name] = f"{CANARY} {question[name]}"
        for name in ("observation", "session_summary", "event_summary"):
            if name in sample:
                sample[name] = spoiled(sample[name])


def turn_round(samples: list[dict[str, Any]]) -> None:
    """Change everything hidden of LoCoMo-shaped data: answers, traps, evidence, categories stay well-formed."""
    for sample in samples:
        ids = [t["dia_id"] for k, v in sample["conversation"].items() if isinstance(v, list) for t in v]
        for number, question in enumerate(sample["qa"]):
            question["evidence"] = [ids[(7 * number + 3) % len(ids)]]
            if question["category"] != 5:
                question["category"] = question["category"] % 4 + 1
                question["answer"] = f"changed {number}"
            else:
                question["adversarial_answer"] = f"changed {number}"
        for name in ("observation", "session_summary", "event_summary"):
            sample.pop(name, None)


def prove_locomo(
    samples: list[dict[str, Any]], tmp_path: Path, config: Configure, do_run: DoRun, seen: list[str], **systems: Any
) -> int:
    """Both proofs; the number of replies that were compared."""
    found = {}
    for name, change in (("plain", None), ("canary", hide_canaries), ("turned", turn_round)):
        changed = json.loads(json.dumps(samples))
        if change is not None:
            change(changed)
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(changed), encoding="utf-8")
        seen.clear()
        outcome = do_run(config(scenarios=(f"locomo:{file}",), **systems, out=tmp_path / f"{name}.db"))
        assert len(seen) > outcome.stored
        assert not any(CANARY in text for text in seen)
        found[name] = replies(outcome.path)
        assert CANARY not in repr(found[name])
    assert found["plain"] == found["canary"] == found["turned"]
    assert CANARY in (tmp_path / "canary.json").read_text(encoding="utf-8")
    return len(found["plain"])


def prove_stratmem(
    items: list[dict[str, Any]], tmp_path: Path, config: Configure, do_run: DoRun, seen: list[str]
) -> int:
    """Both proofs; what is hidden of an item is its type and which memory has which label."""
    found = {}
    for name in ("plain", "turned"):
        changed = json.loads(json.dumps(items))
        if name == "turned":
            for item in changed:
                memory = item["memory"]
                pool = [*memory["must"], *memory["nice"], *memory["irr"]][::-1]
                item["memory"] = {"must": pool[:1], "nice": pool[1:2], "irr": pool[2:]}
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(changed), encoding="utf-8")
        seen.clear()
        outcome = do_run(config(scenarios=(f"stratmem:{file}",), **POOLS, out=tmp_path / f"{name}.db"))
        assert len(seen) > outcome.stored
        for text in seen:
            assert not any(f"'{label}'" in text for label in ("must", "nice", "irr", "given_type", "inferred_type"))
        found[name] = replies(outcome.path)
    assert found["plain"] == found["turned"]
    return len(found["plain"])


def test_nothing_hidden_reaches_a_system_on_locomo(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path], tmp_path: Path, seen: list[str]
) -> None:
    samples = json.loads(make_locomo().read_text(encoding="utf-8"))
    assert prove_locomo(samples, tmp_path, config, do_run, seen, **OPEN) == 2 * 5 * 12 + 2 * 6


def test_nothing_hidden_reaches_a_memory_that_answers_by_itself(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path], tmp_path: Path, seen: list[str]
) -> None:
    samples = json.loads(make_locomo().read_text(encoding="utf-8"))
    systems = ("memgpt-style(read=agentic)@own",)
    assert prove_locomo(samples, tmp_path, config, do_run, seen, systems=systems) == 2 * 5 + 2


def test_nothing_hidden_reaches_a_system_on_stratmem(
    config: Configure, do_run: DoRun, make_stratmem: Callable[..., Path], tmp_path: Path, seen: list[str]
) -> None:
    items = json.loads(make_stratmem().read_text(encoding="utf-8"))
    assert prove_stratmem(items, tmp_path, config, do_run, seen) == 3 * 9 + 3 * 3


def test_the_spies_would_see_a_leak(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path], seen: list[str]
) -> None:
    samples = json.loads(make_locomo().read_text(encoding="utf-8"))
    hide_canaries(samples)
    samples[0]["conversation"]["session_1"][0]["text"] += f" {CANARY}"
    file = make_locomo().with_name("leaky.json")
    file.write_text(json.dumps(samples), encoding="utf-8")
    do_run(config(scenarios=(f"locomo:{file}",), systems=("bm25@baseline",)))
    assert any(CANARY in text for text in seen)


def test_gold_is_given_to_the_privileged_alone(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path]
) -> None:
    outcome = do_run(
        config(scenarios=(f"locomo:{make_locomo()}",), systems=("oracle@baseline", "bm25@oracle", "bm25@all"))
    )
    with open_run(outcome.path) as run:
        assert [s.privileged for s in run.systems()] == [True, True, False]
        gold = {p: run.scenario("conv-1").gold_by_probe[p] for p in run.scenario("conv-1").gold_by_probe}
        for row in run.cells(system="oracle@baseline", scenario=run.scenarios()[0].scenario_id):
            retrieval = run.reply_of(row).retrieval
            assert retrieval is not None
            assert {s.turn_id for i in retrieval.given for s in i.sources} == set(gold[row.probe_id].evidence)  # type: ignore[index]


@pytest.mark.data
def test_nothing_hidden_reaches_a_system_on_real_conversations(
    config: Configure, do_run: DoRun, tmp_path: Path, benchmark_data: Path, seen: list[str]
) -> None:
    samples = json.loads((benchmark_data / "locomo10.json").read_text(encoding="utf-8"))[:1]
    for sample in samples:
        sample["qa"] = sample["qa"][::10]
    few = {"architectures": ("recent", "bm25", "hybrid")}
    assert prove_locomo(samples, tmp_path, config, do_run, seen, **few) > 50


@pytest.mark.data
def test_nothing_hidden_reaches_a_system_on_real_pools(
    config: Configure, do_run: DoRun, tmp_path: Path, benchmark_data: Path, seen: list[str]
) -> None:
    items = json.loads((benchmark_data / "StratMemBench_testset.json").read_text(encoding="utf-8"))[::33]
    assert prove_stratmem(items, tmp_path, config, do_run, seen) == len(items) * 12
