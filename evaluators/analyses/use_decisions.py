"""Use decisions: single moments at which a memory is wanted, or not, apart from timing over conversations.

``use-decisions``, per system and source:

- `memuse`: natural replies that integrate (metric `natural-integration`) against negatives on which something is
  recalled unprompted (`unprompted-recall`)
- `stratmem`: nice memories used against irrelevant ones used (metric `use`)
- `implicit`: facts of implicit probes that are used (metric `integration`); nothing there is unwanted, so that a dump
  is perfect. Facts with windows belong to `timing`

`hit = used / wanted` is the recall, `false = used / unwanted`, `precision` as counted, and `projected` where moments
are as rare as in life (14 per 1,000 turns; MemUse, arXiv 2608.24189). A benchmark holds wanted and unwanted memories in
shares of its own, so that its precision says little. No precision where nothing is used, or nothing is unwanted.
Sources are not pooled: what counts as use differs. The roles are StratMem-Bench's (arXiv 2604.26243), the implicit
style is LoCoMo-Conv's (arXiv 2609.03467); neither publishes these figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.analyses._rating import ends, projected_precision, rated_share
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import AskedProbe, Material
from mnemoscope.evaluators.rows import ScoreRow

__all__ = ["UseDecisions"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("source", "text", "Where the decisions come from."),
    Column("wanted", "count", "Memories or moments that call for use."),
    Column("hit", "share", "Of these, used."),
    *ends("hit"),
    Column("unwanted", "count", "Memories or moments that do not."),
    Column("false", "share", "Of these, used."),
    *ends("false", "false_"),
    Column("precision", "share", "Wanted, of all used, as they are mixed here."),
    *ends("precision", "precision_"),
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
        for decided in _decisions(material):
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


def _decisions(material: Material) -> Iterator[_Decided]:
    for row in material.verdicts("natural-integration", "unprompted-recall", "use", "integration"):
        if row.status != "scored" or row.score is None:
            continue
        asked = material.probe(row.scenario_id, row.probe_id)
        if (kind := _kind(row, asked)) is not None:
            yield _Decided(row.system, *kind, row.score, asked.cluster)


def _kind(row: ScoreRow, asked: AskedProbe) -> tuple[str, bool] | None:
    """Source, and whether use is wanted; None for what is no single use decision."""
    match row.metric:
        case "natural-integration" | "unprompted-recall":
            return "memuse", row.metric == "natural-integration"
        case "use":
            role = asked.gold.roles.get(ItemId(row.subject))
            return ("stratmem", role == "nice") if role in ("nice", "irr") else None
        case _:
            return ("implicit", True) if asked.probe.style == "implicit" and not asked.gold.windows else None


def _row(name: str, source: str, found: list[_Decided], material: Material) -> tuple[Value, ...]:
    wanted, unwanted = ([d for d in found if d.wanted is side] for side in (True, False))
    used = [d for d in found if d.used] if unwanted else []
    hit, false = (rated_share([d.used for d in side], _clusters(side), material) for side in (wanted, unwanted))
    precision = rated_share([float(d.wanted) for d in used], _clusters(used), material)
    return (
        name,
        source,
        len(wanted),
        hit.value,
        hit.low,
        hit.high,
        len(unwanted),
        false.value,
        false.low,
        false.high,
        precision.value,
        precision.low,
        precision.high,
        projected_precision(hit.value, false.value),
    )


def _clusters(found: list[_Decided]) -> list[str]:
    return [d.cluster for d in found]
