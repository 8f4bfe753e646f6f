"""Moments of facts with windows, decision by decision: what timing and net benefit are counted from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.metrics.timing import moment_of, place_of

__all__ = ["POLICIES", "Decision", "as_policy", "decisions"]

POLICIES = {"never": False, "refuse": False, "always": True, "dump": True}
"""Policy to whether it mentions: a refusal brings nothing up, and a dump everything."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One fact at one moment: was bringing it up wanted, and was it done?"""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    fact_id: str
    cluster: str
    place: str
    """As in the metric `timing`: `open`, `closed`, `early`, `late`, `between`, `outside`."""
    moment: int
    """Index of the last known turn."""
    opened: int | None
    """First index of the fact's first open window; None where none is open at any time."""
    mentioned: bool

    @property
    def due(self) -> bool:
        """An open window holds the moment, and no closed one does."""
        return self.place == "open"


def decisions(material: Material) -> Iterator[Decision]:
    """Every scored verdict of the metric `timing`, with its place among the windows."""
    for row in material.verdicts("timing"):
        if row.status != "scored":
            continue
        asked = material.probe(row.scenario_id, row.probe_id)
        windows = [window for window in asked.gold.windows if window.fact_id == row.subject]
        opened = [window.from_index for window in windows if window.kind == "open"]
        moment = moment_of(asked.probe)
        yield Decision(
            row.system,
            row.scenario_id,
            row.probe_id,
            row.replicate,
            row.subject,
            asked.cluster,
            place_of(moment, windows),
            moment,
            min(opened, default=None),
            row.label in ("on-time", "mistimed"),
        )


def as_policy(decision: Decision, name: str) -> Decision:
    """The same moment as a policy would have decided it."""
    return Decision(
        name,
        decision.scenario_id,
        decision.probe_id,
        decision.replicate,
        decision.fact_id,
        decision.cluster,
        decision.place,
        decision.moment,
        decision.opened,
        POLICIES[name],
    )
