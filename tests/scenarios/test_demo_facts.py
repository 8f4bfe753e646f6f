"""The bundled gold can be scored without a model: the scoring detector finds each fact in the very turns it names."""

from __future__ import annotations

import pytest

from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.scenarios.demo import open_demo
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import LoadRequest

SCENARIOS = tuple(open_demo(LoadRequest("demo")))
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.scenario_id))


def said(scenario: Scenario, sources: tuple[str, ...]) -> str:
    spoken = {str(turn.turn_id): f"{turn.speaker}: {turn.text}" for turn in scenario.turns}
    pooled = {str(item.item_id): item.text for probe in scenario.probes if probe.pool for item in probe.pool.items}
    return " ".join((spoken | pooled)[source] for source in sources)


@each_scenario
def test_facts_and_truths_are_found_in_their_sources(scenario: Scenario) -> None:
    detector = OfflineUseDetector()
    lost = []
    for gold in scenario.gold_by_probe.values():
        stated = [(fact.text, fact.sources) for fact in gold.facts]
        if gold.false_premise:
            stated.append((gold.false_premise.truth, gold.false_premise.sources))
        lost += [text for text, sources in stated if not detector.detect(said(scenario, sources), text).used]
    assert lost == []


@each_scenario
def test_no_probe_says_its_own_facts_and_no_assertion_reads_as_its_truth(scenario: Scenario) -> None:
    detector = OfflineUseDetector()
    for probe in scenario.probes:
        gold = scenario.gold_by_probe[probe.probe_id]
        assert [fact.text for fact in gold.facts if detector.detect(probe.text, fact.text).used] == []
        if gold.false_premise:
            assert not detector.detect(gold.false_premise.asserted, gold.false_premise.truth).used
