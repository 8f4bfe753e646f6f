"""Cost: what a reply takes, and what one more remembered fact takes.

``cost``, per system: memory tokens, model calls, prompt and completion tokens and milliseconds per reply, the judge's
tokens apart, and the same per integrated fact. A fact is integrated where loss attribution keeps it (`kept`: said, and
right). What the memory's writing took is listed apart: it is paid once per history, and shared by the systems of one
memory; only where probes are written back has each system a memory, and a cost of writing, of its own.
`tokens_per_fact` holds both, replies and the whole writing, so that the more is asked of a history, the less its
writing weighs. `tokens_per_added_fact` is the mean prompt and completion tokens of a reply beyond those of `none` with
the same profile, over the integrated facts per reply beyond those of `none`; a dash where nothing is added.

Time is wall time of this machine, queueing included: compare it within one run only. Milliseconds to the first token
are known where the writer's model streams (`openai(…,stream=true)`). MemUse (arXiv 2608.24189) reports 22 times the
input tokens and 1.79 times the time to the first token for full history against summaries.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median, quantiles

from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import CellFacts, Material, SystemFacts

__all__ = ["Cost"]

_COLUMNS = (
    Column("system", "text", "The system."),
    Column("replies", "count", "Cells that have a reply."),
    Column("memory_tokens", "number", "Tokens of memory per reply (estimate)."),
    Column("calls", "number", "Model calls per reply, embedding left out."),
    Column("tokens", "number", "Prompt and completion tokens per reply."),
    Column("judge_tokens", "number", "Tokens that judging took, per reply."),
    Column("ms_median", "number", "Milliseconds to the reply, median."),
    Column("ms_p95", "number", "Milliseconds to the reply, 95th percentile."),
    Column(
        "first_token_ms",
        "number",
        "Milliseconds to the first token, median (profile own: to its answer); a dash where replies do not stream.",
    ),
    Column("facts", "count", "Integrated facts."),
    Column("memory_tokens_per_fact", "number", "Memory tokens of all replies over integrated facts."),
    Column("ms_per_fact", "number", "Milliseconds of all replies over integrated facts."),
    Column("tokens_per_fact", "number", "Tokens of all replies and of writing the memory over integrated facts."),
    Column("tokens_per_added_fact", "number", "Tokens beyond `none` over facts beyond `none`."),
    Column("write_calls", "count", "Model calls that writing the memory took, all histories."),
    Column("write_tokens", "count", "Tokens that writing the memory took, all histories."),
)


class Cost:
    """`cost`: tokens, calls and time, per reply and per integrated fact."""

    name = "cost"

    def analyse(self, material: Material) -> Findings:
        """One row per system that gave a reply."""
        title = "what replies take, and what a remembered fact takes"
        cells: defaultdict[str, list[CellFacts]] = defaultdict(list)
        for cell in material.cells():
            if cell.status == "ok":
                cells[cell.system].append(cell)
        if not cells:
            return Findings(self.name, title, missing="no cell of this run has a reply")
        facts = Counter(lost.system for lost in material.losses() if lost.stage == "kept")
        floors = {s.profile: s.name for s in material.systems.values() if s.memory == "none"}
        ingest = material.ingest()
        rows = [
            _row(system, cells, facts, floors.get(system.profile), ingest.get(system.name, Usage()))
            for system in material.systems.values()
            if system.name in cells
        ]
        notes = ["times are of this machine and this run, queueing included"]
        if all(row[4] == 0 for row in rows):
            notes.append("no model was called: the writer is a rule, so that tokens are 0")
        return Findings(self.name, title, _COLUMNS, tuple(rows), tuple(notes))


def _row(
    system: SystemFacts,
    cells: dict[str, list[CellFacts]],
    facts: Counter[str],
    floor: str | None,
    written: Usage,
) -> tuple[Value, ...]:
    own = cells[system.name]
    n, kept = len(own), facts[system.name]
    times = sorted(cell.ms for cell in own)
    first = [cell.first_token_ms for cell in own if cell.first_token_ms is not None]
    memory = sum(cell.context_tokens for cell in own)
    return (
        system.name,
        n,
        memory / n,
        sum(_calls(cell.usage) for cell in own) / n,
        _tokens(own) / n,
        sum(cell.judging.prompt_tokens + cell.judging.completion_tokens for cell in own) / n,
        median(times),
        quantiles(times, n=20, method="inclusive")[-1] if n > 1 else times[0],
        median(first) if first else None,
        kept,
        memory / kept if kept else None,
        sum(times) / kept if kept else None,
        (_tokens(own) + written.prompt_tokens + written.completion_tokens) / kept if kept else None,
        _per_added_fact(system.name, floor, cells, facts),
        _calls(written),
        written.prompt_tokens + written.completion_tokens,
    )


def _per_added_fact(
    system: str, floor: str | None, cells: dict[str, list[CellFacts]], facts: Counter[str]
) -> float | None:
    if floor is None or floor == system or floor not in cells:
        return None
    own, base = cells[system], cells[floor]
    added = facts[system] / len(own) - facts[floor] / len(base)
    spent = _tokens(own) / len(own) - _tokens(base) / len(base)
    return spent / added if added > 0 and spent else None


def _calls(usage: Usage) -> int:
    return sum(calls for phase, calls in usage.calls_by_phase.items() if phase != "embed")


def _tokens(cells: list[CellFacts]) -> int:
    return sum(cell.usage.prompt_tokens + cell.usage.completion_tokens for cell in cells)
