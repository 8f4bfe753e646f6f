"""Analyses of the figures that tables show: power, equivalence, seeds, one pooled model, and even dealing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from mnemoscope.evaluators.aggregate import ProbeFacts, aggregate
from mnemoscope.evaluators.analyses.analysis import Analysis
from mnemoscope.evaluators.analyses.equivalence import EquivalentSystems
from mnemoscope.evaluators.analyses.pooled import Pooled
from mnemoscope.evaluators.analyses.power import Power
from mnemoscope.evaluators.analyses.randomisation import RandomisationCheck
from mnemoscope.evaluators.analyses.seeds import Seeds
from mnemoscope.evaluators.rows import ScoreRow
from mnemoscope.evaluators.statistics.config import StatisticsConfig
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, cell, row

CLUSTERS, PROBES = 12, 5


def run_of(scores: Mapping[str, Callable[[int, int, int], float]], *, replicates: int = 1, **more: object) -> Run:
    """One scenario per cluster; a system's score is a function of cluster, probe and replicate."""
    places = [(f"s{c}", f"p{p}", c, p) for c in range(CLUSTERS) for p in range(PROBES)]
    rows = [
        row(system, probe, "integration", score(c, p, r), scenario=scenario, replicate=r)
        for system, score in scores.items()
        for scenario, probe, c, p in places
        for r in range(replicates)
    ]
    probes = {(scenario, probe): asked(probe, cluster=f"c{c:02}") for scenario, probe, c, _ in places}
    return Run(rows=rows, probes=probes, **{"names": tuple(scores), **more})  # type: ignore[arg-type]


def noisy(shift: float, seed: int) -> Callable[[int, int, int], float]:
    """A share that varies between clusters and between probes, and not between systems but for the shift."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.02, size=(CLUSTERS, PROBES))
    return lambda c, p, r: 0.3 + 0.03 * (c % 4) + 0.02 * p + shift + float(noise[c, p])


@pytest.mark.parametrize("analysis", [Power(), EquivalentSystems(), Seeds(), Pooled(), RandomisationCheck()])
def test_an_empty_run_says_what_is_missing(analysis: Analysis) -> None:
    found = analysis.analyse(Run(statistics=StatisticsConfig(equivalence_margin=0.05)))
    assert found.name == analysis.name and not found.rows and found.missing


def test_power_says_what_the_table_of_differences_says() -> None:
    run = run_of({"a": noisy(0.1, 1), "b": noisy(0.0, 2), "c": noisy(0.0, 3)}, resamples=500)
    found = by_name(Power().analyse(run), "a", "b")
    facts = {key: ProbeFacts(probe.cluster, (), "all") for key, probe in run.probes.items()}
    table = aggregate(run.rows, facts, resamples=500).pairs
    assert len(found) == 3
    for pair in (pair for pair in table if pair.stratum == "all"):
        mine = found[pair.a, pair.b]
        assert mine["mde"] == pytest.approx(pair.mde, abs=1e-6)
        assert mine["delta"] == pytest.approx(pair.delta, abs=1e-6)
        assert (mine["probes"], mine["clusters"]) == (pair.n, pair.clusters) == (60, 12)
        assert mine["p_floor"] == 2 / 2**12
    needed = {key: line["needed"] for key, line in found.items()}
    assert needed["a", "b"] == 6, "fewer clusters allow no p below .05"
    assert needed["b", "c"] > CLUSTERS, "what is not there takes more clusters than these"  # type: ignore[operator]


def test_clusters_that_move_as_one_tell_as_much_as_one_probe_each() -> None:
    together = run_of({"a": lambda c, p, r: float(c % 2), "b": lambda c, p, r: 0.0})
    apart = run_of({"a": lambda c, p, r: float((c + p) % 2), "b": lambda c, p, r: 0.0})
    heavy, light = (by_name(Power().analyse(run), "a")["a",]["design"] for run in (together, apart))
    assert heavy == pytest.approx(PROBES, rel=0.2)
    assert light < 1  # type: ignore[operator]


def test_equivalence_needs_a_margin_and_shows_both_units() -> None:
    scores = {"a": noisy(0.0, 1), "b": noisy(0.0, 2), "c": noisy(0.3, 3)}
    assert "equivalence_margin" in (EquivalentSystems().analyse(run_of(scores)).missing or "")
    run = run_of(scores, statistics=StatisticsConfig(equivalence_margin=0.05))
    found = by_name(EquivalentSystems().analyse(run), "a", "b", "unit")
    assert {key[2] for key in found} == {"probe", "cluster"} and len(found) == 6
    for (a, b, _), line in found.items():
        assert line["verdict"] == ("equivalent" if (a, b) == ("a", "b") else "not shown")
        inside = line["low"] > -0.05 and line["high"] < 0.05  # type: ignore[operator]
        assert inside == (line["verdict"] == "equivalent")
    same = run_of({"a": noisy(0, 1), "b": noisy(0, 1)}, statistics=StatisticsConfig(equivalence_margin=0.05))
    findings = EquivalentSystems().analyse(same)
    assert {line["verdict"] for line in by_name(findings, "unit").values()} == {"untested"}
    assert any("no spread was seen" in note for note in findings.notes)


def test_a_baseline_is_compared_with_each() -> None:
    scores = {"a": noisy(0.1, 1), "b": noisy(0.0, 2), "c": noisy(0.0, 3)}
    found = by_name(Power().analyse(run_of(scores, baseline="b")), "a", "b")
    assert set(found) == {("a", "b"), ("c", "b")}


def test_replicates_and_seeds_of_runs_are_two_sources() -> None:
    def score(built: float) -> Callable[[int, int, int], float]:
        return lambda c, p, r: 0.4 + 0.1 * r + built

    run = run_of(
        {"dense": score(0.0), "dense [b]": score(0.3), "bm25": score(0.0)},
        replicates=3,
        built={"dense": ("dense", 43), "dense [b]": ("dense", 44), "bm25": ("bm25", 43)},
        names=(),
    )
    found = by_name(Seeds().analyse(run), "system", "source", "held")
    answers, index = found["dense", "answer", 43], found["dense", "index", 0]
    assert (answers["seeds"], index["seeds"], answers["probes"]) == (3, 2, CLUSTERS * PROBES)
    assert answers["mean"] == pytest.approx(0.5) and answers["sd"] == pytest.approx(0.1)
    assert (answers["lowest"], answers["highest"]) == (pytest.approx(0.4), pytest.approx(0.6))
    assert index["mean"] == pytest.approx(0.55) and index["sd"] == pytest.approx(0.3 / 2**0.5)
    assert {key for key in found if key[0] == "bm25"} == {("bm25", "answer", 43)}
    once = run_of({"a": noisy(0, 1)})
    assert "--replicates" in (Seeds().analyse(once).missing or "")


def test_a_run_that_is_given_twice_counts_once_under_its_first_name() -> None:
    names = {"dense": ("dense", 43), "dense [b]": ("dense", 44), "dense [c]": ("dense", 43)}
    scores: dict[str, Callable[[int, int, int], float]] = {name: lambda c, p, r: 0.5 for name in names}
    found = Seeds().analyse(run_of(scores, built=names, names=()))
    (line,) = by_name(found, "source").values()
    assert (line["system"], line["source"], line["seeds"]) == ("dense", "index", 2)


def test_seeds_count_the_probes_that_all_of_them_scored() -> None:
    run = run_of({"a": lambda c, p, r: float(r)}, replicates=2)
    lost = [r._replace(score=None, status="error", label="rate-limit") for r in run.rows if r.replicate == 1][:4]
    rows = [r for r in run.rows if r.replicate == 0] + lost + [r for r in run.rows if r.replicate == 1][4:]
    (line,) = by_name(Seeds().analyse(Run(rows=rows, probes=run.probes, names=("a",))), "system").values()
    assert line["probes"] == CLUSTERS * PROBES - 4
    assert (line["lowest"], line["highest"]) == (0.0, 1.0)


def test_the_pooled_model_finds_the_planted_differences() -> None:
    run = run_of({"none@p": noisy(0.0, 1), "a@p": noisy(0.1, 2), "b@p": noisy(0.0, 3)})
    found = by_name(Pooled().analyse(run), "system")
    assert found["none@p",]["delta"] is None, "the reference"
    assert found["a@p",]["delta"] == pytest.approx(0.1, abs=0.01)
    assert abs(found["b@p",]["delta"]) < 0.01  # type: ignore[arg-type]
    a, b = found["a@p",], found["b@p",]
    assert a["p_adjusted"] < 0.001 < 0.2 < b["p_t"]  # type: ignore[operator]
    assert a["p_adjusted"] == pytest.approx(2 * a["p_t"])  # type: ignore[operator]
    assert a["cluster_share"] > 0.1 and a["probe_share"] > 0.1, "both were planted"  # type: ignore[operator]
    bonferroni = run_of(
        {"none@p": noisy(0.0, 1), "a@p": noisy(0.1, 2), "b@p": noisy(0.0, 3)},
        statistics=StatisticsConfig(correction="bonferroni"),
    )
    adjusted = by_name(Pooled().analyse(bonferroni), "system")["b@p",]
    assert adjusted["p_adjusted"] == pytest.approx(min(1.0, 2 * b["p_t"]))  # type: ignore[operator]


def test_a_model_that_cannot_be_fitted_says_why() -> None:
    findings = Pooled().analyse(run_of({"none@p": lambda c, p, r: 0.0, "a@p": lambda c, p, r: 1.0}))
    assert {line["fit"] for line in by_name(findings, "system").values()} != {"ok"}
    assert any(note.startswith("integration: ") for note in findings.notes)


def scored(rows: list[ScoreRow], probes: Mapping[tuple[str, str], object]) -> Run:
    cells = [cell(r.system, r.probe_id, scenario=r.scenario_id) for r in rows]
    return Run(rows=rows, probes=probes, names=("a", "b"), all_cells=cells)  # type: ignore[arg-type]


def test_a_replay_is_dealt_evenly_and_a_lopsided_log_is_not() -> None:
    run = run_of({"a": noisy(0, 1), "b": noisy(0, 2)})
    even = by_name(RandomisationCheck().analyse(scored(list(run.rows), run.probes)), "metric")
    assert (even["replies",]["chi2"], even["replies",]["p"], even["replies",]["df"]) == (0.0, 1.0, CLUSTERS - 1)
    assert even["integration",]["n"] == 2 * CLUSTERS * PROBES
    dealt = [r for r in run.rows if (r.system == "a") == (r.scenario_id in ("s0", "s1", "s2"))]
    skewed = by_name(RandomisationCheck().analyse(scored(dealt, run.probes)), "metric")
    assert skewed["replies",]["p"] < 1e-6  # type: ignore[operator]
    assert "c0" in str(skewed["replies",]["stands_out"])
