"""What tables show of each benchmark: styles and types apart, the whole only where it means something."""

from __future__ import annotations

from mnemoscope.comparison.headline import HEADLINES, headline_metrics, headlines_for
from mnemoscope.comparison.strata import shown_strata
from mnemoscope.comparison.summary import Figure
from mnemoscope.evaluators.metrics.registry import METRICS

RECORDED = {
    *("natural-integration", "direct-qa", "reference", "unprompted-recall", "fabricated-recall"),
    *("judge-score", "accuracy"),
}


def figures(benchmark: str, **strata: tuple[str, ...]) -> list[Figure]:
    return [
        Figure(
            metric.replace("recall", "recall@10"), "bm25@baseline", stratum, 5, 5, {}, 0, {}, 0.5, 0.5, 0.4, 0.6,
            "wilson", 3, "rule", "package", benchmark=benchmark, judged=False,
        )
        for metric, names in strata.items()
        for stratum in names
    ]  # fmt: skip


def test_locomo_conv_is_shown_style_by_style() -> None:
    there = figures("locomo-conv", recall=("all", "dialog", "implicit", "composed"), correction=("all",))
    shown = headlines_for("locomo-conv", there)
    assert [(h.metric, h.stratum) for h in shown] == [
        ("recall@10", "dialog"), ("recall@10", "implicit"), ("recall@10", "composed"), ("correction", "all"),
    ]  # fmt: skip
    asked = headlines_for("locomo-conv", there, ["recall@10"])
    assert [h.stratum for h in asked] == ["dialog", "implicit", "composed"]


def test_one_style_alone_needs_no_whole() -> None:
    assert [h.stratum for h in headlines_for("locomo-conv", figures("locomo-conv", recall=("all", "implicit")))] == [
        "implicit"
    ]
    assert headlines_for("chatlog", []) == ()


def test_strata_stand_in_the_order_of_the_benchmark() -> None:
    assert shown_strata("locomo-conv", ["composed", "all", "temporal", "implicit", "dialog"]) == [
        "dialog", "implicit", "composed", "temporal",
    ]  # fmt: skip
    assert shown_strata("pragma", ["type4-traj-correct", "all", "type1-event-align"]) == [
        "type1-event-align", "type4-traj-correct",
    ]  # fmt: skip
    assert shown_strata("longmemeval", ["temporal-reasoning", "all"]) == ["all", "temporal-reasoning"]


def test_memuse_keeps_natural_replies_and_questions_apart() -> None:
    there = figures("memuse", integration=("all", "natural", "direct-qa"), recall=("all",))
    assert [(h.metric, h.stratum) for h in headlines_for("memuse", there)] == [
        ("integration", "natural"), ("integration", "direct-qa"), ("recall@10", "all"),
    ]  # fmt: skip
    names = ["positive", "direct-qa", "all", "natural", "odd: same date"]
    assert shown_strata("memuse", names) == ["natural", "direct-qa", "odd: same date", "positive"]
    assert shown_strata("memuse", ["natural", "all", "positive"])[:2] == ["all", "natural"]


def test_every_headline_names_a_metric_that_exists() -> None:
    for benchmark in HEADLINES:
        for name in headline_metrics(benchmark) - RECORDED:
            assert METRICS.create(name).name == name, benchmark
