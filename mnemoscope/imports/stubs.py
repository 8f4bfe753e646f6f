"""Scenarios for verdicts whose conversations are not available: ids only, so that labels can still be compared."""

from __future__ import annotations

from collections.abc import Iterable

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import ProbeId, ScenarioId
from mnemoscope.imports.rows import Row, Stub
from mnemoscope.runfile.records import PlannedScenario
from mnemoscope.scenarios.records import Card, Cut, Gold, Probe, Scenario

__all__ = ["VERDICTS_ONLY", "stub_scenarios"]

VERDICTS_ONLY = "verdicts only: no conversation"
_TEXT = "(not available: only verdicts were imported)"
_ORDER = {"dialog": 0, "question": 1}


def stub_scenarios(rows: Iterable[Row]) -> list[PlannedScenario]:
    """One scenario per id that the rows name, with their probes and without any text.

    They depend on the ids alone: two files about the same instances give equal scenarios, and their systems can be
    compared.

    Raises:
        DataError: One scenario in two clusters or benchmarks.
    """
    grouped: dict[str, dict[str, Stub]] = {}
    for row in rows:
        if row.stub is None:
            continue
        probes = grouped.setdefault(row.stub.scenario_id, {})
        first = next(iter(probes.values()), row.stub)
        if (first.cluster, first.benchmark) != (row.stub.cluster, row.stub.benchmark):
            raise DataError(
                "one scenario in two clusters",
                file=row.file,
                record=row.record,
                field="cluster",
                seen=row.stub.cluster,
                fix=f"an earlier row says {first.cluster}",
            )
        probes.setdefault(row.stub.probe_id, row.stub)
    return [_planned(name, sorted(grouped[name].values(), key=_place)) for name in sorted(grouped)]


def _place(stub: Stub) -> tuple[int, int, str]:
    return (_ORDER.get(stub.style, 2), len(stub.probe_id), stub.probe_id)


def _planned(scenario_id: str, stubs: list[Stub]) -> PlannedScenario:
    first = stubs[0]
    probes = tuple(
        Probe(
            probe_id=ProbeId(stub.probe_id),
            style=stub.style,
            speaker="user",
            text=_TEXT,
            cut=Cut(seq=0, turn_id=None),
            now=None,
        )
        for stub in stubs
    )
    scenario = Scenario(
        scenario_id=ScenarioId(scenario_id),
        benchmark=first.benchmark,
        cluster=first.cluster,
        participants=(),
        sessions=(),
        probes=probes,
        gold_by_probe={probe.probe_id: Gold() for probe in probes},
        card=Card(
            benchmark=first.benchmark,
            source=VERDICTS_ONLY,
            licence="unknown",
            annotation="Labels of another judge, imported by id; conversations and replies are not here.",
            settings={"content": VERDICTS_ONLY},
        ),
    )
    return PlannedScenario(scenario, VERDICTS_ONLY, tuple(probe.probe_id for probe in probes))
