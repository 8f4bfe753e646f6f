"""Published reference figures of BM25 on LoCoMo, reached through the real write and retrieve path."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.memory_backends.record import Budget, Query
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.replay import HistoryEnd, SessionEnd, WriteTurn, replay
from tests.graphs.graph_tools import opened


async def ingested(name: str, scenario: Scenario) -> MemoryBackend:
    backend = await opened(name, scope=scenario.scenario_id)
    for event in replay(scenario, pool_as_turns=False):
        if isinstance(event, WriteTurn):
            await backend.write(event.turn)
        elif isinstance(event, SessionEnd):
            await backend.flush("session_end", event.session_id, event.now)
        elif isinstance(event, HistoryEnd):
            await backend.flush("history_end", None, event.now)
    return backend


async def recalls(name: str, scenario: Scenario, *cuts: int) -> dict[int, list[float]]:
    backend = await ingested(name, scenario)
    found: dict[int, list[float]] = {k: [] for k in cuts}
    for probe in scenario.probes:
        gold = scenario.gold_by_probe[probe.probe_id]
        if "adversarial" in gold.strata or not gold.evidence:
            continue
        query = Query(probe.text, asker=probe.speaker, probe_id=probe.probe_id)
        items = (await backend.retrieve(query, Budget(), probe.now)).items
        for k in cuts:
            sources = {source.turn_id for item in items[:k] for source in item.sources}
            found[k].append(len(sources.intersection(gold.evidence)) / len(gold.evidence))
    return found


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [("bm25", {10: 0.542}), ("bm25(method=atire)", {10: 0.542}), ("bm25(window=3,overlap=1)", {4: 0.655, 10: 0.745})],
)
async def test_bm25_recall_on_locomo(name: str, expected: dict[int, float], benchmark_data: Path) -> None:
    found: dict[int, list[float]] = {k: [] for k in expected}
    for scenario in open_source(f"locomo:{benchmark_data / 'locomo10.json'}"):
        for k, values in (await recalls(name, scenario, *expected)).items():
            found[k].extend(values)
    assert {len(values) for values in found.values()} == {1_536}
    assert {k: mean(values) for k, values in found.items()} == pytest.approx(expected, abs=0.005)


@pytest.mark.data
async def test_one_conversation_is_ingested_whole(benchmark_data: Path) -> None:
    scenario = next(iter(open_source(f"locomo:{benchmark_data / 'locomo10.json'}")))
    backend = await ingested("bm25(window=3,overlap=1)", scenario)
    stats = await backend.stats()
    assert stats.turns_written == len(scenario.turns) == 419
    assert (stats.turns_covered, stats.turns_deferred, stats.turns_dropped) == (419, 0, {})
