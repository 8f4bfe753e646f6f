"""The few figures that a table shows unless asked for others: per benchmark, each in its stratum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mnemoscope.comparison.strata import ALL
from mnemoscope.comparison.summary import Figure, Headline

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
    ),
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
    usual = {h.metric: h for h in HEADLINES.get(benchmark, _DIALOGUE)}
    wanted = [usual.get(name, _fallback(benchmark, name)) for name in metrics] if metrics else list(usual.values())
    found = []
    for headline in wanted:
        known = headline if headline in there else Headline(headline.metric, ALL)
        if known in scored:
            found.append(known)
    return tuple(dict.fromkeys(found))


def _fallback(benchmark: str, metric: str) -> Headline:
    stratum = "non-adversarial" if benchmark == "locomo" else ALL
    return Headline(metric, stratum)
