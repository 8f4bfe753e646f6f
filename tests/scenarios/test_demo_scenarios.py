"""The bundled scenarios: six, of six kinds, consistent, with every source before its cut."""

from __future__ import annotations

from collections import Counter

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.tokens import content_tokens, has_unspaced_script
from mnemoscope.scenarios.demo import DEMO_FILES, open_demo
from mnemoscope.scenarios.loaders.native import NativeSource, validate_native
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, Probe, Scenario
from mnemoscope.scenarios.replay import ForkAt, WriteTurn, replay
from mnemoscope.scenarios.source import LoadRequest

SCENARIOS = tuple(open_demo(LoadRequest("demo")))
PROBES = [
    (scenario, probe, scenario.gold_by_probe[probe.probe_id]) for scenario in SCENARIOS for probe in scenario.probes
]
IDS = [str(probe.probe_id) for _, probe, _ in PROBES]
each_probe = pytest.mark.parametrize(("scenario", "probe", "gold"), PROBES, ids=IDS)


def test_every_bundled_file_is_listed_and_valid() -> None:
    assert sorted(DEMO_FILES) == sorted(DEMO_FILES[0].parent.glob("*.yaml"))
    assert [problem for file in DEMO_FILES for problem in validate_native(file)] == []


def test_six_scenarios_of_six_kinds_in_two_languages() -> None:
    kinds = {scenario.scenario_id.rpartition("-")[0]: scenario.scenario_id.rpartition("-")[2] for scenario in SCENARIOS}
    assert set(kinds) == {"preferences", "trajectory", "recollection", "plan", "pool", "moments"}
    assert Counter(kinds.values()) == {"en": 4, "zh": 2}
    for scenario in SCENARIOS:
        spoken = "".join(turn.text for turn in scenario.turns)
        assert has_unspaced_script(spoken) is scenario.scenario_id.endswith("zh")


def test_census() -> None:
    source = open_demo(LoadRequest("demo"))
    assert isinstance(source, NativeSource)
    assert len(list(source)) == 6
    assert source.report.notices == []
    counts = dict(source.report.counts)
    assert counts == {
        "scenarios": 6,
        "sessions": 32,
        "turns": 224,
        "probes": 44,
        "style question": 12,
        "style moment": 8,
        "style dialog": 6,
        "style implicit": 4,
        "style plan": 4,
        "style situational": 4,
        "style counterfactual": 2,
        "style composed": 2,
        "style recollection": 2,
    }


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.scenario_id))
def test_histories_are_dated_and_of_the_promised_size(scenario: Scenario) -> None:
    assert 4 <= len(scenario.sessions) <= 8
    assert all(6 <= len(session.turns) <= 12 for session in scenario.sessions)
    assert not any(turn.is_empty for turn in scenario.turns)
    dates = [session.at for session in scenario.sessions]
    assert None not in dates
    assert dates == sorted(set(dates), key=lambda at: str(at))
    assert any(probe.style == "question" for probe in scenario.probes)
    used = {source for gold in scenario.gold_by_probe.values() for fact in gold.facts for source in fact.sources}
    sessions_used = {turn.session_id for turn in scenario.turns if turn.turn_id in used}
    assert len(sessions_used) < len(scenario.sessions), "no session is a distractor"
    assert (scenario.card.benchmark, scenario.card.licence) == ("demo", "Apache-2.0")


@each_probe
def test_gold_is_complete_and_known_at_the_cut(scenario: Scenario, probe: Probe, gold: Gold) -> None:
    known = {turn.turn_id for turn in scenario.turns[: probe.cut.seq]}
    known_items = {item.item_id for item in probe.pool.items} if probe.pool else set()
    assert gold.expected
    assert gold.strata
    assert scenario.scenario_id.rpartition("-")[2] in gold.strata
    assert probe.now is not None
    for fact in gold.facts:
        assert set(fact.sources) <= known | known_items
        assert len(content_tokens(fact.text)) >= 3
    assert set(gold.evidence) <= known | known_items
    if gold.unanswerable:
        assert not (gold.answers or gold.evidence or gold.facts)
    elif probe.style == "question":
        assert gold.answers
    if probe.style not in ("moment", "situational") and not gold.unanswerable:
        assert gold.evidence
        assert gold.facts


@each_probe
def test_answers_are_found_in_their_evidence(scenario: Scenario, probe: Probe, gold: Gold) -> None:
    if not gold.answers or gold.evidence_unit != "turn":
        return
    spoken = {turn.turn_id: turn.text for turn in scenario.turns}
    evidence = set(content_tokens(" ".join(text for turn_id, text in spoken.items() if turn_id in gold.evidence)))
    assert any(set(content_tokens(answer)) & evidence for answer in gold.answers)


def test_stale_facts_are_traps_of_the_preferences() -> None:
    (scenario,) = (s for s in SCENARIOS if s.scenario_id == "preferences-zh")
    traps = [probe.style for probe in scenario.probes if scenario.gold_by_probe[probe.probe_id].trap]
    assert {"question", "implicit"} <= set(traps)
    before = next(probe for probe in scenario.probes if probe.probe_id.endswith("before-change"))
    assert before.cut.seq == sum(len(session.turns) for session in scenario.sessions[:2])


def test_false_premises_and_controls_stand_side_by_side() -> None:
    for name in ("recollection-en", "plan-zh", "trajectory-en", "preferences-zh"):
        (scenario,) = (s for s in SCENARIOS if s.scenario_id == name)
        wrong = [gold for gold in scenario.gold_by_probe.values() if gold.false_premise]
        controls = [
            p for p in scenario.probes if p.style == "dialog" and not scenario.gold_by_probe[p.probe_id].false_premise
        ]
        assert wrong
        assert controls


def test_pools_have_all_roles_and_lean_on_the_history() -> None:
    (scenario,) = (s for s in SCENARIOS if s.scenario_id == "pool-en")
    pools = [probe for probe in scenario.probes if probe.pool]
    assert len(pools) == 4
    assert {p.role for p in scenario.participants} == {"peer", "assistant"}
    roles = [Counter(scenario.gold_by_probe[probe.probe_id].roles.values()) for probe in pools]
    assert all(6 <= count.total() <= 10 and count["irr"] and count["nice"] for count in roles)
    assert sum(count["must"] > 0 for count in roles) == 3
    for probe in pools:
        assert probe.pool is not None
        spoken = set(content_tokens(" ".join(f"{turn.speaker} {turn.text}" for turn in scenario.turns)))
        for item in probe.pool.items:
            words = content_tokens(item.text)
            assert sum(word in spoken for word in words) >= len(words) / 2, item.text
            assert item.at is not None


def test_moments_have_open_closed_and_neutral_turns_in_each_session() -> None:
    (scenario,) = (s for s in SCENARIOS if s.scenario_id == "moments-en")
    kinds: dict[str, Counter[str]] = {}
    for probe in scenario.probes:
        if probe.style != "moment":
            continue
        gold, last_known = scenario.gold_by_probe[probe.probe_id], probe.cut.seq - 1
        inside = {window.kind for window in gold.windows if window.from_index <= last_known <= window.to_index}
        assert len(inside) <= 1
        label = next(iter(inside), "neutral")
        assert ("open" if "open" in gold.strata else "closed" if "near-miss" in gold.strata else "neutral") == label
        assert bool(gold.evidence) is (label == "open")
        session = scenario.turns[probe.cut.seq].session_id
        kinds.setdefault(session, Counter())[label] += 1
    assert kinds == {
        "s4": Counter(neutral=2, open=1, closed=1),
        "s5": Counter(neutral=2, open=1, closed=1),
    }


def test_replaying_reaches_every_probe_once() -> None:
    for scenario in SCENARIOS:
        events = list(replay(scenario, pool_as_turns=False))
        asked = [probe.probe_id for event in events if isinstance(event, ForkAt) for probe in event.probes]
        assert sorted(asked) == sorted(probe.probe_id for probe in scenario.probes)
        assert sum(isinstance(event, WriteTurn) for event in events) == len(scenario.turns)


def test_opening_by_spec_takes_no_path() -> None:
    source = open_source("demo", encoding="gb18030")
    assert [scenario.scenario_id for scenario in source] == [scenario.scenario_id for scenario in SCENARIOS]
    with pytest.raises(ConfigError, match="native:mine"):
        open_source("demo:mine")
