"""Every cell of a run: one JSON object per line with all that a person needs, or one CSV row per verdict."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from mnemoscope.comparison.export import csv_cell
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.runfile.reader import RunReader
from mnemoscope.runfile.rows import NO_REPLY, CellRow, ProbeRow, StoredReply, SystemRow
from mnemoscope.scenarios.records import Probe

__all__ = ["CELL_RECORD", "RunView", "cells_csv", "cells_jsonl"]

CELL_RECORD = "mnemoscope-cell/1"
"""What the `record` field of every line says; imports tell the format by it."""

_COLUMNS = (
    *("system", "evidence", "privileged", "benchmark", "scenario_id", "cluster", "probe_id", "replicate", "style"),
    *("strata", "cell_status", "error_cause", "metric", "subject", "label", "score", "verdict_status", "judge_key"),
)


@dataclass(frozen=True)
class RunView:
    """A run file with the systems that are exported."""

    run: RunReader
    systems: tuple[SystemRow, ...]

    @cached_property
    def probes(self) -> dict[tuple[str, str], ProbeRow]:
        """Asked probes by scenario and probe id."""
        return {(row.scenario_id, row.probe_id): row for row in self.run.probes()}

    @cached_property
    def replicates(self) -> range:
        """The replicates of every probe."""
        return range(self.run.meta.replicates)

    def cells(self, system: SystemRow) -> Iterator[tuple[CellRow, ProbeRow, Probe]]:
        """The cells of one system in the order of scenarios, probes and replicates."""
        for scenario in self.run.scenarios():
            known = {str(probe.probe_id): probe for probe in self.run.scenario(scenario.scenario_id).probes}
            cells = [
                (self.probes[cell.scenario_id, cell.probe_id], cell)
                for cell in self.run.cells(system=system.name, scenario=scenario.scenario_id)
            ]
            for row, cell in sorted(cells, key=lambda pair: (pair[0].position, pair[1].replicate)):
                yield cell, row, known[row.probe_id]


def cells_jsonl(view: RunView) -> Iterator[str]:
    """One line per cell, systems in the order asked for; equal content gives equal bytes."""
    for system in view.systems:
        for cell, row, probe in view.cells(system):
            yield json.dumps(_cell(view.run, system, cell, row, probe), ensure_ascii=False, allow_nan=False) + "\n"


def cells_csv(view: RunView) -> Iterator[str]:
    """A head line and one line per verdict; what a spreadsheet would run is quoted."""
    yield _csv_line(_COLUMNS)
    for system in view.systems:
        for cell, row, _ in view.cells(system):
            for verdict in view.run.verdicts_of(cell):
                yield _csv_line(_verdict_cells(system, cell, row, verdict))


def _cell(run: RunReader, system: SystemRow, cell: CellRow, row: ProbeRow, probe: Probe) -> dict[str, object]:
    reply = run.reply_of(cell)
    return {
        "record": CELL_RECORD,
        "system": system.name,
        "memory": system.memory,
        "profile": system.profile,
        "evidence": system.evidence_class,
        "privileged": system.privileged,
        "benchmark": row.benchmark,
        "scenario_id": cell.scenario_id,
        "cluster": row.cluster,
        "probe_id": cell.probe_id,
        "replicate": cell.replicate,
        "style": row.style,
        "strata": list(row.strata),
        "speaker": probe.speaker,
        "now": None if probe.now is None else probe.now.isoformat(),
        "utterance": probe.text,
        "status": cell.status,
        "error": cell.error,
        "reply": _visible(cell, reply),
        "retrieval": _retrieval(run, cell, reply),
        "plan": None if reply.plan is None else asdict(reply.plan),
        "losses": [{"fact_id": loss.fact_id, "stage": loss.stage} for loss in run.losses_of(cell)],
        "verdicts": [_verdict(verdict) for verdict in run.verdicts_of(cell)],
    }


def _visible(cell: CellRow, reply: StoredReply) -> str | None:
    """None where there is no reply, so that an empty text means that nothing was said."""
    return None if cell.status != "ok" or reply.reasoning == NO_REPLY else reply.visible_text


def _retrieval(run: RunReader, cell: CellRow, reply: StoredReply) -> dict[str, object] | None:
    found = reply.retrieval
    if found is None:
        return None
    return {
        "given": len(found.given),
        "context_tokens": found.context_tokens,
        "ranked": found.ranked,
        "truncated": found.truncated,
        "items": [_item(item) for item in run.ranking_of(cell)],
    }


def _item(item: MemoryItem) -> dict[str, object]:
    return {
        "id": item.id,
        "kind": item.kind,
        "text": item.text,
        "sources": [[source.turn_id, source.method, source.weight] for source in item.sources],
        "observed_at": None if item.observed_at is None else item.observed_at.isoformat(),
        "score": item.score,
    }


def _verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "metric": verdict.metric,
        "subject": verdict.subject,
        "label": verdict.label,
        "score": verdict.score,
        "status": verdict.status,
        "judge_key": verdict.judge_key,
        "quote": verdict.quote,
        "raw": verdict.raw,
    }


def _verdict_cells(system: SystemRow, cell: CellRow, row: ProbeRow, verdict: Verdict) -> Sequence[object]:
    return (
        *(system.name, system.evidence_class, "yes" if system.privileged else "no", row.benchmark),
        *(cell.scenario_id, row.cluster, cell.probe_id, cell.replicate, row.style, "; ".join(row.strata)),
        *(cell.status, cell.error_cause, verdict.metric, verdict.subject, verdict.label, verdict.score),
        *(verdict.status, verdict.judge_key),
    )


def _csv_line(values: Sequence[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([csv_cell(value) for value in values])
    return out.getvalue()
