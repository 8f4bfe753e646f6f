"""McNemar's test and its clustered twin: published counts, exact flips, what a sample could have shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.bootstrap import IntervalMethod
from mnemoscope.evaluators.statistics.paired import (
    mcnemar_exact,
    mcnemar_pair,
    sign_flip,
    sign_flip_exact,
    smallest_difference,
    smallest_p,
)

binary = st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcdefg")), max_size=40)


class Released:
    """Two released MemUse reports on the same replies' judge inputs."""

    def __init__(self, folder: Path, schema: str) -> None:
        self.mem0, self.letta = (
            json.loads((folder / "memuse_labels" / f"report_{name}_schema{schema}.json").read_text(encoding="utf-8"))
            for name in ("mem0", "letta")
        )

    def columns(self, metric: str) -> tuple[list[float], list[float], list[str]]:
        """Mem0's scores, Letta's, and the instances."""
        if metric == "natural_integration":
            ids = sorted(self.mem0["per_instance"])
            first, second = ([float(r["per_instance"][i][metric]) for i in ids] for r in (self.mem0, self.letta))
            return first, second, ids
        pairs = list(zip(self.mem0["per_sub_question"], self.letta["per_sub_question"], strict=True))
        assert all((a["instance_id"], a["sub_q_idx"]) == (b["instance_id"], b["sub_q_idx"]) for a, b in pairs)
        return (
            [float(a[metric]) for a, _ in pairs],
            [float(b[metric]) for _, b in pairs],
            [a["instance_id"] for a, _ in pairs],
        )


@pytest.mark.data
@pytest.mark.parametrize(
    ("schema", "metric", "ones", "discordant", "p", "p_clustered"),
    [
        # clustered p of all 2^72 flips; sampled ones scatter about them (see the next test)
        ("1.1", "direct_qa", (131, 194), (38, 101), 8.8e-8, 4.887e-4),
        ("1.2", "direct_qa", (134, 193), (42, 101), 8.7e-7, 1.0508e-3),
        ("1.1", "reference", (23, 34), (8, 19), 0.0522, 0.07042),
        ("1.2", "reference", (23, 35), (7, 19), 0.0290, 0.02198),
        ("1.1", "natural_integration", (42, 41), (9, 8), 1.0, 1.0),
        ("1.2", "natural_integration", (20, 21), (7, 8), 1.0, 1.0),
    ],
)
def test_released_reports(
    benchmark_data: Path,
    schema: str,
    metric: str,
    ones: tuple[int, int],
    discordant: tuple[int, int],
    p: float,
    p_clustered: float,
) -> None:
    mem0, letta, instances = Released(benchmark_data, schema).columns(metric)
    pair = mcnemar_pair(mem0, letta, instances, seed=1, resamples=2_000)
    assert (sum(mem0), sum(letta)) == ones
    assert (pair.n10, pair.n01, pair.clusters) == (*discordant, 72)
    assert pair.p == pytest.approx(p, rel=6e-3)
    assert pair.p_clustered == pytest.approx(p_clustered, rel=1e-3)
    assert pair.low is not None and pair.high is not None and pair.difference is not None
    assert pair.low < pair.difference < pair.high


@pytest.mark.data
def test_sampled_flips_of_the_released_reports_agree_with_the_exact_ones(benchmark_data: Path) -> None:
    for schema in ("1.1", "1.2"):
        mem0, letta, instances = Released(benchmark_data, schema).columns("direct_qa")
        _, index = np.unique(instances, return_inverse=True)
        sums = np.bincount(index, weights=np.subtract(mem0, letta))
        exact = sign_flip_exact(sums.astype(np.int64))
        sampled = sign_flip(sums[:, None], seed=1, resamples=50_000)[0]
        assert sampled == pytest.approx(exact, abs=4 * np.sqrt(exact / 50_000) + 1 / 50_000)


@pytest.mark.data
@pytest.mark.parametrize(
    ("schema", "metric", "mem0", "letta"),
    [
        ("1.1", "direct_qa", 0.4132, 0.6111),
        ("1.2", "direct_qa", 0.4236, 0.6076),
        ("1.1", "reference", 0.0750, 0.1076),
        ("1.2", "reference", 0.0750, 0.1111),
    ],
)
def test_macro_means_over_instances(benchmark_data: Path, schema: str, metric: str, mem0: float, letta: float) -> None:
    first, second, instances = Released(benchmark_data, schema).columns(metric)
    _, index = np.unique(instances, return_inverse=True)
    sizes = np.bincount(index)
    for values, expected in ((first, mem0), (second, letta)):
        assert (np.bincount(index, weights=values) / sizes).mean() == pytest.approx(expected, abs=5e-5)
    if metric == "reference":
        some = [int((np.bincount(index, weights=values) > 0).sum()) for values in (first, second)]
        assert some == {"1.1": [18, 27], "1.2": [18, 25]}[schema]


@pytest.mark.data
@pytest.mark.parametrize(("name", "p"), [("mem0", 2.98e-6), ("letta", 3.59e-5)])
def test_other_judge_inputs_turn_verdicts_on_the_same_replies(benchmark_data: Path, name: str, p: float) -> None:
    one, other = (getattr(Released(benchmark_data, schema), name)["per_instance"] for schema in ("1.1", "1.2"))
    columns = ([float(report[i]["natural_integration"]) for i in sorted(one)] for report in (one, other))
    pair = mcnemar_pair(*columns, sorted(one), seed=1, resamples=500)
    assert (pair.n10, pair.n01) == {"mem0": (23, 1), "letta": (22, 2)}[name]
    assert pair.p == pytest.approx(p, rel=2e-3)


@pytest.mark.data
def test_negatives_that_never_happen_still_have_an_upper_end(benchmark_data: Path) -> None:
    path = benchmark_data / "memuse_labels" / "report_negatives_mem0.json"
    verdicts = json.loads(path.read_text(encoding="utf-8"))["per_instance"]
    values = [float(v["unprompted_recall"]) for v in verdicts.values()]
    pair = mcnemar_pair(values, [0.0] * 72, list(verdicts), seed=1, resamples=100)
    assert (len(values), sum(values), pair.p, pair.difference) == (72, 0, 1.0, 0.0)


def test_what_fifteen_discordant_rows_can_show() -> None:
    assert smallest_difference(15) == 9
    assert mcnemar_exact(3, 12) < 0.05 < mcnemar_exact(4, 11)
    first, second = [1.0] * 7 + [0.0] * 8 + [1.0] * 57, [0.0] * 7 + [1.0] * 8 + [1.0] * 57
    pair = mcnemar_pair(first, second, [str(i) for i in range(72)], seed=1, resamples=500)
    assert (pair.n10, pair.n01, pair.p, pair.smallest) == (7, 8, 1.0, 9)
    assert str(pair).endswith("no difference shown: 15 discordant rows can show 9 of 72")
    assert "n10 7, n01 8" in str(pair) and "by 72 clusters 1" in str(pair)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 200))
def test_the_smallest_difference_is_the_smallest(discordant: int) -> None:
    found = smallest_difference(discordant)
    if found is None:
        assert mcnemar_exact(0, discordant) >= 0.05
        return
    assert (discordant - found) % 2 == 0
    lower = (discordant - found) // 2
    assert mcnemar_exact(lower, discordant - lower) < 0.05
    assert 2 * lower + 2 > discordant or mcnemar_exact(lower + 1, discordant - lower - 1) >= 0.05


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=11))
def test_exact_flips_are_all_flips(sums: list[int]) -> None:
    found = sign_flip_exact(np.array(sums))
    assert found == pytest.approx(sign_flip(np.array(sums, dtype=np.float64)[:, None], seed=1)[0])
    assert smallest_p(len(sums)) <= found <= 1.0
    assert smallest_p(len(sums)) == pytest.approx(sign_flip_exact(np.ones(len(sums), dtype=np.int64)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 30), st.integers(0, 30))
def test_with_one_row_per_cluster_both_tests_are_one(n10: int, n01: int) -> None:
    assert sign_flip_exact(np.repeat([1, -1], [n10, n01])) == pytest.approx(mcnemar_exact(n10, n01))


def test_a_copy_of_every_row_changes_the_unclustered_p_alone() -> None:
    first, second = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    clusters = list("abcdefg")
    once, thrice = (mcnemar_pair(first * k, second * k, clusters * k, seed=1, resamples=500) for k in (1, 3))
    assert once.p_clustered == thrice.p_clustered
    assert once.p is not None and thrice.p is not None and thrice.p < once.p / 3
    assert (once.low, once.high) == (thrice.low, thrice.high)


@settings(max_examples=40, deadline=None)
@given(binary, st.sampled_from(["bca", "percentile"]), st.randoms(use_true_random=False))
def test_order_of_rows_and_of_systems(
    rows: list[tuple[bool, bool, str]], method: IntervalMethod, random: object
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def pair(table: list[tuple[bool, bool, str]], one: int, other: int) -> object:
        return mcnemar_pair(
            [row[one] for row in table], [row[other] for row in table], [row[2] for row in table],
            seed=4, method=method, resamples=100,
        )  # fmt: skip

    found, again, swapped = pair(rows, 0, 1), pair(shuffled, 0, 1), pair(rows, 1, 0)
    assert found == again
    for field in ("p", "p_clustered", "smallest", "n", "clusters"):
        assert getattr(found, field) == getattr(swapped, field)
    if rows:
        assert found.difference == -swapped.difference  # type: ignore[attr-defined]
        assert found.n10 == swapped.n01  # type: ignore[attr-defined]


def test_nothing_one_cluster_and_nonsense() -> None:
    none = mcnemar_pair([], [], [], seed=1)
    assert (none.difference, none.p, none.p_clustered, str(none)) == (None, None, None, "nothing scored")
    one = mcnemar_pair([1, 1], [0, 0], ["a", "a"], seed=1)
    assert (one.p_clustered, one.p_floor, one.low, one.interval) == (None, None, None, "one cluster")
    with pytest.raises(ConfigError, match=r"second, row 1 is 0\.5"):
        mcnemar_pair([1, 1], [0, 0.5], ["a", "b"], seed=1)
    with pytest.raises(ConfigError, match="first, row 0 is nan"):
        mcnemar_pair([float("nan")], [0], ["a"], seed=1)
    with pytest.raises(ConfigError, match="differ in length"):
        mcnemar_pair([1], [0, 1], ["a"], seed=1)
