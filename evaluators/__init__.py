"""What is scored: detectors, metrics, loss attribution, statistics."""

from typing import TYPE_CHECKING

if __name__ != "mnemoscope.evaluators":
    raise ImportError("import mnemoscope.evaluators, not evaluators: a bare import loads a second copy")

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.evaluators.aggregate import Aggregates, MetricRow, PairRow, ProbeFacts, ScoreRow
    from mnemoscope.evaluators.attribution import STAGES, FactLoss, attribute
    from mnemoscope.evaluators.case import EvaluationCase, StoredView
    from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
    from mnemoscope.evaluators.graph import Evaluator
    from mnemoscope.evaluators.metrics.metric import Metric
    from mnemoscope.evaluators.metrics.registry import METRICS, default_metrics, open_metrics
    from mnemoscope.evaluators.verdict import Verdict, VerdictStatus

__all__ = [
    "METRICS",
    "STAGES",
    "Aggregates",
    "EvaluationCase",
    "Evaluator",
    "FactLoss",
    "Metric",
    "MetricRow",
    "OfflineUseDetector",
    "PairRow",
    "ProbeFacts",
    "ScoreRow",
    "StoredView",
    "Verdict",
    "VerdictStatus",
    "attribute",
    "default_metrics",
    "open_metrics",
]

__getattr__ = lazy_names(
    __name__,
    {
        "METRICS": "metrics.registry",
        "STAGES": "attribution",
        "Aggregates": "aggregate",
        "EvaluationCase": "case",
        "Evaluator": "graph",
        "FactLoss": "attribution",
        "Metric": "metrics.metric",
        "MetricRow": "aggregate",
        "OfflineUseDetector": "detectors.offline",
        "PairRow": "aggregate",
        "ProbeFacts": "aggregate",
        "ScoreRow": "aggregate",
        "StoredView": "case",
        "Verdict": "verdict",
        "VerdictStatus": "verdict",
        "attribute": "attribution",
        "default_metrics": "metrics.registry",
        "open_metrics": "metrics.registry",
    },
)
