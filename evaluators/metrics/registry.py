"""Every metric by name, and the ones that run unless others are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.registry import Registry
from mnemoscope.evaluators.metrics.metric import Metric

__all__ = ["DEFAULT_METRICS", "METRICS", "default_metrics", "lower_is_better", "open_metrics"]

_PACKAGE = "mnemoscope.evaluators.metrics"

METRICS: Registry[Metric] = Registry(
    "metric",
    {
        "adversarial": f"{_PACKAGE}.answer:Adversarial",
        "answer-f1": f"{_PACKAGE}.answer:AnswerF1",
        "cir": f"{_PACKAGE}.strategic:Cir",
        "correction": f"{_PACKAGE}.correction:Correction",
        "coverage": f"{_PACKAGE}.retrieval:Coverage",
        "false-correction": f"{_PACKAGE}.correction:FalseCorrection",
        "integration": f"{_PACKAGE}.integration:Integration",
        "lift": f"{_PACKAGE}.retrieval:Lift",
        "pes": f"{_PACKAGE}.strategic:Pes",
        "precision": f"{_PACKAGE}.retrieval:Precision",
        "recall": f"{_PACKAGE}.retrieval:Recall",
        "recall-given": f"{_PACKAGE}.retrieval:RecallGiven",
        "recall-text": f"{_PACKAGE}.retrieval_text:RecallText",
        "recall-tokens": f"{_PACKAGE}.retrieval:RecallTokens",
        "retained": f"{_PACKAGE}.retrieval_text:Retained",
        "smc": f"{_PACKAGE}.strategic:Smc",
        "timing": f"{_PACKAGE}.timing:Timing",
        "use": f"{_PACKAGE}.strategic:Use",
    },
    group="mnemoscope.metrics",
)
"""Metrics by name; third parties add theirs by the entry-point group `mnemoscope.metrics`."""

DEFAULT_METRICS: tuple[str, ...] = (
    *("recall@1", "recall@3", "recall@4", "recall@5", "recall@10", "recall-given"),
    *("recall(5,provenance=loose)", "recall(10,provenance=loose)", "precision@5", "precision@10"),
    *("recall-tokens(256)", "recall-tokens(512)", "recall-tokens(1024)", "recall-tokens(2048)", "recall-tokens(4096)"),
    *("coverage@10", "lift@10", "recall-text@5", "recall-text@10", "retained@5", "retained@10"),
    *(
        "answer-f1",
        "answer-f1(gold=published)",
        "adversarial",
        "smc",
        "pes",
        "cir",
        "smc(of=plan)",
        "pes(of=plan)",
        "cir(of=plan)",
        "use",
    ),
    *("integration", "correction", "false-correction", "timing"),
)
"""Names of the metrics that run unless others are asked for."""

_RECORDED_LOWER_IS_BETTER = frozenset({"fabricated-recall", "unprompted-recall"})
"""Metrics that only imported verdicts carry, and whose smaller value is the better one."""


def open_metrics(names: Sequence[str]) -> tuple[Metric, ...]:
    """Metrics by written name, each once, in the order given.

    Raises:
        UnknownNameError: No such metric; the nearest are listed.
        ConfigError: A parameter that a metric does not take, or two names for one metric.
    """
    metrics = tuple(METRICS.create(name) for name in names)
    seen: set[str] = set()
    for metric in metrics:
        if metric.name in seen:
            raise ConfigError(f"metric {metric.name!r} is asked for twice")
        seen.add(metric.name)
    return metrics


def default_metrics() -> tuple[Metric, ...]:
    """The metrics that run unless others are asked for."""
    return open_metrics(DEFAULT_METRICS)


@lru_cache(maxsize=256)
def lower_is_better(name: str) -> bool:
    """Whether a smaller value of this metric is the better one; an unknown metric counts as higher is better."""
    if name in _RECORDED_LOWER_IS_BETTER:
        return True
    try:
        return bool(getattr(METRICS.create(name), "lower_is_better", False))
    except ConfigError:
        return False
