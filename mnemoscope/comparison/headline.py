"""The few figures that a table shows unless asked for others: per benchmark, each in its stratum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mnemoscope.comparison.strata import ALL, PRAGMA_TYPES
from mnemoscope.comparison.summary import Figure, Headline
from mnemoscope.scenarios.loaders.memuse_gold import DIRECT_QA, NATURAL

__all__ = ["HEADLINES", "headline_metrics", "headlines_for"]


_DIALOGUE = (
    Headline("integration", ALL),
    Headline("correction", ALL),
    Headline("timing", ALL),
    Headline("recall@10", ALL),
)

HEADLINES: Mapping[str, tuple[Headline, ...]] = {
    # Answerable and adversarial questions are never averaged together.
    "locomo": (
        Headline("recall@10", "non-adversarial"),
        Headline("recall-tokens(1024)", "non-adversarial"),
        Headline("answer-f1", "non-adversarial"),
        Headline("adversarial", "adversarial"),
        # Only where an overlay corrects the gold.
        Headline("answer-f1(gold=published)", ALL),
    ),
    # Each style asks for something else; one average over them would say nothing.
    "locomo-conv": (
        *(Headline("recall@10", style) for style in ("dialog", "implicit", "counterfactual", "composed")),
        *(Headline("integration", style) for style in ("dialog", "implicit", "composed")),
        Headline("correction", "counterfactual"),
    ),
    "longmemeval": (
        Headline("recall@10", ALL),
        Headline("recall-tokens(1024)", ALL),
        Headline("answer-f1", ALL),
        Headline("integration", ALL),
        Headline("adversarial", "abstention"),
    ),
    # Types have between two and eight gold sessions, so their recall has different ceilings.
    "pragma": (
        *(Headline("recall@10", kind) for kind in PRAGMA_TYPES),
        *(Headline("correction", kind) for kind in (PRAGMA_TYPES[1], PRAGMA_TYPES[3])),
        *(Headline("integration", kind) for kind in PRAGMA_TYPES),
    ),
    # A natural reply and an answer to a question outright are unlike tasks on the same facts.
    "memuse": (
        Headline("natural-integration", ALL),
        Headline("direct-qa", ALL),
        Headline("reference", ALL),
        Headline("unprompted-recall", ALL),
        Headline("fabricated-recall", ALL),
        Headline("answer-f1", ALL),
        *(Headline("integration", way) for way in (NATURAL, DIRECT_QA)),
        *_DIALOGUE[1:],
    ),
    "memory-arena": (Headline("judge-score", ALL), Headline("accuracy", ALL)),
    "stratmem": (Headline("smc", ALL), Headline("pes", ALL), Headline("cir", ALL)),
    "demo": _DIALOGUE,
}


def headline_metrics(benchmark: str) -> frozenset[str]:
    """Names of the metrics that tables of a benchmark show."""
    return frozenset(headline.metric for headline in HEADLINES.get(benchmark, _DIALOGUE))


def headlines_for(benchmark: str, figures: Iterable[Figure], metrics: Sequence[str] = ()) -> tuple[Headline, ...]:
    """What a table of one benchmark shows.

    Args:
        benchmark: The benchmark's name; one that is not listed is shown like the demo.
        figures: All figures; metrics that no system was scored by are left out.
        metrics: Asked-for metrics in the place of the usual ones.
    """
    there = {(f.metric, f.stratum) for f in figures if f.benchmark == benchmark}
    scored = {(f.metric, f.stratum) for f in figures if f.benchmark == benchmark and f.n_expected}
    usual = HEADLINES.get(benchmark, _DIALOGUE)
    wanted = list(usual)
    if metrics:
        own = {name: [h for h in usual if h.metric == name] for name in metrics}
        wanted = [h for name in metrics for h in own[name] or [_fallback(benchmark, name)]]
    parted = {headline.metric for headline in wanted if headline in there}
    found = []
    for headline in wanted:
        known = headline if headline.metric in parted else Headline(headline.metric, ALL)
        if known in scored:
            found.append(known)
    return tuple(dict.fromkeys(found))


def _fallback(benchmark: str, metric: str) -> Headline:
    stratum = "non-adversarial" if benchmark == "locomo" else ALL
    return Headline(metric, stratum)
