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
        "abstention": f"{_PACKAGE}.answer_judged:Abstention",
        "adversarial": f"{_PACKAGE}.answer:Adversarial",
        "alignment": f"{_PACKAGE}.alignment:Alignment",
        "all-hit": f"{_PACKAGE}.ranked:AllHit",
        "answer": f"{_PACKAGE}.answer_judged:Answer",
        "answer-f1": f"{_PACKAGE}.answer:AnswerF1",
        "atomic-all": f"{_PACKAGE}.atomic:AtomicAll",
        "atomic-coverage": f"{_PACKAGE}.atomic:AtomicCoverage",
        "atomic-none": f"{_PACKAGE}.atomic:AtomicNone",
        "cir": f"{_PACKAGE}.strategic:Cir",
        "correction": f"{_PACKAGE}.correction:Correction",
        "coverage": f"{_PACKAGE}.retrieval:Coverage",
        "cue-phrase": f"{_PACKAGE}.cue:CuePhrase",
        "cue-without-fact": f"{_PACKAGE}.cue:CueWithoutFact",
        "currency": f"{_PACKAGE}.currency:Currency",
        "direct-qa": f"{_PACKAGE}.natural:DirectQa",
        "engagement": f"{_PACKAGE}.three_axis:Engagement",
        "fabricated-recall": f"{_PACKAGE}.negatives:FabricatedRecall",
        "fact-use": f"{_PACKAGE}.fact_use:FactUse",
        "faithfulness": f"{_PACKAGE}.three_axis:Faithfulness",
        "false-correction": f"{_PACKAGE}.correction:FalseCorrection",
        "graded-integration": f"{_PACKAGE}.graded:GradedIntegration",
        "grounded-recall": f"{_PACKAGE}.negatives:GroundedRecall",
        "grounding": f"{_PACKAGE}.alignment:Grounding",
        "grounding-precision": f"{_PACKAGE}.alignment:GroundingPrecision",
        "hallucination": f"{_PACKAGE}.hallucination:Hallucination",
        "integration": f"{_PACKAGE}.integration:Integration",
        "language-match": f"{_PACKAGE}.surface:LanguageMatch",
        "lift": f"{_PACKAGE}.retrieval:Lift",
        "miq": f"{_PACKAGE}.quality:Miq",
        "mrr": f"{_PACKAGE}.ranked:Mrr",
        "natural-integration": f"{_PACKAGE}.natural:NaturalIntegration",
        "ndcg": f"{_PACKAGE}.ranked:Ndcg",
        "nice-rate": f"{_PACKAGE}.strategic:NiceRate",
        "outcome": f"{_PACKAGE}.outcome:Outcome",
        "partially-grounded-recall": f"{_PACKAGE}.negatives:PartiallyGroundedRecall",
        "pes": f"{_PACKAGE}.strategic:Pes",
        "precision": f"{_PACKAGE}.retrieval:Precision",
        "recall": f"{_PACKAGE}.retrieval:Recall",
        "recall-all": f"{_PACKAGE}.ranked:RecallAll",
        "recall-any": f"{_PACKAGE}.ranked:RecallAny",
        "recall-given": f"{_PACKAGE}.retrieval:RecallGiven",
        "recall-text": f"{_PACKAGE}.retrieval_text:RecallText",
        "recall-tokens": f"{_PACKAGE}.retrieval:RecallTokens",
        "reference": f"{_PACKAGE}.natural:Reference",
        "relevance": f"{_PACKAGE}.three_axis:Relevance",
        "repetition": f"{_PACKAGE}.surface:Repetition",
        "retained": f"{_PACKAGE}.retrieval_text:Retained",
        "smc": f"{_PACKAGE}.strategic:Smc",
        "smc-must": f"{_PACKAGE}.strategic:SmcMust",
        "smc-no-irr": f"{_PACKAGE}.strategic:SmcNoIrr",
        "supportive-recall": f"{_PACKAGE}.supportive:SupportiveRecall",
        "three-axis": f"{_PACKAGE}.three_axis:ThreeAxis",
        "tied-use": f"{_PACKAGE}.fact_use:TiedUse",
        "timing": f"{_PACKAGE}.timing:Timing",
        "unprompted-recall": f"{_PACKAGE}.negatives:UnpromptedRecall",
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
    *("all-hit@10", "mrr@10", "ndcg@10", "recall-any@5", "recall-all@5", "ndcg(10,gains=longmemeval)"),
    *("supportive-recall@10", "fact-use", "tied-use", "atomic-coverage", "atomic-all", "atomic-none", "hallucination"),
    *("three-axis", "three-axis(blind=true)", "faithfulness", "relevance", "engagement"),
    *("alignment", "grounding", "grounding(scale=published)", "grounding-precision"),
    *("answer", "abstention", "currency", "outcome", "repetition", "language-match"),
    *("natural-integration", "graded-integration", "direct-qa", "reference", "cue-phrase", "cue-without-fact"),
    *("unprompted-recall", "fabricated-recall", "partially-grounded-recall", "grounded-recall"),
    *("smc-must", "smc-no-irr", "nice-rate"),
    *("miq", "miq(on=pass)", "miq(used=must)", "miq(used=nice)", "miq(used=irr)"),
)
"""Names of the metrics that run unless others are asked for."""

_RECORDED = "recorded("


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
    """Whether a smaller value of this metric is the better one; an unknown metric counts as higher is better.

    Imported verdicts on a metric that is scored here too are named `recorded(NAME)`.
    """
    scored = name[len(_RECORDED) : -1] if name.startswith(_RECORDED) and name.endswith(")") else name
    try:
        return bool(getattr(METRICS.create(scored), "lower_is_better", False))
    except ConfigError:
        return False
