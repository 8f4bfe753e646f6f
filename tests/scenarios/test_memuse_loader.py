"""The MemUse loader: the trigger stands once, nothing of the future arrives, judge inputs stay apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.memuse import open_memuse
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.replay import ForkAt, HistoryEnd, WriteTurn, replay
from mnemoscope.scenarios.source import DataReport, LoadRequest

FAIR = "I am off to that ceramics fair I told you about."


def session(number: int, date: str, *lines: str) -> dict[str, Any]:
    turns = [{"role": ("user", "assistant")[i % 2], "content": line} for i, line in enumerate(lines)]
    return {"session_idx": number, "date": date, "turns": turns}


def positive(**changes: Any) -> dict[str, Any]:
    return {
        "instance_id": "pos_901",
        "user_id": "u-5",
        "event_type": "user_re_provision",
        "trigger_session_idx": 2,
        "input": {
            "sessions": [
                session(0, "2025/November/05", "There is a ceramics fair in Delft.", "你会做得很好。"),
                session(1, "2025/November/06", "Slept badly.", "Sorry to hear."),
            ],
            "current_session": session(2, "2025/November/19", "Long day.", "What happened?", FAIR),
            "trigger_quote": FAIR,
        },
        "target": {
            "ground_truth": "SECRET paragraph",
            "sub_questions": [
                {"question": "Which city is the fair in?", "answer": "Delft"},
                {"question": "How did the user feel?", "answer": "nervous"},
            ],
            "judge_trigger": "that ceramics fair I told you about",
            "judge_expected": "SECRET expectation",
        },
        **changes,
    }


def negative(**changes: Any) -> dict[str, Any]:
    return {
        "instance_id": "neg_901",
        "user_id": "u-5",
        "event_type": "no_memory_cue",
        "matched_positive": "pos_901",
        "trigger_session_idx": 1,
        "input": {
            "sessions": [session(0, "2025/November/05", "There is a ceramics fair in Delft.", "Good luck.")],
            "current_session": session(1, "2025/November/06", "I like tea."),
            "trigger_quote": "I like tea.",
        },
        "target": {
            "memory_needed": False,
            "pcd_score": 0,
            "prior_session_summaries": [
                {"session_idx": 0, "date": "2025/November/05", "summary": "SECRET summary of the fair."}
            ],
        },
        **changes,
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def _write(*rows: object, name: str = "instances.test.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return _write


def load(path: Path, **choices: Any) -> tuple[list[Scenario], DataReport]:
    source = open_memuse(LoadRequest("memuse", path, **choices))
    return list(source), source.report


def test_ds_19_the_trigger_stands_exactly_once(case_dir: Callable[[str], Path]) -> None:
    expected = json.loads((case_dir("DS-19") / "expected.json").read_text(encoding="utf-8"))
    (scenario,), report = load(case_dir("DS-19") / "memuse_like.jsonl")
    natural, *questions = scenario.probes
    said = [turn.text for turn in natural.recent_turns] + [natural.text]
    trigger = expected["model_input"]["last_user_message"]
    assert said.count(trigger) == expected["model_input"]["trigger_occurrences"]
    assert natural.text == trigger
    dates = [str(s.at.date()) for s in scenario.sessions if s.at] + [str(natural.now.date()) if natural.now else ""]
    assert dates == expected["dates"]
    assert [f"s{n}" for n in expected["memory_store_contains_sessions"]] == [s.session_id for s in scenario.sessions]
    visible = scenario.model_dump_json(exclude={"gold_by_probe"})
    for hidden in expected["never_visible_to_assistant_or_store"]:
        assert hidden not in visible
    assert [q.text for q in questions] == ["Which city is the fair in?", "How did the user feel?"]
    assert [turn.text for turn in questions[0].recent_turns].count(trigger) == 1
    assert report.notice_counts == {"unknown-event-type": 1}


def test_natural_reply_and_questions_are_asked_from_one_state(write: Callable[..., Path]) -> None:
    (scenario,), _ = load(write(positive()))
    events = list(replay(scenario, pool_as_turns=False))
    assert [e.turn.text for e in events if isinstance(e, WriteTurn)][-1] == "Sorry to hear."
    assert isinstance(events[-2], HistoryEnd)
    fork = events[-1]
    assert isinstance(fork, ForkAt)
    assert [(p.probe_id, p.style) for p in fork.probes] == [
        ("pos_901/natural", "dialog"),
        ("pos_901/q0", "question"),
        ("pos_901/q1", "question"),
    ]
    assert scenario.cluster == "u-5"
    assert [(p.name, p.role) for p in scenario.participants] == [("user", "user"), ("Luke", "assistant")]
    assert "conversation number 3" in (scenario.probes[0].persona or "")


def test_strict_release_asks_without_the_current_session(write: Callable[..., Path]) -> None:
    (scenario,), _ = load(write(positive()), mode="strict-release")
    assert [len(p.recent_turns) for p in scenario.probes] == [2, 0, 0]
    assert scenario.card.settings["direct_qa_context"] == "none"


def test_judge_inputs_of_both_versions_are_kept_apart(write: Callable[..., Path]) -> None:
    (scenario,), _ = load(write(positive()))
    gold = scenario.gold_by_probe[scenario.probes[0].probe_id]
    assert gold.judge_inputs == {
        "cue@1.1": FAIR,
        "expected@1.1": "SECRET paragraph",
        "cue@1.2": "that ceramics fair I told you about",
        "expected@1.2": "SECRET expectation",
        "question@q0": "Which city is the fair in?",
        "question@q1": "How did the user feel?",
    }
    assert gold.expected == "SECRET expectation"
    assert [(f.fact_id, f.text) for f in gold.facts] == [("q0", "Delft"), ("q1", "nervous")]
    assert gold.strata == ("natural", "positive", "re-provision")
    asked = scenario.gold_by_probe[scenario.probes[1].probe_id]
    assert asked.strata == ("direct-qa", "positive", "re-provision")
    assert (asked.answers, [f.text for f in asked.facts]) == (("Delft",), ["Delft"])


def test_a_file_of_version_1_1_has_no_inputs_of_1_2(write: Callable[..., Path]) -> None:
    row = positive()
    row["target"] = {key: row["target"][key] for key in ("ground_truth", "sub_questions")}
    (scenario,), report = load(write(row))
    gold = scenario.gold_by_probe[scenario.probes[0].probe_id]
    assert "cue@1.2" not in gold.judge_inputs
    assert gold.expected == "SECRET paragraph"
    assert report.counts["without judge inputs 1.2"] == 1
    row["target"]["judge_trigger"] = "x"
    _, report = load(write(row))
    assert report.notice_counts == {"half-of-judge-inputs": 1}


def test_negatives_want_no_memory_and_look_like_positives(write: Callable[..., Path]) -> None:
    (scenario,), report = load(write(negative()))
    (probe,) = scenario.probes
    gold = scenario.gold_by_probe[probe.probe_id]
    assert probe.style == "dialog"
    assert (gold.facts, gold.answers, gold.unanswerable) == ((), (), False)
    assert gold.strata == ("natural", "negative")
    assert gold.judge_inputs["prior_summaries"] == "Session 0 (2025/November/05): SECRET summary of the fair."
    assert "SECRET" not in scenario.model_dump_json(exclude={"gold_by_probe"})
    assert report.counts["negatives"] == 1


def test_a_folder_brings_its_negatives(write: Callable[..., Path], tmp_path: Path) -> None:
    write(positive())
    negatives = write(negative(), name="negatives.test.jsonl")
    scenarios, _ = load(tmp_path)
    assert [s.scenario_id for s in scenarios] == ["pos_901", "neg_901"]
    assert [s.card.file for s in scenarios] == ["instances.test.jsonl", "negatives.test.jsonl"]
    both = open_source(f"memuse:{tmp_path}/instances.test.jsonl,negatives={negatives}")
    assert len(list(both)) == 2
    assert len(list(open_source(f"memuse:{tmp_path}/instances.test.jsonl"))) == 1
    with pytest.raises(ConfigError, match="no role 'also'"):
        open_source(f"memuse:{tmp_path},also=x")
    with pytest.raises(DataError, match="an instance id occurs twice"):
        list(open_source(f"memuse:{negatives},negatives={negatives}"))


@pytest.mark.parametrize(
    ("lines", "quote", "before", "text", "notice"),
    [
        (("Hi.", "Hello.", "The fair!"), "The fair!", ["Hi.", "Hello."], "The fair!", None),
        (("Hi.", "Hello."), "The fair!", ["Hi.", "Hello."], "The fair!", "trigger-appended"),
        (("The fair!", "Nice.", "Bye."), "The fair!", [], "The fair!", "current-session-cut"),
        (("Well. The fair!",), "The fair!", [], "Well. The fair!", "trigger-is-part-of-turn"),
        (("Hi.", "", "The  fair!"), "The fair!", ["Hi."], "The  fair!", "empty-turn"),
        ((), "The fair!", [], "The fair!", "trigger-appended"),
    ],
)
def test_wherever_the_trigger_is_it_is_said_once(
    write: Callable[..., Path], lines: tuple[str, ...], quote: str, before: list[str], text: str, notice: str | None
) -> None:
    row = positive()
    row["input"] |= {"current_session": session(2, "2025/November/19", *lines), "trigger_quote": quote}
    (scenario,), report = load(write(row))
    probe = scenario.probes[0]
    assert ([t.text for t in probe.recent_turns], probe.text) == (before, text)
    assert report.notice_counts == ({notice: 1} if notice else {})
    assert probe.now is not None
    assert str(probe.now.date()) == "2025-11-19"


def test_sessions_not_before_the_trigger_never_load(write: Callable[..., Path]) -> None:
    row = positive()
    row["input"]["sessions"].append(session(2, "2025/November/19", "FUTURE"))
    path = write(row)
    with pytest.raises(DataError, match="not before the trigger session") as caught:
        load(path)
    assert (caught.value.record, caught.value.field) == ("line 1 pos_901 sessions[2]", "session_idx")
    (scenario,), report = load(path, lenient=True)
    assert "FUTURE" not in scenario.model_dump_json()
    assert report.notice_counts == {"session-after-trigger": 1}


def test_times_never_go_back_within_one_day(write: Callable[..., Path]) -> None:
    row = positive()
    row["input"]["sessions"][1]["date"] = "2025/November/05"
    row["input"]["current_session"]["date"] = "2025/November/05"
    (scenario,), report = load(write(row))
    times = [turn.at for turn in scenario.turns] + [turn.at for turn in scenario.probes[1].recent_turns]
    known = [at for at in times if at is not None]
    assert len(known) == 7
    assert known == sorted(set(known))
    assert scenario.gold_by_probe[scenario.probes[0].probe_id].strata[-1] == "odd: same date"
    assert report.notice_counts == {"same-date": 1}


def test_odd_instances_and_shared_triggers_are_tagged(write: Callable[..., Path]) -> None:
    rows = [positive(instance_id=name) for name in ("pos_030", "pos_068", "pos_900")]
    scenarios, report = load(write(*rows))
    golds = [s.gold_by_probe[s.probes[0].probe_id] for s in scenarios]
    assert [g.strata[3:] for g in golds] == [
        ("odd: never discussed",),
        ("odd: shared trigger",),
        ("odd: shared trigger",),
    ]
    assert [g.unanswerable for g in golds] == [True, False, False]
    assert report.notice_counts == {"shared-trigger": 2}


def test_corpus_rows_reach_earlier_sessions_only(write: Callable[..., Path]) -> None:
    rows = [
        {
            "user_id": "u-5",
            "session_idx": number,
            "summary": f"summary {number}",
            "turns": [
                {"role": "user", "content": "…", "importance": 0.5 + number},
                {"role": "assistant", "content": ""},
            ],
        }
        for number in range(4)
    ]
    corpus = write(*rows, {**rows[1], "user_id": "other", "summary": "OTHER"}, name="corpus.jsonl")
    path = write(positive())
    (scenario,), report = load(path, roles={"corpus": corpus})
    assert [dict(turn.meta) for turn in scenario.turns] == [
        {"importance": "0.5"},
        {"session_summary": "summary 0"},
        {"importance": "1.5"},
        {"session_summary": "summary 1"},
    ]
    shown = scenario.model_dump_json()
    assert "summary 2" not in shown
    assert "OTHER" not in shown
    assert report.counts["sessions with summary"] == 2
    rows[0]["turns"] = []
    _, report = load(path, roles={"corpus": write(*rows[1:], name="corpus.jsonl")})
    assert report.counts["sessions without corpus row"] == 1
    rows[1]["turns"].reverse()
    _, report = load(path, roles={"corpus": write(*rows, name="corpus.jsonl")})
    assert report.notice_counts == {"corpus-mismatch": 1}


def test_summaries_may_come_from_negatives(write: Callable[..., Path]) -> None:
    summaries = write(negative(), name="negatives.test.jsonl")
    (scenario,), _ = load(write(positive()), roles={"summaries": summaries})
    assert scenario.turns[1].meta == {"session_summary": "SECRET summary of the fair."}


def test_a_bad_record_is_left_out_when_lenient(write: Callable[..., Path]) -> None:
    path = write(positive(user_id=7), positive(instance_id="pos_902"))
    with pytest.raises(DataError, match="record line 1 pos_901, field user_id; seen: 7"):
        load(path)
    scenarios, report = load(path, lenient=True)
    assert [s.scenario_id for s in scenarios] == ["pos_902"]
    assert report.notice_counts == {"skipped-record": 1}


def test_files_of_other_benchmarks_are_named(write: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match="this looks like a LoCoMo file"):
        load(write({"conversation": {}, "qa": []}))
    with pytest.raises(DataError, match="this looks like a MemUse file"):
        path = write(name="one.json")
        path.write_text(json.dumps([positive()]), encoding="utf-8")
        list(open_source(f"locomo:{path}"))


@pytest.mark.data
def test_the_released_samples_load(benchmark_data: Path) -> None:
    instances, negatives = (benchmark_data / f"memuse_{kind}_sample.jsonl" for kind in ("instances", "negatives"))
    if not instances.is_file():
        pytest.skip("the folder has no MemUse samples")
    source = open_source(f"memuse:{instances},negatives={negatives}")
    scenarios = list(source)
    assert [s.scenario_id for s in scenarios] == ["pos_001", "pos_002", "pos_003", "neg_001"]
    counts = source.report.counts
    assert (counts["sub-questions"], counts["sessions"], counts["turns"]) == (12, 25, 338)
    assert source.report.notices == []
    assert {s.cluster for s in scenarios} == {"annotator_11"}
    for scenario in scenarios:
        gold = scenario.gold_by_probe[scenario.probes[0].probe_id]
        visible = scenario.model_dump_json(exclude={"gold_by_probe"})
        for name, text in gold.judge_inputs.items():
            assert name.startswith(("cue", "question")) or not text or text not in visible
