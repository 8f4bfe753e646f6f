"""Corrections: of what a system puts right, how much was wrong, and of what was wrong, how much does it put right?

``corrections``, per system, from the metrics `correction` (probes with a false premise) and `false-correction` (probes
without one):

- `recall = corrected / premises`; `vague`, `unaware` and `wrong` are the other outcomes
- `precision = corrected / (corrected + wrong + false)`: right corrections of all that were made; doubts are none
- `false_rate = false / sound`: replies that correct or contradict although nothing was wrong

LoCoMo-Conv (arXiv 2609.03467) publishes the shares of its counterfactual style only; a system that corrects everything
looks perfect there.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from mnemoscope.evaluators.analyses._rating import rated, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["Corrections"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("premises", "count", "Replies to a false premise that were judged."),
    Column("recall", "share", "Of these, corrected with the truth."),
    Column("low", "share", "Lower end of the 95 % interval of `recall`."),
    Column("high", "share", "Upper end."),
    Column("vague", "share", "Doubted, without the truth."),
    Column("unaware", "share", "Taken over or passed by."),
    Column("wrong", "share", "Another untruth put in its place."),
    Column("sound", "count", "Replies to probes in which nothing was wrong that were judged."),
    Column("false_rate", "share", "Of these, corrected or contradicted."),
    Column("precision", "share", "Right corrections, of all that were made."),
)


class Corrections:
    """`corrections`: precision and recall of putting the user right."""

    name = "corrections"

    def analyse(self, material: Material) -> Findings:
        """One row per system with false premises."""
        title = "what is put right, and what was right before"
        labels: defaultdict[str, Counter[str]] = defaultdict(Counter)
        hits: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        false: defaultdict[str, list[float]] = defaultdict(list)
        for row in material.verdicts("correction", "false-correction"):
            if row.status != "scored" or row.score is None:
                continue
            if row.metric == "correction":
                labels[row.system][row.label] += 1
                cluster = material.probe(row.scenario_id, row.probe_id).cluster
                hits[row.system].append((float(row.label == "corrected"), cluster))
            else:
                false[row.system].append(row.score)
        rows = [
            _row(name, labels[name], hits[name], false[name], material) for name in material.systems if name in labels
        ]
        if not rows:
            return Findings(
                self.name, title, missing="no probe has a false premise; run demo, or counterfactual LoCoMo-Conv"
            )
        return Findings(self.name, title, _COLUMNS, tuple(rows))


def _row(
    name: str, labels: Counter[str], hits: list[tuple[float, str]], false: list[float], material: Material
) -> tuple[Value, ...]:
    n, corrected, wrong = labels.total(), labels["corrected"], labels["wrong correction"]
    recall = rated([hit for hit, _ in hits], [cluster for _, cluster in hits], material)
    made = corrected + wrong + sum(false)
    return (
        name,
        n,
        recall.value,
        recall.low,
        recall.high,
        share(labels["vague"], n),
        share(labels["unaware"], n),
        share(wrong, n),
        len(false),
        share(sum(false), len(false)),
        share(corrected, made),
    )
