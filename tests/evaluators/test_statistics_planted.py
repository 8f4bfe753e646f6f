"""Planted truths: how often intervals cover, tests err and differences are found, over simulated data sets.

Every data set is a column, so that one draw of clusters serves a thousand of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from mnemoscope.evaluators.statistics.bootstrap import Floats, IntervalMethod, bootstrap_ratios
from mnemoscope.evaluators.statistics.equivalence import tost
from mnemoscope.evaluators.statistics.paired import mcnemar_exact, sign_flip, sign_flip_exact

RUNS = 1_000
METHODS: tuple[IntervalMethod, ...] = ("percentile", "bca")


def shares(clusters: int, *, skewed: bool) -> tuple[Floats, Floats, float]:
    """Successes and rows by cluster and data set; each cluster has its own chance, and the mean chance is known."""
    rng = np.random.default_rng(5)
    rows = rng.integers(2, 11, size=clusters)
    a, b = (0.5, 4.5) if skewed else (2.0, 2.0)
    successes = rng.binomial(rows[:, None], rng.beta(a, b, size=(clusters, RUNS)))
    return successes.astype(np.float64), np.repeat(rows[:, None].astype(np.float64), RUNS, axis=1), a / (a + b)


def coverage(clusters: int, method: IntervalMethod, *, skewed: bool, resamples: int) -> float:
    sums, sizes, truth = shares(clusters, skewed=skewed)
    found = bootstrap_ratios(sums, sizes, seed=1, method=method, resamples=resamples)
    return float(np.mean([e.low is not None and e.high is not None and e.low <= truth <= e.high for e in found]))


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_intervals_over_260_clusters_cover_as_they_say(method: IntervalMethod, skewed: bool) -> None:
    assert 0.93 <= coverage(260, method, skewed=skewed, resamples=1_000) <= 0.97


@pytest.mark.parametrize("method", METHODS)
def test_intervals_over_ten_clusters_cover_less_than_they_say(method: IntervalMethod) -> None:
    """Ten conversations: about .91 where chances are symmetric, .86 to .88 where they are skewed; not .95."""
    assert 0.87 <= coverage(10, method, skewed=False, resamples=1_000) <= 0.935
    assert 0.83 <= coverage(10, method, skewed=True, resamples=1_000) <= 0.91


def test_bca_covers_skewed_shares_better_than_percentiles() -> None:
    percentile, bca = (coverage(20, method, skewed=True, resamples=1_000) for method in METHODS)
    assert bca > percentile


def differences(clusters: int, shift: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Discordant rows either way, and rows, by cluster and data set; clusters favour one system or the other."""
    rng = np.random.default_rng(7)
    rows = rng.integers(2, 7, size=clusters)
    base = rng.uniform(0.3, 0.7, size=(clusters, RUNS))
    taste = rng.choice([-1, 1], size=(clusters, RUNS)) * rng.uniform(0.1, 0.5, size=(clusters, RUNS)) + shift
    chances = [np.clip(base + sign * taste / 2, 0, 1) for sign in (1, -1)]
    n10, n01 = np.zeros((clusters, RUNS)), np.zeros((clusters, RUNS))
    for row in range(6):
        first, second = (rng.random((clusters, RUNS)) < chance for chance in chances)
        real = (row < rows)[:, None]
        n10 += real & first & ~second
        n01 += real & second & ~first
    return n10, n01, np.repeat(rows[:, None].astype(np.float64), RUNS, axis=1)


@pytest.mark.parametrize("clusters", [10, 72, 260])
def test_equal_systems_are_called_different_at_most_as_often_as_the_level_says(clusters: int) -> None:
    n10, n01, _ = differences(clusters)
    by_cluster = sign_flip(n10 - n01, seed=1, resamples=2_000)
    assert (by_cluster < 0.05).mean() <= 0.065
    some = range(0, RUNS, 5)
    exact = [sign_flip_exact((n10 - n01)[:, run].astype(np.int64)) for run in some]
    assert np.mean(np.array(exact) < 0.05) <= 0.065 + 0.03  # 200 of the runs
    assert np.abs(by_cluster[::5] - exact).max() < 0.06


def test_rows_taken_as_independent_are_called_different_too_often() -> None:
    n10, n01, _ = differences(72)
    naive = [mcnemar_exact(int(a), int(b)) for a, b in zip(n10.sum(axis=0), n01.sum(axis=0), strict=True)]
    clustered = sign_flip(n10 - n01, seed=1, resamples=2_000)
    assert np.mean(np.array(naive) < 0.05) > (clustered < 0.05).mean() + 0.01


def test_a_difference_of_2_8_standard_errors_is_found_four_times_of_five() -> None:
    clusters = 72
    n10, n01, sizes = differences(clusters)
    error = float(((n10 - n01).sum(axis=0) / sizes.sum(axis=0)).std())
    planted = 2.8016 * error
    n10, n01, sizes = differences(clusters, shift=planted)
    got = float(((n10 - n01).sum(axis=0) / sizes.sum(axis=0)).mean())
    assert got == pytest.approx(planted, rel=0.1)
    assert 0.75 <= (sign_flip(n10 - n01, seed=1, resamples=2_000) < 0.05).mean() <= 0.85


def test_a_difference_on_the_margin_is_called_equivalent_at_the_level() -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(0.25, 1.0, size=(RUNS, 40))
    errors = values.std(axis=1, ddof=1) / np.sqrt(40)
    called = [
        tost(float(d), float(e), 0.25, df=39).equivalent for d, e in zip(values.mean(axis=1), errors, strict=True)
    ]
    assert np.mean(called) <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("clusters", "low", "high"), [(10, 0.87, 0.935), (40, 0.925, 0.965), (260, 0.93, 0.97)])
def test_coverage_at_ten_thousand_resamples(clusters: int, low: float, high: float, method: IntervalMethod) -> None:
    assert low <= coverage(clusters, method, skewed=False, resamples=10_000) <= high
