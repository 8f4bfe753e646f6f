"""The cluster bootstrap: BCa against scipy, any statistic, degenerate draws, one draw for all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.bootstrap import (
    Estimate,
    Floats,
    IntervalMethod,
    bootstrap_columns,
    bootstrap_of_counts,
    bootstrap_ratios,
    bootstrap_statistic,
)

METHODS: tuple[IntervalMethod, ...] = ("percentile", "bca")


def column(values: list[float]) -> Floats:
    return np.asarray(values, dtype=np.float64)[:, None]


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_are_their_own_clusters_give_scipys_interval(method: IntervalMethod) -> None:
    values = np.random.default_rng(2).exponential(size=(30, 1))
    (mine,) = bootstrap_ratios(values, np.ones((30, 1)), seed=1, method=method, resamples=20_000)
    name = {"percentile": "percentile", "bca": "BCa"}[method]
    peer = bootstrap((values[:, 0],), np.mean, method=name, n_resamples=20_000, rng=np.random.default_rng(3))
    assert mine.method == method
    assert (mine.low, mine.high) == pytest.approx(tuple(peer.confidence_interval), abs=0.02)
    assert mine.error == pytest.approx(peer.standard_error, rel=0.03)


def test_bca_moves_towards_the_long_tail_of_a_skewed_statistic() -> None:
    values = np.random.default_rng(4).exponential(size=(25, 1)) ** 2
    percentile, bca = (bootstrap_ratios(values, np.ones((25, 1)), seed=1, method=m)[0] for m in METHODS)
    assert bca.low is not None and percentile.low is not None and bca.low > percentile.low
    assert bca.high is not None and percentile.high is not None and bca.high > percentile.high


def test_percentile_ratios_are_the_columns_that_aggregates_use() -> None:
    rng = np.random.default_rng(8)
    sums, sizes = rng.random((12, 3)), np.full((12, 3), 2.0)
    low, high, error = bootstrap_columns(sums, sizes, seed=5, resamples=500)
    found = bootstrap_ratios(sums, sizes, seed=5, resamples=500, method="percentile")
    assert [(e.low, e.high, e.error) for e in found] == list(zip(low, high, error, strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_a_statistic_of_rows_and_one_of_counts_are_the_same(method: IntervalMethod) -> None:
    rows = [np.array([1.0, 0.0]), np.array([1.0]), np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0])]
    by_rows = bootstrap_statistic(rows, lambda r: float(r.mean()), seed=3, resamples=400, method=method)
    (by_sums,) = bootstrap_ratios(
        column([r.sum() for r in rows]), column([len(r) for r in rows]), seed=3, resamples=400, method=method
    )
    for field in ("value", "low", "high", "error", "without_one"):
        assert getattr(by_rows, field) == pytest.approx(getattr(by_sums, field))


def test_a_median_by_cluster_and_what_one_history_changes() -> None:
    rows = [np.array([1.0, 1.0, 1.0]), np.array([5.0]), np.array([9.0, 9.0])]
    found = bootstrap_statistic(rows, lambda r: float(np.median(r)), seed=1, resamples=300)
    assert found.value == 3.0
    assert found.without_one == (1.0, 9.0)  # without the last, and without the first
    assert found.low is not None and found.high is not None
    assert 1.0 <= found.low <= found.high <= 9.0


def test_draws_without_a_value_are_counted_and_left_out() -> None:
    sizes = column([2.0, 0.0, 0.0, 2.0])
    (found,) = bootstrap_ratios(column([1.0, 0.0, 0.0, 2.0]), sizes, seed=1, resamples=2_000)
    assert found.clusters == 2
    assert found.degenerate == pytest.approx(2_000 / 16, rel=0.3)  # both scored clusters missed: (2/4)^4
    assert found.value == 0.75 and found.low is not None and np.isfinite(found.low)
    assert found.without_one == (0.5, 1.0)


def test_nothing_and_one_cluster_have_no_interval_and_say_why() -> None:
    (none, single) = bootstrap_ratios(
        np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 2.0], [0.0, 0.0]]), seed=1, resamples=100
    )
    assert (none.value, none.low, none.reason) == (None, None, "no value on these rows")
    assert (single.value, single.low, single.error, single.reason) == (0.5, None, None, "one cluster")
    (empty,) = bootstrap_ratios(np.zeros((0, 1)), np.zeros((0, 1)), seed=1)
    assert (empty.value, empty.reason) == (None, "nothing scored")


def test_bca_falls_back_where_all_draws_lie_on_one_side() -> None:
    def highest(rows: Floats) -> float:
        return float(rows.max() + (len(np.unique(rows)) < 40) * 100.0)  # every draw lacks a row, so that all lie above

    found = bootstrap_statistic([np.array([float(i)]) for i in range(40)], highest, seed=1, resamples=200)
    assert found.method == "percentile"
    assert found.reason is not None and found.reason.startswith("BCa undefined")
    same = bootstrap_ratios(np.ones((6, 1)), np.ones((6, 1)), seed=1)[0]
    assert (same.low, same.high, same.method) == (1.0, 1.0, "bca")


@pytest.mark.parametrize("arguments", [{"confidence": 0.0}, {"confidence": 1.5}, {"resamples": 1}])
def test_unusable_settings_are_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1, and at least 2"):
        bootstrap_of_counts(lambda counts: counts[:, :1], 3, seed=1, **arguments)  # type: ignore[arg-type]


clusters = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


def numbers(found: Estimate) -> list[float]:
    some = [found.value, found.low, found.high, found.error, *(found.without_one or ())]
    return [x for x in some if x is not None]


@settings(max_examples=60, deadline=None)
@given(clusters, st.sampled_from(METHODS))
def test_bounds_and_no_nan(rows: list[tuple[int, int]], method: IntervalMethod) -> None:
    sums, sizes = column([min(a, b) for a, b in rows]), column([b for _, b in rows])
    (found,) = bootstrap_ratios(sums, sizes, seed=2, resamples=200, method=method)
    assert all(np.isfinite(numbers(found)))
    if found.low is not None and found.high is not None:
        assert 0.0 <= found.low <= found.high <= 1.0
    else:
        assert found.reason


@settings(max_examples=40, deadline=None)
@given(clusters, st.sampled_from(METHODS))
def test_minus_the_rows_is_minus_the_interval(rows: list[tuple[int, int]], method: IntervalMethod) -> None:
    sums, sizes = column([a for a, _ in rows]), column([b for _, b in rows])
    found, mirrored = bootstrap_ratios(
        np.hstack([sums, -sums]), np.hstack([sizes, sizes]), seed=2, resamples=200, method=method
    )
    if found.low is None or found.high is None:
        assert mirrored.low is None
        return
    assert (mirrored.low, mirrored.high) == (pytest.approx(-found.high, abs=1e-9), pytest.approx(-found.low, abs=1e-9))
