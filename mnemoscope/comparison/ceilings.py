"""The most that a right reply can score against gold that an overlay shows to be partly wrong.

A system that answers as the corrected gold does gets what the published gold gives that answer; a question that the
overlay excludes has no right answer, and gives nothing. A score above that comes from the judge or from the gold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mnemoscope.comparison.merging import RunSet
from mnemoscope.comparison.strata import ALL
from mnemoscope.comparison.summary import Figure
from mnemoscope.evaluators.metrics.answer import AnswerF1, answer_f1
from mnemoscope.scenarios.loaders.locomo_overlay import CORRECTED, EXCLUDED
from mnemoscope.scenarios.records import Gold

__all__ = ["Ceiling", "ceiling_warnings", "gold_ceilings", "with_ceilings"]

_PUBLISHED = AnswerF1(gold="published")
_RECORDED = "recorded:"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One metric's ceiling on one benchmark, over all probes that it applies to."""

    benchmark: str
    metric: str
    judge_key: str
    """Of recorded verdicts; empty where the metric scores against the published gold itself."""
    value: float
    """0–1."""
    probes: int
    fixed: int
    """Probes whose answer the overlay corrects."""
    excluded: int


def gold_ceilings(runs: RunSet) -> tuple[Ceiling, ...]:
    """Ceilings of the metric on the published gold and of every recorded verdict, where an overlay is there.

    Recorded verdicts are taken as right or wrong against the published gold, so that a corrected answer gets nothing.

    Args:
        runs: The run files.
    """
    overlaid: defaultdict[str, dict[tuple[str, str], Gold]] = defaultdict(dict)
    own: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in runs.probes():
        if {CORRECTED, EXCLUDED} & set(row.strata):
            scenario = runs.scenario(row.scenario_id)
            (probe,) = [probe for probe in scenario.probes if probe.probe_id == row.probe_id]
            gold = scenario.gold_by_probe[probe.probe_id]
            unit = (str(row.scenario_id), str(row.probe_id))
            overlaid[row.benchmark][unit] = gold
            if _PUBLISHED.applies(gold, probe) and (gold.published or gold).answers:
                own[row.benchmark].add(unit)
    if not overlaid:
        return ()
    found = []
    for benchmark, golds in overlaid.items():
        if own[benchmark]:
            reach = {unit: _reach(golds[unit]) for unit in own[benchmark]}
            found.append(_ceiling(benchmark, _PUBLISHED.name, "", golds, reach))
        for (metric, judge), units in _recorded(runs, golds).items():
            reach = {unit: float(_is_unchanged(golds[unit])) for unit in units}
            found.append(_ceiling(benchmark, metric, judge, golds, reach))
    return tuple(found)


def with_ceilings(figures: Iterable[Figure], ceilings: Sequence[Ceiling]) -> tuple[Figure, ...]:
    """The figures over all probes with their ceiling; the others as they are."""
    known = {(c.benchmark, c.metric, c.judge_key): c.value for c in ceilings}

    def of(figure: Figure) -> float | None:
        if figure.stratum != ALL:
            return None
        judge = figure.judge_key if figure.judge_key.startswith(_RECORDED) else ""
        return known.get((figure.benchmark, figure.metric, judge))

    return tuple(figure if (value := of(figure)) is None else replace(figure, ceiling=value) for figure in figures)


def ceiling_warnings(figures: Iterable[Figure], ceilings: Sequence[Ceiling]) -> list[str]:
    """Every ceiling in a sentence, and every figure above its own."""
    found = [
        f"ceiling: {c.metric} on {c.benchmark} can reach {c.value * 100:.1f} %, as the overlay corrects {c.fixed} and "
        f"excludes {c.excluded} of {c.probes:,} gold rows"
        for c in ceilings
        if c.fixed or c.excluded
    ]
    for figure in figures:
        if figure.is_above_ceiling and figure.value is not None and figure.ceiling is not None:
            recorded = (
                ", unless its judge was given the corrected gold" if figure.judge_key.startswith(_RECORDED) else ""
            )
            found.append(
                f"judge or gold problem: {figure.metric} of {figure.system} on {figure.benchmark} is "
                f"{figure.value * 100:.1f} %, above its ceiling of {figure.ceiling * 100:.1f} %{recorded}"
            )
    return found


def _recorded(runs: RunSet, golds: Mapping[tuple[str, str], Gold]) -> dict[tuple[str, str], set[tuple[str, str]]]:
    units: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for row in runs.verdict_rows():
        if row.judge_key.startswith(_RECORDED) and (row.scenario_id, row.probe_id) in golds:
            units[row.metric, row.judge_key].add((row.scenario_id, row.probe_id))
    return dict(sorted(units.items()))


def _ceiling(
    benchmark: str,
    metric: str,
    judge: str,
    golds: Mapping[tuple[str, str], Gold],
    reach: Mapping[tuple[str, str], float],
) -> Ceiling:
    excluded = sum(EXCLUDED in golds[unit].strata for unit in reach)
    fixed = sum(not _is_unchanged(golds[unit]) for unit in reach) - excluded
    value = round(sum(reach.values()) / len(reach), 6)
    return Ceiling(benchmark, metric, judge, value, len(reach), fixed, excluded)


def _is_unchanged(gold: Gold) -> bool:
    """Whether the published answer stands; corrected evidence leaves it as it is."""
    if EXCLUDED in gold.strata:
        return False
    return gold.published is None or gold.published.answers == gold.answers


def _reach(gold: Gold) -> float:
    """What the right answer scores against the published one."""
    if _is_unchanged(gold):
        return 1.0
    if EXCLUDED in gold.strata or gold.published is None:
        return 0.0
    published = gold.published
    scores = [answer_f1(right, wanted, published.strata) for right in gold.answers for wanted in published.answers]
    return max(scores, default=0.0)
