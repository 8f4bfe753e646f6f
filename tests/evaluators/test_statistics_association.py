"""Spearman's correlation: scipy's figures, the published p, and what clusters do to it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.association import spearman, spearman_p
from mnemoscope.evaluators.statistics.bootstrap import Floats, bootstrap_statistic

small = st.integers(0, 4)


def test_the_published_p_is_the_unclustered_one() -> None:
    assert spearman_p(0.29, 48) == pytest.approx(0.0456, abs=5e-5)
    assert spearman_p(0.5, 2) is None
    assert spearman_p(1.0, 10) == 0.0
    with pytest.raises(ConfigError, match="between -1 and 1"):
        spearman_p(1.2, 10)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(small, small, st.sampled_from("abcd")), min_size=3, max_size=30))
def test_as_scipy_with_ties_and_in_bounds(rows: list[tuple[int, int, str]]) -> None:
    first, second, clusters = (list(column) for column in zip(*rows, strict=True))
    found = spearman(first, second, clusters, seed=2, resamples=100)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert (found.rho, found.p, found.reason) == (None, None, "a column is constant")
        return
    peer = spearmanr(first, second)
    assert found.rho == pytest.approx(peer.statistic, abs=1e-12)
    if abs(peer.statistic) < 1 - 1e-9:
        assert found.p == pytest.approx(peer.pvalue, abs=1e-9)
    if found.low is not None and found.high is not None:
        assert -1 - 1e-9 <= found.low <= found.high <= 1 + 1e-9
    swapped = spearman(second, first, clusters, seed=2, resamples=100)
    assert found.rho == pytest.approx(swapped.rho)
    again = spearman(first[::-1], second[::-1], clusters[::-1], seed=2, resamples=100)
    assert (found.low, found.high, found.p_within) == pytest.approx((again.low, again.high, again.p_within))


def test_the_weighted_ranks_are_the_ranks_of_repeated_rows() -> None:
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(8), rng.integers(1, 6, size=8))
    table = np.column_stack([rng.integers(0, 5, len(clusters)), rng.integers(0, 5, len(clusters))]).astype(np.float64)

    def rho(rows: Floats) -> float:
        constant = np.ptp(rows, axis=0).min() == 0
        return float("nan") if constant else float(spearmanr(rows[:, 0], rows[:, 1]).statistic)

    slow = bootstrap_statistic([table[clusters == c] for c in range(8)], rho, seed=3, resamples=300)
    fast = spearman(table[:, 0], table[:, 1], clusters.tolist(), seed=3, resamples=300)
    assert (fast.rho, fast.low, fast.high) == pytest.approx((slow.value, slow.low, slow.high))
    assert fast.degenerate == slow.degenerate


def test_an_association_between_users_is_none_within_them() -> None:
    rng = np.random.default_rng(9)
    users = np.repeat(np.arange(16), 3)
    level = np.arange(16, dtype=np.float64)[users]
    first, second = level + rng.normal(0, 0.3, 48), level + rng.normal(0, 0.3, 48)
    found = spearman(first, second, users.tolist(), seed=1, resamples=2_000)
    assert found.p is not None and found.p < 1e-6
    assert found.p_within is not None and found.p_within > 0.05
    inside = rng.normal(size=48)
    found = spearman(level + inside, level + inside, users.tolist(), seed=1, resamples=2_000)
    assert found.p_within is not None and found.p_within < 0.01


def test_the_within_cluster_p_is_uniform_where_nothing_is_there() -> None:
    rng = np.random.default_rng(10)
    users = np.repeat(np.arange(16), 3)
    level = rng.normal(size=16)[users]
    found = [
        spearman(level + rng.normal(size=48), level + rng.normal(size=48), users.tolist(), seed=i, resamples=200)
        for i in range(200)
    ]
    within = np.mean([f.p_within is not None and f.p_within < 0.1 for f in found])
    naive = np.mean([f.p is not None and f.p < 0.1 for f in found])
    assert within <= 0.16 < naive


def test_rows_that_stand_alone_have_no_within() -> None:
    found = spearman([1, 2, 3, 4], [2, 1, 4, 3], seed=1, resamples=200)
    assert (found.p_within, found.clusters) == (None, 4)
    few = spearman([1.0], [2.0], seed=1)
    assert (few.rho, few.reason) == (None, "fewer than two rows")
    with pytest.raises(ConfigError, match="second, row 1 is inf"):
        spearman([1, 2], [1, float("inf")], seed=1)


@pytest.mark.data
@pytest.mark.parametrize(
    ("system", "schema", "with_reference", "with_integration"),
    [
        ("mem0", "1.1", -0.07, -0.06),
        ("mem0", "1.2", -0.01, 0.08),
        ("letta", "1.1", 0.13, 0.03),
        ("letta", "1.2", 0.17, 0.09),
    ],
)
def test_answering_and_saying_are_unrelated_in_the_released_reports(
    benchmark_data: Path, system: str, schema: str, with_reference: float, with_integration: float
) -> None:
    path = benchmark_data / "memuse_labels" / f"report_{system}_schema{schema}.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    ids = sorted(report["per_instance"])
    share = {
        metric: [np.mean([r[metric] for r in report["per_sub_question"] if r["instance_id"] == i]) for i in ids]
        for metric in ("direct_qa", "reference")
    }
    integration = [float(report["per_instance"][i]["natural_integration"]) for i in ids]
    for other, expected in ((share["reference"], with_reference), (integration, with_integration)):
        found = spearman(share["direct_qa"], other, seed=1, resamples=500)
        assert found.rho == pytest.approx(expected, abs=0.0051)
        assert found.low is not None and found.high is not None and found.low < found.rho < found.high
