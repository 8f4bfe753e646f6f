"""The limit: seeded, stratified, over clusters, and blind to the order of the file."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.identity import ProbeId, ScenarioId
from mnemoscope.engine.selection import choose_probes
from mnemoscope.scenarios.records import Card, Cut, Gold, Participant, Probe, Scenario


def scenario(number: int, strata: list[str], *, style: str = "question") -> Scenario:
    probes = tuple(
        Probe(
            probe_id=ProbeId(f"s{number}/{i}"),
            style=style,  # type: ignore[arg-type]
            speaker="asker",
            text="?",
            cut=Cut(seq=0, turn_id=None),
            now=datetime(2024, 1, 1, tzinfo=UTC),
        )
        for i in range(len(strata))
    )
    return Scenario(
        scenario_id=ScenarioId(f"s{number}"),
        benchmark="b",
        cluster=f"cluster {number}",
        participants=(Participant(name="Mira", role="peer"),),
        sessions=(),
        probes=probes,
        gold_by_probe={p.probe_id: Gold(strata=(name,)) for p, name in zip(probes, strata, strict=True)},
        card=Card(benchmark="b", source="-", licence="-", annotation="-"),
    )


def chosen_strata(scenarios: list[Scenario], limit: int, seed: int = 0) -> tuple[Counter[str], Counter[str]]:
    chosen = choose_probes(scenarios, styles=(), limit=limit, seed=seed)
    strata: Counter[str] = Counter()
    clusters: Counter[str] = Counter()
    for one in scenarios:
        for probe_id in chosen.get(one.scenario_id, ()):
            strata.update(one.gold_by_probe[ProbeId(probe_id)].strata)
            clusters[one.cluster] += 1
    return strata, clusters


SET = [scenario(n, ["a"] * 6 + ["b"] * 3 + ["c"]) for n in range(10)]


def test_strata_get_their_share_and_every_cluster_is_there() -> None:
    strata, clusters = chosen_strata(SET, 20)
    assert strata == {"a": 12, "b": 6, "c": 2}
    assert set(clusters.values()) == {2}


@given(st.integers(1, 100), st.integers(0, 5))
def test_the_limit_is_met_and_clusters_are_even(limit: int, seed: int) -> None:
    strata, clusters = chosen_strata(SET, limit, seed)
    assert strata.total() == limit
    assert len(clusters) == min(limit, 10)
    assert max(clusters.values()) - min(clusters.values()) <= 1


def test_it_is_never_simply_the_first_ones() -> None:
    chosen = choose_probes(SET, styles=(), limit=20, seed=0)
    first = [p.probe_id for s in SET for p in s.probes][:20]
    assert [p for probes in chosen.values() for p in probes] != first
    assert chosen != choose_probes(SET, styles=(), limit=20, seed=1)


def test_the_order_of_the_file_does_not_matter() -> None:
    turned = [s.model_copy(update={"probes": tuple(reversed(s.probes))}) for s in reversed(SET)]
    here = choose_probes(SET, styles=(), limit=33, seed=4)
    there = choose_probes(turned, styles=(), limit=33, seed=4)
    assert {k: set(v) for k, v in here.items()} == {k: set(v) for k, v in there.items()}


def test_styles_are_chosen_before_the_limit() -> None:
    mixed = [scenario(1, ["a"] * 3), scenario(2, ["a"] * 3, style="dialog")]
    assert choose_probes(mixed, styles=("dialog",), limit=2, seed=0).keys() == {"s2"}
    assert choose_probes(mixed, styles=(), limit=None, seed=0) == {
        "s1": ("s1/0", "s1/1", "s1/2"),
        "s2": ("s2/0", "s2/1", "s2/2"),
    }
