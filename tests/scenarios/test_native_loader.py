"""The native loader: records, references, encodings, several files, and one DataError for every kind of mistake."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.native import NativeSource, open_native, validate_native
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.replay import ForkAt, SessionEnd, replay
from mnemoscope.scenarios.source import LoadRequest

BASE: dict[str, Any] = {
    "id": "small",
    "participants": [{"name": "Ada", "role": "user"}, {"name": "Bo", "role": "assistant"}],
    "sessions": [
        {
            "at": "2024-03-01 09:00",
            "turns": [
                {"speaker": "Ada", "text": "I keep bees."},
                {"speaker": "Bo", "text": "How many hives?"},
                {"speaker": "Ada", "text": "", "caption": "three hives under a pear tree"},
            ],
        },
        {
            "id": "spring",
            "at": "2024-04-01",
            "turns": [
                {"speaker": "Ada", "text": "One hive swarmed.", "at": "2024-04-01T08:30+02:00", "id": "swarm"},
                {"speaker": "Bo", "text": "Did you catch it?"},
                {"speaker": "Ada", "text": "In a bucket."},
            ],
        },
    ],
    "probes": [
        {
            "id": "hives",
            "style": "situational",
            "after": "spring",
            "now": "2024-05-01",
            "ask": "How are the bees?",
            "pool": [
                {"id": "a", "text": "Ada keeps bees.", "at": "2024-03-01"},
                {"id": "b", "text": "Ada likes pears."},
                {"id": "c", "text": "One hive swarmed."},
            ],
            "gold": {
                "evidence": ["a", "c"],
                "facts": [{"id": "f", "text": "One hive swarmed.", "sources": ["c", "swarm"]}],
                "roles": {"a": "nice", "b": "irr", "c": "must"},
                "windows": [{"fact": "f", "kind": "open", "from": "s2t2", "to": "s2t3"}],
            },
        },
        {
            "id": "wrong",
            "style": "counterfactual",
            "after": "s2t2",
            "ask": "My wasps are doing well.",
            "gold": {
                "false_premise": {"asserted": "Ada keeps wasps.", "truth": "Ada keeps bees.", "sources": ["s1t1"]}
            },
        },
        {"id": "bucket", "style": "moment", "in_place_of": "s2t3", "gold": {"expected": "Nothing."}},
    ],
}

Mend = Callable[[dict[str, Any]], object]


def write(folder: Path, value: object, name: str = "small.yaml") -> Path:
    file = folder / name
    text = json.dumps(value) if name.endswith(".json") else yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    file.write_text(text, encoding="utf-8")
    return file


def load(path: Path, **settings: Any) -> tuple[list[Scenario], NativeSource]:
    source = open_native(LoadRequest("native", path, **settings))
    return list(source), source


def test_records_are_what_the_file_says(tmp_path: Path) -> None:
    (scenario,), source = load(write(tmp_path, BASE))
    assert (scenario.scenario_id, scenario.cluster, scenario.benchmark) == ("small", "small", "native")
    assert [session.session_id for session in scenario.sessions] == ["s1", "spring"]
    assert [turn.turn_id for turn in scenario.turns] == ["s1t1", "s1t2", "s1t3", "swarm", "s2t2", "s2t3"]
    assert [turn.role for turn in scenario.turns[:2]] == ["user", "assistant"]
    assert scenario.turns[2].content == "[image: three hives under a pear tree]"
    assert scenario.turns[0].at == datetime(2024, 3, 1, 9, tzinfo=UTC)
    assert scenario.turns[3].at == datetime(2024, 4, 1, 6, 30, tzinfo=UTC)
    assert scenario.card.file == "small.yaml"
    assert len(scenario.card.sha256) == 64
    assert source.report.counts["probes"] == 3
    assert source.report.counts["style moment"] == 1
    assert source.report.notices == []


def test_probes_stand_where_they_say(tmp_path: Path) -> None:
    (scenario,), _ = load(write(tmp_path, BASE))
    after_session, after_turn, in_place = scenario.probes
    assert (after_session.cut.seq, after_session.cut.turn_id, after_session.recent_turns) == (6, "s2t3", ())
    assert (after_session.speaker, after_session.now) == ("Ada", datetime(2024, 5, 1, tzinfo=UTC))
    assert (after_turn.cut.seq, [turn.turn_id for turn in after_turn.recent_turns]) == (5, ["swarm", "s2t2"])
    assert after_turn.now == datetime(2024, 4, 1, tzinfo=UTC)
    assert (in_place.text, in_place.speaker, in_place.cut.seq) == ("In a bucket.", "Ada", 5)
    events = list(replay(scenario, pool_as_turns=False))
    first_fork = next(i for i, event in enumerate(events) if isinstance(event, ForkAt))
    last_end = max(i for i, event in enumerate(events) if isinstance(event, SessionEnd))
    assert first_fork < last_end < len(events) - 1


def test_pool_ids_tell_nothing_and_gold_follows_them(tmp_path: Path) -> None:
    (scenario,), _ = load(write(tmp_path, BASE))
    probe = scenario.probes[0]
    gold = scenario.gold_by_probe[probe.probe_id]
    assert probe.pool is not None
    by_text = {item.text: item.item_id for item in probe.pool.items}
    assert not set(by_text.values()) & {"a", "b", "c"}
    assert gold.evidence == (by_text["Ada keeps bees."], by_text["One hive swarmed."])
    assert (gold.evidence_unit, gold.facts[0].sources) == ("item", (by_text["One hive swarmed."], "swarm"))
    assert gold.roles[by_text["Ada likes pears."]] == "irr"
    assert (gold.windows[0].from_index, gold.windows[0].to_index) == (4, 5)


def test_pool_order_depends_on_the_seed_and_not_on_the_file(tmp_path: Path) -> None:
    turned = copy.deepcopy(BASE)
    turned["probes"][0]["pool"].reverse()
    paths = (write(tmp_path, BASE, "one.yaml"), write(tmp_path, turned, "two.yaml"))

    def order(path: Path, seed: int) -> list[str]:
        (scenario,), _ = load(path, seed=seed)
        pool = scenario.probes[0].pool
        assert pool is not None
        return [item.text for item in pool.items]

    orders = [order(paths[0], seed) for seed in range(6)]
    assert orders == [order(paths[1], seed) for seed in range(6)]
    assert len({tuple(found) for found in orders}) > 1


def test_evidence_may_name_sessions(tmp_path: Path) -> None:
    value = copy.deepcopy(BASE)
    value["probes"][1]["gold"]["evidence"] = ["s1", "spring"]
    (scenario,), _ = load(write(tmp_path, value))
    gold = scenario.gold_by_probe[scenario.probes[1].probe_id]
    assert (gold.evidence, gold.evidence_unit) == (("s1", "spring"), "session")


def test_captions_can_be_left_out(tmp_path: Path) -> None:
    (scenario,), source = load(write(tmp_path, BASE), captions=False)
    assert [turn.caption for turn in scenario.turns] == [None] * 6
    assert scenario.card.settings["image_captions"] == "off"
    assert source.report.notice_counts == {"empty-turn": 1}


def test_yaml_and_json_give_the_same_records(tmp_path: Path) -> None:
    (from_yaml,), _ = load(write(tmp_path, BASE))
    (from_json,), _ = load(write(tmp_path, BASE, "small.json"))
    assert from_json.model_dump(exclude={"card"}) == from_yaml.model_dump(exclude={"card"})
    assert Scenario.model_validate_json(from_yaml.model_dump_json()) == from_yaml


def test_several_scenarios_and_folders(tmp_path: Path) -> None:
    second = {**copy.deepcopy(BASE), "id": "second", "card": {"licence": "CC0-1.0"}}
    write(tmp_path, {"card": {"source": "my desk"}, "scenarios": [BASE, second]}, "a.yaml")
    write(tmp_path, {**BASE, "id": "third"}, "b.json")
    (tmp_path / "notes.txt").write_text("not a scenario", encoding="utf-8")
    scenarios, source = load(tmp_path)
    assert [scenario.scenario_id for scenario in scenarios] == ["small", "second", "third"]
    assert [s.card.source for s in scenarios] == ["my desk", "the user's own file", "the user's own file"]
    assert scenarios[1].card.licence == "CC0-1.0"
    assert source.report.counts["scenarios"] == 3
    assert validate_native(tmp_path) == []


def test_an_id_of_two_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, BASE, "a.yaml")
    write(tmp_path, BASE, "b.yaml")
    with pytest.raises(DataError, match=r"taken by a\.yaml"):
        load(tmp_path)
    (problem,) = validate_native(tmp_path)
    assert (Path(problem.file).name, problem.field) == ("b.yaml", "id")


def test_opening_by_spec(tmp_path: Path) -> None:
    (scenario,) = open_source(f"native:{write(tmp_path, BASE)}", seed=3)
    assert scenario.card.settings["pool_seed"] == "3"
    with pytest.raises(ConfigError, match=r"native:FILE\.yaml"):
        open_source("native")


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.yaml", tmp_path / "none.json"):
        with pytest.raises(DataError) as caught:
            open_native(LoadRequest("native", path))
        assert caught.value.file == str(path)
        assert len(validate_native(path)) == 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_honoured(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "marked.yaml"
    file.write_bytes(write(tmp_path, BASE).read_text(encoding="utf-8").encode(encoding))
    assert [scenario.scenario_id for scenario in load(file)[0]] == ["small"]


def test_another_encoding_is_refused_until_it_is_named(tmp_path: Path) -> None:
    value = copy.deepcopy(BASE)
    value["sessions"][0]["turns"][0]["text"] = "我养了三箱蜜蜂。"
    file = tmp_path / "old.yaml"
    file.write_bytes(yaml.safe_dump(value, allow_unicode=True).encode("gb18030"))
    with pytest.raises(DataError, match="gb18030"):
        load(file)
    (scenario,), _ = load(file, encoding="gb18030")
    assert scenario.turns[0].text == "我养了三箱蜜蜂。"


def test_line_ends_make_no_difference(tmp_path: Path) -> None:
    text = write(tmp_path, BASE).read_text(encoding="utf-8")
    file = tmp_path / "windows.yaml"
    file.write_bytes(text.replace("\n", "\r\n").encode())
    assert load(file)[0][0].turns == load(tmp_path / "small.yaml")[0][0].turns


def test_a_lenient_load_leaves_out_the_scenario_and_says_so(tmp_path: Path) -> None:
    broken = copy.deepcopy({**BASE, "id": "broken"})
    broken["probes"][0]["after"] = "s9"
    scenarios, source = load(write(tmp_path, {"scenarios": [broken, BASE]}), lenient=True)
    assert [scenario.scenario_id for scenario in scenarios] == ["small"]
    (notice,) = source.report.notices
    assert notice.kind == "scenario-left-out"
    assert "broken" in notice.where


def probe(number: int, **changes: object) -> Mend:
    return lambda value: value["probes"][number].update(changes)


def gold(number: int, **changes: object) -> Mend:
    return lambda value: value["probes"][number]["gold"].update(changes)


def fact(**changes: object) -> Mend:
    return lambda value: value["probes"][0]["gold"]["facts"][0].update(changes)


def window(**changes: object) -> Mend:
    return lambda value: value["probes"][0]["gold"]["windows"][0].update(changes)


def turn(session: int, number: int, **changes: object) -> Mend:
    return lambda value: value["sessions"][session]["turns"][number].update(changes)


def pool(number: int, **changes: object) -> Mend:
    return lambda value: value["probes"][0]["pool"][number].update(changes)


@pytest.mark.parametrize(
    ("mistake", "field", "what", "advice"),
    [
        (turn(0, 1, speaker="Bob"), "sessions[0].turns[1].speaker", "not a participant", "Bo"),
        (turn(0, 1, id="s1t1"), "sessions[0].turns[1].id", "already taken", "its own"),
        (turn(0, 1, id="spring"), "sessions[1].id", "already taken", "its own"),
        (turn(0, 1, at="May 3"), "sessions[0].turns[1].at", "not a date", "2024-05-08"),
        (turn(1, 1, at="2024-02-30"), "sessions[1].turns[1].at", "not a date", "2024-05-08"),
        (lambda v: v["sessions"].reverse(), "sessions[1].at", "earlier than what stands before", "order of time"),
        (lambda v: v["participants"].append(dict(v["participants"][0])), "participants[2].name", "taken", "its own"),
        (probe(1, id="hives"), "probes[1].id", "already taken", "its own"),
        (probe(0, after="s2t9"), "probes[0].after", "does not exist", "s2t3"),
        (probe(2, in_place_of="s2t9"), "probes[2].in_place_of", "does not exist", "s2t3"),
        (probe(2, in_place_of="s2t2"), "probes[2].in_place_of", "the assistant's own", "a person"),
        (probe(2, in_place_of="s1t3"), "probes[2].in_place_of", "has no text", "says something"),
        (probe(2, after="s1"), "probes[2]", "either `after` or `in_place_of`", "last turn"),
        (probe(2, in_place_of=None), "probes[2]", "either `after` or `in_place_of`", "last turn"),
        (probe(2, ask="Hello?"), "probes[2].ask", "says this", "leave it out"),
        (probe(1, ask=None), "probes[1].ask", "says something", "`ask`"),
        (probe(0, now=None), "probes[0].now", "needs a time", "2024-05-08"),
        (probe(0, now="soon"), "probes[0].now", "not a date", "2024-05-08"),
        (probe(0, now="2024-03-15"), "probes[0].now", "earlier than what the probe knows", "2024-04-01"),
        (probe(0, speaker="Eve"), "probes[0].speaker", "not a participant", "Ada"),
        (probe(0, speaker="Bo"), "probes[0].speaker", "cannot ask itself", "a person"),
        (probe(0, speaks_as="Eve"), "probes[0].speaks_as", "not a participant", "Ada"),
        (lambda v: v["participants"][0].update(role="peer"), "probes[0].speaker", "who asks", "Ada"),
        (probe(1, style="situational"), "probes[1].pool", "has a pool", "`pool`"),
        (pool(1, id="a"), "probes[0].pool[1].id", "already taken", "its own"),
        (pool(1, id="s1t1"), "probes[0].pool[1].id", "has this id", "its own"),
        (pool(1, text="Ada keeps bees."), "probes[0].pool[1].text", "already taken", "its own"),
        (pool(1, at="2024-06-01"), "probes[0].pool[1].at", "later than the probe", "not yet known"),
        (pool(1, at="June"), "probes[0].pool[1].at", "not a date", "2024-05-08"),
        (gold(0, roles={"a": "nice", "b": "irr"}), "probes[0].gold.roles", "c has no role", "must"),
        (gold(2, roles={"a": "nice"}), "probes[2].gold.roles.a", "no item of the pool", "none"),
        (gold(1, evidence=["s1t9"]), "probes[1].gold.evidence[0]", "does not exist", "s1t"),
        (gold(1, evidence=["s1t1", "s1t1"]), "probes[1].gold.evidence[1]", "listed twice", "one of them"),
        (gold(1, evidence=["s1t1", "spring"]), "probes[1].gold.evidence", "different kinds", "one kind"),
        (gold(1, evidence=["s2t3"]), "probes[1].gold.evidence[0]", "after the probe's cut", "move the cut"),
        (gold(1, false_premise=None, expected="x"), "probes[1].gold.false_premise", "rests on something", "asserted"),
        (gold(1, answers=["x"], unanswerable=True), "probes[1].gold.answers", "has no answer", "leave one"),
        (gold(1, answers=["x"], trap="x"), "probes[1].gold.trap", "one of the answers", "leave one"),
        (gold(2, expected=None, strata=["x"]), "probes[2].gold", "what a good reply is", "answers"),
        (fact(sources=["s1t9"]), "probes[0].gold.facts[0].sources[0]", "does not exist", "s1t"),
        (fact(sources=["s1"]), "probes[0].gold.facts[0].sources[0]", "does not exist", "s1t"),
        (window(fact="g"), "probes[0].gold.windows[0].fact", "no fact of the probe", "f"),
        (window(**{"from": "s9"}), "probes[0].gold.windows[0].from", "does not exist", "s1t"),
        (window(to="s1t1"), "probes[0].gold.windows[0].to", "ends before it begins", "swap"),
        (
            gold(
                2,
                facts=[{"id": "f", "text": "Bees.", "sources": ["s1t1"]}],
                windows=[{"fact": "f", "kind": "open", "from": "s2t3", "to": "s2t3"}],
            ),
            "probes[2].gold.windows[0].from",
            "does not know yet",
            "the turn before",
        ),
    ],
)
def test_every_wrong_reference_is_named(tmp_path: Path, mistake: Mend, field: str, what: str, advice: str) -> None:
    value = copy.deepcopy(BASE)
    mistake(value)
    file = write(tmp_path, value)
    with pytest.raises(DataError) as caught:
        load(file)
    assert caught.value.file == str(file)
    assert caught.value.field == field
    assert what in caught.value.what
    assert advice in str(caught.value.fix)
    assert "scenario small" in str(caught.value.record)
    assert "line " in str(caught.value.record)
    if field.startswith("probes["):
        assert f"probe {value['probes'][int(field[7])]['id']}" in str(caught.value.record)
    assert validate_native(file)[0].field == field


@pytest.mark.parametrize(
    ("mistake", "field", "what", "advice"),
    [
        (lambda v: v["sessions"][0].pop("at"), "sessions[0].at", "missing", "ISO date"),
        (turn(0, 0, txet="x"), "sessions[0].turns[0].txet", "no such key", "text"),
        (turn(0, 0, text=["x"]), "sessions[0].turns[0].text", "expected text", "write text"),
        (turn(0, 0, id=""), "sessions[0].turns[0].id", "empty", "leave the key out"),
        (turn(0, 0, id="s1 t1"), "sessions[0].turns[0].id", "no spaces", "one id"),
        (turn(0, 0, id="x" * 201), "sessions[0].turns[0].id", "200 characters", "shorten"),
        (probe(0, style="quiz"), "probes[0].style", "not a known word", "question"),
        (probe(0, ask="  "), "probes[0].ask", "blank", "write something"),
        (gold(0, unanswerable="perhaps"), "probes[0].gold.unanswerable", "expected true or false", "true or false"),
        (gold(0, roles={"a": "maybe"}), "probes[0].gold.roles.a", "not a known word", "must"),
        (fact(sources=[]), "probes[0].gold.facts[0].sources", "the list is empty", "at least one"),
        (lambda v: v.update(sessions={}), "sessions", "expected a list", "a list"),
    ],
)
def test_every_wrong_shape_is_named(tmp_path: Path, mistake: Mend, field: str, what: str, advice: str) -> None:
    value = copy.deepcopy(BASE)
    mistake(value)
    file = write(tmp_path, value)
    with pytest.raises(DataError) as caught:
        load(file)
    assert (caught.value.file, caught.value.field) == (str(file), field)
    assert what in caught.value.what
    assert advice in str(caught.value.fix)
    assert [(problem.field, problem.what) for problem in validate_native(file)] == [(field, caught.value.what)]


def test_a_number_in_json_is_advised_to_stand_in_quotes(tmp_path: Path) -> None:
    value = copy.deepcopy(BASE)
    value["probes"][1]["gold"]["answers"] = [2022]
    with pytest.raises(DataError, match=r"seen: 2022\): put it in quotes"):
        load(write(tmp_path, value, "small.json"))


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(BASE).replace("I keep bees.", "\\ud83d"), encoding="utf-8")
    with pytest.raises(DataError, match="surrogate"):
        load(file)


def test_a_file_of_another_benchmark_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, [{"conversation": {}, "qa": []}], "other.json")
    with pytest.raises(DataError, match="LoCoMo"):
        load(file)


def test_validate_lists_all_problems_in_the_order_of_the_file(tmp_path: Path) -> None:
    value = copy.deepcopy(BASE)
    for mistake in (turn(1, 0, speaker="Eve"), probe(0, after="s9"), gold(1, evidence=["s9t9"])):
        mistake(value)
    file = write(tmp_path, value)
    problems = validate_native(file)
    assert [problem.field for problem in problems] == [
        "sessions[1].turns[0].speaker",
        "probes[0].after",
        "probes[1].gold.evidence[0]",
    ]
    assert all(problem.advice and str(file) in str(problem) and "line" in problem.place for problem in problems)
    with pytest.raises(DataError, match=r"2 more: mnemoscope scenario validate native:"):
        load(file)
    shape = copy.deepcopy(BASE)
    for mistake in (turn(1, 0, text=["x"]), probe(0, style="quiz"), turn(0, 0, said="x")):
        mistake(shape)
    assert [problem.field for problem in validate_native(write(tmp_path, shape))] == [
        "sessions[0].turns[0].said",
        "sessions[1].turns[0].text",
        "probes[0].style",
    ]
