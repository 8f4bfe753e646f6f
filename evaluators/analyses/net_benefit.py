"""Net benefit: what mentions are worth, over what a mistimed one costs against what a timely one gains.

``net-benefit``, per system: on-time mentions per 100 decisions minus c times the mistimed ones, for several costs c of
a mistimed mention in units of the gain of a timely one. `never` is 0 at every cost. `break_even` is the cost above
which never mentioning is better; `against_always` the cost above which the system is better than always mentioning. No
single utility is right; a curve says for which costs a system is worth having (decision curve analysis, Vickers and
Elkin, Med Decis Making 2006, of which this is the form with a fixed prevalence).

The one published set of weights is drawn as a point of its own, `published`: +.56 standard deviations of satisfaction
for an answered cue (p = .082, not significant), -.48 on average over 8 mistimed recalls, and nothing for recalls that
were merely unprompted (66, ρ = -.05 with satisfaction; MemUse, arXiv 2608.24189). So c = .86 for a mention that comes
late or in a closed window, and 0 for an early one or one between windows: which mention is of which kind is our
reading. Unlike the curve, it forgives talkative systems, and all three weights are too uncertain to decide by.

Moments are as common here as in the scenarios, which is far more common than in life: see `projected` in `timing`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.evaluators.analyses._moments import Decision, findings_of
from mnemoscope.evaluators.analyses._rating import rated, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["NetBenefit"]

_COSTS = {"c_0.25": 0.25, "c_0.5": 0.5, "c_1": 1.0, "c_2": 2.0, "c_4": 4.0}
_PUBLISHED = 0.48 / 0.56
_HURTS = frozenset({"late", "closed"})
"""Places that count as mistimed for the published weights; elsewhere a mention was merely unprompted."""
_COLUMNS = (
    Column("system", "text", "The system, or a policy on the same moments."),
    Column("decisions", "count", "Facts with windows, each at each of its moments."),
    Column("on_time", "count", "Mentions inside an open window."),
    Column("mistimed", "count", "Mentions outside."),
    *(
        Column(name, "number", f"Per 100 decisions, a mistimed mention costing {cost:g} of a timely one's gain.")
        for name, cost in _COSTS.items()
    ),
    Column("low", "number", "Lower end of the 95 % interval of `c_1`, by cluster; a dash for one cluster."),
    Column("high", "number", "Upper end."),
    Column("published", "number", "Late and closed ones costing 0.86, other mistimed mentions nothing."),
    Column("break_even", "number", "Cost above which never mentioning is better; a dash where nothing is mistimed."),
    Column("against_always", "number", "Cost above which it is better than always; a dash where nothing is spared."),
)
_CAVEAT = (
    "published: +.56 SD for an answered cue (p = .082), -.48 SD over 8 mistimed recalls, 0 for unprompted ones; "
    "too uncertain to decide by"
)


class NetBenefit:
    """`net-benefit`: what mentioning is worth, by its cost."""

    name = "net-benefit"

    def analyse(self, material: Material) -> Findings:
        """One row per system, and one per policy."""
        return findings_of(
            self.name,
            "what mentioning is worth, by the cost of a mistimed mention",
            material,
            _COLUMNS,
            _row,
            (_CAVEAT,),
        )


def _row(name: str, found: Sequence[Decision], material: Material) -> tuple[Value, ...]:
    due = sum(d.due for d in found)
    hits = sum(d.due and d.mentioned for d in found)
    mistimed = sum(d.mentioned and not d.due for d in found)
    hurting = sum(d.mentioned and d.place in _HURTS for d in found)
    spared = len(found) - due - mistimed
    curve = [share(100 * (hits - cost * mistimed), len(found)) for cost in _COSTS.values()]
    even = rated([100.0 * d.mentioned * (1 if d.due else -1) for d in found], [d.cluster for d in found], material)
    return (
        name,
        len(found),
        hits,
        mistimed,
        *curve,
        even.low,
        even.high,
        share(100 * (hits - _PUBLISHED * hurting), len(found)),
        share(hits, mistimed),
        share(due - hits, spared),
    )
