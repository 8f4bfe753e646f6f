"""The StratMem-Bench loader: the failing-input cases, hidden labels, pool order, and errors with a place."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.stratmem import StratmemSource, open_stratmem, pool_item_id
from mnemoscope.scenarios.records import Gold, Probe, Scenario
from mnemoscope.scenarios.source import LoadRequest

CaseDir = Callable[[str], Path]


def load(path: Path, **choices: Any) -> tuple[list[Scenario], StratmemSource]:
    source = open_stratmem(LoadRequest("stratmem", path, **choices))
    return list(source), source


def parts(scenario: Scenario) -> tuple[Probe, Gold]:
    (probe,) = scenario.probes
    return probe, scenario.gold_by_probe[probe.probe_id]


def item(**changes: Any) -> dict[str, Any]:
    persona = {"virtual_person_name": "Bruno", "summary": "Calm baker.", "traits": ["calm"], "style": ["short", "dry"]}
    return {
        "id": "s1",
        "given_type": "C",
        "inferred_type": "C",
        "query": "How are you settling in?",
        "query_time": "1:14 pm on 25 May, 2022",
        "history": "",
        "roles": {"human": "Ana", "virtual_person": "Bruno"},
        "memory": {
            "must": [{"fact": "Bruno moved to Ghent on 2022-05-02."}],
            "nice": [{"fact": "Ana likes sourdough."}],
            "irr": [{"fact": "Bruno once broke a mixer."}, {"fact": "Bruno collects stamps."}],
        },
        "virtual_person_persona": {**persona, "domains": ["bread"], "values": ["honesty"]},
        **changes,
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def _write(*items: object, name: str = "items.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(list(items)), encoding="utf-8")
        return path

    return _write


def test_ds_16_strata_come_from_content(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("DS-16") / "expected.json").read_text(encoding="utf-8"))
    scenarios, source = load(case_dir("DS-16") / "stratmem_like.json")
    assert {s.scenario_id: parts(s)[1].strata[0] for s in scenarios} == expected["scenario"]
    assert source.report.counts["declared type differs"] == expected["type_disagreements"]
    none = [n.where for n in source.report.notices if n.kind == "no-irrelevant-memory"]
    assert none == expected["no_irrelevant_memory"]
    assert source.card.file == "stratmem_like.json"
    assert len(source.card.sha256) == 64


def test_ds_16_two_files_that_share_an_id_are_refused(case_dir: CaseDir) -> None:
    folder = case_dir("DS-16")
    with pytest.raises(DataError, match="an item id occurs twice") as caught:
        load(folder / "stratmem_like.json", roles={"also": folder / "stratmem_like_testset.json"})
    assert "stratmem_like_testset.json" in str(caught.value)
    assert "record s1" in str(caught.value)


def test_two_files_without_a_common_id_are_read_one_after_the_other(write: Callable[..., Path]) -> None:
    first, second = write(item(), name="a.json"), write(item(id="s2"), name="b.json")
    scenarios, _ = load(first, roles={"also": second})
    assert [(s.scenario_id, s.card.file) for s in scenarios] == [("s1", "a.json"), ("s2", "b.json")]
    with pytest.raises(ConfigError, match="no role 'extra'"):
        load(first, roles={"extra": second})


def test_ds_17_histories_become_turns(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("DS-17") / "expected.json").read_text(encoding="utf-8"))
    path = case_dir("DS-17") / "stratmem_like.json"
    with pytest.raises(DataError, match="record h3, field history"):
        load(path)
    scenarios, source = load(path, lenient=True)
    found = {s.scenario_id: parts(s)[0].recent_turns for s in scenarios}
    for name in ("h1", "h2", "h4"):
        assert [[t.speaker, t.text] for t in found[name]] == expected[name]["turns"]
    assert [t.role for t in found["h1"]] == ["user", "assistant", "user"]
    skipped = [n.where for n in source.report.notices if n.kind == "skipped-record"]
    assert skipped == ["h3"]
    assert "h3" not in found


def test_what_the_assistant_sees(write: Callable[..., Path]) -> None:
    (scenario,), _ = load(write(item(history='["Ana: Hi.", "Bruno: Hi: how are you?"]')))
    probe, _ = parts(scenario)
    assert scenario.sessions == ()
    assert (probe.speaker, probe.speaks_as, probe.style) == ("Ana", "Bruno", "situational")
    assert (probe.cut.seq, probe.cut.turn_id) == (0, None)
    assert probe.now == datetime(2022, 5, 25, 13, 14, tzinfo=UTC)
    assert [t.text for t in probe.recent_turns] == ["Hi.", "Hi: how are you?"]
    assert probe.persona == "Bruno: Calm baker.\nTraits: calm\nStyle: short; dry\nDomains: bread\nValues: honesty"
    assert scenario.cluster == "Ana/Bruno|1:14 pm on 25 May, 2022"
    dumped = probe.model_dump_json()
    for hidden in ("must", "nice", "irr", "given_type", "inferred_type"):
        assert hidden not in dumped


def test_what_evaluators_know(write: Callable[..., Path]) -> None:
    (scenario,), source = load(write(item()))
    probe, gold = parts(scenario)
    must, nice = pool_item_id("Bruno moved to Ghent on 2022-05-02."), pool_item_id("Ana likes sourdough.")
    assert gold.evidence == (must, nice)
    assert gold.evidence_unit == "item"
    assert [(f.fact_id, f.text, f.sources) for f in gold.facts][1] == (nice, "Ana likes sourdough.", (nice,))
    assert sorted(gold.roles.values()) == ["irr", "irr", "must", "nice"]
    assert probe.pool is not None
    assert set(gold.roles) == {i.item_id for i in probe.pool.items}
    assert {i.item_id: i.at for i in probe.pool.items}[must] == datetime(2022, 5, 2, tzinfo=UTC)
    assert {i.item_id: i.at for i in probe.pool.items}[nice] is None
    assert source.report.counts["facts irr"] == 2


def test_a_summary_given_as_a_list_is_one_text(write: Callable[..., Path]) -> None:
    persona = {**item()["virtual_person_persona"], "summary": ["Calm baker.", "Moved to Ghent."]}
    (scenario,), source = load(write(item(virtual_person_persona=persona)))
    assert (parts(scenario)[0].persona or "").startswith("Bruno: Calm baker. Moved to Ghent.\nTraits")
    assert source.report.counts["persona summaries given as lists"] == 1


@pytest.mark.parametrize(
    ("fact", "kept"),
    [
        ("Bruno collects stamps.(unrelated to the query)", "Bruno collects stamps."),
        ("Bruno collects stamps. (Second standard: related.) ", "Bruno collects stamps."),
        ("Bruno collects stamps (mostly Belgian).", "Bruno collects stamps (mostly Belgian)."),
        ("Bruno collects (Belgian) stamps.", "Bruno collects (Belgian) stamps."),
    ],
)
def test_annotators_remarks_are_dropped_and_nothing_else(write: Callable[..., Path], fact: str, kept: str) -> None:
    memory = {"must": [{"fact": fact}], "nice": [], "irr": []}
    (robust,), source = load(write(item(memory=memory)))
    assert parts(robust)[1].facts[0].text == kept
    assert source.report.counts["annotator notes"] == (kept != fact)
    (strict,), source = load(write(item(memory=memory)), mode="strict-release")
    assert parts(strict)[1].facts[0].text == fact.strip()
    assert source.report.counts["annotator notes"] == 0


facts = st.lists(st.integers(0, 999).map(lambda n: f"Fact number {n}."), min_size=4, max_size=9, unique=True)


@settings(max_examples=40)
@given(facts, st.randoms(use_true_random=False), st.integers(0, 3))
def test_pool_order_depends_on_texts_and_seed_alone(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], chance: Any, seed: int
) -> None:
    def shown(order: list[str], cut: int) -> list[str]:
        memory = {
            "must": [{"fact": t} for t in order[:cut]],
            "nice": [{"fact": t} for t in order[cut : cut + 1]],
            "irr": [{"fact": t} for t in order[cut + 1 :]],
        }
        path = tmp_path_factory.getbasetemp() / "pool.json"
        path.write_text(json.dumps([item(memory=memory)]), encoding="utf-8")
        (scenario,), _ = load(path, seed=seed)
        pool = parts(scenario)[0].pool
        assert pool is not None
        return [i.text for i in pool.items]

    other = list(texts)
    chance.shuffle(other)
    assert shown(texts, 1) == shown(other, 3)
    assert sorted(shown(texts, 1)) == sorted(texts)


def test_another_seed_gives_another_order(write: Callable[..., Path]) -> None:
    memory = {"must": [{"fact": f"Fact {n}."} for n in range(12)], "nice": [], "irr": []}
    path = write(item(memory=memory))
    orders = {tuple(i.item_id for i in parts(load(path, seed=seed)[0][0])[0].pool.items) for seed in range(5)}  # type: ignore[union-attr]
    assert len(orders) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query_time": "someday"}, "field query_time"),
        ({"query": None}, "field query"),
        ({"roles": {"human": "Ana"}}, "field virtual_person"),
        ({"roles": []}, "field roles"),
        ({"memory": {"must": [], "nice": []}}, "field irr"),
        ({"memory": {"must": [], "nice": [], "irr": [{"fact": "x"}]}}, "without must and nice"),
        ({"memory": {"must": ["x"], "nice": [], "irr": []}}, "memory.must[0]"),
        ({"memory": {"must": [{"fact": " "}], "nice": [], "irr": []}}, "memory.must[0], field fact"),
        ({"memory": {"must": [{"fact": "x"}], "nice": [], "irr": [{"fact": "x"}]}}, "labelled both must and irr"),
        ({"history": '{"a": 1}'}, "field history"),
        ({"history": [1]}, "field history"),
        ({"history": '["Nobody: hi"]'}, "field history"),
        ({"virtual_person_persona": {"virtual_person_name": "Bruno"}}, "field summary"),
    ],
)
def test_wrong_data_is_one_error_naming_the_record(
    write: Callable[..., Path], changes: dict[str, Any], message: str
) -> None:
    path = write(item(**changes))
    with pytest.raises(DataError) as caught:
        load(path)
    assert message in str(caught.value)
    assert "items.json" in str(caught.value)
    assert "s1" in str(caught.value)


def test_lenient_keeps_an_unreadable_time_unknown(write: Callable[..., Path]) -> None:
    (scenario,), source = load(write(item(query_time="someday")), lenient=True)
    assert parts(scenario)[0].now is None
    assert source.report.notice_counts["unreadable-date"] == 1


def test_history_oddities_are_noted(write: Callable[..., Path]) -> None:
    (scenario,), source = load(write(item(history=["Ana: one", "two", "Bruno: "])))
    assert [t.text for t in parts(scenario)[0].recent_turns] == ["one\ntwo"]
    assert source.report.notice_counts["history-line-without-speaker"] == 1
    assert source.report.notice_counts["empty-history-line"] == 1


def test_repeated_ids_and_foreign_files_are_refused(write: Callable[..., Path], case_dir: CaseDir) -> None:
    with pytest.raises(DataError, match="an item id occurs twice"):
        load(write(item(), item()))
    with pytest.raises(DataError, match=r"looks like a LoCoMo file.*use locomo:"):
        load(case_dir("DS-01") / "locomo_like.json")
    with pytest.raises(DataError, match="not a StratMem-Bench file"):
        load(write())


def test_a_repeated_fact_of_one_label_is_kept_once(write: Callable[..., Path]) -> None:
    memory = {"must": [{"fact": "x y."}, {"fact": "x y."}], "nice": [], "irr": []}
    (scenario,), source = load(write(item(memory=memory)))
    assert len(parts(scenario)[1].roles) == 1
    assert source.report.notice_counts["repeated-fact"] == 1
