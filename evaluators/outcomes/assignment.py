"""Conditions that sessions were dealt to: evenly over users, and enough of them to find a difference?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.evaluators.outcomes.records import SessionOutcome
from mnemoscope.evaluators.outcomes.satisfaction import WithinUser
from mnemoscope.evaluators.statistics.power import power_of_difference, rows_for_power
from mnemoscope.evaluators.statistics.randomisation import Randomisation, randomisation

__all__ = ["SMALL", "ConditionPower", "assignment_of", "condition_power"]

SMALL = 0.10
"""The difference, in standard deviations, for which MemUse (arXiv 2608.24189) gives its power."""


@dataclass(frozen=True, slots=True)
class ConditionPower:
    """What a two-sample test between two conditions can find; sessions of one user count as independent."""

    d: float
    """Difference in standard deviations."""
    sessions: tuple[int, int]
    """Of the two smallest conditions that have two sessions."""
    power: float
    """Chance to find the difference between them at the level of 5 %, 0–1."""
    needed: int | None
    """Sessions of each condition with which the chance is 80 %."""


def assignment_of(outcomes: Sequence[SessionOutcome], satisfaction: WithinUser) -> Randomisation | None:
    """User × condition, over the users whose ratings are used; over all where nobody rated.

    Returns:
        None where no session names a condition.
    """
    kept = {key.user for key in satisfaction.z} or {outcome.user for outcome in outcomes}
    drawn = [(o.user, o.condition) for o in outcomes if o.condition is not None and o.user in kept]
    return randomisation([user for user, _ in drawn], [condition for _, condition in drawn]) if drawn else None


def condition_power(assignment: Randomisation | None, d: float = SMALL) -> ConditionPower | None:
    """Power between the two smallest conditions that have two sessions; None where fewer than two have.

    Example:
        >>> users = [f"u{n % 30}" for n in range(528)]
        >>> dealt = randomisation(users, ["summary", "full"] * 264)
        >>> found = condition_power(dealt)
        >>> found.sessions, round(found.power, 3), found.needed
        ((264, 264), 0.209, 1571)
    """
    totals = map(sum, zip(*assignment.table, strict=True)) if assignment else ()
    sizes = sorted(size for size in totals if size >= 2)
    if len(sizes) < 2:
        return None
    return ConditionPower(d, (sizes[0], sizes[1]), power_of_difference(d, sizes[0], sizes[1]), rows_for_power(d))
