"""Counts that come straight from rows: where facts were lost, what systems cost, how many cells are there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import fmean, median

from mnemoscope.comparison.conditions import with_marks
from mnemoscope.comparison.merging import RunSet, settings_of
from mnemoscope.comparison.summary import Cost, Funnel, SystemView
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.attribution import STAGES
from mnemoscope.runfile.rows import CellRow, LossRow

__all__ = ["costs", "funnels", "system_views"]


def system_views(runs: RunSet) -> tuple[SystemView, ...]:
    """Every system with its conditions and how many of its cells are there."""
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for cell in runs.cells():
        done[cell.system] += 1
        failed[cell.system] += cell.status == "error"
    views = []
    for row in runs.systems():
        members = runs.members_of(row.name)
        views.append(
            SystemView(
                row=row,
                files=tuple(member.label for member in members),
                settings=settings_of(members[0].run),
                cells_expected=sum(m.run.expected_cells // len(m.shown) for m in members),
                cells_done=done[row.name],
                cells_failed=failed[row.name],
            )
        )
    return with_marks(views)


def funnels(runs: RunSet) -> tuple[Funnel, ...]:
    """Where each system's gold facts went; systems without any are left out."""
    stages: dict[str, Counter[str]] = defaultdict(Counter)
    skipped: Counter[str] = Counter()
    disagree: Counter[str] = Counter()
    for loss in runs.losses():
        stages[loss.system][loss.stage] += 1
        skipped[loss.system] += _is_non_monotone(loss)
        disagree[loss.system] += _routes_disagree(loss.routes)
    return tuple(
        Funnel(
            system=row.name,
            facts=stages[row.name].total(),
            stages={stage: stages[row.name][stage] for stage in STAGES},
            non_monotone=skipped[row.name],
            routes_disagree=disagree[row.name],
        )
        for row in runs.systems()
        if row.name in stages
    )


def _is_non_monotone(loss: LossRow) -> bool:
    return bool(loss.routes.get("said")) and loss.stage in STAGES[:3]


def _routes_disagree(routes: Mapping[str, bool | None]) -> bool:
    if routes.get("in_session"):
        return False
    pairs = [(routes.get(f"{stage}_provenance"), routes.get(f"{stage}_text")) for stage in ("stored", "retrieved")]
    return any(a is not None and b is not None and a != b for a, b in pairs)


def costs(runs: RunSet) -> tuple[Cost, ...]:
    """What each system took: calls and tokens of all cells, averages over those that gave a reply."""
    cells: dict[str, list[CellRow]] = defaultdict(list)
    spent: dict[str, Usage] = defaultdict(Usage)
    for cell in runs.cells():
        spent[cell.system] += cell.usage
        if cell.status == "ok":
            cells[cell.system].append(cell)
    first: dict[str, list[float]] = defaultdict(list)
    for member in runs.members:
        streamed = member.run.first_token_ms()
        for cell in member.run.cells() if streamed else ():
            if cell.cell_id in streamed:
                first[member.shown[cell.system]].append(streamed[cell.cell_id])
    lengths: dict[str, list[int]] = defaultdict(list)
    for member in runs.members:
        characters = member.run.reply_characters()
        for cell in member.run.cells():
            if cell.cell_id in characters:
                lengths[member.shown[cell.system]].append(characters[cell.cell_id])
    ingests = runs.ingests()
    found = []
    for row in runs.systems():
        used, n = cells[row.name], len(cells[row.name])
        usage = spent[row.name] + ingests[row.name].usage
        found.append(
            Cost(
                system=row.name,
                replies=n,
                context_tokens=sum(c.context_tokens for c in used) / n if n else None,
                given=sum(c.given for c in used) / n if n else None,
                model_calls=sum(calls for phase, calls in usage.calls_by_phase.items() if phase != "embed"),
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                embedded_texts=usage.embedded_texts,
                cache_hits=usage.cache_hits,
                reply_ms=sum(c.ms for c in used) / n if n else None,
                first_token_ms=median(first[row.name]) if first[row.name] else None,
                ingest_ms=ingests[row.name].ms,
                reply_characters=fmean(lengths[row.name]) if lengths[row.name] else None,
            )
        )
    return tuple(found)
