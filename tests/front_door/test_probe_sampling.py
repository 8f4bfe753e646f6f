"""Properties of the limit: shares of strata, spread over clusters, seeded, the same for every system, any benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.config import RunConfig
from mnemoscope.core.identity import ProbeId
from mnemoscope.engine.grid import load_scenarios
from mnemoscope.engine.selection import choose_probes
from mnemoscope.runfile import open_run
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Card, Cut, Gold, Participant, Probe, Scenario

CARD = Card(benchmark="b", source="-", licence="-", annotation="-")


def scenario(number: int, strata: list[str], cluster: str) -> Scenario:
    probes = tuple(
        Probe(
            probe_id=ProbeId(f"s{number}/{i}"),
            style="question",
            speaker="asker",
            text="?",
            cut=Cut(seq=0, turn_id=None),
            now=None,
        )
        for i in range(len(strata))
    )
    return Scenario(
        scenario_id=f"s{number}",  # type: ignore[arg-type]
        benchmark="b",
        cluster=cluster,
        participants=(Participant(name="Mira", role="peer"),),
        sessions=(),
        probes=probes,
        gold_by_probe={p.probe_id: Gold(strata=(name,)) for p, name in zip(probes, strata, strict=True)},
        card=CARD,
    )


SETS = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdef"), max_size=9), st.sampled_from(("k", "l", "m"))), min_size=1, max_size=8
).map(lambda drawn: [scenario(n, strata, cluster) for n, (strata, cluster) in enumerate(drawn)])


@settings(max_examples=150, deadline=None)
@given(SETS, st.integers(1, 80), st.integers(0, 2**31))
def test_every_stratum_gets_its_share_to_within_one(scenarios: list[Scenario], limit: int, seed: int) -> None:
    chosen = choose_probes(scenarios, styles=(), limit=limit, seed=seed)
    assert chosen == choose_probes(scenarios, styles=(), limit=limit, seed=seed)
    whole = Counter(g.strata[0] for s in scenarios for g in s.gold_by_probe.values())
    taken = Counter(s.gold_by_probe[ProbeId(p)].strata[0] for s in scenarios for p in chosen.get(s.scenario_id, ()))
    assert taken.total() == min(limit, whole.total())
    for stratum, size in whole.items():
        exact = min(limit, whole.total()) * size / whole.total()
        assert abs(taken[stratum] - exact) < 1 + 1e-9


@settings(max_examples=100, deadline=None)
@given(SETS, st.integers(1, 40), st.integers(0, 99), st.randoms(use_true_random=False))
def test_the_order_of_the_file_decides_nothing(scenarios: list[Scenario], limit: int, seed: int, rng) -> None:
    turned = [s.model_copy(update={"probes": tuple(rng.sample(s.probes, len(s.probes)))}) for s in scenarios]
    rng.shuffle(turned)
    here = choose_probes(scenarios, styles=(), limit=limit, seed=seed)
    there = choose_probes(turned, styles=(), limit=limit, seed=seed)
    assert {name: set(probes) for name, probes in here.items()} == {name: set(probes) for name, probes in there.items()}


@given(st.integers(1, 9), st.integers(0, 50))
def test_a_limit_spreads_over_clusters_as_evenly_as_it_can(limit: int, seed: int) -> None:
    sets = [scenario(n, ["a"] * 10, f"c{n % 5}") for n in range(10)]
    chosen = choose_probes(sets, styles=(), limit=limit, seed=seed)
    clusters = Counter(s.cluster for s in sets for _ in chosen.get(s.scenario_id, ()))
    assert len(clusters) == min(limit, 5) and max(clusters.values()) - min(clusters.values()) <= 1


def test_which_of_many_equal_strata_are_drawn_is_left_to_the_seed() -> None:
    one_each = [scenario(0, list("abcdefghij"), "k")]
    drawn = {choose_probes(one_each, styles=(), limit=2, seed=seed)["s0"] for seed in range(40)}
    assert len(drawn) > 15, "not always the strata whose names come first"
    assert {probe for pair in drawn for probe in pair} == {f"s0/{n}" for n in range(10)}


@pytest.mark.data
@pytest.mark.parametrize(
    "spec",
    [
        "locomo:locomo10.json",
        "stratmem:StratMemBench_testset.json",
        "locomo-conv:locomo_conv_dialog_sample.json,locomo=locomo10.json,composed=locomo_conv_multimem_sample.json",
        "memuse:memuse_instances_sample.jsonl",
        "demo",
    ],
)
def test_no_benchmark_is_cut_at_the_first_probes(spec: str, benchmark_data: Path) -> None:
    for name in ("locomo10", "StratMem", "locomo_conv", "memuse"):
        spec = spec.replace(f":{name}", f":{benchmark_data}/{name}").replace(f"={name}", f"={benchmark_data}/{name}")
    scenarios = list(open_source(spec))
    everything = [probe.probe_id for s in scenarios for probe in s.probes]
    limit = max(2, len(everything) // 10)
    chosen = [choose_probes(scenarios, styles=(), limit=limit, seed=seed) for seed in (0, 1)]
    flat = [[probe for s in scenarios for probe in one.get(s.scenario_id, ())] for one in chosen]
    assert [len(one) for one in flat] == [limit, limit]
    assert flat[0] != everything[:limit] and flat[0] != flat[1]
    clusters = {s.cluster for s in scenarios if s.probes}
    kept = {s.cluster for s in scenarios if s.scenario_id in chosen[0]}
    assert len(kept) >= min(limit, len(clusters)) * 0.6


def test_every_system_is_asked_the_same(
    make_locomo: Callable[..., Path], config: Callable[..., RunConfig], do_run: Callable
) -> None:
    settings = config(
        scenarios=(f"locomo:{make_locomo()}",), systems=("none@baseline", "bm25@slots", "lc@all"), limit=5, seed=3
    )
    planned = {(p.scenario.scenario_id, probe) for p in load_scenarios(settings, print) for probe in p.probe_ids}
    do_run(settings)
    with open_run(settings.out) as run:
        asked = {system.name: set() for system in run.systems()}
        for cell in run.cells():
            asked[cell.system].add((cell.scenario_id, cell.probe_id))
    assert len(planned) == 5 and list(asked.values()) == [planned] * 3
