"""Use decisions: single moments at which a memory is wanted, or not, apart from timing over conversations.

``use-decisions``, per system and source:

- `memuse`: natural replies that integrate (metric `natural-integration`) against negatives on which something is
  recalled unprompted (`unprompted-recall`)
- `stratmem`: nice memories used against irrelevant ones used (metric `use`)
- `implicit`: facts of implicit probes that are used (metric `integration`); nothing there is unwanted, so that a dump
  is perfect. Facts with windows belong to `timing`

`hit = used / wanted` is the recall, `false = used / unwanted`, `precision` as counted, and `projected` where moments
are as rare as in life (14 per 1,000 turns; MemUse, arXiv 2608.24189). A benchmark holds wanted and unwanted memories in
shares of its own, so that its precision says little; so does `projected` where `false` is 0 of a few, which is why
`projected_low` stands beside it. No precision where nothing is used, or nothing is unwanted.
Sources are not pooled: what counts as use differs. The roles are StratMem-Bench's (arXiv 2604.26243), the implicit
style is LoCoMo-Conv's (arXiv 2609.03467); neither publishes these figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.analyses._one_judge import of_one_judge
from mnemoscope.evaluators.analyses._rating import ends, few_clusters, projected_precision, rated_share
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
    Column("projected_low", "share", "The same with `false` at the upper end of its interval."),
)


_SOURCES = ("memuse", "stratmem", "implicit")


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
        verdicts = of_one_judge(material, "natural-integration", "unprompted-recall", "use", "integration")
        for decided in _decisions(verdicts.scored(), material):
            groups[decided.system, decided.source].append(decided)
        rows = [
            _row(name, source, groups[name, source], material)
            for source in _SOURCES
            for name in material.systems
            if (name, source) in groups
        ]
        if not rows:
            return Findings(
                self.name, title, missing="no single use decision; run memuse, stratmem or implicit locomo-conv probes"
            )
        notes = [
            note
            for source in _SOURCES
            for note in few_clusters(
                (d.cluster for key, found in groups.items() if key[1] == source for d in found), source
            )
        ]
        return Findings(self.name, title, _COLUMNS, tuple(rows), (*notes, *verdicts.notes, *verdicts.judges))


def _decisions(scored: Iterable[tuple[ScoreRow, float]], material: Material) -> Iterator[_Decided]:
    for row, score in scored:
        asked = material.probe(row.scenario_id, row.probe_id)
        if (kind := _kind(row, asked)) is not None:
            yield _Decided(row.system, *kind, score, asked.cluster)


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
        projected_precision(hit.value, false.high),
    )


def _clusters(found: list[_Decided]) -> list[str]:
    return [d.cluster for d in found]
