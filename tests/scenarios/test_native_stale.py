"""Facts that are out of date, in native scenarios: how they are read, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.scenarios.demo import open_demo
from mnemoscope.scenarios.loaders.native import open_native, validate_native
from mnemoscope.scenarios.records import Gold
from mnemoscope.scenarios.source import LoadRequest

SCENARIO = """
id: tea
participants:
  - {{name: Rhona, role: user}}
sessions:
  - at: 2024-03-02
    turns:
      - {{speaker: Rhona, text: Black tea for me.}}
      - {{speaker: Rhona, text: Green tea from now on.}}
probes:
  - id: drink
    style: question
    after: s1
    now: 2024-05-01
    ask: What do I drink?
    gold:
      answers: [green tea]
{facts}
"""
NOW = "      facts:\n        - {id: now, text: Rhona drinks green tea., sources: [s1t2]}"
THEN = "      stale:\n        - {id: then, text: Rhona drinks black tea., sources: [s1t1]}"


def written(folder: Path, *facts: str) -> Path:
    file = folder / "tea.yaml"
    file.write_text(SCENARIO.format(facts="\n".join(facts)), encoding="utf-8")
    return file


def test_stale_facts_are_read_beside_the_current_ones(tmp_path: Path) -> None:
    file = written(tmp_path, NOW, THEN)
    assert validate_native(file) == []
    (scenario,) = open_native(LoadRequest("native", file))
    (gold,) = scenario.gold_by_probe.values()
    assert [(f.fact_id, f.text, f.sources) for f in gold.stale] == [("then", "Rhona drinks black tea.", ("s1t1",))]
    assert [f.fact_id for f in gold.facts] == ["now"]
    assert "black tea" not in repr(scenario.probes)
    assert Gold().stale == ()


@pytest.mark.parametrize(
    ("stale", "facts", "what"),
    [
        (THEN, "", "what is out of date was followed by something"),
        (THEN.replace("id: then", "id: now"), NOW, "this name is already taken"),
        (THEN.replace("black", "green"), NOW, "this stands under `facts` too"),
        (THEN.replace("s1t1", "s9t9"), NOW, "this turn does not exist"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, stale: str, facts: str, what: str) -> None:
    problems = validate_native(written(tmp_path, facts, stale))
    assert any(what in str(problem) and "stale" in str(problem) for problem in problems), problems


def test_bundled_stale_facts_stand_in_their_sources_and_in_no_probe() -> None:
    detector = OfflineUseDetector()
    seen = 0
    for scenario in open_demo(LoadRequest("demo")):
        spoken = {str(turn.turn_id): f"{turn.speaker}: {turn.text}" for turn in scenario.turns}
        for probe in scenario.probes:
            for fact in scenario.gold_by_probe[probe.probe_id].stale:
                seen += 1
                assert detector.detect(" ".join(spoken[s] for s in fact.sources), fact.text).used, fact.text
                assert not detector.detect(probe.text, fact.text).used, fact.text
    assert seen
