"""Random intercepts: an independent solution by the profiled likelihood, the boundary, and systems pooled."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from statsmodels.regression.linear_model import OLS

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.bootstrap import Floats
from mnemoscope.evaluators.statistics.mixed import INTERCEPT, pooled_systems, random_intercept


class Profile:
    """REML of the random-intercept model in closed form but for the variance ratio."""

    def __init__(self, y: Floats, x: Floats, clusters: Floats) -> None:
        self.blocks = [(y[clusters == c], x[clusters == c]) for c in np.unique(clusters)]
        self.rows, self.parameters = x.shape

    def at(self, ratio: float) -> tuple[float, Floats, Floats]:
        """Criterion, betas and their errors."""
        xx, xy, yy, log = np.zeros((self.parameters,) * 2), np.zeros(self.parameters), 0.0, 0.0
        for y, x in self.blocks:
            v = np.eye(len(y)) - ratio / (1 + len(y) * ratio)
            xx, xy, yy = xx + x.T @ v @ x, xy + x.T @ v @ y, yy + y @ v @ y
            log += np.log(1 + len(y) * ratio)
        beta = np.linalg.solve(xx, xy)
        left = self.rows - self.parameters
        variance = (yy - beta @ xy) / left
        criterion = -0.5 * (left * np.log(variance) + log + np.linalg.slogdet(xx)[1])
        return criterion, beta, np.sqrt(variance * np.diag(np.linalg.inv(xx)))

    def ratio(self) -> float:
        """The best ratio, 0 among the candidates."""
        bounds = [(-12, -3), (-4, 2), (1, 8)]
        found = [minimize_scalar(lambda e: -self.at(np.exp(e))[0], bounds=b, method="bounded") for b in bounds]
        best = min(found, key=lambda r: r.fun)
        return float(np.exp(best.x)) if -best.fun > self.at(0.0)[0] else 0.0


def simulated(seed: int, clusters: int, rows: int, spread: float) -> tuple[Floats, Floats, Floats]:
    """Outcome, one predictor with a slope of one half, and clusters of uneven size."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(clusters), rng.integers(1, 2 * rows, size=clusters))
    x = rng.normal(size=len(index))
    y = 0.5 * x + spread * rng.normal(size=clusters)[index] + rng.normal(size=len(index))
    return y, x, index


@pytest.mark.parametrize("seed", range(12))
def test_the_optimiser_finds_what_the_profile_has(seed: int) -> None:
    y, x, clusters = simulated(seed, clusters=4 + 2 * seed, rows=6, spread=(0.0, 0.3, 1.0)[seed % 3])
    found = random_intercept(y, {"x": x}, clusters.tolist())
    profile = Profile(y, np.column_stack([np.ones(len(x)), x]), clusters)
    expected = profile.ratio()
    assert found.ratio == pytest.approx(expected, rel=2e-3, abs=1e-5)
    assert found.singular == (expected == 0)
    _, beta, error = profile.at(expected)
    assert [term.beta for term in found.terms] == pytest.approx(beta, rel=1e-3, abs=1e-5)
    assert [term.error for term in found.terms] == pytest.approx(error, rel=1e-3)
    assert found.converged


def test_without_differences_between_clusters_it_is_least_squares() -> None:
    rng = np.random.default_rng(1)
    users, condition = np.repeat(np.arange(29), 20), rng.integers(0, 2, 580).astype(np.float64)
    raw = (rng.normal(size=580) + 0.2 * condition).reshape(29, 20)
    z = ((raw - raw.mean(axis=1, keepdims=True)) / raw.std(axis=1, ddof=1, keepdims=True)).ravel()
    found = random_intercept(z, {"condition": condition}, users.tolist())
    plain = OLS(z, np.column_stack([np.ones(580), condition])).fit()
    assert (found.ratio, found.cluster_variance, found.singular, found.converged) == (0.0, 0.0, True, True)
    assert [term.beta for term in found.terms] == pytest.approx(plain.params)
    assert [term.error for term in found.terms] == pytest.approx(plain.bse)
    assert any("boundary" in said or "singular" in said for said in found.warnings)


def test_planted_variances_and_slope_come_back() -> None:
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(200), 10)
    x = rng.normal(size=2_000)
    y = 0.5 * x + rng.normal(size=200)[clusters] + rng.normal(size=2_000)
    found = random_intercept(y, {"x": x}, clusters.tolist())
    assert found.ratio == pytest.approx(1.0, abs=0.25)
    assert found.residual_variance == pytest.approx(1.0, abs=0.1)
    slope = found.term("x")
    assert slope.error is not None and abs(slope.beta - 0.5) < 3 * slope.error
    assert slope.error == pytest.approx(1 / np.sqrt(2_000), rel=0.1)


def test_degrees_of_freedom_count_what_varies_between_clusters_only() -> None:
    y, x, clusters = simulated(3, clusters=9, rows=6, spread=1.0)
    age = np.arange(9, dtype=np.float64)[clusters]
    found = random_intercept(y, {"x": x, "age": age}, clusters.tolist())
    assert {term.df for term in found.terms} == {9 - 2}
    for term in found.terms:
        assert term.p is not None and term.p_t is not None and term.p < term.p_t
    assert [term.name for term in found.terms] == [INTERCEPT, "x", "age"]
    few = random_intercept(y[clusters < 2], {"age": age[clusters < 2]}, clusters[clusters < 2].tolist())
    assert {(term.df, term.p_t) for term in few.terms} == {(0, None)}


def test_the_order_of_rows_does_not_matter() -> None:
    y, x, clusters = simulated(4, clusters=8, rows=6, spread=1.0)
    order = np.random.default_rng(1).permutation(len(y))
    found = random_intercept(y, {"x": x}, clusters.tolist())
    again = random_intercept(y[order], {"x": x[order]}, clusters[order].tolist())
    assert again.term("x").beta == pytest.approx(found.term("x").beta, rel=1e-4)
    assert again.ratio == pytest.approx(found.ratio, rel=1e-3)


def balanced(hardness: float) -> tuple[Floats, list[str], list[str], list[str]]:
    """Scores of three systems on the same 60 instances of 10 clusters; `b` is .4 better."""
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(10), 18)
    instance, system = np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60)
    scores = 0.4 * (system == 1) + 0.7 * rng.normal(size=10)[cluster]
    scores = scores + hardness * rng.normal(size=60)[instance] + 0.5 * rng.normal(size=180)
    return scores, ["abc"[s] for s in system], [f"c{c}" for c in cluster], [f"i{i}" for i in instance]


def test_pooled_differences_are_the_paired_ones() -> None:
    scores, systems, clusters, instances = balanced(hardness=1.0)
    found = pooled_systems(scores, systems, clusters, instances, reference="a")
    table = scores.reshape(60, 3)
    for column, name in ((1, "b"), (2, "c")):
        term = found.term(name)
        assert term.beta == pytest.approx((table[:, column] - table[:, 0]).mean())
        assert term.error == pytest.approx(np.sqrt(2 * (found.residual_variance or 0) / 60))
        assert term.df == 9
    assert found.instance_variance == pytest.approx(1.0, abs=0.6)
    without = random_intercept(scores, {name: [float(s == name) for s in systems] for name in "bc"}, clusters)
    assert (found.term("b").error or 1) < 0.7 * (without.term("b").error or 0)


def test_an_instance_variance_of_nothing_is_left_out() -> None:
    scores, systems, clusters, instances = balanced(hardness=0.0)
    scores = scores - scores.reshape(60, 3).mean(axis=1).repeat(3)  # no differences of instances, nor of clusters
    found = pooled_systems(scores, systems, clusters, instances, reference="a")
    assert (found.instance_variance, found.cluster_variance, found.singular) == (0.0, 0.0, True)
    assert found.term("b").error is not None


def test_what_cannot_be_fitted_says_why() -> None:
    assert random_intercept([], {}, []).reason == "nothing scored"
    assert random_intercept([1.0, 2.0, 3.0], {}, ["a", "a", "a"]).reason == "one cluster"
    assert random_intercept([1.0, 2.0], {"x": [1.0, 2.0]}, ["a", "b"]).reason == "too few rows"
    assert random_intercept([1.0, 1.0, 1.0], {}, ["a", "b", "b"]).reason == "all outcomes are equal"
    with pytest.raises(ConfigError, match="follows from the others"):
        random_intercept([1.0, 2.0, 4.0, 3.0], {"x": [1.0] * 4}, ["a", "a", "b", "b"])
    with pytest.raises(ConfigError, match="reference 'z' has no row; systems are a, b"):
        pooled_systems([1.0, 2.0], ["a", "b"], ["c", "c"], ["i", "i"], reference="z")
    with pytest.raises(ConfigError, match="no term 'y'; it has none"):
        random_intercept([], {}, []).term("y")
