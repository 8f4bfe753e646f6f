"""Use decisions: single moments at which a memory is wanted, or not, apart from timing over conversations.

``use-decisions``, per system and source:

- `memuse`: natural replies that integrate (metric `natural-integration`) against negatives on which something is
  recalled unprompted (`unprompted-recall`)
- `stratmem`: nice memories used against irrelevant ones used (metric `use`)
- `implicit`: implicit probes whose fact is used (metric `integration`); nothing there is unwanted

`hit = used / wanted`, `false = used / unwanted`, `precision` as counted, and `projected` where moments are as rare as
in life (14 per 1,000 turns). A benchmark holds wanted and unwanted memories in shares of its own, so that its precision
says little. Sources are not pooled: what counts as use differs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.analyses._rating import projected_precision, rated, share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material

__all__ = ["UseDecisions"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("source", "text", "Where the decisions come from."),
    Column("wanted", "count", "Memories or moments that call for use."),
    Column("hit", "share", "Of these, used."),
    Column("low", "share", "Lower end of the 95 % interval of `hit`."),
    Column("high", "share", "Upper end."),
    Column("unwanted", "count", "Memories or moments that do not."),
    Column("false", "share", "Of these, used."),
    Column("precision", "share", "Wanted, of all used, as they are mixed here."),
    Column("projected", "share", "The same at 14 moments per 1,000 turns."),
)


class _Decided(NamedTuple):
    system: str
    source: str
    wanted: bool
    used: float
    cluster: str


class UseDecisions:
    """`use-decisions`: is what is wanted used, and what is not kept back?"""

    name = "use-decisions"

    def analyse(self, material: Material) -> Findings:
        """One row per system and source."""
        title = "single decisions: what is wanted is used, what is not is kept back"
        groups: defaultdict[tuple[str, str], list[_Decided]] = defaultdict(list)
        for decided in _decided(material):
            groups[decided.system, decided.source].append(decided)
        rows = [
            _row(name, source, groups[name, source], material)
            for source in ("memuse", "stratmem", "implicit")
            for name in material.systems
            if (name, source) in groups
        ]
        if not rows:
            return Findings(
                self.name, title, missing="no single use decision; run memuse, stratmem or implicit locomo-conv probes"
            )
        return Findings(self.name, title, _COLUMNS, tuple(rows))


def _decided(material: Material) -> Iterator[_Decided]:
    for row in material.verdicts("natural-integration", "unprompted-recall", "use", "integration"):
        if row.status != "scored" or row.score is None:
            continue
        asked = material.probe(row.scenario_id, row.probe_id)
        match row.metric:
            case "natural-integration" | "unprompted-recall":
                wanted = row.metric == "natural-integration"
                yield _Decided(row.system, "memuse", wanted, row.score, asked.cluster)
            case "use" if (role := asked.gold.roles.get(ItemId(row.subject))) in ("nice", "irr"):
                yield _Decided(row.system, "stratmem", role == "nice", row.score, asked.cluster)
            case "integration" if asked.probe.style == "implicit":
                yield _Decided(row.system, "implicit", True, row.score, asked.cluster)


def _row(name: str, source: str, found: list[_Decided], material: Material) -> tuple[Value, ...]:
    wanted, unwanted = ([d for d in found if d.wanted is side] for side in (True, False))
    hit = rated([d.used for d in wanted], [d.cluster for d in wanted], material)
    false = share(sum(d.used for d in unwanted), len(unwanted))
    used = sum(d.used for d in found)
    return (
        name,
        source,
        len(wanted),
        hit.value,
        hit.low,
        hit.high,
        len(unwanted),
        false,
        share(sum(d.used for d in wanted), used) if unwanted else None,
        projected_precision(hit.value, false),
    )
