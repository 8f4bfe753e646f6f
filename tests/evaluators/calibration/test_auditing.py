"""Auditing: flips, both tests, agreement, and what only one scoring has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.calibration.auditing import Item, Judged, Scoring, audit

CLUSTERS = {("s", f"p{n}"): f"c{n // 2}" for n in range(40)}


def scoring(name: str, scores: dict[int, float | None], system: str = "a") -> Scoring:
    verdicts = {
        Item(system, "s", f"p{n}", 0, "reply"): Judged("yes" if score else "no", score) for n, score in scores.items()
    }
    return Scoring("natural-integration", name, verdicts)


def test_flips_and_both_tests() -> None:
    first = scoring("A", {n: float(n < 6) for n in range(10)})
    second = scoring("B", {**{n: float(n < 2) for n in range(9)}, 9: None})
    (row,) = audit(first, second, CLUSTERS, resamples=200)
    assert (row.n, row.only_one) == (9, 1)
    assert row.pair is not None and (row.pair.n10, row.pair.n01, row.pair.p) == (4, 0, 0.125)
    assert row.pair.p_clustered == 0.5, "two clusters carry the four flips"
    assert [change.item.probe_id for change in row.changes] == ["p2", "p3", "p4", "p5"]
    assert {(change.before.label, change.after.label) for change in row.changes} == {("yes", "no")}


def test_graded_scores_have_agreement_and_no_mcnemar() -> None:
    (row,) = audit(
        scoring("A", {0: 0.5, 1: 1.0, 2: 0.0}), scoring("B", {0: 0.5, 1: 0.5, 2: 0.0}), CLUSTERS, resamples=100
    )
    assert row.pair is None
    assert row.agreement is not None and row.agreement.observed == 2 / 3
    assert row.to_json()["p"] is None


def test_systems_that_one_scoring_lacks_are_left_out() -> None:
    assert audit(scoring("A", {0: 1.0}), scoring("B", {0: 1.0}, system="b"), CLUSTERS) == ()


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=1, max_size=20))
def test_turning_the_order_round_turns_the_counts_round(scores: list[tuple[float, float]]) -> None:
    first = scoring("A", {n: a for n, (a, _) in enumerate(scores)})
    second = scoring("B", {n: b for n, (_, b) in enumerate(scores)})
    (there,), (back,) = (audit(one, two, CLUSTERS, resamples=20) for one, two in ((first, second), (second, first)))
    assert there.pair is not None and back.pair is not None
    assert (there.pair.n10, there.pair.n01, there.pair.p) == (back.pair.n01, back.pair.n10, back.pair.p)
    assert len(there.changes) == there.pair.n10 + there.pair.n01
