"""Chains: a fact changes its role over the turns, nothing is known before its time; the released file gives 248."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.builders.built import built_records, write_built
from mnemoscope.scenarios.builders.chain import build_chains
from mnemoscope.scenarios.builders.shortcut import check_shortcuts
from mnemoscope.scenarios.loaders.stratmem import open_stratmem
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import LoadRequest
from tests.scenarios.builder_tools import made

MOVED, BREAD = "Bruno moved to Ghent on 2022-05-02.", "Ana likes sourdough."


def item(name: str, time: str, history: str = "", **memory: list[str]) -> dict[str, Any]:
    persona = {"virtual_person_name": "Bruno", "summary": "Calm.", "traits": ["calm"], "style": ["dry"]}
    return {
        "id": name,
        "query": f"Question {name}?",
        "query_time": time,
        "history": history,
        "roles": {"human": "Ana", "virtual_person": "Bruno"},
        "memory": {role: [{"fact": fact} for fact in memory.get(role, [])] for role in ("must", "nice", "irr")},
        "virtual_person_persona": {**persona, "domains": ["bread"], "values": ["honesty"]},
    }


def scenarios(tmp_path: Path, *items: dict[str, Any]) -> list[Scenario]:
    path = tmp_path / "items.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    return list(open_stratmem(LoadRequest("stratmem", path)))


@pytest.fixture
def three(tmp_path: Path) -> list[Scenario]:
    early, late = "1:14 pm on 25 May, 2022", "9:00 am on 2 June, 2022"
    return scenarios(
        tmp_path,
        item("late", late, must=[MOVED], irr=[BREAD]),
        item("said", early, '["Ana: Hi.", "Bruno: Hello."]', nice=[BREAD], irr=[MOVED]),
        item("bare", early, must=[BREAD], irr=["Bruno collects stamps."]),
        item("alone", late, must=["Bruno owns a bicycle."], irr=["Bruno once broke a mixer."]),
    )


def test_a_chain_in_time_order(three: list[Scenario]) -> None:
    built = build_chains(three)
    assert built.counts["facts with two roles or more"] == 2
    (chain,) = built_records(built)
    assert chain.cluster == "Ana/Bruno"
    assert [[t.text for t in s.turns] for s in chain.sessions] == [
        ["Question bare?", "Hi.", "Hello.", "Question said?"],
        ["Question late?"],
    ]
    assert [p.probe_id.split("/")[1] for p in chain.probes] == ["bare", "said", "late"]
    assert [p.cut.seq for p in chain.probes] == [0, 3, 4]
    assert [len(p.recent_turns) for p in chain.probes] == [0, 3, 0]
    assert all(p.speaks_as == "Bruno" and p.persona for p in chain.probes)


def test_roles_change_and_windows_follow(three: list[Scenario]) -> None:
    (chain,) = built_records(build_chains(three))
    golds = [chain.gold_by_probe[p.probe_id] for p in chain.probes]
    texts = [{i.item_id: i.text for i in p.pool.items} if p.pool else {} for p in chain.probes]
    roles = [{text[name]: role for name, role in g.roles.items()} for g, text in zip(golds, texts, strict=True)]
    assert [r.get(BREAD) for r in roles] == ["must", "nice", "irr"]
    assert [r.get(MOVED) for r in roles] == [None, "irr", "must"]
    moments = [max(0, p.cut.seq - 1) for p in chain.probes]
    for gold, role, moment in zip(golds, roles, moments, strict=True):
        facts = {fact.fact_id: fact.text for fact in gold.facts}
        for window in gold.windows:
            if window.from_index <= moment <= window.to_index:
                assert {"must": "open", "irr": "closed"}[role[facts[window.fact_id]]] == window.kind
        due = {f for f in facts.values() if role[f] == "irr"}
        assert due == {f for f, r in role.items() if r == "irr" and f in (MOVED, BREAD)}
    assert [len(g.windows) for g in golds] == [2, 1, 4]


def test_other_scenarios_are_refused() -> None:
    with pytest.raises(DataError, match=r"not a StratMem-Bench item .*record made"):
        build_chains([made()])
    with pytest.raises(DataError, match="no items to chain"):
        build_chains([])


@pytest.mark.data
def test_the_released_test_file(benchmark_data: Path, tmp_path: Path) -> None:
    source = list(open_source(f"stratmem:{benchmark_data / 'StratMemBench_testset.json'}"))
    built = build_chains(source)
    assert built.counts["facts with two roles or more"] == 298
    assert len(built.scenarios) == 248
    path = tmp_path / "chains.json"
    report = check_shortcuts(built_records(built))
    write_built(path, built, checks=report.to_json())
    chains = list(open_source(f"native:{path}"))
    assert len({c.cluster for c in chains}) == 10
    for chain in chains:
        times = [turn.at for turn in chain.turns if turn.at]
        assert times == sorted(times)
        held: dict[str, set[str]] = defaultdict(set)
        for probe in chain.probes:
            assert probe.pool is not None
            assert probe.now is not None
            assert all(i.at is None or i.at <= probe.now for i in probe.pool.items)
            assert all(turn.index < probe.cut.seq for turn in probe.recent_turns)
            for name, role in chain.gold_by_probe[probe.probe_id].roles.items():
                held[name].add(role)
        assert any(len(roles) > 1 for roles in held.values())
    assert report.probes["pool"] == sum(len(c.probes) for c in chains)
    assert (report.share("recent") or 0) < 0.1
    assert (report.share("bm25") or 0) < 0.45
    assert report.too_easy == [("bm25", "pool", report.share("bm25"))]
    again = tmp_path / "again.json"
    write_built(again, build_chains(source), checks=report.to_json())
    assert again.read_bytes() == path.read_bytes()
