"""What all builders share: native output with provenance, journals that survive a cut, likeness, shortcut checks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.builders.built import BuiltScenario, BuiltSet, built_records, history_block, write_built
from mnemoscope.scenarios.builders.journal import Journal, build_each
from mnemoscope.scenarios.builders.lexicon import Lexicon
from mnemoscope.scenarios.builders.shortcut import ShortcutReport, check_shortcuts
from mnemoscope.scenarios.opening import open_source
from tests.scenarios.builder_tools import CARD, made


def built_set() -> BuiltSet:
    block = history_block(made(), scenario_id="copy")
    question = {
        "id": "q",
        "style": "question",
        "after": "session_4",
        "now": "2024-04-01",
        "ask": "What did Mira plant behind the stable?",
        "speaker": "Mira",
        "gold": {"evidence": ["D1:1"]},
    }
    built = BuiltSet("test", {"seed": "0"}, CARD)
    built.scenarios.append(BuiltScenario({**block, "probes": [question]}, {"probes.q": "by hand"}))
    return built


def test_a_written_set_loads_and_says_where_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    write_built(path, built_set(), checks={"x": 1})
    (scenario,) = open_source(f"native:{path}")
    assert [t.model_dump() for t in scenario.turns] == [t.model_dump() for t in made().turns]
    assert scenario.card.licence == "CC0"
    sidecar = json.loads((tmp_path / "set.provenance.json").read_text(encoding="utf-8"))
    assert sidecar["sha256"] == sha256_of(path.read_bytes())
    assert sidecar["origins"] == {"copy": {"probes.q": "by hand"}}
    assert (sidecar["builder"], sidecar["checks"], sidecar["settings"]) == ("test", {"x": 1}, {"seed": "0"})
    assert len(list(open_source(f"native:{tmp_path}"))) == 1
    before = path.read_bytes()
    write_built(path, built_set(), checks={"x": 1})
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["set.json", "set.provenance.json"]


def test_nothing_half_built_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing could be built \(left out: x 2\)"):
        write_built(tmp_path / "a.json", BuiltSet("test", {}, CARD, counts=Counter({"left out: x": 2})))
    with pytest.raises(ConfigError, match=r"written as \.json, not a\.yaml"):
        write_built(tmp_path / "a.yaml", built_set())
    wrong = built_set()
    wrong.scenarios[0].block["probes"][0]["gold"] = {"evidence": ["D9:9"]}  # type: ignore[index]
    with pytest.raises(DataError, match="does not exist"):
        write_built(tmp_path / "a.json", wrong)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_built(tmp_path / "absent" / "a.json", built_set())
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 400))
def test_a_cut_journal_loses_at_most_what_was_cut(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    sources = [made(name) for name in "abc"]
    calls: list[str] = []

    def build(scenario) -> tuple[BuiltScenario | None, Counter[str]]:  # type: ignore[no-untyped-def]
        calls.append(scenario.scenario_id)
        none = scenario.scenario_id == "b"
        return None if none else BuiltScenario({"id": scenario.scenario_id}, {}), Counter(done=1)

    def run() -> list[object]:
        return list(build_each(sources, build, kind="k", settings={}, journal=Journal(path)))

    whole = run()
    raw = path.read_bytes()
    left = raw[: max(0, len(raw) - cut)]
    path.write_bytes(left)
    calls.clear()
    assert run() == whole
    # A line that lost its line end alone is whole.
    kept = left.count(b"\n") + bool(left and raw[len(left) : len(left) + 1] == b"\n")
    assert len(calls) == 3 - kept
    calls.clear()
    assert run() == whole
    assert calls == []
    list(build_each(sources, build, kind="k", settings={"seed": "1"}, journal=Journal(path)))
    assert calls == ["a", "b", "c"]


def test_likeness() -> None:
    lexicon = Lexicon(["a red accordion", "a red house", "nothing", "我上周领养了一只猫"])
    assert lexicon.likeness("a red accordion", 0) == pytest.approx(1.0)
    assert 0 < lexicon.likeness("red accordion", 1) < lexicon.likeness("red accordion", 0)
    assert lexicon.likeness("xyz", 0) == 0
    assert [position for position, _ in lexicon.bm25("red accordion", 5)] == [0, 1]
    assert lexicon.bm25("red accordion", 5, until=0) == []
    assert lexicon.shared("accordion red", 0) == ("accordion", "red")
    assert lexicon.coverage("领养猫", 3) == pytest.approx(1 / 2)
    assert lexicon.best_coverage("the", [0, 1]) == 0
    assert Lexicon([]).bm25("x", 3) == []


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=5), st.text(max_size=20))
def test_likeness_is_bounded(texts: list[str], query: str) -> None:
    lexicon = Lexicon(texts)
    assert all(0 <= score <= 1 for score in lexicon.likenesses(query, len(texts)))
    assert 0 <= lexicon.best_coverage(query, range(len(texts))) <= 1


def test_the_shortcut_check_sees_what_is_easy() -> None:
    (easy,) = built_records(built_set())
    report = check_shortcuts([easy])
    assert report.probes == Counter(evidence=1)
    assert report.share("bm25") == 1.0
    assert report.share("recent") == 0.0
    assert report.lines() == [
        "recent solves 0 of 1 evidence probes; it fails by 100.0 points",
        "bm25 solves 1 of 1 evidence probes; it fails by 0.0 points",
        "shortcut: not passed, bm25 solves 100.0% of evidence probes; more than 10% can be had without a memory of "
        "what matters",
    ]
    assert report.too_easy == [("bm25", "evidence", 1.0)]
    assert report.to_json()["passed"] is False


def test_the_verdict_of_the_shortcut_check() -> None:
    report = ShortcutReport(Counter(evidence=20, pair=10, unchecked=3))
    report.solved["bm25"].update(evidence=2, unchecked=3)
    assert report.too_easy == []
    assert report.lines()[-1] == "shortcut: passed, none solves more than 10% of any kind of probe"
    report.solved["recent"]["pair"] = 2
    assert report.too_easy == [("recent", "pair", 0.2)]
    assert report.lines()[-1].startswith("shortcut: not passed, recent solves 20.0% of pair probes;")
    assert ShortcutReport(Counter(unchecked=3)).lines()[-1].startswith("shortcut: not checked")
