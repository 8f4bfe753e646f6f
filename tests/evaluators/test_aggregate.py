"""Figures from verdicts: counts, both denominators, strata, pairs, speed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemoscope.evaluators.aggregate import MACRO, MetricRow, PairRow, ProbeFacts, ScoreRow, aggregate
from mnemoscope.evaluators.statistics.bootstrap import resample_counts
from mnemoscope.evaluators.statistics.intervals import wilson


def row(
    system: str, probe: str, score: float | None, *, metric: str = "smc", status: str = "scored", label: str = "x",
    subject: str = "reply", replicate: int = 0, judge: str = "j1",
) -> ScoreRow:  # fmt: skip
    return ScoreRow(system, "s", probe, replicate, metric, subject, label, score, status, judge)


def facts(n: int, *, clusters: int = 4, strata: tuple[str, ...] = ()) -> dict[tuple[str, str], ProbeFacts]:
    return {("s", f"p{i}"): ProbeFacts(f"c{i % clusters}", strata, "bench") for i in range(n)}


def the(rows: tuple[MetricRow, ...], system: str = "a", stratum: str = "all", metric: str = "smc") -> MetricRow:
    (found,) = [r for r in rows if (r.system, r.stratum, r.metric) == (system, stratum, metric)]
    return found


def test_errors_stay_in_the_strict_denominator(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("MT-02")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rows = []
    for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        status = entry["status"]
        is_error = "error" in status
        score = None if is_error else float(status == "right")
        rows.append(row("a", entry["id"], score, status="error" if is_error else "scored", label=status))
    probes = {("s", f"q{i}"): ProbeFacts(f"c{i}", (), "bench") for i in range(10)}
    fine = [row("b", f"q{i}", 1.0) for i in range(10)]
    found = aggregate([*rows, *fine], probes, resamples=200)
    figure = the(found.metrics)
    assert (figure.n_expected, figure.n_scored) == (expected["n_total"], expected["n_scored"])
    assert round(figure.value or 0, 4) == expected["accuracy_on_scored"]
    assert figure.strict == expected["accuracy_errors_as_wrong"]
    assert figure.n_error == expected["errors"]
    assert any("30% of a's cells failed and 0% of b's" in warning for warning in found.warnings)


def test_missing_cells_are_counted_against_completeness(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("MT-03")
    instances = json.loads((folder / "instances.json").read_text(encoding="utf-8"))
    replies = json.loads((folder / "responses.json").read_text(encoding="utf-8"))["natural"]
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    known = [entry["id"] for entry in instances]
    probes = {("s", i): ProbeFacts(i, (), "bench") for i in known}
    rows = [
        row("a", i, 1.0) if i in replies else row("a", i, None, status="error", label="missing", judge="")
        for i in known
    ]
    figure = the(aggregate(rows, probes, resamples=200).metrics)
    assert (figure.n_expected, figure.n_scored) == (expected["n_expected"], expected["n_answered"])
    assert figure.n_error == {"missing": len(expected["missing"])}
    assert (figure.value, figure.strict) == (1.0, 0.6)
    with pytest.raises(KeyError):
        aggregate([row("a", "pos_99", 1.0)], probes)


def test_exclusions_and_invalid_verdicts_are_no_zeros() -> None:
    rows = [
        row("a", "p0", 1.0),
        row("a", "p1", None, status="not_applicable", label="no gold"),
        row("a", "p2", None, status="not_applicable", label="no gold"),
        row("a", "p3", None, status="invalid", label="unreadable"),
    ]
    figure = the(aggregate(rows, facts(4), resamples=200).metrics)
    assert (figure.value, figure.strict) == (1.0, 0.5)
    assert (figure.n_expected, figure.n_scored, figure.n_invalid) == (4, 1, 1)
    assert figure.n_excluded == {"no gold": 2}
    assert figure.n_expected == figure.n_scored + figure.n_invalid + sum(figure.n_error.values()) + 2
    nothing = the(aggregate(rows[1:3], facts(4), resamples=200).metrics)
    assert (nothing.value, nothing.strict, nothing.low, nothing.interval) == (None, None, None, "nothing scored")


def test_a_failure_is_the_worst_score_where_lower_is_better() -> None:
    rows = [row("a", "p0", 0.0, metric="cir"), row("a", "p1", None, metric="cir", status="error", label="timeout")]
    figure = the(aggregate(rows, facts(2), resamples=200).metrics, metric="cir")
    assert (figure.value, figure.strict) == (0.0, 0.5)


def test_several_verdicts_on_a_cell_are_one_score() -> None:
    rows = [
        row("a", "p0", 1.0, subject="f1"), row("a", "p0", 0.0, subject="f2"), row("a", "p1", 1.0, subject="f1"),
        row("a", "p2", 1.0, subject="f1"), row("a", "p2", None, subject="f2", status="error", label="boom"),
    ]  # fmt: skip
    figure = the(aggregate(rows, facts(3), resamples=200).metrics)
    assert (figure.value, figure.n_expected, figure.n_scored, figure.n_error) == (0.75, 3, 2, {"boom": 1})


def test_strata_benchmark_and_evidence() -> None:
    probes = {("s", "p0"): ProbeFacts("c0", ("hard",), "x"), ("s", "p1"): ProbeFacts("c1", ("easy",), "y")}
    rows = [row("a", "p0", 0.0), row("a", "p1", 1.0)]
    found = aggregate(rows, probes, evidence={"a": "twin"}, resamples=200)
    assert [r.stratum for r in found.metrics] == ["all", "easy", "hard", "x", "y"]
    assert {r.stratum: r.value for r in found.metrics} == {"all": 0.5, "easy": 1.0, "hard": 0.0, "x": 0.0, "y": 1.0}
    assert (found.metrics[0].evidence, found.metrics[0].judge_key) == ("twin", "j1")


def test_the_whole_is_the_micro_rate_and_strata_are_their_own(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("MT-04")
    counts = json.loads((folder / "counts.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rows, probes = [], {}
    for kind, count in counts.items():
        for i in range(count["n"]):
            probes["s", f"{kind}{i}"] = ProbeFacts(f"{kind}{i}", (kind,), "bench")
            rows.append(row("a", f"{kind}{i}", float(i < count["correct"])))
    found = aggregate(rows, probes, resamples=200).metrics
    assert the(found).value == expected["overall_micro"]
    assert {r.stratum: r.value for r in found if r.stratum in counts} == expected["per_type"]


def test_intervals_by_kind() -> None:
    binary = [row("a", f"p{i}", float(i % 3 == 0)) for i in range(12)]
    assert the(aggregate(binary, facts(12, clusters=4), resamples=500).metrics).interval == "cluster-bootstrap"
    independent = the(aggregate(binary, facts(12, clusters=12), resamples=500).metrics)
    assert (independent.interval, independent.clusters) == ("wilson", 12)
    never = the(aggregate([row("a", f"p{i}", 0.0) for i in range(12)], facts(12), resamples=500).metrics)
    assert never.interval == "wilson" and never.high is not None and never.high > 0.2
    one = the(aggregate(binary, facts(12, clusters=1), resamples=500).metrics)
    assert (one.low, one.interval, one.clusters) == (None, "one cluster", 1)


def test_a_figure_without_spread_counts_clusters_not_rows() -> None:
    rows = [row("a", f"p{i}", 0.0) for i in range(200)] + [row("b", f"p{i}", 1.0) for i in range(200)]
    found = aggregate(rows, facts(200, clusters=10), resamples=200).metrics
    assert (the(found).low, the(found).high) == (0.0, round(wilson(0, 10).high or 0, 6))
    assert (the(found, "b").low, the(found, "b").high) == (round(wilson(10, 10).low or 0, 6), 1.0)


def test_two_judges_are_two_rows() -> None:
    rows = [
        *(row("a", f"p{i}", float(judge == "j2"), judge=judge) for i in range(4) for judge in ("j1", "j2")),
        *(row("b", f"p{i}", 1.0, judge="j2") for i in range(3)),
        row("b", "p3", None, status="error", label="boom", judge=""),
        row("c", "p0", None, status="error", label="boom", judge=""),
    ]
    found = aggregate(rows, facts(4), resamples=200)
    figures = [(r.system, r.judge_key, r.value, r.n_expected) for r in found.metrics if r.stratum == "all"]
    assert figures == [
        *(("a", "j1", 0.0, 4), ("c", "j1", None, 1)),
        *(("a", "j2", 1.0, 4), ("b", "j2", 1.0, 4), ("c", "j2", None, 1)),
    ]
    assert {(p.a, p.b, p.n) for p in found.pairs} == {("a", "b", 3)}
    assert any("several judges (j1, j2)" in warning for warning in found.warnings)


def test_one_cluster_has_no_p_to_believe() -> None:
    rows = [row(s, f"p{i}", float(s == "a")) for s in "ab" for i in range(40)]
    (pair,) = [p for p in aggregate(rows, facts(40, clusters=1), resamples=200).pairs if p.stratum == "all"]
    assert pair.p is not None and pair.p < 1e-6
    assert (pair.p_clustered, pair.p_adjusted, pair.low, pair.mde) == (None, None, None, None)


def test_what_could_be_shown_follows_the_spread_between_clusters() -> None:
    # a and b differ by half their probes in every other cluster, so that clusters spread and probes are alike within
    rows = [row("a", f"p{i}", float(i % 2)) for i in range(80)] + [row("b", f"p{i}", 0.0) for i in range(80)]
    mde = {}
    for clusters in (5, 8, 40):
        (pair,) = [p for p in aggregate(rows, facts(80, clusters=clusters)).pairs if p.stratum == "all"]
        assert pair.test == "mcnemar-exact"
        mde[clusters] = pair.mde
    assert mde[5] is None, "five clusters reach no p below .0625"
    assert mde[8] == pytest.approx(2.80 * 0.5 / 8**0.5, rel=0.05)
    assert mde[40] == pytest.approx(2.80 * 0.5 / 40**0.5, rel=0.05)


def test_pairs_are_by_shared_probe() -> None:
    rows = [row("a", f"p{i}", 1.0) for i in range(10)] + [row("b", f"p{i}", float(i > 2)) for i in range(8)]
    found = aggregate(rows, facts(10, clusters=5), resamples=500)
    (pair,) = [p for p in found.pairs if p.stratum == "all"]
    assert (pair.a, pair.b, pair.delta, pair.n, pair.clusters, pair.test) == ("a", "b", 0.375, 8, 5, "mcnemar-exact")
    assert pair.p == 0.25
    assert pair.low is not None and pair.high is not None and pair.low <= 0.375 <= pair.high
    assert pair.mde is None  # five clusters cannot show anything
    flipped = aggregate(rows, facts(10, clusters=5), systems=["b", "a"], resamples=500)
    (other,) = [p for p in flipped.pairs if p.stratum == "all"]
    assert (other.delta, other.low, other.high) == (-0.375, -pair.high, -pair.low)


def test_baseline_and_family_of_holm() -> None:
    rng = random.Random(4)
    rows = [row(s, f"p{i}", rng.random() + 0.3 * n, metric="recall@10") for n, s in enumerate("abc") for i in range(40)]
    found = aggregate(rows, facts(40, clusters=10), baseline="a", resamples=500)
    pairs: list[PairRow] = [p for p in found.pairs if p.stratum == "all"]
    assert [(p.a, p.b) for p in pairs] == [("b", "a"), ("c", "a")]
    assert all(p.test == "paired-t" and p.mde is not None and p.mde > 0 for p in pairs)
    raw = sorted(p.p_clustered for p in pairs if p.p_clustered is not None)
    assert min(p.p_adjusted or 0 for p in pairs) == pytest.approx(min(1.0, raw[0] * 2))
    assert len([p for p in aggregate(rows, facts(40), resamples=200).pairs if p.stratum == "all"]) == 3


def test_order_of_rows_and_replicates_do_not_matter() -> None:
    rng = random.Random(2)
    rows = [row(s, f"p{i}", rng.random(), replicate=r) for s in "ab" for i in range(20) for r in range(2)]
    first = aggregate(rows, facts(20), resamples=300)
    rng.shuffle(rows)
    assert aggregate(rows, facts(20), resamples=300) == first
    assert the(first.metrics).n_expected == 40
    assert [p.n for p in first.pairs if p.stratum == "all"] == [20]


@pytest.mark.slow
def test_a_whole_benchmark_in_seconds() -> None:
    rng = random.Random(1)
    probes = {
        (f"c{i % 10}", f"p{i}"): ProbeFacts(f"c{i % 10}", (f"k{i % 5}", "non-adversarial"), "locomo")
        for i in range(1986)
    }
    rows = [
        (f"sys{s}", scenario, probe, 0, f"m{m}", "reply", "x", float(rng.random() < 0.5), "scored", "j")
        for s in range(7)
        for (scenario, probe) in probes
        for m in range(25)
    ]
    start = time.process_time()
    found = aggregate(rows, probes)
    assert time.process_time() - start < 30
    assert len(found.metrics) == 7 * 25 * 8


def kinds(case_dir: Callable[[str], Path]) -> tuple[list[ScoreRow], dict[tuple[str, str], ProbeFacts], dict[str, Any]]:
    folder = case_dir("MT-04")
    counts = json.loads((folder / "counts.json").read_text(encoding="utf-8"))
    rows, probes = [], {}
    for kind, count in counts.items():
        for i in range(count["n"]):
            probes["s", f"{kind}{i}"] = ProbeFacts(f"c{i % 4}", (kind,), "all")
            rows.append(row("a", f"{kind}{i}", float(i < count["correct"])))
    return rows, probes, json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def test_micro_and_macro_are_two_named_rows(case_dir: Callable[[str], Path]) -> None:
    rows, probes, expected = kinds(case_dir)
    found = aggregate(rows, probes, categories=tuple(expected["per_type"]), resamples=500).metrics
    assert [r.stratum for r in found] == ["all", *sorted(expected["per_type"]), MACRO]
    micro, macro = found[0], found[-1]
    assert (micro.value, macro.value) == (expected["overall_micro"], expected["task_averaged_macro"])
    assert (macro.n_expected, macro.n_scored, macro.clusters, macro.interval) == (40, 40, 4, "cluster-bootstrap")
    assert macro.low is not None and macro.high is not None and macro.low < 0.6 < macro.high
    assert MACRO not in {r.stratum for r in aggregate(rows, probes, resamples=100).metrics}
    one = aggregate(rows, probes, categories=("multi-session",), resamples=100).metrics
    assert MACRO not in {r.stratum for r in one}, "one category has no mean over categories"


def test_the_macro_interval_is_that_of_the_mean_of_ratios(case_dir: Callable[[str], Path]) -> None:
    rows, probes, expected = kinds(case_dir)
    names = tuple(expected["per_type"])
    macro = aggregate(rows, probes, categories=names, resamples=400, seed=3).metrics[-1]
    sums, sizes = np.zeros((4, 3)), np.zeros((4, 3))
    for entry in rows:
        facts_of = probes[entry.scenario_id, entry.probe_id]
        place = int(facts_of.cluster[1:]), names.index(facts_of.strata[0])
        sums[place] += entry.score or 0.0
        sizes[place] += 1
    counts = resample_counts(4, 400, 3).astype(float)
    with np.errstate(invalid="ignore"):
        drawn = ((counts @ sums) / (counts @ sizes)).mean(axis=1)
    kept = drawn[~np.isnan(drawn)]
    assert len(kept) < 400, "draws without one of the types are left out"
    assert (macro.low, macro.high) == tuple(round(float(q), 6) for q in np.quantile(kept, [0.025, 0.975]))


def test_a_category_without_a_score_leaves_no_macro_value(case_dir: Callable[[str], Path]) -> None:
    rows, probes, expected = kinds(case_dir)
    names = tuple(expected["per_type"])
    broken = [
        r._replace(score=None, status="error", label="boom") if r.probe_id.startswith("single") else r for r in rows
    ]
    macro = aggregate(broken, probes, categories=names, resamples=100).metrics[-1]
    assert (macro.value, macro.low, macro.interval) == (None, None, "a category has no score")
    assert macro.strict == pytest.approx((0 + 0.5 + 0.8) / 3, abs=1e-6)
    assert (macro.n_expected, macro.n_scored, macro.n_error) == (40, 38, {"boom": 2})
    perfect = [r._replace(score=1.0) for r in rows]
    always = aggregate(perfect, probes, categories=names, resamples=100).metrics[-1]
    assert (always.value, always.interval, always.high) == (1.0, "wilson", 1.0)
    assert always.low is not None and always.low < 0.7, "four clusters, all right, are no proof"


def test_categories_must_part_the_probes(case_dir: Callable[[str], Path]) -> None:
    rows, probes, _ = kinds(case_dir)
    both = probes | {("s", "multi-session0"): ProbeFacts("c0", ("multi-session", "temporal-reasoning"), "all")}
    with pytest.raises(ValueError, match="probe multi-session0 of s is in multi-session and temporal-reasoning"):
        aggregate(rows, both, categories=("multi-session", "temporal-reasoning"), resamples=100)
