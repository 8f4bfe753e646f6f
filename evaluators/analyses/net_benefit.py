"""Net benefit: what mentions are worth, over what a mistimed one costs against what a timely one gains.

``net-benefit``, per system: on-time mentions per 100 decisions minus c times the mistimed ones, for several costs c of
a mistimed mention in units of the gain of a timely one. `never` is 0 at every cost. `break_even` is the cost above
which never mentioning is better; `against_always` the cost above which the system is better than always mentioning. No
single utility is right; a curve says for which costs a system is worth having (decision curve analysis, Vickers and
Elkin, Med Decis Making 2006, of which this is the form with a fixed prevalence).

The one published pair of weights is drawn as `published`: +.56 standard deviations of satisfaction for an answered cue
(p = .082) and -.48 over 8 mistimed recalls (MemUse, arXiv 2608.24189), so c = .86. Both are too uncertain to decide by.
Moments are as common here as in the scenarios, which is far more common than in life: see `projected` in `timing`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mnemoscope.evaluators.analyses._moments import POLICIES, Decision, as_policy, decisions
from mnemoscope.evaluators.analyses._rating import share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["NetBenefit"]

_PUBLISHED = 0.48 / 0.56
_COSTS = {"c_0.25": 0.25, "c_0.5": 0.5, "published": _PUBLISHED, "c_1": 1.0, "c_2": 2.0, "c_4": 4.0}
_COLUMNS = (
    Column("system", "text", "The system, or a policy on the same moments."),
    Column("on_time", "count", "Mentions inside an open window."),
    Column("mistimed", "count", "Mentions outside."),
    *(
        Column(name, "number", f"Per 100 decisions, a mistimed mention costing {cost:.2g} of a timely one's gain.")
        for name, cost in _COSTS.items()
    ),
    Column("break_even", "number", "Cost above which never mentioning is better; a dash where nothing is mistimed."),
    Column("against_always", "number", "Cost above which it is better than always mentioning."),
)


class NetBenefit:
    """`net-benefit`: what mentioning is worth, by its cost."""

    name = "net-benefit"

    def analyse(self, material: Material) -> Findings:
        """One row per system, and one per policy."""
        title = "what mentioning is worth, by the cost of a mistimed mention"
        by_system: defaultdict[str, list[Decision]] = defaultdict(list)
        for decision in decisions(material):
            by_system[decision.system].append(decision)
        if not by_system:
            return Findings(self.name, title, missing="no probe has timing windows; run demo, or build some")
        rows = [_row(name, by_system[name]) for name in material.systems if name in by_system]
        some = next(iter(by_system.values()))
        rows += [_row(name, [as_policy(decision, name) for decision in some]) for name in POLICIES]
        notes = (
            "published: +.56 SD for an answered cue (p = .082), -.48 SD over 8 mistimed recalls; too uncertain to "
            "decide by",
        )
        return Findings(self.name, title, _COLUMNS, tuple(rows), notes)


def _row(name: str, found: Sequence[Decision]) -> tuple[Value, ...]:
    due = sum(d.due for d in found)
    hits = sum(d.due and d.mentioned for d in found)
    mistimed = sum(d.mentioned and not d.due for d in found)
    spared = len(found) - due - mistimed
    curve = [share(100 * (hits - cost * mistimed), len(found)) for cost in _COSTS.values()]
    return (name, hits, mistimed, *curve, share(hits, mistimed), share(due - hits, spared))
