"""The LoCoMo loader: the failing-input cases, both file shapes, evidence modes, and errors with a place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import TurnId
from mnemoscope.scenarios.loaders.locomo import LocomoSource, open_locomo
from mnemoscope.scenarios.loaders.locomo_evidence import TurnIndex, resolve_evidence
from mnemoscope.scenarios.records import Gold, Scenario
from mnemoscope.scenarios.replay import SkipTurn, WriteTurn, replay
from mnemoscope.scenarios.source import LoadRequest

CaseDir = Callable[[str], Path]


def load(path: Path, **settings: Any) -> tuple[list[Scenario], LocomoSource]:
    source = open_locomo(LoadRequest("locomo", path, **settings))
    return list(source), source


def only(path: Path, **settings: Any) -> tuple[Scenario, LocomoSource]:
    (scenario,), source = load(path, **settings)
    return scenario, source


def golds(scenario: Scenario) -> list[Gold]:
    return [scenario.gold_by_probe[probe.probe_id] for probe in scenario.probes]


def expected_of(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def details(source: LocomoSource, kind: str) -> list[str]:
    return [notice.detail for notice in source.report.notices if notice.kind == kind]


def sample(**changes: Any) -> dict[str, Any]:
    talk = {
        "speaker_a": "Mira",
        "speaker_b": "Tomasz",
        "session_1_date_time": "1:56 pm on 8 March, 2022",
        "session_1": [{"speaker": "Mira", "dia_id": "D1:1", "text": "I rented a studio."}],
    }
    row = {"question": "What did Mira rent?", "answer": "a studio", "evidence": ["D1:1"], "category": 4}
    return {"sample_id": "s", "conversation": {**talk, **changes.pop("talk", {})}, "qa": [{**row, **changes}]}


def written(tmp_path: Path, value: object) -> Path:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_ds_01_evidence_is_split_never_guessed(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-01"))
    scenario, source = only(case_dir("DS-01") / "locomo_like.json")
    for row, gold in zip(expected["qa"], golds(scenario), strict=True):
        assert list(gold.evidence) == row["evidence"]
        where = f"case-1 qa {row['index']}"
        seen = [n for n in source.report.notices if n.where == where and n.kind != "packed-evidence"]
        assert len(seen) == len(row["warnings"])
    assert golds(scenario)[2].unresolvable == ("D",)
    assert golds(scenario)[3].unresolvable == ("D:2:2",)
    assert details(source, "unresolvable-evidence") == [
        'unresolvable evidence "D" (not one turn id)',
        'unresolvable evidence "D:2:2" (not guessed as D2:2)',
    ]
    assert len(details(source, "packed-evidence")) == 2
    counts = source.report.counts
    assert counts["questions"] == expected["data_report"]["questions"]
    assert counts["questions with resolvable evidence"] == expected["data_report"]["with_resolvable_gold"]
    assert counts["questions without resolvable evidence"] == expected["data_report"]["no_resolvable_gold"]


def test_ds_01_the_repaired_mode_repairs_and_counts(case_dir: CaseDir) -> None:
    scenario, source = only(case_dir("DS-01") / "locomo_like.json", mode="repaired")
    assert golds(scenario)[3].evidence == ("D2:2",)
    assert golds(scenario)[2].unresolvable == ("D",)
    assert source.report.notice_counts["repaired-evidence"] == 1
    assert source.card.mode == "repaired"


def test_ds_01_strict_release_splits_at_semicolons_only(case_dir: CaseDir) -> None:
    scenario, _ = only(case_dir("DS-01") / "locomo_like.json", mode="strict-release")
    assert golds(scenario)[0].evidence == ("D1:2", "D2:2")
    assert golds(scenario)[1].evidence == ()
    assert golds(scenario)[1].unresolvable == ("D1:1 D2:1",)


def test_ds_03_the_trap_is_never_gold(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-03"))
    scenario, source = only(case_dir("DS-03") / "locomo_like.json")
    for index, gold in enumerate(golds(scenario)):
        assert gold.trap == expected["trap"][str(index)]
        assert gold.unanswerable
        assert gold.facts == ()
        assert gold.trap not in gold.answers
        assert gold.strata == ("adversarial",)
    warned = [n for n in source.report.notices if n.kind == "neither-answer-nor-trap"]
    assert [(n.where, n.detail) for n in warned] == [("case-1 qa 2", expected["warnings"]["2"])]
    visible = "".join(p.model_dump_json() for p in scenario.probes)
    assert "Kanal" not in visible


def test_ds_04_numbers_and_names_of_categories(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-04"))
    scenario, source = only(case_dir("DS-04") / "locomo_like.json")
    strata = [gold.strata[0] for gold in golds(scenario)]
    assert {name: strata.count(name) for name in strata} == expected["counts"]
    for number, name in expected["names"].items():
        assert source.report.counts[f"category {number} {name}"] == expected["counts"][name]
    assert golds(scenario)[5].strata == ("unknown(7)",)
    assert golds(scenario)[6].strata == ("temporal", "non-adversarial")
    assert source.report.notice_counts["category-as-text"] == 1
    assert source.report.notice_counts["unknown-category"] == 1
    assert "task_eval/evaluation.py" in source.card.strata_source


def test_ds_06_no_phantom_sessions(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-06"))
    scenario, source = only(case_dir("DS-06") / "locomo_like.json")
    assert [s.session_id for s in scenario.sessions] == expected["sessions_replayed"]
    assert len(scenario.turns) == expected["turns"]
    found = [(n.where, n.detail) for n in source.report.notices if "session" in n.where]
    assert found == [
        (f"case-1 session {row['session']}", f"{row['issue']}; left out") for row in expected["data_report"]
    ]
    assert source.report.counts["orphan dates"] == 1
    assert source.report.counts["empty sessions"] == 1


def test_ds_07_both_shapes_give_one_transcript(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-07"))
    loaded = {name: only(case_dir("DS-07") / name)[0] for name in expected["sample_ids"]}
    assert {name: scenario.scenario_id for name, scenario in loaded.items()} == expected["sample_ids"]
    listed, flat = loaded["list_shape.json"], loaded["90.json"]
    assert listed.sessions == flat.sessions
    assert len(flat.turns) == expected["turns"]
    for forbidden in expected["never_in_backend_or_prompt"]:
        assert forbidden not in flat.model_dump_json()


def test_a_single_sample_without_a_list_loads(tmp_path: Path) -> None:
    value = sample()
    del value["sample_id"]
    scenario, _ = only(written(tmp_path, value))
    assert scenario.scenario_id == "file"


def test_ds_11_loading_does_not_depend_on_the_locale(case_dir: CaseDir) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from mnemoscope.scenarios.loaders.locomo import open_locomo\n"
        "from mnemoscope.scenarios.source import LoadRequest\n"
        "for scenario in open_locomo(LoadRequest('locomo', Path(sys.argv[1]))):\n"
        "    sys.stdout.buffer.write(scenario.model_dump_json().encode('utf-8'))\n"
    )
    ascii_console = {
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    }
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code, str(case_dir("DS-11") / "utf8_scenario.json")],
            env={**os.environ, **settings},
            capture_output=True,
            check=True,
        ).stdout
        for settings in ({"LC_ALL": "C.UTF-8"}, ascii_console)
    ]
    assert outputs[0] == outputs[1]
    assert "“Zur blauen Stunde” — the café’s cake was 5 € 🎂".encode() in outputs[0]
    assert "🐈‍⬛".encode() in outputs[0]


def test_ds_12_every_encoding_gives_the_same_scenario(case_dir: CaseDir) -> None:
    folder = case_dir("DS-12")
    marked = [only(folder / name)[0] for name in ("utf8_bom.json", "utf16le_bom.json")]
    declared, source = only(folder / "gb18030.json", encoding="gb18030")
    assert marked[0].sessions == marked[1].sessions == declared.sessions
    assert declared.turns[0].text == "我的猫叫像素。"
    assert source.card.settings["encoding"] == "gb18030"


def test_ds_21_captions_on_or_off_and_nothing_else_of_images(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-21"))
    path = case_dir("DS-21") / "locomo_like.json"
    for captions, key in ((True, "captions_on"), (False, "captions_off")):
        scenario, source = only(path, captions=captions)
        content = {turn.turn_id: turn.content for turn in scenario.turns}
        assert {turn_id: content[TurnId(turn_id)] for turn_id in expected[key]} == expected[key]
        assert source.card.settings["image_captions"] == ("on" if captions else "off")
        assert source.report.counts["captioned turns"] == 3
        for forbidden in expected["never_stored"]:
            assert forbidden not in scenario.model_dump_json()


def test_ds_22_empty_turns_keep_their_place_and_are_not_written(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-22"))
    scenario, source = only(case_dir("DS-22") / "scenario.json")
    events = list(replay(scenario, pool_as_turns=False))
    assert [e.turn.turn_id for e in events if isinstance(e, WriteTurn)] == expected["offered_to_backends"]
    assert sum(isinstance(e, SkipTurn) for e in events) == expected["skipped_empty"]
    assert [turn.turn_id for turn in scenario.turns] == [f"D1:{i}" for i in range(1, expected["turns"] + 1)]
    assert source.report.counts["empty turns"] == expected["skipped_empty"]


def test_ds_23_repeated_sentences_stay_apart(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DS-23"))
    scenario, _ = only(case_dir("DS-23") / "scenario.json")
    same = [turn for turn in scenario.turns if turn.text == "ok"]
    assert [turn.turn_id for turn in same] == expected["ids"]
    assert len({turn.at for turn in same}) == expected["distinct_turns_with_text_ok"]
    assert list(golds(scenario)[0].evidence) == expected["ids"]


def test_ds_24_a_repeated_key_stops_or_is_reported(case_dir: CaseDir) -> None:
    path = case_dir("DS-24") / "dupkey.json"
    with pytest.raises(DataError, match='key "answer"'):
        load(path)
    scenario, source = only(path, lenient=True)
    assert golds(scenario)[0].answers == ("Nantes",)
    assert details(source, "repeated-key") == ["key \"answer\" is given 2 times: 'Nantes' is used, 'Lyon' dropped"]


def test_dt_01_every_turn_has_the_conversations_time(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DT-01"))
    scenario, _ = only(case_dir("DT-01") / "scenario.json")
    start = datetime.fromisoformat(expected["observation_time_for_every_memory"]).replace(tzinfo=UTC)
    assert [turn.at for turn in scenario.turns] == [start + timedelta(seconds=i) for i in range(4)]
    assert {probe.now for probe in scenario.probes} == {start + timedelta(seconds=3)}


def test_dt_02_bad_dates_stop_or_stay_unknown(case_dir: CaseDir) -> None:
    expected = expected_of(case_dir("DT-02"))["lenient"]
    path = case_dir("DT-02") / "scenario.json"
    with pytest.raises(DataError) as caught:
        load(path)
    for number in (1, 2, 3):
        assert f"session_{number}_date_time" in str(caught.value)
    assert "sometime in spring" in str(caught.value)
    scenario, source = only(path, lenient=True)
    assert [session.at for session in scenario.sessions] == expected["times"]
    assert [turn.at for turn in scenario.turns] == expected["times"]
    assert [turn.turn_id for turn in scenario.turns] == expected["order"]
    assert source.report.notice_counts["unreadable-date"] == expected["warnings"]


def test_sp_01_and_02_both_speakers_are_peers_with_their_names(case_dir: CaseDir) -> None:
    for case, names in (("SP-01", "MMMTT"), ("SP-02", "MTM")):
        scenario, source = only(case_dir(case) / "scenario.json")
        assert [(p.name, p.role) for p in scenario.participants] == [("Mira", "peer"), ("Tomasz", "peer")]
        assert "".join(turn.speaker[0] for turn in scenario.turns) == names
        assert {turn.role for turn in scenario.turns} == {"peer"}
        assert source.card.settings["roles"] == "both speakers are peers; the assistant observes"
    assert golds(scenario)[1].trap == "nuts"
    assert golds(scenario)[1].unanswerable


def test_what_the_assistant_sees_and_what_evaluators_know(tmp_path: Path) -> None:
    scenario, source = only(written(tmp_path, [sample(answer=2022, question=" When\u200b? ")]))
    (probe,) = scenario.probes
    assert (probe.probe_id, probe.text, probe.style, probe.speaker) == ("s/q0", "When?", "question", "asker")
    assert (probe.cut.seq, probe.cut.turn_id, probe.recent_turns, probe.pool) == (1, "D1:1", (), None)
    gold = golds(scenario)[0]
    assert gold.answers == ("2022",)
    assert [(f.fact_id, f.text, f.sources) for f in gold.facts] == [("s/q0/answer", "2022", ("D1:1",))]
    assert gold.strata == ("single-hop", "non-adversarial")
    assert source.report.counts["integer answers"] == 1
    assert source.report.notice_counts == {"number-as-answer": 1, "unpublished-file": 1, "zero-width-stripped": 1}
    assert scenario.cluster == "s"
    assert len(scenario.card.sha256) == 64


def test_an_answer_of_zero_is_an_answer(tmp_path: Path) -> None:
    scenario, source = only(written(tmp_path, [sample(answer=0)]))
    assert golds(scenario)[0].answers == ("0",)
    assert source.report.counts["missing answers"] == 0


def test_iterating_again_does_not_double_the_report(case_dir: CaseDir) -> None:
    first, source = load(case_dir("DS-01") / "locomo_like.json")
    counts, notices = dict(source.report.counts), list(source.report.notices)
    assert list(source) == first
    assert (dict(source.report.counts), source.report.notices) == (counts, notices)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ([], ("holds no conversation",)),
        ({"a": 1}, ("not a LoCoMo file",)),
        ("text", ("expected an object", "sample 0")),
        ([sample(), sample()], ("a sample id occurs twice", "record s")),
        ([sample(category=True)], ("record s qa 0", "field category", "True")),
        ([sample(category="two")], ("field category",)),
        ([sample(question=7)], ("record s qa 0", "field question", "seen: 7")),
        ([sample(answer=["a"])], ("field answer",)),
        ([sample(evidence="D1:1")], ("field evidence", "expected a list")),
        ([sample(evidence=[1])], ("field evidence", "expected a list of texts")),
        ([sample(talk={"speaker_a": None})], ("field speaker_a",)),
        ([sample(talk={"session_1": {}})], ("field session_1", "expected a list")),
        ([sample(talk={"session_1": ["hi"]})], ("record s session_1 turn 1", "expected an object")),
        ([sample(talk={"session_1": [{"speaker": "Mira", "text": "hi"}]})], ("field dia_id", "missing")),
        ([sample(talk={"session_1_date_time": None})], ("session_1_date_time",)),
        (
            [sample(talk={"session_1": [{"speaker": "M", "dia_id": "D1:1", "text": "x"}] * 2})],
            ("a turn id occurs twice", "D1:1"),
        ),
    ],
)
def test_wrong_data_is_one_error_with_file_record_and_field(
    tmp_path: Path, value: object, parts: tuple[str, ...]
) -> None:
    with pytest.raises(DataError) as caught:
        load(written(tmp_path, value))
    for part in ("file.json", *parts):
        assert part in str(caught.value)


def test_a_stratmem_file_is_recognised(case_dir: CaseDir) -> None:
    path = case_dir("DS-16") / "stratmem_like.json"
    with pytest.raises(DataError, match="looks like a StratMem-Bench file") as caught:
        open_locomo(LoadRequest("locomo", path))
    assert f"use stratmem:{path}" in str(caught.value)


def test_oddities_of_the_conversation_are_noted(tmp_path: Path) -> None:
    talk = {
        "session_2_date_time": "1:00 pm on 1 March, 2022",
        "session_2": [{"speaker": "Nele", "dia_id": "D2:1", "text": "Hello."}],
        "session_10_date_time": "1:00 pm on 1 April, 2022",
        "session_10": [{"speaker": "Mira", "dia_id": "D10:1", "text": "Bye."}],
    }
    scenario, source = only(written(tmp_path, [sample(talk=talk, evidence=[], answer=None)]))
    assert [s.session_id for s in scenario.sessions] == ["session_1", "session_2", "session_10"]
    assert [p.name for p in scenario.participants] == ["Mira", "Tomasz", "Nele"]
    kinds = source.report.notice_counts
    assert kinds["session-out-of-order"] == kinds["unlisted-speaker"] == 1
    assert kinds["empty-evidence"] == kinds["missing-answer"] == 1
    assert source.report.counts["empty evidence lists"] == source.report.counts["missing answers"] == 1


turn_ids = st.builds(lambda s, t: TurnId(f"D{s}:{t}"), st.integers(1, 12), st.integers(1, 12))


@given(st.lists(turn_ids, unique=True, max_size=8), st.sampled_from([";", "; ", ",", " ", " , "]))
def test_packed_lists_read_as_their_parts(ids: list[TurnId], separator: str) -> None:
    found = resolve_evidence([separator.join(ids)] if ids else [], TurnIndex(ids), "robust")
    assert list(found.turn_ids) == ids
    assert found.unresolvable == ()


@given(st.lists(st.text(alphabet="D:;, 0129\n", max_size=12), max_size=5), st.lists(turn_ids, unique=True, max_size=8))
def test_modes_never_invent_a_turn_and_repair_only_adds(raw: list[str], ids: list[TurnId]) -> None:
    index = TurnIndex(ids)
    robust, repaired = (resolve_evidence(raw, index, mode) for mode in ("robust", "repaired"))
    strict = resolve_evidence(raw, index, "strict-release")
    assert set(strict.turn_ids) <= set(robust.turn_ids) <= set(repaired.turn_ids) <= set(ids)
    for found in (strict, robust, repaired):
        assert len(set(found.turn_ids)) == len(found.turn_ids)
    assert set(repaired.unresolvable) <= set(robust.unresolvable)
