"""The PRAGMA loader: day order and ties, evidence by index, what stays hidden, joins, and errors with a place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.pragma import PragmaSource, open_pragma
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, Scenario
from mnemoscope.scenarios.replay import ForkAt, HistoryEnd, replay
from mnemoscope.scenarios.source import LoadRequest
from tests.scenarios.pragma_files import Files, small_files, talk, write_files


def load(folder: Path, **choices: Any) -> tuple[list[Scenario], PragmaSource]:
    source = open_pragma(LoadRequest("pragma", folder, **choices))
    return list(source), source


def loaded(folder: Path, files: Files, **choices: Any) -> tuple[list[Scenario], PragmaSource]:
    return load(write_files(folder, files), **choices)


def golds(scenario: Scenario) -> dict[str, Gold]:
    return {probe.probe_id.split("/")[1]: scenario.gold_by_probe[probe.probe_id] for probe in scenario.probes}


def test_the_small_folder_loads_without_a_notice(tmp_path: Path) -> None:
    scenarios, source = loaded(tmp_path, small_files())
    assert [s.scenario_id for s in scenarios] == ["u-1", "u-2"]
    assert source.report.notice_counts == {}
    counts = source.report.counts
    assert [counts[k] for k in ("users", "sessions", "turns", "queries", "queries with rubric")] == [2, 14, 28, 8, 8]
    assert counts["same-day sessions"] == 4
    assert counts["stratum type2-event-correct"] == 2
    assert [s.scenario_id for s in open_source(f"pragma:{tmp_path}")] == ["u-1", "u-2"]


def test_one_user_is_one_scenario_with_four_independent_probes(tmp_path: Path) -> None:
    (scenario, _), _ = loaded(tmp_path, small_files())
    assert scenario.cluster == "u-1"
    assert [p.style for p in scenario.probes] == ["dialog", "recollection", "dialog", "plan"]
    assert {(p.cut.seq, p.cut.turn_id, p.now) for p in scenario.probes} == {
        (14, "s6:2", datetime(2026, 5, 1, tzinfo=UTC))
    }
    events = list(replay(scenario, pool_as_turns=False))
    assert isinstance(events[-2], HistoryEnd)
    assert isinstance(events[-1], ForkAt)
    assert len(events[-1].probes) == 4


def test_days_begin_at_midnight_and_keep_their_order(tmp_path: Path) -> None:
    (scenario, _), _ = loaded(tmp_path, small_files())
    midnight = datetime(2025, 6, 1, tzinfo=UTC)
    assert [s.at for s in scenario.sessions[:3]] == [midnight + timedelta(seconds=n) for n in (0, 2, 4)]
    assert scenario.sessions[3].at == datetime(2025, 8, 1, tzinfo=UTC)
    times = [t.at for t in scenario.turns if t.at is not None]
    assert times == sorted(times)
    assert len(set(times)) == 14


def test_same_day_evidence_precedes_fillers_also_in_an_unsorted_file(tmp_path: Path) -> None:
    files = small_files()
    row = files["full_sessions.json"][0]
    order = [4, 0, 5, 1, 6, 2, 3]  # events, then states, then fillers, as they stand before sorting
    for name in ("timestamps", "session_types", "sessions", "topics"):
        row[name] = [row[name][n] for n in order]
    scenarios, source = loaded(tmp_path, files)
    (sorted_already, *_), _ = loaded(tmp_path, small_files())
    assert scenarios[0].sessions == sorted_already.sessions
    assert golds(scenarios[0]) == golds(sorted_already)
    assert source.report.notice_counts == {"sessions-reordered": 1}


def test_a_filler_before_evidence_of_its_day_is_kept_and_noted(tmp_path: Path) -> None:
    files = small_files()
    row = files["full_sessions.json"][0]
    for name in ("session_types", "sessions", "topics"):
        row[name][1], row[name][2] = row[name][2], row[name][1]
    scenarios, source = loaded(tmp_path, files)
    assert scenarios[0].sessions[1].turns[0].text == "Which kettle?"
    assert source.report.notice_counts["filler-before-evidence"] == 1
    assert source.report.notice_counts["evidence-is-filler"] == 2


def test_gold_points_at_sessions(tmp_path: Path) -> None:
    (scenario, _), _ = loaded(tmp_path, small_files())
    found = golds(scenario)
    assert {name: gold.evidence for name, gold in found.items()} == {
        "type1": ("s0", "s4"),
        "type2": ("s4", "s0"),
        "type3": ("s1", "s5"),
        "type4": ("s5", "s1"),
    }
    assert {gold.evidence_unit for gold in found.values()} == {"session"}
    assert [(f.fact_id, f.text, f.sources) for f in found["type1"].facts] == [
        ("u-1/type1/f1", "The user burnt a café loaf.", ("s0",)),
        ("u-1/type1/f2", "The user sold a café loaf.", ("s4",)),
    ]
    assert [f.sources for f in found["type4"].facts] == [("s5",), ("s1",)]
    assert [gold.strata for gold in found.values()] == [
        ("type1-event-align",),
        ("type2-event-correct",),
        ("type3-traj-align",),
        ("type4-traj-correct",),
    ]
    premise = found["type2"].false_premise
    assert premise is not None
    assert premise.asserted == "When I burnt a café loaf, it sold at once. What now?"
    assert premise.truth == "The user sold a café loaf. The user burnt a café loaf."
    assert premise.sources == ("s4", "s0")
    assert found["type1"].false_premise is found["type3"].false_premise is None


def test_rubrics_and_axes_are_gold(tmp_path: Path) -> None:
    (scenario, _), _ = loaded(tmp_path, small_files())
    gold = golds(scenario)["type3"]
    assert gold.rubric == "alignment: Aligned with type3? 1 or 0.\n\ngrounding: Grounded in type3? 0 to 1."
    assert gold.judge_inputs["alignment"] == "Aligned with type3? 1 or 0."
    assert gold.judge_inputs["axes"] == "Alone <-> Together; Small <-> Large"
    assert gold.judge_inputs["axis labels"] == "alone or together; small or large"
    assert gold.expected is not None
    assert gold.expected.endswith("Axes: Alone <-> Together; Small <-> Large.")
    assert "Axes" not in (golds(scenario)["type1"].expected or "")


def test_nothing_hidden_is_shown(tmp_path: Path) -> None:
    (scenario, _), _ = loaded(tmp_path, small_files())
    shown = "".join(p.model_dump_json() for p in scenario.probes)
    shown += "".join(s.model_dump_json() for s in scenario.sessions)
    for hidden in ("trajectory", "filler", "Kettles", "Alone", "together", "The user", "baker", "trade", "metric"):
        assert hidden not in shown


def test_hidden_fields_change_nothing_that_is_shown(tmp_path: Path) -> None:
    (mine, _), _ = loaded(tmp_path, small_files())
    files = small_files()
    row = files["full_sessions.json"][0]
    row["session_types"], row["topics"], row["persona"] = ["filler"] * 7, ["CANARY"] * 7, "CANARY"
    for query in files["metadata.json"][:4]:
        query["summarized_evidence"] = ["CANARY"]
        query["evidence_session_index"], query["evidence_session_timestamps"] = [6], ["2026-01-01"]
    files["response_metrics.json"] = []
    files["query_data.json"] = []
    (other, _), _ = loaded(tmp_path, files)
    assert (other.sessions, other.probes) == (mine.sessions, mine.probes)


def test_the_persona_is_shown_on_demand_alone(tmp_path: Path) -> None:
    write_files(tmp_path, small_files())
    (scenario, _), source = load(tmp_path, roles={"persona": Path("shown")})
    assert {p.persona for p in scenario.probes} == {"The user is a baker of café loafs."}
    assert source.card.settings["persona"] == "shown"
    (scenario, _), source = load(tmp_path)
    assert {p.persona for p in scenario.probes} == {None}
    with pytest.raises(ConfigError, match="it is shown or hidden"):
        load(tmp_path, roles={"persona": Path("maybe")})
    with pytest.raises(ConfigError, match="pragma has no role 'rubrics'"):
        load(tmp_path, roles={"rubrics": tmp_path})


def test_repeated_evidence_counts_once(tmp_path: Path) -> None:
    files = small_files()
    files["query_data.json"][0]["type2_evid"] = [1, 0, 1]
    query = files["metadata.json"][1]
    query["evidence_session_index"], query["evidence_session_timestamps"] = (
        [4, 0, 4],
        ["2025-09-10", "2025-06-01", "2025-09-10"],
    )
    query["summarized_evidence"] = [query["summarized_evidence"][n] for n in (0, 1, 0)]
    (scenario, _), source = loaded(tmp_path, files)
    gold = golds(scenario)["type2"]
    assert gold.evidence == ("s4", "s0")
    assert len(gold.facts) == 2
    assert [n.where for n in source.report.notices if n.kind == "duplicate-evidence"] == [
        "u-1 type2_evid",
        "[1] (u-1)",
    ]


def test_summaries_in_another_order_find_their_sessions_by_date(tmp_path: Path) -> None:
    files = small_files()
    files["metadata.json"][0]["summarized_evidence"].reverse()
    (scenario, _), _ = loaded(tmp_path, files)
    assert [(f.text[9:14], f.sources) for f in golds(scenario)["type1"].facts] == [
        ("sold ", ("s4",)),
        ("burnt", ("s0",)),
    ]


def test_without_query_data_only_ordered_types_have_sources(tmp_path: Path) -> None:
    files = small_files()
    del files["query_data.json"], files["response_metrics.json"]
    (scenario, _), source = loaded(tmp_path, files)
    found = golds(scenario)
    assert [f.sources for f in found["type2"].facts] == [("s4",), ("s0",)]
    assert [f.sources for f in found["type1"].facts] == [(), ()]
    assert found["type1"].rubric is None
    assert source.report.notice_counts == {"fact-without-session": 4, "missing-file": 2}


def test_files_may_lie_elsewhere(tmp_path: Path) -> None:
    files = small_files()
    (tmp_path / "data").mkdir()
    (tmp_path / "gold").mkdir()
    write_files(tmp_path / "data", {"full_sessions.json": files["full_sessions.json"]})
    write_files(tmp_path / "gold", {"metadata.json": files["metadata.json"]})
    source = open_source(f"pragma:{tmp_path},metadata={tmp_path}/gold/metadata.json")
    assert len(list(source)) == 2
    with pytest.raises(DataError, match="no such file"):
        open_source(f"pragma:{tmp_path}")


def test_joins_that_fail_are_noted(tmp_path: Path) -> None:
    files = small_files()
    files["full_sessions.json"].append({**files["full_sessions.json"][0], "user_id": "u-3"})
    files["metadata.json"][4]["query"] = "Something else?"
    del files["metadata.json"][5]
    files["metadata.json"].append({**files["metadata.json"][0], "user_id": "u-9"})
    files["response_metrics.json"].pop()
    scenarios, source = loaded(tmp_path, files)
    assert len(scenarios) == 2
    assert source.report.notice_counts == {
        "missing-query-type": 1,
        "queries-without-history": 1,
        "query-differs": 1,
        "query-without-rubric": 2,
        "rubric-without-query": 2,
        "user-without-queries": 1,
    }


def test_oddities_are_noted(tmp_path: Path) -> None:
    files = small_files()
    row = files["full_sessions.json"][0]
    row["sessions"][3] = []
    row["sessions"][6] = [*talk("a"), {"role": "user", "content": " "}]
    files["metadata.json"][0]["evidence_session_timestamps"][0] = "2025-06-02"
    files["metadata.json"][2]["query_timestamp"] = "2025-12-31"
    files["metadata.json"][3] |= {
        "evidence_session_index": [],
        "evidence_session_timestamps": [],
        "summarized_evidence": [],
    }
    scenarios, source = loaded(tmp_path, files)
    assert source.report.notice_counts == {
        "empty-evidence": 1,
        "evidence-date-mismatch": 1,
        "session-after-query": 1,
        "session-without-turns": 1,
        "turns-do-not-alternate": 1,
    }
    assert [s.session_id for s in scenarios[0].sessions] == ["s0", "s1", "s2", "s4", "s5", "s6"]
    assert golds(scenarios[0])["type4"].false_premise is None
    assert source.report.counts["empty turns"] == 1


@pytest.mark.parametrize(
    ("name", "row", "changes", "message"),
    [
        ("full_sessions.json", 0, {"user_id": None}, "record [0], field user_id"),
        ("full_sessions.json", 0, {"timestamps": ["2025-06-01"]}, "timestamps (1), sessions (7), session_types (7)"),
        ("full_sessions.json", 0, {"timestamps": ["1 June 2025"] * 7}, "record u-1, field timestamps"),
        ("full_sessions.json", 0, {"session_types": ["chat"] * 7}, "record u-1, field session_types"),
        ("full_sessions.json", 0, {"sessions": [[{"role": "bot", "content": "x"}]] * 7}, "record u-1 session 0 turn 0"),
        ("full_sessions.json", 1, {"user_id": "u-1"}, "a user id occurs twice"),
        ("metadata.json", 1, {"query_type": "type5"}, "record [1] (u-1), field query_type"),
        ("metadata.json", 1, {"query_type": "type1"}, "two queries of type1"),
        ("metadata.json", 1, {"query": "What next with my café loafs?"}, "two queries of one text"),
        ("metadata.json", 1, {"query": " "}, "record [1] (u-1), field query"),
        ("metadata.json", 1, {"query_timestamp": "soon"}, "field query_timestamp"),
        ("metadata.json", 1, {"evidence_session_index": [7, 0]}, "outside the 7 sessions of u-1"),
        ("metadata.json", 1, {"evidence_session_index": [-1, 0]}, "outside the 7 sessions of u-1"),
        ("metadata.json", 1, {"evidence_session_index": [4]}, "differ in length"),
        ("metadata.json", 1, {"evidence_session_index": ["4", 0]}, "field evidence_session_index"),
        ("metadata.json", 1, {"summarized_evidence": "x"}, "field summarized_evidence"),
        ("response_metrics.json", 1, {"alignment_metric": 1}, "record [1] (u-1), field alignment_metric"),
        ("response_metrics.json", 1, {"query": "What next with my café loafs?"}, "a query has two rubrics"),
        ("query_data.json", 0, {"rewritten axes": None}, "record u-1, field rewritten axes"),
        ("query_data.json", 0, {"type2_evid": [0, 2]}, "record u-1, field type2_evid; seen: 2"),
        ("query_data.json", 0, {"type4_evid": [-1, 0]}, "record u-1, field type4_evid; seen: -1"),
        ("query_data.json", 0, {"event_timestamps": []}, "events (2) and event_timestamps (0)"),
        ("query_data.json", 1, {"user_id": "u-1"}, "a user id occurs twice"),
    ],
)
def test_wrong_data_is_one_error_naming_file_and_record(
    tmp_path: Path, name: str, row: int, changes: dict[str, Any], message: str
) -> None:
    files = small_files()
    files[name][row] |= changes
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, files)
    assert message in str(caught.value)
    assert caught.value.file.endswith(name)


def test_a_lenient_load_skips_and_lists(tmp_path: Path) -> None:
    files = small_files()
    files["full_sessions.json"][0]["sessions"][0] = "x"
    files["metadata.json"][5]["query"] = 3
    scenarios, source = loaded(tmp_path, files, lenient=True)
    assert [(s.scenario_id, len(s.probes)) for s in scenarios] == [("u-2", 3)]
    assert [n.where for n in source.report.notices if n.kind == "skipped-record"] == ["metadata.json [5]", "u-1"]


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"full_sessions.json": [{"conversation": {}, "qa": []}], "metadata.json": []})
    with pytest.raises(DataError, match="looks like a LoCoMo file"):
        load(tmp_path)
    write_files(tmp_path, {"full_sessions.json": []})
    with pytest.raises(DataError, match="the file holds no user"):
        load(tmp_path)
    write_files(tmp_path, small_files())
    with pytest.raises(DataError, match="use pragma:"):
        list(open_source(f"locomo:{tmp_path / 'full_sessions.json'}"))
