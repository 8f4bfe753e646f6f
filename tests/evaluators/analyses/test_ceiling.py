"""The decomposition against the oracle: buckets by recall, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.aggregate import ScoreRow
from mnemoscope.evaluators.analyses.ceiling import Ceiling
from mnemoscope.scenarios.records import Style
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row

NAMES = ("bm25@x", "oracle@x")
SCORED = ((1.0, 1.0, 1.0), (0.5, 1.0, 0.999), (0.0, 0.5, 0.5), (0.0, 1.0, 0.0), (1.0, 0.5, 0.0))
"""The system's score, the oracle's, and recall."""


def run_of(
    scores: Sequence[tuple[float, float, float]], *, style: Style = "implicit", metric: str = "fact-use"
) -> tuple[list[ScoreRow], Run]:
    rows = []
    for n, (own, given_gold, recall) in enumerate(scores):
        rows += [
            row("bm25@x", f"p{n}", metric, own),
            row("oracle@x", f"p{n}", metric, given_gold),
            row("bm25@x", f"p{n}", "recall-given", recall),
        ]
    probes = {("s", f"p{n}"): asked(f"p{n}", style=style) for n in range(len(scores))}
    return rows, Run(rows=rows, probes=probes, names=NAMES)


def test_buckets_by_hand() -> None:
    _, run = run_of(SCORED)
    one = by_name(Ceiling().analyse(run), "system", "style")["bm25@x", "implicit"]
    assert one["probes"] == 5
    assert one["mean"] == pytest.approx(0.5)
    assert one["ceiling"] == pytest.approx(0.2), "the oracle has 4 of 5"
    assert one["representation"] == pytest.approx(0.1), "half a point on one of five, with recall at .999"
    assert one["retrieval"] == pytest.approx((0.5 + 1.0 - 0.5) / 5), "better than the gold on the last: it takes off"
    assert one["share_of_oracle"] == pytest.approx(0.625)
    assert one["all_retrieved"] == pytest.approx(0.4)
    assert one["none_retrieved"] == pytest.approx(0.4)


def test_recall_just_below_one_is_not_all() -> None:
    _, run = run_of([(0.0, 1.0, 0.9989)])
    one = by_name(Ceiling().analyse(run), "system")[("bm25@x",)]
    assert (one["representation"], one["retrieval"], one["all_retrieved"]) == (0.0, 1.0, 0.0)


def test_recall_of_what_was_given_goes_before_recall_of_the_ranking() -> None:
    rows, run = run_of([(0.0, 1.0, 1.0)])
    run.rows = [*rows, row("bm25@x", "p0", "recall@10", 0.0)]
    one = by_name(Ceiling().analyse(run), "system")[("bm25@x",)]
    assert (one["representation"], one["retrieval"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("style", "metric", "shown"),
    [
        ("counterfactual", "correction", True),
        ("counterfactual", "fact-use", False),
        ("composed", "atomic-coverage", True),
        ("question", "answer", True),
        ("dialog", "integration", True),
    ],
)
def test_each_style_has_its_own_score(style: Style, metric: str, shown: bool) -> None:
    _, run = run_of(SCORED, style=style, metric=metric)
    found = Ceiling().analyse(run)
    assert (found.missing is None) is shown
    if shown:
        assert by_name(found, "style", "metric")[style, metric]["probes"] == len(SCORED)


def test_only_probes_with_all_three_count_and_the_oracle_has_no_row() -> None:
    rows, run = run_of(SCORED)
    run.rows = [r for r in rows if not (r.probe_id == "p3" and r.metric == "recall-given")]
    run.rows.append(row("oracle@x", "p0", "recall-given", 1.0))
    found = by_name(Ceiling().analyse(run), "system")
    assert found.keys() == {("bm25@x",)}
    assert found[("bm25@x",)]["probes"] == 4


def test_a_failed_reply_is_no_zero() -> None:
    rows, run = run_of(SCORED)
    run.rows = [*rows[3:], row("bm25@x", "p0", "fact-use", None, status="error"), *rows[1:3]]
    assert by_name(Ceiling().analyse(run), "system")[("bm25@x",)]["mean"] == pytest.approx(0.375)


@given(st.permutations(range(3 * len(SCORED))))
def test_the_order_of_verdicts_changes_nothing(order: list[int]) -> None:
    rows, run = run_of(SCORED)
    wanted = by_name(Ceiling().analyse(run), "system")[("bm25@x",)]
    run.rows = [rows[n] for n in order]
    found = by_name(Ceiling().analyse(run), "system")[("bm25@x",)]
    assert found == {key: pytest.approx(value) if isinstance(value, float) else value for key, value in wanted.items()}


def test_each_part_has_an_interval_over_clusters() -> None:
    _, run = run_of(SCORED * 4)
    run.probes = {key: one._replace(cluster=f"c{n % 10}") for n, (key, one) in enumerate(run.probes.items())}
    one = by_name(Ceiling().analyse(run), "system")[("bm25@x",)]
    for part, prefix in (("mean", "mean_"), ("ceiling", "ceiling_"), ("retrieval", "retrieval_")):
        assert float(str(one[f"{prefix}low"])) < float(str(one[part])) < float(str(one[f"{prefix}high"])), part
