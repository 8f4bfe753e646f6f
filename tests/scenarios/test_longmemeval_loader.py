"""The LongMemEval loader: the failing-input cases, what stays hidden, evidence, strata, and errors with a place."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.longmemeval import LongmemevalSource, open_longmemeval
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, Probe, Scenario
from mnemoscope.scenarios.source import LoadRequest

CaseDir = Callable[[str], Path]


def load(path: Path, **choices: Any) -> tuple[list[Scenario], LongmemevalSource]:
    source = open_longmemeval(LoadRequest("longmemeval", path, **choices))
    return list(source), source


def parts(scenario: Scenario) -> tuple[Probe, Gold]:
    (probe,) = scenario.probes
    return probe, scenario.gold_by_probe[probe.probe_id]


def said(*texts: str, marked: int | None = None) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for place, text in enumerate(texts):
        turns.append({"role": ("user", "assistant")[place % 2], "content": text})
        if place == marked:
            turns[-1]["has_answer"] = True
    return turns


def question(**changes: Any) -> dict[str, Any]:
    return {
        "question_id": "q-1",
        "question_type": "single-session-user",
        "question": "What colour is my bike?",
        "answer": "teal",
        "question_date": "2023/06/01 (Thu) 12:00",
        "haystack_dates": ["2023/05/20 (Sat) 10:00", "2023/03/01 (Wed) 09:00", "2023/04/11 (Tue) 18:30"],
        "haystack_session_ids": ["answer_77", "ultra_1", "ultra_2"],
        "haystack_sessions": [
            said("My new bike is teal.", "Lovely.", marked=0),
            said("Thinking about a bike.", "Tell me more."),
            said("I sold the red bike.", "Good price?"),
        ],
        "answer_session_ids": ["answer_77"],
        **changes,
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def _write(*rows: object, name: str = "questions.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(list(rows)), encoding="utf-8")
        return path

    return _write


def test_ds_08_arrays_are_zipped_then_sorted(case_dir: CaseDir) -> None:
    path = case_dir("DS-08") / "longmemeval_like.json"
    expected = json.loads((case_dir("DS-08") / "expected.json").read_text(encoding="utf-8"))
    stream = iter(open_longmemeval(LoadRequest("longmemeval", path)))
    scenario = next(stream)
    first_words = {"s-think": "Thinking about a bike.", "s-sold": "I sold the old red bike.", "s-new": "My new bike"}
    order = [first_words[name] for name in expected["q-01"]["replay_order"]]
    assert all(s.turns[0].text.startswith(text) for s, text in zip(scenario.sessions, order, strict=True))
    starts = [s.at.isoformat()[:16] for s in scenario.sessions if s.at is not None]
    assert starts == [expected["q-01"]["date_of"][name] for name in expected["q-01"]["replay_order"]]
    probe, gold = parts(scenario)
    assert gold.evidence == ("s3:1",)
    assert "has_answer" not in probe.model_dump_json() + "".join(t.model_dump_json() for t in scenario.turns)
    with pytest.raises(DataError) as caught:
        next(stream)
    assert (
        caught.value.what == "haystack_dates (1), haystack_session_ids (2) and haystack_sessions (2) differ in length"
    )
    assert caught.value.record == "q-02"
    assert caught.value.field == "haystack_dates"


def test_ds_08_a_lenient_load_goes_on(case_dir: CaseDir) -> None:
    scenarios, source = load(case_dir("DS-08") / "longmemeval_like.json", lenient=True)
    assert [s.scenario_id for s in scenarios] == ["q-01"]
    (order,) = [n for n in source.report.notices if n.kind == "sessions-reordered"]
    assert (order.where, order.detail) == ("q-01", "3 sessions moved into time order: s-think, s-sold, s-new")
    assert [n.where for n in source.report.notices if n.kind == "skipped-record"] == ["q-02"]


def test_ds_09_both_occurrences_stay(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("DS-09") / "expected.json").read_text(encoding="utf-8"))
    (scenario,), source = load(case_dir("DS-09") / "longmemeval_like.json")
    assert len(scenario.sessions) == expected["sessions"]
    assert len({s.session_id for s in scenario.sessions}) == expected["distinct_internal_keys"]
    details = [n.detail for n in source.report.notices if n.kind == "duplicate-session-id"]
    assert [detail.split(";")[0] for detail in details] == expected["data_report"]
    assert [t.text for t in scenario.turns].count("Recommend a soup.") == 2
    assert parts(scenario)[1].evidence == ("s2:1",)


def test_a_repeated_evidence_session_counts_at_either_place(write: Callable[..., Path]) -> None:
    talk = said("I keep a spare key at Ines's.", "Noted.")
    row = question(
        haystack_session_ids=["answer_77", "ultra_1", "answer_77"], haystack_sessions=[talk, said("Hi."), talk]
    )
    (scenario,), _ = load(write(row))
    _, gold = parts(scenario)
    assert (gold.evidence, gold.evidence_unit) == (("s2", "s3"), "session")


def test_ds_10_the_suffix_makes_a_question_unanswerable(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("DS-10") / "expected.json").read_text(encoding="utf-8"))
    scenarios, source = load(case_dir("DS-10") / "longmemeval_like.json")
    golds = {s.scenario_id: parts(s)[1] for s in scenarios}
    assert {name: gold.judge_inputs["rubric"] for name, gold in golds.items()} == expected["rubric"]
    assert [gold.unanswerable for gold in golds.values()] == [True, True, False]
    first = golds["q-21_abs"]  # type: ignore[index]
    assert first.strata == ("single-session-user", "abstention")
    assert (first.answers, first.facts) == ((), ())
    assert first.expected == "You did not mention a hamster. You mentioned a cat, Pixel."
    assert golds["q-23"].answers == ("Pixel",)  # type: ignore[index]
    assert (source.report.counts["abstention questions"], source.report.counts["answerable questions"]) == (2, 1)


def test_what_the_assistant_sees(write: Callable[..., Path]) -> None:
    (scenario,), _ = load(write(question()))
    probe, _ = parts(scenario)
    assert (probe.style, probe.speaker, probe.text) == ("question", "User", "What colour is my bike?")
    assert (probe.cut.seq, probe.cut.turn_id) == (6, "s3:2")
    assert probe.now == datetime(2023, 6, 1, 12, tzinfo=UTC)
    assert [(p.name, p.role) for p in scenario.participants] == [("User", "user"), ("Assistant", "assistant")]
    assert [(t.turn_id, t.speaker, t.role) for t in scenario.turns[:2]] == [
        ("s1:1", "User", "user"),
        ("s1:2", "Assistant", "assistant"),
    ]
    assert scenario.turns[1].at == datetime(2023, 3, 1, 9, 0, 1, tzinfo=UTC)
    shown = probe.model_dump_json() + "".join(s.model_dump_json() for s in scenario.sessions)
    for hidden in ("answer", "ultra", "has_"):
        assert hidden not in shown


@pytest.mark.parametrize("field", ["question_type", "answer", "answer_session_ids"])
def test_hidden_fields_change_nothing_that_is_shown(write: Callable[..., Path], field: str) -> None:
    changed = {"question_type": "multi-session", "answer": "CANARY", "answer_session_ids": ["ultra_1"]}
    renamed = {"haystack_session_ids": ["x", "ultra_1", "y"], field: changed[field]}
    (mine,), _ = load(write(question()))
    (other,), _ = load(write(question(**renamed | {"answer_session_ids": ["ultra_1"]})))
    assert mine.sessions == other.sessions
    assert mine.probes == other.probes


def test_what_evaluators_know(write: Callable[..., Path]) -> None:
    (scenario,), source = load(write(question()))
    _, gold = parts(scenario)
    assert (gold.evidence, gold.evidence_unit, gold.unresolvable) == (("s3:1",), "turn", ())
    assert [(f.fact_id, f.text, f.sources) for f in gold.facts] == [("q-1/answer", "teal", ("s3:1",))]
    assert (gold.answers, gold.strata, gold.unanswerable) == (("teal",), ("single-session-user",), False)
    assert scenario.cluster == "q-1"
    assert source.report.counts["type single-session-user"] == 1
    assert source.report.counts["questions with turn evidence"] == 1


def test_preferences_are_rubrics(write: Callable[..., Path]) -> None:
    row = question(question_type="single-session-preference", answer="The user would prefer teal things.")
    (scenario,), _ = load(write(row))
    _, gold = parts(scenario)
    assert (gold.answers, gold.facts) == ((), ())
    assert gold.rubric == gold.expected == "The user would prefer teal things."
    assert gold.judge_inputs == {"rubric": "preference"}


def test_marks_and_evidence_sessions_that_disagree_are_noted(write: Callable[..., Path]) -> None:
    sessions = question()["haystack_sessions"]
    sessions[1][1]["has_answer"] = True
    row = question(haystack_sessions=sessions, answer_session_ids=["answer_77", "ultra_2", "gone"])
    (scenario,), source = load(write(row))
    _, gold = parts(scenario)
    assert (gold.evidence, gold.unresolvable) == (("s3:1",), ("gone",))
    counts = source.report.notice_counts
    assert (counts["mark-outside-evidence"], counts["evidence-session-without-mark"]) == (1, 1)
    assert counts["unresolvable-evidence"] == 1


def test_oddities_are_noted(write: Callable[..., Path]) -> None:
    row = question(
        answer=3,
        question_type="riddle",
        question_date="2023/05/01 (Tue) 12:00",
        haystack_sessions=[said("Teal it is."), [], said("   ", "Good price?")],
        answer_session_ids=[],
    )
    (scenario,), source = load(write(row))
    _, gold = parts(scenario)
    assert source.report.notice_counts == {
        "empty-evidence": 1,
        "number-as-answer": 1,
        "session-after-question": 1,
        "session-without-turns": 1,
        "sessions-reordered": 1,
        "unknown-question-type": 1,
        "weekday-mismatch": 1,
    }
    assert gold.answers == ("3",)
    assert [s.session_id for s in scenario.sessions] == ["s1", "s2"]
    assert source.report.counts["empty turns"] == 1


def test_shapes_are_told_by_the_first_question(write: Callable[..., Path]) -> None:
    _, source = load(write(question()))
    assert source.card.settings["shape"] == "s"
    ids = [f"s{n}" for n in range(200)]
    many = {"haystack_dates": ["2023/03/01 (Wed) 09:00"] * 200, "haystack_session_ids": ids}
    _, source = load(write(question(haystack_sessions=[said("Hi.")] * 200, answer_session_ids=["s3"], **many)))
    assert source.card.settings["shape"] == "m"
    assert "evidence-only-histories" not in source.report.notice_counts
    row = question(answer_session_ids=["answer_77", "ultra_1", "ultra_2"])
    _, source = load(write(row, name="longmemeval_oracle.json"))
    assert source.card.settings["shape"] == "oracle"
    assert source.report.notice_counts["evidence-only-histories"] == 1
    assert len(source.card.sha256) == 64


def test_a_folder_is_searched_for_official_names(write: Callable[..., Path], tmp_path: Path) -> None:
    write(question(), name="longmemeval_oracle.json")
    write(question(question_id="q-2"), name="longmemeval_s_cleaned.json")
    source = open_source(f"longmemeval:{tmp_path}")
    assert source.card.file == "longmemeval_s_cleaned.json"
    assert [s.scenario_id for s in source] == ["q-2"]
    assert [s.scenario_id for s in source] == ["q-2"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question_id": 7}, "record [0], field question_id"),
        ({"question": " "}, "record q-1, field question"),
        ({"answer": None}, "record q-1, field answer"),
        ({"answer": True}, "record q-1, field answer"),
        ({"answer": ""}, "record q-1, field answer"),
        ({"question_date": "2023-06-01"}, "record q-1, field question_date"),
        ({"haystack_dates": ["2023/05/20 (Sat) 10:00", "x", None]}, "field haystack_dates[1]; seen: 'x'"),
        ({"haystack_session_ids": ["a", 2, "c"]}, "field haystack_session_ids"),
        ({"haystack_sessions": [[], {}, []]}, "record q-1 session 2, field haystack_sessions"),
        ({"haystack_sessions": [[], [], [1]]}, "record q-1 session 3 turn 1"),
        ({"haystack_sessions": [[], [], [{"role": "user"}]]}, "record q-1 session 3 turn 1, field content"),
        ({"haystack_sessions": [[], [], [{"role": "bot", "content": "x"}]]}, "field role; seen: 'bot'"),
        ({"haystack_sessions": [[], [], [{"role": "user", "content": "x", "has_answer": 1}]]}, "field has_answer"),
        ({"haystack_dates": [], "haystack_session_ids": [], "haystack_sessions": []}, "field haystack_sessions"),
        ({"answer_session_ids": "answer_77"}, "field answer_session_ids"),
    ],
)
def test_wrong_data_is_one_error_naming_the_record(
    write: Callable[..., Path], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        load(write(question(**changes)))
    assert message in str(caught.value)
    assert "questions.json" in str(caught.value)


def test_a_lenient_load_leaves_unreadable_dates_unknown(write: Callable[..., Path]) -> None:
    row = question(haystack_dates=["2023/05/20 (Sat) 10:00", "someday", "2023/04/11 (Tue) 18:30"], question_date="now")
    (scenario,), source = load(write(row), lenient=True)
    assert next(s.turns[0].text for s in scenario.sessions) == "My new bike is teal."
    assert [s.at is None for s in scenario.sessions] == [False, True, False]
    assert parts(scenario)[0].now is None
    assert source.report.notice_counts["unreadable-date"] == 2


def test_repeated_ids_foreign_files_and_roles_are_refused(write: Callable[..., Path], case_dir: CaseDir) -> None:
    with pytest.raises(DataError, match=r"a question id occurs twice.*first in \[0\]"):
        load(write(question(), question()))
    with pytest.raises(DataError, match=r"looks like a LoCoMo file.*use locomo:"):
        load(case_dir("DS-01") / "locomo_like.json")
    with pytest.raises(DataError, match="the file holds no question"):
        load(write())
    with pytest.raises(ConfigError, match="longmemeval has no role 'also'"):
        load(write(question()), roles={"also": Path("x")})
    with pytest.raises(DataError, match="use longmemeval:"):
        list(open_source(f"stratmem:{write(question())}"))


def test_progress_is_told(write: Callable[..., Path]) -> None:
    seen: list[int] = []
    load(write(question(), question(question_id="q-2")), progress=lambda progress: seen.append(progress.items))
    assert seen == [1, 2]
