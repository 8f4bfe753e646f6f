"""Agreement of raters: published pilot figures, scikit-learn's κ, one class, and what κ is printed with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.agreement import KappaWeights, cohen, fleiss

RATERS = ("label_human1", "label_human2", "label_gpt54nano")


@pytest.fixture
def pilot(benchmark_data: Path) -> list[dict[str, str]]:
    path = benchmark_data / "memuse_labels" / "ni_pilot_labels.json"
    items: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["items"]
    return items


@pytest.mark.data
@pytest.mark.parametrize(("one", "other", "kappa"), [(0, 1, 0.570), (2, 0, 0.426), (2, 1, 0.213)])
def test_pilot_kappas(pilot: list[dict[str, str]], one: int, other: int, kappa: float) -> None:
    users = [item["user_id"] for item in pilot]
    first, second = ([item[RATERS[i]] for item in pilot] for i in (one, other))
    found = cohen(first, second, users, seed=1, resamples=2_000)
    assert found.kappa == pytest.approx(kappa, abs=5e-4)
    assert (found.n, found.n_missing) == (56, 0)
    assert found.by_cluster is not None and found.kappa is not None
    for interval in (found.by_item, found.by_cluster):
        assert interval.low is not None and interval.high is not None
        assert interval.low < found.kappa < interval.high
    if (one, other) == (0, 1):  # published for these two, rows taken as independent: .34 to .78
        by_percentile = cohen(first, second, seed=1, method="percentile").by_item
        assert (by_percentile.low, by_percentile.high) == pytest.approx((0.34, 0.78), abs=0.02)


@pytest.mark.data
def test_pilot_counts(pilot: list[dict[str, str]]) -> None:
    labels = [[item[rater] for item in pilot] for rater in RATERS]
    found = fleiss(labels, [item["user_id"] for item in pilot], seed=1, resamples=1_000)
    assert found.kappa == pytest.approx(0.403, abs=5e-4)
    assert [round(rates["yes"] * 56) for rates in found.rates] == [31, 29, 29]
    agreed = [item for item in pilot if item[RATERS[0]] == item[RATERS[1]]]
    assert (len(agreed), sum(item[RATERS[2]] == item[RATERS[0]] for item in agreed)) == (44, 31)
    by_condition = {
        name: tuple(sum(i[rater] == "yes" for i in pilot if i["condition"].startswith(name)) for rater in RATERS)
        for name in ("Summary", "LC-10%", "LC-50%", "LC-100%", "RAG-10%", "RAG-50%", "RAG-100%")
    }
    assert list(by_condition.values()) == [
        (4, 3, 4), (4, 5, 4), (6, 4, 5), (5, 5, 5), (4, 4, 5), (5, 5, 4), (3, 3, 2),
    ]  # fmt: skip


def test_one_class_has_no_kappa(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("MT-07")
    data = json.loads((folder / "paired.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found = cohen(data["rater_1"], data["rater_2"], seed=1)
    assert (found.kappa, found.reason) == (expected["kappa"], expected["kappa_reason"])
    assert (found.observed, found.rates) == (1.0, ({"yes": 1.0}, {"yes": 1.0}))
    assert (found.by_item.low, found.by_item.reason) == (None, "both raters use one class")
    published = cohen(data["rater_1"], data["rater_2"], seed=1, one_class="published")
    assert (published.kappa, published.reason, published.by_item.low) == (1.0, None, None)
    assert fleiss([["no"] * 4] * 3, seed=1).reason == "all raters use one class"


def test_raters_of_one_class_each_that_differ_have_a_kappa_of_nothing() -> None:
    found = cohen(["yes"] * 5, ["no"] * 5, seed=1, one_class="published", resamples=100)
    assert (found.kappa, found.observed) == (0.0, 0.0)  # expected agreement is 0 here, not 1


def test_high_agreement_and_low_kappa_are_printed_together() -> None:
    first, second = ["yes"] * 19 + ["no"], ["no"] + ["yes"] * 19
    found = cohen(first, second, seed=1, resamples=500)
    assert found.observed == pytest.approx(0.9)
    assert found.kappa is not None and found.kappa < 0
    assert found.rates[0]["yes"] == pytest.approx(0.95)
    assert found.degenerate > 0  # draws without any no


label = st.sampled_from(["low", "middle", "high"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(label, label), min_size=1, max_size=25), st.sampled_from(["none", "linear", "quadratic"]))
def test_as_scikit_learn_and_symmetric(rows: list[tuple[str, str]], weights: KappaWeights) -> None:
    first, second = [a for a, _ in rows], [b for _, b in rows]
    order = ["low", "middle", "high"]
    found, swapped = (
        cohen(one, other, seed=3, weights=weights, order=order, resamples=60)
        for one, other in ((first, second), (second, first))
    )
    if len(set(first + second)) == 1:
        assert found.kappa is None
        return
    peer = cohen_kappa_score(first, second, labels=order, weights=None if weights == "none" else weights)
    assert found.kappa == pytest.approx(peer, abs=1e-9)
    assert swapped.kappa == pytest.approx(found.kappa)
    assert found.kappa is not None and -1 <= found.kappa <= 1
    for end in (found.by_item.low, found.by_item.high):
        assert end is None or -1 - 1e-9 <= end <= 1 + 1e-9
    assert found.observed == pytest.approx(np.mean([a == b for a, b in rows]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(label, label, label), min_size=2, max_size=20), st.permutations([0, 1, 2]))
def test_fleiss_as_statsmodels_whatever_the_order_of_raters(rows: list[tuple[str, str, str]], order: list[int]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    found = fleiss([columns[i] for i in order], seed=3, resamples=60)
    if len({value for row in rows for value in row}) == 1:
        assert found.kappa is None
        return
    assert found.kappa == pytest.approx(fleiss_kappa(aggregate_raters(np.array(rows))[0]), abs=1e-9)


def test_intervals_rest_on_the_kappa_of_the_drawn_items() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 80)
    columns = [[f"l{v}" for v in np.where(rng.random(80) < 0.7, truth, rng.integers(0, 3, 80))] for _ in range(3)]
    for found in (
        cohen(columns[0], columns[1], seed=1, method="percentile"),
        fleiss(columns, seed=1, method="percentile"),
    ):
        draws = []
        for _ in range(500):
            drawn = rng.integers(0, 80, 80)
            table = np.array(columns)[:, drawn]
            draws.append(
                fleiss_kappa(aggregate_raters(table.T)[0]) if len(found.rates) == 3 else cohen_kappa_score(*table[:2])
            )
        assert (found.by_item.low, found.by_item.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.035)


def test_missing_labels_are_left_out_and_counted() -> None:
    found = cohen(["a", None, "b", "b"], ["a", "b", None, "a"], ["x", "x", "y", "y"], seed=1, resamples=50)
    assert (found.n, found.n_missing, found.clusters, found.observed) == (2, 2, 2, 0.5)
    nothing = cohen([None], ["a"], ["x"], seed=1)
    assert (nothing.kappa, nothing.observed, nothing.reason) == (None, None, "nothing labelled by all")


def test_unusable_arguments_are_refused() -> None:
    with pytest.raises(ConfigError, match="linear weights need the labels in order"):
        cohen(["a"], ["b"], seed=1, weights="linear")
    with pytest.raises(ConfigError, match=r"labels \['c'\] against the order"):
        cohen(["a"], ["c"], seed=1, weights="linear", order=["a", "b"])
    with pytest.raises(ConfigError, match="two raters or more"):
        fleiss([["a"]], seed=1)
    with pytest.raises(ConfigError, match="differ in length"):
        cohen(["a"], ["a", "b"], seed=1)
