"""What `scenario info` counts: a source read to the end, its strata, its conversations and every notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import Notice, ScenarioSource

__all__ = ["Census", "ConversationRow", "StratumRow", "UnresolvableId", "read_census"]


@dataclass(frozen=True, slots=True)
class StratumRow:
    """One stratum by number, name and size."""

    stratum: str
    title: str
    probes: int


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One scenario's size."""

    scenario_id: str
    cluster: str
    sessions: int
    turns: int
    empty_turns: int
    probes: int


@dataclass(frozen=True, slots=True)
class UnresolvableId:
    """One evidence string that names nothing in its history."""

    scenario_id: str
    probe_id: str
    text: str


@dataclass(slots=True)
class Census:
    """A source, counted."""

    card: Mapping[str, object]
    counts: dict[str, int] = field(default_factory=dict)
    strata: list[StratumRow] = field(default_factory=list)
    styles: dict[str, int] = field(default_factory=dict)
    conversations: list[ConversationRow] = field(default_factory=list)
    unresolvable: list[UnresolvableId] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    notice_counts: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """The census as plain data."""
        return {
            "card": dict(self.card),
            "counts": self.counts,
            "strata": [{"stratum": s.stratum, "title": s.title, "probes": s.probes} for s in self.strata],
            "styles": self.styles,
            "conversations": [
                {
                    "scenario": row.scenario_id,
                    "cluster": row.cluster,
                    "sessions": row.sessions,
                    "turns": row.turns,
                    "empty_turns": row.empty_turns,
                    "probes": row.probes,
                }
                for row in self.conversations
            ],
            "unresolvable": [
                {"scenario": row.scenario_id, "probe": row.probe_id, "seen": row.text} for row in self.unresolvable
            ],
            "notice_counts": self.notice_counts,
            "notices": [{"kind": n.kind, "where": n.where, "detail": n.detail} for n in self.notices],
        }


def read_census(source: ScenarioSource) -> Census:
    """Read a source to its end and count what it holds.

    Raises:
        DataError: A record cannot be loaded.
    """
    from mnemoscope.comparison.strata import stratum_order, stratum_title

    census = Census({})
    strata: Counter[str] = Counter()
    styles: Counter[str] = Counter()
    benchmark = source.card.benchmark
    for scenario in source:
        benchmark = scenario.benchmark
        census.conversations.append(_row(scenario))
        styles.update(str(probe.style) for probe in scenario.probes)
        for probe in scenario.probes:
            gold = scenario.gold_by_probe[probe.probe_id]
            strata.update(gold.strata)
            census.unresolvable.extend(
                UnresolvableId(scenario.scenario_id, probe.probe_id, text) for text in gold.unresolvable
            )
    census.card = source.card.model_dump(mode="json")
    census.counts = dict(source.report.counts)
    census.notices, census.notice_counts = list(source.report.notices), source.report.notice_counts
    census.styles = dict(sorted(styles.items()))
    census.strata = [
        StratumRow(name, stratum_title(benchmark, name), strata[name])
        for name in sorted(strata, key=lambda name: stratum_order(benchmark, name))
    ]
    return census


def _row(scenario: Scenario) -> ConversationRow:
    turns = scenario.turns
    return ConversationRow(
        scenario.scenario_id,
        scenario.cluster,
        len(scenario.sessions),
        len(turns),
        sum(turn.is_empty for turn in turns),
        len(scenario.probes),
    )
