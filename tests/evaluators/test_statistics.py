"""Statistics: published reference values, properties, and coverage on simulated data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.bootstrap import bootstrap_columns, resample_counts
from mnemoscope.evaluators.statistics.intervals import wilson
from mnemoscope.evaluators.statistics.multiplicity import bonferroni, holm
from mnemoscope.evaluators.statistics.paired import clusters_needed, detectable, mcnemar_exact, paired_p, sign_flip


def interval_of(values: list[float], clusters: list[str], seed: int, resamples: int) -> tuple[float, float]:
    """The bootstrap interval of one column of rows."""
    names, index = np.unique(clusters, return_inverse=True)
    sums = np.bincount(index, weights=values, minlength=len(names)).astype(np.float64)[:, None]
    sizes = np.bincount(index, minlength=len(names)).astype(np.float64)[:, None]
    low, high, _ = bootstrap_columns(sums, sizes, seed=seed, resamples=resamples)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(
    ("ones", "n", "low", "high"),
    [
        (42, 72, 0.468, 0.690),
        (20, 72, 0.1876, 0.3905),
        (16, 72, 0.1417, 0.3309),
        (6, 72, 0.039, 0.170),
        (0, 72, 0.0, 0.051),
    ],
)
def test_wilson_reference_values(ones: int, n: int, low: float, high: float) -> None:
    interval = wilson(ones, n)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.5, float("inf")])
def test_a_p_value_that_is_none_is_refused(wrong: float) -> None:
    for correct in (holm, bonferroni):
        with pytest.raises(ConfigError, match=r"p value 1 is .*from 0 to 1"):
            correct([0.5, wrong, None])


def test_wilson_of_nothing_and_of_nonsense() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).reason) == (None, "nothing scored")
    with pytest.raises(ConfigError, match="5 successes of 3"):
        wilson(5, 3)


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        *((23, 1, 2.98e-6), (22, 2, 3.59e-5), (9, 8, 1), (7, 8, 1), (8, 19, 0.0522)),
        *((7, 19, 0.0290), (3, 12, 0.0352), (4, 11, 0.1185), (0, 0, 1)),
    ],
)
def test_mcnemar_reference_values(a: int, b: int, p: float) -> None:
    assert mcnemar_exact(a, b) == pytest.approx(p, rel=5e-3)
    assert mcnemar_exact(a, b) == mcnemar_exact(b, a)


def test_minimum_detectable_difference() -> None:
    assert detectable(0.1, 6) == pytest.approx(0.28, abs=1e-3)
    assert detectable(0.1, 5) is None
    assert detectable(0.0, 10) is None
    assert detectable(float("nan"), 10) is None


@pytest.mark.parametrize("left_over", [3e-17, -3e-17, 1e-200])
def test_what_rounding_leaves_over_is_no_difference_and_no_spread(left_over: float) -> None:
    assert clusters_needed(left_over, 0.1, 10) is None
    assert clusters_needed(0.1, abs(left_over), 10) is None
    assert detectable(abs(left_over), 10) is None


def test_small_samples_and_ties(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("MT-07")
    data = json.loads((folder / "paired.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    a, b = data["backend_a"], data["backend_b"]
    interval = wilson(sum(a), len(a))
    assert [round(interval.low or 0, 4), round(interval.high or 0, 4)] == expected["wilson95_a"]
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    assert paired_p(first, second) == (expected["mcnemar_exact_p"], "mcnemar-exact")
    low, high = interval_of(list(first - second), [str(i) for i in range(12)], 1, 10_000)
    assert low < 0 < high
    single = wilson(1, 1)
    assert [round(single.low or 0, 4), single.high] == expected["single"]["wilson95"]


def test_one_cluster_has_no_interval() -> None:
    assert all(np.isnan(end) for end in interval_of([0.0, 1.0], ["a", "a"], 1, 100))


def test_the_ratio_not_the_mean_of_cluster_means() -> None:
    # cluster a: 98 zeros, b: 2 ones; the ratio is .02, the mean of cluster means .5
    interval = interval_of([0.0] * 98 + [1.0] * 2, ["a"] * 98 + ["b"] * 2, 1, 2_000)
    counts = resample_counts(2, 2_000, 1)
    ratios = counts[:, 1] * 2 / (counts[:, 0] * 98 + counts[:, 1] * 2)
    assert interval == tuple(np.quantile(ratios, [0.025, 0.975]))


def test_draws_add_up() -> None:
    counts = resample_counts(7, 500, 3)
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(7), abs=0.15)


values = st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcde")), min_size=2, max_size=30)


@settings(max_examples=30, deadline=None)
@given(values, st.randoms(use_true_random=False))
def test_bounds_and_order_of_rows(rows: list[tuple[float, str]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (interval_of([v for v, _ in r], [c for _, c in r], 5, 300) for r in (rows, shuffled))
    if np.isnan(one[0]):
        assert len({c for _, c in rows}) == 1
        return
    assert min(v for v, _ in rows) - 1e-9 <= one[0] <= one[1] <= max(v for v, _ in rows) + 1e-9
    assert one == pytest.approx(other)


@settings(max_examples=30, deadline=None)
@given(values)
def test_a_system_does_not_differ_from_itself(rows: list[tuple[float, str]]) -> None:
    scores = np.asarray([v for v, _ in rows])
    assert paired_p(scores, scores)[0] == 1.0
    assert sign_flip(np.zeros((len(rows), 1)), seed=1, resamples=200)[0] == 1.0


def test_sign_flip_is_exact_for_few_clusters() -> None:
    assert sign_flip(np.array([[1.0], [1.0], [1.0]]), seed=1)[0] == 2 / 8
    assert sign_flip(np.ones((10, 1)), seed=1)[0] == 2 / 1024
    many = sign_flip(np.ones((40, 1)), seed=1, resamples=999)[0]
    assert many == 1 / 1_000


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([None, None]) == [None, None]
    assert holm([0.2, None]) == [0.2, None]


@settings(max_examples=8, deadline=None)  # the peer collects garbage at every call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_corrections_agree_with_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))
    assert bonferroni(p_values) == pytest.approx([min(1.0, p * len(p_values)) for p in p_values])


@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_corrections_never_help_and_holm_is_never_stricter(p_values: list[float | None]) -> None:
    for p, by_holm, by_bonferroni in zip(p_values, holm(p_values), bonferroni(p_values), strict=True):
        if p is None:
            assert by_holm is None and by_bonferroni is None
        else:
            assert by_holm is not None and by_bonferroni is not None
            assert p <= by_holm <= by_bonferroni <= 1


def test_intervals_cover_the_truth_on_simulated_clusters() -> None:
    rng = np.random.default_rng(11)
    hits, rounds = 0, 120
    for i in range(rounds):
        means = np.clip(rng.normal(0.5, 0.15, size=40), 0.01, 0.99)
        rows = [(float(rng.random() < m), str(c)) for c, m in enumerate(means) for _ in range(10)]
        low, high = interval_of([v for v, _ in rows], [c for _, c in rows], i, 400)
        hits += low <= 0.5 <= high
    assert 0.88 <= hits / rounds <= 0.995
