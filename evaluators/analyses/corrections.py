"""Corrections: of what a system puts right, how much was wrong, and of what was wrong, how much does it put right?

``corrections``, per system, from the metrics `correction` (probes with a false premise) and `false-correction` (probes
without one):

- `recall = corrected / premises`; `vague`, `unaware` and `wrong` are the other outcomes, and the four add up to 1
- `precision = corrected / (corrected + wrong + false)`: right corrections of all that were made; doubts are none
- `false_rate = false / sound`: replies that correct or contradict although nothing was wrong

Precision holds for the mix of false and sound premises of the run; in life, where few premises are false, it is lower.
LoCoMo-Conv (arXiv 2609.03467) publishes the shares of its counterfactual style only; a system that corrects everything
looks perfect there. The label `wrong` is ours: LoCoMo-Conv has it under `unaware`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses._rating import Rated, ends, few_clusters, rated_share, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["Corrections"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("premises", "count", "Replies to a false premise that were judged."),
    Column("recall", "share", "Of these, corrected with the truth."),
    *ends("recall"),
    Column("vague", "share", "Doubted, without the truth."),
    Column("unaware", "share", "Taken over or passed by."),
    Column("wrong", "share", "Another untruth put in its place."),
    Column("sound", "count", "Replies to probes in which nothing was wrong that were judged."),
    Column("false_rate", "share", "Of these, corrected or contradicted."),
    *ends("false_rate", "false_"),
    Column("precision", "share", "Right corrections, of all that were made."),
    *ends("precision", "precision_"),
)
_FALSE = "false correction"
_MADE = frozenset({"corrected", "wrong correction", _FALSE})
"""Outcomes in which something was put in the place of what the user said."""


class _Outcome(NamedTuple):
    label: str
    cluster: str


class Corrections:
    """`corrections`: precision and recall of putting the user right."""

    name = "corrections"

    def analyse(self, material: Material) -> Findings:
        """One row per system with false premises."""
        title = "what is put right, and what was right before"
        premises: defaultdict[str, list[_Outcome]] = defaultdict(list)
        sound: defaultdict[str, list[_Outcome]] = defaultdict(list)
        verdicts = of_one_judge(material, "correction", "false-correction")
        for row, score in verdicts.scored():
            cluster = material.probe(row.scenario_id, row.probe_id).cluster
            if row.metric == "correction":
                premises[row.system].append(_Outcome(row.label, cluster))
            else:
                sound[row.system].append(_Outcome(_FALSE if score else "", cluster))
        rows = [_row(name, premises[name], sound[name], material) for name in material.systems if name in premises]
        if not rows:
            return Findings(
                self.name, title, missing="no probe has a false premise; run demo, or counterfactual LoCoMo-Conv"
            )
        clusters = (outcome.cluster for found in (premises, sound) for of in found.values() for outcome in of)
        return Findings(
            self.name,
            title,
            _COLUMNS,
            tuple(rows),
            (*_notes(rows), *few_clusters(clusters), *verdicts.limits(), *verdicts.judges),
        )


def _row(name: str, premises: list[_Outcome], sound: list[_Outcome], material: Material) -> tuple[Value, ...]:
    labels, n = Counter(outcome.label for outcome in premises), len(premises)
    made = [outcome for outcome in (*premises, *sound) if outcome.label in _MADE]
    recall = _rate(premises, "corrected", material)
    false = _rate(sound, _FALSE, material)
    precision = _rate(made, "corrected", material)
    return (
        name,
        n,
        recall.value,
        recall.low,
        recall.high,
        share(labels["vague"], n),
        share(labels["unaware"], n),
        share(labels["wrong correction"], n),
        len(sound),
        false.value,
        false.low,
        false.high,
        precision.value,
        precision.low,
        precision.high,
    )


def _rate(outcomes: Sequence[_Outcome], label: str, material: Material) -> Rated:
    return rated_share([float(o.label == label) for o in outcomes], [o.cluster for o in outcomes], material)


def _notes(rows: Sequence[tuple[Value, ...]]) -> tuple[str, ...]:
    place = next(i for i, column in enumerate(_COLUMNS) if column.name == "sound")
    if all(row[place] for row in rows):
        return ()
    return ("without judged probes in which nothing is wrong, precision counts wrong corrections only",)
