"""How far the members of a panel agree with each other, read from what a panel's answers keep of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from mnemoscope.evaluators.calibration.record import MemberAgreement
from mnemoscope.evaluators.judges.panel import member_labels
from mnemoscope.evaluators.judges.question import Answer
from mnemoscope.evaluators.statistics.agreement import fleiss

__all__ = ["agreement_of_members"]


def agreement_of_members(
    answers: Sequence[Answer], clusters: Sequence[str], *, seed: int, resamples: int = 10_000
) -> MemberAgreement:
    """Fleiss' κ over all members, labels as names, and the share of equal labels per pair.

    Args:
        answers: A panel's. Where a member gave no label, a row counts for the pairs of the others only.
        clusters: Which history each is of.
        seed: Of the resampling.
        resamples: Of the bootstrap.
    """
    rows = [member_labels(answer.raw) if answer.status in ("scored", "invalid") else {} for answer in answers]
    names = sorted({name for row in rows for name in row})
    if len(names) < 2:
        return MemberAgreement(n=0, agreement=None, kappa=None, low=None, high=None, reason="no member gave a label")
    found = fleiss([[row.get(name) for row in rows] for name in names], clusters, seed=seed, resamples=resamples)
    interval = found.by_cluster or found.by_item
    return MemberAgreement(
        n=found.n,
        agreement=found.observed,
        kappa=found.kappa,
        low=interval.low,
        high=interval.high,
        reason=found.reason,
        pairwise={f"{a} + {b}": _equal([(row.get(a), row.get(b)) for row in rows]) for a, b in combinations(names, 2)},
    )


def _equal(labels: Sequence[tuple[str | None, str | None]]) -> float | None:
    both = [(a, b) for a, b in labels if a is not None and b is not None]
    return round(sum(a == b for a, b in both) / len(both), 6) if both else None
