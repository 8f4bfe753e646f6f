"""Equivalence: the two one-sided tests, by row and by cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.weightstats import ttost_paired

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.equivalence import equivalence_by_cluster, tost


def test_reference_values() -> None:
    near, far = tost(0.02, 0.06, 0.25), tost(0.2, 0.06, 0.25)
    assert (near.equivalent, near.verdict, far.equivalent, far.verdict) == (True, "equivalent", False, "not shown")
    assert near.p == pytest.approx(6.3e-5, rel=0.01)
    assert far.p == pytest.approx(0.2023, abs=1e-4)
    assert tost(0.02, 0.06, 0.25, df=28).p == pytest.approx(float(t.sf(0.23 / 0.06, 28)))


@given(st.floats(-2, 2), st.floats(1e-3, 2), st.floats(1e-3, 2), st.none() | st.integers(1, 100))
def test_equivalence_is_the_interval_inside_the_margin(d: float, error: float, margin: float, df: int | None) -> None:
    found = tost(d, error, margin, df=df)
    mirrored = tost(-d, error, margin, df=df)
    assert found.low is not None and found.high is not None and found.p is not None
    assert found.equivalent == mirrored.equivalent
    assert found.p == pytest.approx(mirrored.p)
    if abs(found.p - 0.05) > 1e-9:
        assert found.equivalent == (-margin < found.low and found.high < margin)


def test_rows_that_are_their_own_clusters_give_the_paired_test() -> None:
    rng = np.random.default_rng(6)
    first = rng.normal(size=60)
    second = first + rng.normal(0.05, 0.5, size=60)
    names = [f"{i:02}" for i in range(60)]
    peer = ttost_paired(first, second, -0.25, 0.25)[0]
    for unit in ("row", "cluster-mean"):
        found = equivalence_by_cluster(first, second, names, 0.25, seed=1, unit=unit)  # type: ignore[arg-type]
        assert found.df == 59
        assert found.error == pytest.approx((first - second).std(ddof=1) / np.sqrt(60), rel=0.03)
        assert found.p == pytest.approx(peer, rel=0.15)
        assert found.equivalent == (peer < 0.05)


def test_the_unit_decides_where_clusters_are_uneven() -> None:
    # one user with 40 sessions and a large difference, nine with four and none
    clusters = ["a"] * 40 + [name for name in "bcdefghij" for _ in range(4)]
    first = np.array([1.0] * 40 + [0.0, 0.2] * 18)
    second = np.array([0.0] * 40 + [0.1] * 36)
    by_row, by_user = (
        equivalence_by_cluster(first, second, clusters, 0.25, seed=1, unit=unit)  # type: ignore[arg-type]
        for unit in ("row", "cluster-mean")
    )
    assert by_row.difference == pytest.approx(40 / 76)
    assert by_user.difference == pytest.approx(0.1)
    assert not by_row.equivalent


def test_no_spread_one_cluster_and_nothing_show_nothing() -> None:
    same = equivalence_by_cluster([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], ["a", "b", "c"], 0.25, seed=1)
    assert (same.p, same.equivalent, same.reason, same.verdict) == (None, False, "no spread was seen", "not shown")
    one = equivalence_by_cluster([1.0, 2.0], [1.0, 2.5], ["a", "a"], 0.25, seed=1)
    assert (one.p, one.error, one.reason) == (None, None, "one cluster")
    assert equivalence_by_cluster([], [], [], 0.25, seed=1).reason == "nothing scored"


@pytest.mark.parametrize(
    "arguments",
    [
        (0.0, 0.1, 0.0), (0.0, 0.1, float("nan")), (float("nan"), 0.1, 0.25), (0.0, -0.1, 0.25),
    ],
)  # fmt: skip
def test_unusable_arguments_are_refused(arguments: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigError):
        tost(*arguments)
    with pytest.raises(ConfigError, match="alpha"):
        tost(0.0, 0.1, 0.25, alpha=0.6)
    with pytest.raises(ConfigError, match="df"):
        tost(0.0, 0.1, 0.25, df=0)
