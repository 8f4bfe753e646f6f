"""Published: what papers print for the metrics of this run, beside it and never in one column with it.

``published``, per published row of the run's benchmarks and metrics: the share with its counts, the source, the version
of the judge's inputs, and every reason why it must not be put beside figures on the released data: another split, other
items, other judge inputs, no counts. Rows stand in the order of the papers' tables, not by size. They were made with
other writers and other judges, so that no difference to a row of this run is computed.

Where a paper prints percentages only, counts were turned back from them and give them again to the last digit
(StratMem-Bench, arXiv 2604.26243; MemUse, arXiv 2608.24189).
"""

from __future__ import annotations

from collections.abc import Iterator

from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.published import published_rows

__all__ = ["Published"]

_COLUMNS = (
    Column("metric", "text", "The metric, under the name that it has here."),
    Column("stratum", "text", "Which of the benchmark's items."),
    Column("published_for", "text", "The model, and the memory where the benchmark varies it."),
    Column("percent", "share", "The published share."),
    Column("hits", "count", "Items that passed; a dash where no counts are published."),
    Column("of", "count", "Items that were scored."),
    Column("not_comparable_because", "text", "Empty where split, items and judge inputs are the released ones."),
)


class Published:
    """`published`: the papers' own figures for the metrics of this run."""

    name = "published"

    def analyse(self, material: Material) -> Findings:
        """One row per published figure of a benchmark and metric that the run holds."""
        title = "what the papers print: other writers, other judges, no ranking"
        held = sorted(set(_held(material)))
        found = [row for benchmark, metric in held for row in published_rows(benchmark, metric)]
        if not found:
            return Findings(self.name, title, missing="no published figure is on record for the metrics of this run")
        rows: list[tuple[Value, ...]] = [
            (row.metric, row.stratum, row.system, row.share, row.hits, row.n, "; ".join(row.flags)) for row in found
        ]
        sources = dict.fromkeys(row.source for row in found)
        return Findings(self.name, title, _COLUMNS, tuple(rows), tuple(f"source: {source}" for source in sources))


def _held(material: Material) -> Iterator[tuple[str, str]]:
    """Benchmark and metric of every verdict."""
    for row in material.verdicts(*material.metrics()):
        yield material.probe(row.scenario_id, row.probe_id).benchmark, row.metric
