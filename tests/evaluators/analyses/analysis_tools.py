"""A run in memory: what the tests of analyses read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mnemoscope.core.identity import ItemId, ProbeId
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.analyses.analysis import Findings, Value
from mnemoscope.evaluators.analyses.material import AskedProbe, CellFacts, Lost, Scope, SystemFacts
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.rows import ScoreRow
from mnemoscope.evaluators.statistics.config import DEFAULT_STATISTICS, StatisticsConfig
from mnemoscope.scenarios.records import Cut, Gold, GoldFact, MemoryRole, Probe, Style, Window

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def asked(
    probe_id: str,
    *,
    style: Style = "dialog",
    cluster: str = "c",
    cut: int = 4,
    windows: Sequence[tuple[str, str, int, int]] = (),
    facts: Mapping[str, str] | None = None,
    roles: Mapping[str, MemoryRole] | None = None,
    next_text: str | None = None,
    text: str = "Hello?",
) -> AskedProbe:
    probe = Probe(
        probe_id=ProbeId(probe_id), style=style, speaker="Mira", text=text, cut=Cut(seq=cut, turn_id=None), now=NOW
    )
    gold = Gold(
        facts=tuple(
            GoldFact(fact_id=name, text=said, sources=(name,) if roles and name in roles else ())
            for name, said in (facts or {}).items()
        ),
        windows=tuple(
            Window(fact_id=fact, kind=kind, from_index=start, to_index=end)  # type: ignore[arg-type]
            for fact, kind, start, end in windows
        ),
        roles={ItemId(item): role for item, role in (roles or {}).items()},
    )
    return AskedProbe(probe, gold, cluster, "native", (), next_text)


def row(
    system: str,
    probe: str,
    metric: str,
    score: float | None,
    *,
    label: str = "",
    subject: str = "reply",
    scenario: str = "s",
    status: str = "scored",
    replicate: int = 0,
) -> ScoreRow:
    return ScoreRow(system, scenario, probe, replicate, metric, subject, label, score, status, "judge-1")


def cell(
    system: str, probe: str, text: str = "", *, scenario: str = "s", ms: float = 1.0, tokens: int = 0, memory: int = 0
) -> CellFacts:
    return CellFacts(
        system=system,
        scenario_id=scenario,
        probe_id=probe,
        replicate=0,
        status="ok",
        text=text,
        planned=(),
        realised={},
        slot_memories={},
        context_tokens=memory,
        usage=Usage({"respond": 1} if tokens else {}, tokens, 0),
        judging=Usage(),
        ms=ms,
    )


@dataclass
class Run:
    """Material that is handed over as it is."""

    rows: Sequence[ScoreRow] = ()
    probes: Mapping[tuple[str, str], AskedProbe] = field(default_factory=dict)
    names: Sequence[str] = ("a", "b")
    """`memory@profile`."""
    all_cells: Sequence[CellFacts] = ()
    all_losses: Sequence[Lost] = ()
    seed: int = 0
    resamples: int = 200
    judge: Judge | None = None
    written: Mapping[str, Usage] = field(default_factory=dict)
    """System to what writing its memory cost."""
    baseline: str | None = None
    statistics: StatisticsConfig = DEFAULT_STATISTICS
    built: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """System to the name under which it is the same system, and the seed of its run."""

    @property
    def systems(self) -> Mapping[str, SystemFacts]:
        parts = {name: name.partition("@") for name in self.names}
        return {
            name: SystemFacts(name, memory, profile, "package", "oracle" in (memory, profile))
            for name, (memory, _, profile) in parts.items()
        } | {
            name: SystemFacts(name, same, "baseline", "package", False, seed)
            for name, (same, seed) in self.built.items()
        }

    @property
    def scopes(self) -> tuple[Scope, ...]:
        probes = frozenset((r.scenario_id, r.probe_id) for r in self.rows)
        return tuple(Scope(metric, "", probes) for metric in self.metrics())

    def calibration(self, metric: str, judge_key: str) -> str:
        return f"{metric} by {judge_key}: uncalibrated"

    def verdicts(self, *metrics: str) -> Iterator[ScoreRow]:
        return (r for r in self.rows if r.metric in metrics)

    def metrics(self) -> tuple[str, ...]:
        return tuple(sorted({r.metric for r in self.rows}))

    def cells(self) -> Iterator[CellFacts]:
        return iter(self.all_cells)

    def losses(self) -> Iterator[Lost]:
        return iter(self.all_losses)

    def ingest(self) -> Mapping[str, Usage]:
        return self.written

    def probe(self, scenario_id: str, probe_id: str) -> AskedProbe:
        return self.probes.get((scenario_id, probe_id)) or asked(probe_id)

    def cluster(self, scenario_id: str) -> str:
        return next(a.cluster for (scenario, _), a in self.probes.items() if scenario == scenario_id)


def by_name(findings: Findings, *keys: str) -> dict[tuple[Value, ...], dict[str, Value]]:
    """Rows by the values of the named columns."""
    assert findings.missing is None, findings.missing
    names = [column.name for column in findings.columns]
    rows = [dict(zip(names, values, strict=True)) for values in findings.rows]
    return {tuple(r[key] for key in keys): r for r in rows}
