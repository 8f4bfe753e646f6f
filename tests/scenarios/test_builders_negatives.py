"""Hard negatives, pools and windows: what they claim holds in the history, and the same seed gives the same set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.scenarios.builders.built import built_records, write_built
from mnemoscope.scenarios.builders.journal import Journal
from mnemoscope.scenarios.builders.negatives import build_negatives
from mnemoscope.scenarios.builders.pool import build_pools
from mnemoscope.scenarios.builders.shortcut import check_shortcuts
from mnemoscope.scenarios.builders.windows import build_windows
from mnemoscope.scenarios.opening import open_source
from tests.scenarios.builder_tools import OTHER_TALK, made

SOURCES = (made(), made("other", OTHER_TALK))


def test_every_negative_holds_in_its_history() -> None:
    built = build_negatives([SOURCES[0], SOURCES[1].model_copy(update={"probes": (), "gold_by_probe": {}})])
    assert built.counts["other-time"] == 2
    assert built.counts["never-told"] > 2
    scenario = next(iter(built_records(built)))
    probes = {p.probe_id.split("/")[1]: p for p in scenario.probes}
    golds = {name: scenario.gold_by_probe[p.probe_id] for name, p in probes.items()}
    for name, probe in probes.items():
        known = " ".join(turn.text for turn in scenario.turns[: probe.cut.seq])
        gold = golds[name]
        if name.startswith("other-time") and not name.endswith("-twin"):
            assert gold.trap is not None
            assert gold.trap not in known
            assert probe.cut.seq < len(scenario.turns)
        if name.endswith("-twin"):
            assert gold.evidence
            assert not gold.unanswerable
        else:
            assert gold.strata[0] == "negative"
            assert gold.unanswerable or gold.windows[0].kind == "closed"
            assert not gold.evidence
    swapped = [p.text for name, p in probes.items() if name.startswith("other-person") and "twin" not in name]
    assert "What does Tomasz plant because goats dislike its smell?" in swapped
    donated = [p.text for name, p in probes.items() if name.startswith("never-told") and "twin" not in name]
    assert all(any(turn.text in text for turn in SOURCES[1].turns) for text in donated)
    near = [p.text for name, p in probes.items() if name == "near-miss-1"]
    assert "poster" in near[0]


def test_always_keeping_quiet_solves_no_pair() -> None:
    report = check_shortcuts(built_records(build_negatives(SOURCES)))
    assert set(report.probes) == {"pair"}
    assert report.share("recent") is not None
    assert (report.share("recent") or 0) < 0.5


def test_a_pool_keeps_memory_and_session_apart() -> None:
    built = build_pools([SOURCES[0]], per_scenario=5)
    pools = list(built_records(built))
    assert len(pools) == built.counts["left out: nothing irrelevant in the window"] * -1 + 3
    source = {turn.turn_id: turn for turn in SOURCES[0].turns}
    for made_one, scenario in zip(built.scenarios, pools, strict=True):
        (probe,) = scenario.probes
        assert probe.pool is not None
        gold = scenario.gold_by_probe[probe.probe_id]
        texts = {item.item_id: item.text for item in probe.pool.items}
        session = {turn.text for turn in scenario.turns}
        assert not any(text.split(": ", 1)[1] in session for text in texts.values())
        assert all(item.at is not None and item.at < scenario.turns[0].at for item in probe.pool.items)  # type: ignore[operator]
        assert [t.turn_id for t in probe.recent_turns] == [t.turn_id for t in scenario.turns]
        must = {texts[name] for name, role in gold.roles.items() if role == "must"}
        asked = next(p for p in SOURCES[0].probes if p.text == probe.text)
        evidence = SOURCES[0].gold_by_probe[asked.probe_id].evidence
        assert must == {f"{source[e].speaker}: {source[e].text}" for e in evidence}  # type: ignore[index]
        assert "irr" in gold.roles.values()
        labels = [how for place, how in made_one.origins.items() if ".gold.roles." in place]
        assert len(labels) == len(gold.roles)
        assert all("heuristic" in how or "evidence" in how for how in labels)
        assert scenario.cluster == "made"


def test_windows_close_after_the_telling_and_open_at_the_return() -> None:
    built = build_windows([SOURCES[0]])
    (scenario,) = built_records(built)
    index = {turn.turn_id: turn.index for turn in scenario.turns}
    by_kind = Counter(scenario.gold_by_probe[p.probe_id].strata[1] for p in scenario.probes)
    assert by_kind["open"] == built.counts["facts"] >= 2
    for probe in scenario.probes:
        gold = scenario.gold_by_probe[probe.probe_id]
        kind, moment = gold.strata[1], probe.cut.seq - 1
        told = max(index[source] for source in gold.facts[0].sources)  # type: ignore[index]
        inside = {w.kind for w in gold.windows if w.from_index <= moment <= w.to_index}
        assert inside == ({kind} if kind != "neutral" else set())
        assert told < probe.cut.seq
        assert all(w.from_index >= told for w in gold.windows)
    tree = next(p for p in scenario.probes if "quince" in scenario.gold_by_probe[p.probe_id].facts[0].text)
    opened = {w.from_index for w in scenario.gold_by_probe[tree.probe_id].windows if w.kind == "open"}
    assert index["D3:1"] - 1 in opened  # type: ignore[index]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_the_same_seed_gives_the_same_set(seed: int) -> None:
    for build in (build_negatives, build_pools, build_windows):
        first, second = build(SOURCES, seed=seed), build(SOURCES, seed=seed)
        assert first == second
        for scenario in built_records(first):
            assert scenario.probes


def test_an_interrupted_build_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for build in (build_negatives, build_pools, build_windows):
        whole = build(SOURCES, journal=Journal(path))
        raw = path.read_bytes()
        path.write_bytes(raw[:-40])
        assert build(SOURCES, journal=Journal(path)) == whole
        assert build(SOURCES) == whole
        path.unlink()


def test_settings_that_ask_for_nothing() -> None:
    with pytest.raises(ConfigError, match="unknown kind of negative 'odd'"):
        build_negatives(SOURCES, kinds=["odd"])  # type: ignore[list-item]
    for build, choices in (
        (build_negatives, {"per_kind": 0}),
        (build_pools, {"per_scenario": 0}),
        (build_windows, {"per_scenario": 0}),
    ):
        with pytest.raises(ConfigError, match="nothing is asked for"):
            build(SOURCES, **choices)  # type: ignore[operator]
        with pytest.raises(ConfigError, match="there are no scenarios"):
            build([])  # type: ignore[operator]


@pytest.mark.data
def test_two_locomo_conversations(benchmark_data: Path, tmp_path: Path) -> None:
    sources = [s for s, _ in zip(open_source(f"locomo:{benchmark_data / 'locomo10.json'}"), range(2), strict=False)]
    for name, build, least in (("n", build_negatives, 0.6), ("p", build_pools, 0.4), ("w", build_windows, 0.4)):
        built = build(sources)  # type: ignore[operator]
        report = check_shortcuts(built_records(built))
        for policy in ("recent", "bm25"):
            assert 1 - (report.share(policy) or 0) >= least, (name, policy, report.lines())
        write_built(tmp_path / f"{name}.json", built, checks=report.to_json())
        assert len(list(open_source(f"native:{tmp_path / name}.json"))) == len(built.scenarios)
