"""Auditing: one set of replies under two scorings, row by row. What changed was the judge, or what it was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mnemoscope.evaluators.statistics.agreement import Agreement, cohen
from mnemoscope.evaluators.statistics.paired import McNemarPair, mcnemar_pair

__all__ = ["METRICS_DIFFER", "AuditRow", "Change", "Item", "Judged", "Scoring", "audit"]


METRICS_DIFFER = " → "
"""Stands between two names where an audit compares two metrics."""


class Item(NamedTuple):
    """One judged thing of one reply."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    subject: str


class Judged(NamedTuple):
    """What a scoring says of an item."""

    label: str
    score: float | None
    """None where the judge failed or the metric does not apply."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """All verdicts of one metric by one judge in one file."""

    metric: str
    name: str
    """The judge's key, and the file's name where several hold it."""
    verdicts: Mapping[Item, Judged]


class Change(NamedTuple):
    """An item that the two scorings see differently."""

    item: Item
    before: Judged
    after: Judged


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One system's replies under two scorings."""

    metric: str
    system: str
    first: str
    second: str
    n: int
    """Items that both scored."""
    only_one: int
    """Items that one of them scored."""
    value_first: float | None
    value_second: float | None
    pair: McNemarPair | None
    """Both tests on items that both scored 0 or 1; None where scores are graded."""
    agreement: Agreement | None
    changes: tuple[Change, ...]

    def to_json(self) -> dict[str, object]:
        """Plain data: shares are 0–1, what is missing is null."""
        pair, agreed = self.pair, self.agreement
        by = None if agreed is None else agreed.by_cluster or agreed.by_item
        return {
            "metric": self.metric,
            "system": self.system,
            "first": self.first,
            "second": self.second,
            "n": self.n,
            "only_one": self.only_one,
            "value_first": self.value_first,
            "value_second": self.value_second,
            "n10": pair.n10 if pair else None,
            "n01": pair.n01 if pair else None,
            "p": pair.p if pair else None,
            "p_clustered": pair.p_clustered if pair else None,
            "clusters": pair.clusters if pair else None,
            "agreement": agreed.observed if agreed else None,
            "kappa": agreed.kappa if agreed else None,
            "kappa_low": by.low if by else None,
            "kappa_high": by.high if by else None,
            "changes": [
                {**change.item._asdict(), "before": change.before.label, "after": change.after.label}
                for change in self.changes
            ],
        }


def audit(
    first: Scoring, second: Scoring, clusters: Mapping[tuple[str, str], str], *, seed: int = 0, resamples: int = 10_000
) -> tuple[AuditRow, ...]:
    """Two scorings of the same replies, a row per system.

    Args:
        first: What is changed from.
        second: What is changed to.
        clusters: (scenario id, probe id) to the unit of resampling.
        seed: Of the draws.
        resamples: Of the intervals.

    Returns:
        Systems in the order of the first scoring; those that one of the two lacks are left out.
    """
    systems = [
        s for s in dict.fromkeys(item.system for item in first.verdicts) if any(i.system == s for i in second.verdicts)
    ]
    return tuple(_row(first, second, system, clusters, seed, resamples) for system in systems)


def _row(
    first: Scoring,
    second: Scoring,
    system: str,
    clusters: Mapping[tuple[str, str], str],
    seed: int,
    resamples: int,
) -> AuditRow:
    items = [i for i in dict.fromkeys([*first.verdicts, *second.verdicts]) if i.system == system]
    both: list[tuple[Item, Judged, float, Judged, float]] = []
    only_one = 0
    for item in items:
        one, two = first.verdicts.get(item), second.verdicts.get(item)
        a, b = (None if judged is None else judged.score for judged in (one, two))
        if one is not None and two is not None and a is not None and b is not None:
            both.append((item, one, a, two, b))
        else:
            only_one += (a is None) != (b is None)
    scores = [(a, b) for _, _, a, _, b in both]
    groups = [clusters[item.scenario_id, item.probe_id] for item, *_ in both]
    is_binary = all(value in (0.0, 1.0) for pair in scores for value in pair)
    pair = (
        mcnemar_pair([a for a, _ in scores], [b for _, b in scores], groups, seed=seed, resamples=resamples)
        if both and is_binary
        else None
    )
    agreed = (
        cohen([_name(a) for a, _ in scores], [_name(b) for _, b in scores], groups, seed=seed, resamples=resamples)
        if both
        else None
    )
    return AuditRow(
        metric=first.metric if first.metric == second.metric else f"{first.metric}{METRICS_DIFFER}{second.metric}",
        system=system,
        first=first.name,
        second=second.name,
        n=len(both),
        only_one=only_one,
        value_first=round(sum(a for a, _ in scores) / len(both), 6) if both else None,
        value_second=round(sum(b for _, b in scores) / len(both), 6) if both else None,
        pair=pair,
        agreement=agreed,
        changes=tuple(Change(item, one, two) for item, one, a, two, b in both if a != b),
    )


def _name(score: float) -> str:
    """A score as a class: judges that word their labels differently may still mean the same."""
    return f"{score:g}"
