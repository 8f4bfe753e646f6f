"""Whether `mem0-v2-style` finds as much as the `mem0ai` package, which decides whether its rows say `unverified`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path
from statistics import mean

import pytest

from mnemoscope.core.ports import Embedder
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.architectures.mem0_v2 import Words
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.conformance.material import conformance_ports
from mnemoscope.graphs.nodes.entity_links import BoostByEntities
from mnemoscope.graphs.windows import windows_of
from mnemoscope.memory_backends.embedders import open_embedder
from mnemoscope.memory_backends.record import Budget, Query, Scope
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario

MARGIN = 0.05
SLICE = slice(1, 3)
"""Two conversations of the ten: one in which the difference is small, and one in which it is large."""


async def filled(name: str, scenario: Scenario, embedder: Embedder) -> MemoryBackend:
    """A memory of one conversation; where a model is asked, it answers by the same rule as the twin."""
    backend = create_architecture(name).backend()
    await backend.open(Scope(scenario.scenario_id), replace(conformance_ports(), embedder=embedder))
    for session_id, turns in groupby(scenario.turns, key=lambda turn: turn.session_id):
        for turn in turns:
            await backend.write(turn)
        await backend.flush("session_end", session_id, turn.at)
    await backend.flush("history_end", None, scenario.turns[-1].at)
    return backend


async def recall(backend: MemoryBackend, scenario: Scenario) -> Mapping[str, float]:
    """Recall within ten memories by probe; each memory counts for its whole pair, as the package can tell no better."""
    pair = {turn.turn_id: {t.turn_id for t in pair} for pair in windows_of(scenario.turns, 2, 0) for turn in pair}
    found = {}
    for probe in scenario.probes:
        if wanted := set(scenario.gold_by_probe[probe.probe_id].evidence):
            given = (await backend.retrieve(Query(probe.text), Budget(k=10), probe.now)).given_items
            reached = {turn for item in given for source in item.sources for turn in pair[source.turn_id]}
            found[probe.probe_id] = len(wanted & reached) / len(wanted)
    return found


async def no_words(*_: object) -> Mapping[str, object]:
    return {"by_words": ()}


async def no_names(*_: object) -> Mapping[str, object]:
    return {"boosts": {}}


@pytest.mark.slow
async def test_the_mark_unverified_stands_until_the_package_is_equalled(
    benchmark_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = open_embedder("minilm", cache=tmp_path / "vectors.db")
    differences = []
    for scenario in islice(open_source(f"locomo:{benchmark_data / 'locomo10.json'}"), SLICE.start, SLICE.stop):
        memories = [await filled(name, scenario, embedder) for name in ("mem0(infer=true)", "mem0-v2-style")]
        package, own = [{item.text async for item in memory.items() if item.kind == "fact"} for memory in memories]
        assert len(package & own) / len(package | own) > 0.99
        theirs, ours = [await recall(memory, scenario) for memory in memories]
        differences.append(mean(ours[probe] - theirs[probe] for probe in theirs))
        with monkeypatch.context() as without:
            without.setattr(Words, "__call__", no_words)
            without.setattr(BoostByEntities, "__call__", no_names)
            assert await recall(memories[1], scenario) == theirs
    within = all(abs(difference) <= MARGIN for difference in differences)
    assert create_architecture("mem0-v2-style").capabilities.verified == within, differences
    assert min(differences) > -MARGIN
