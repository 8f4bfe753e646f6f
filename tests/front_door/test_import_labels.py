"""Verdicts without conversations: the released judge reports give their own figures, and damaged ones are refused."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.cli import main
from mnemoscope.comparison.comparing import compare_runs
from mnemoscope.comparison.summary import Comparison, Figure
from mnemoscope.core.errors import DataError
from mnemoscope.exports import export_run
from mnemoscope.imports.choosing import chosen_rows
from mnemoscope.imports.detecting import open_rows
from mnemoscope.imports.matching import Found, ProbeIndex, match
from mnemoscope.imports.stubs import VERDICTS_ONLY, stub_scenarios
from mnemoscope.runfile import open_run
from tests.front_door.import_tools import do_import, native, scores, write
from tests.scenarios.mutations import MUTATIONS, dump, mutate, place_of, places

RELEASED = [
    # file, natural integration, direct QA, reference, instances with a referenced fact, the two means over instances
    ("mem0_schema1.1", 42, 131, 23, 18, 0.4132, 0.0750),
    ("letta_schema1.1", 41, 194, 34, 27, 0.6111, 0.1076),
    ("mem0_schema1.2", 20, 134, 23, 18, 0.4236, 0.0750),
    ("letta_schema1.2", 21, 193, 35, 25, 0.6076, 0.1111),
]


def figure(found: Comparison, metric: str, system: str) -> Figure:
    return next(f for f in found.metrics if (f.metric, f.system, f.stratum) == (metric, system, "all"))


def labels(benchmark_data: Path, name: str) -> Path:
    return benchmark_data / "memuse_labels" / f"report_{name}.json"


@pytest.mark.data
@pytest.mark.parametrize(("name", "natural", "direct", "reference", "instances", "macro_qa", "macro_ref"), RELEASED)
def test_released_reports_give_their_own_figures(
    benchmark_data: Path,
    tmp_path: Path,
    name: str,
    natural: int,
    direct: int,
    reference: int,
    instances: int,
    macro_qa: float,
    macro_ref: float,
) -> None:
    done = do_import(tmp_path / "in.db", verdicts=[labels(benchmark_data, name)])
    assert (done.expected, done.failed, done.missing, done.unmatched, done.notes) == (388, 0, (), (), ())
    found = compare_runs([tmp_path / "in.db"])
    for metric, count, n in (
        ("natural-integration", natural, 72),
        ("direct-qa", direct, 316),
        ("reference", reference, 316),
    ):
        row = figure(found, metric, "theirs")
        assert (row.n_scored, row.n_expected, row.clusters) == (n, n, 72)
        assert row.value == pytest.approx(count / n, abs=1e-6)
        assert row.low is not None and row.high is not None and row.value is not None
        assert row.low < row.value < row.high
        assert row.interval == ("wilson" if n == 72 else "cluster-bootstrap")
        assert row.judge_key == f"recorded:report_{name}.json:{done.files[0].sha256[:12]}"
        assert (row.judged, row.evidence, row.kappa) == (True, "imported", None)
    means: dict[str, dict[str, list[float]]] = {"direct-qa": {}, "reference": {}}
    for (probe, _, metric, _), (score, _) in scores(tmp_path / "in.db").items():
        if metric in means and score is not None:
            means[metric].setdefault(probe.partition("/")[0], []).append(score)
    over = {m: [sum(v) / len(v) for v in by.values()] for m, by in means.items()}
    assert round(sum(over["direct-qa"]) / 72, 4) == macro_qa
    assert round(sum(over["reference"]) / 72, 4) == macro_ref
    assert sum(mean > 0 for mean in over["reference"]) == instances


@pytest.mark.data
@pytest.mark.parametrize(
    ("schema", "natural", "direct", "reference"),
    [("1.1", 1.0, 8.8e-8, 0.0522), ("1.2", 1.0, 8.7e-7, 0.0290)],
)
def test_two_reports_are_compared_instance_by_instance(
    benchmark_data: Path, tmp_path: Path, schema: str, natural: float, direct: float, reference: float
) -> None:
    for system in ("mem0", "letta"):
        path = labels(benchmark_data, f"{system}_schema{schema}")
        do_import(tmp_path / f"{system}.db", system=system, verdicts=[path], judge=f"gpt-5.4-nano, inputs {schema}")
    found = compare_runs([tmp_path / "mem0.db", tmp_path / "letta.db"])
    pairs = {pair.metric: pair for pair in found.pairs if pair.stratum == "all"}
    expected = {"natural-integration": natural, "direct-qa": direct, "reference": reference}
    for metric, p in expected.items():
        assert pairs[metric].test == "mcnemar-exact"
        assert pairs[metric].p == pytest.approx(p, rel=0.01)
        assert pairs[metric].comparable
        assert pairs[metric].clusters == 72
    assert not any("several judges" in warning for warning in found.warnings)


@pytest.mark.data
def test_two_files_are_two_judges_unless_the_user_knows_better(benchmark_data: Path, tmp_path: Path) -> None:
    for schema in ("1.1", "1.2"):
        path = labels(benchmark_data, f"mem0_schema{schema}")
        do_import(tmp_path / f"{schema}.db", system=f"mem0 {schema}", verdicts=[path])
    found = compare_runs([tmp_path / "1.1.db", tmp_path / "1.2.db"])
    assert found.pairs == ()
    assert any(w.startswith("natural-integration: verdicts of several judges") for w in found.warnings)


@pytest.mark.data
def test_released_negatives_are_all_zero_with_a_bound(benchmark_data: Path, tmp_path: Path) -> None:
    do_import(tmp_path / "in.db", verdicts=[labels(benchmark_data, "negatives_mem0")])
    found = compare_runs([tmp_path / "in.db"])
    for metric in ("unprompted-recall", "fabricated-recall"):
        row = figure(found, metric, "theirs")
        assert (row.value, row.low, row.n_scored, row.interval) == (0.0, 0.0, 72, "wilson")
        assert row.high == pytest.approx(0.0507, abs=1e-3)


@pytest.mark.data
def test_the_table_shows_a_released_report(
    benchmark_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "in.db")
    path = str(labels(benchmark_data, "mem0_schema1.2"))
    assert main(["import", "--system", "mem0", "--verdicts", path, "--out", out]) == 0
    assert "388 of 388 probes are in the files, 0 failed cells" in capsys.readouterr().out
    assert main(["compare", out]) == 0
    said = capsys.readouterr().out
    assert "natural-integration · memuse" in said
    assert "27.8 [18.8, 39.0]      72/72  imported, verdicts" in said
    assert "316/316" in said
    assert main(["report", out, "--out", str(tmp_path / "r.html")]) == 0


@pytest.mark.data
def test_judged_rows_hold_replies_and_verdicts(benchmark_data: Path, tmp_path: Path) -> None:
    data = f"memuse:{benchmark_data / 'memuse_instances_sample.jsonl'}"
    rows = benchmark_data / "memuse_judged_sample.jsonl"
    done = do_import(tmp_path / "in.db", scenarios=[data], replies=[rows], verdicts=[rows], select="mem0")
    assert done.files[0].form == "memuse-judged"
    expected = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    with open_run(tmp_path / "in.db") as run:
        known = {probe.probe_id for probe in run.probes()}
        cells = {cell.probe_id: cell for cell in run.cells()}
        found = scores(tmp_path / "in.db")
        checked = 0
        for row in expected:
            probe = f"{row['instance_id']}/q{row['question_idx']}"
            if row["system"] == "mem0" and probe in known:
                checked += 1
                assert run.reply_of(cells[probe]).visible_text == row["direct_answer"]
                assert found[probe, 0, "recorded(direct-qa)", "reply"] == (float(row["verdict_direct"]), "scored")
                assert found[probe, 0, "reference", "natural"] == (float(row["verdict_reference"]), "scored")
    assert checked > 0


REPORT: dict[str, Any] = {
    "summary": {"natural_integration": 0.5, "reference": 0.5, "direct_qa": 0.5, "judge_model": "ü"},
    "per_instance": {"pos_ü": {"natural_integration": True}, "pos_2": {"natural_integration": False}},
    "per_sub_question": [
        {"instance_id": "pos_ü", "sub_q_idx": 0, "reference": False, "direct_qa": True},
        {"instance_id": "pos_2", "sub_q_idx": 0, "reference": True, "direct_qa": False},
    ],
}


def test_stubs_are_made_of_ids_alone(tmp_path: Path) -> None:
    for name, labels in (("a", REPORT), ("b", {**REPORT, "summary": {}, "source": {"commit": "x"}})):
        done = do_import(tmp_path / f"{name}.db", system=name, verdicts=[write(tmp_path, f"{name}.json", labels)])
    assert done.notes == ()
    with open_run(tmp_path / "a.db") as one, open_run(tmp_path / "b.db") as two:
        assert [row.sha256 for row in one.scenarios()] == [row.sha256 for row in two.scenarios()]
        assert {row.source_spec for row in one.scenarios()} == {VERDICTS_ONLY}
        assert one.scenarios()[0].card.settings == {"content": VERDICTS_ONLY}
        assert one.systems()[0].mode == "verdicts only"
        assert [row.probe_id for row in one.probes()] == ["pos_2/natural", "pos_2/q0", "pos_ü/natural", "pos_ü/q0"]
        assert one.scenario("pos_2").turns == ()
    export_run(tmp_path / "a.db", "jsonl", tmp_path / "cells.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert {line["reply"] for line in lines} == {None}


def test_a_missing_label_is_not_a_no(tmp_path: Path) -> None:
    labels = json.loads(json.dumps(REPORT))
    labels["per_instance"]["pos_2"]["natural_integration"] = None
    labels["per_sub_question"][0]["direct_qa"] = None
    done = do_import(tmp_path / "in.db", verdicts=[write(tmp_path, "r.json", labels)])
    found = scores(tmp_path / "in.db")
    assert found["pos_2/natural", 0, "natural-integration", "reply"] == (None, "invalid")
    assert found["pos_ü/q0", 0, "direct-qa", "reply"] == (None, "invalid")
    assert done.notes == (
        "r.json: its summary says natural_integration 0.5, its labels give 1/1 = 1.0000; the labels are used",
        "r.json: its summary says direct_qa 0.5, its labels give 0/1 = 0.0000; the labels are used",
    )
    row = figure(compare_runs([tmp_path / "in.db"]), "natural-integration", "theirs")
    assert (row.n_expected, row.n_scored, row.n_invalid, row.value, row.strict) == (2, 1, 1, 1.0, 0.5)


def test_a_column_that_was_not_scored_is_no_metric(tmp_path: Path) -> None:
    labels = json.loads(json.dumps(REPORT))
    for row in labels["per_sub_question"]:
        row["direct_qa"] = None
    do_import(tmp_path / "in.db", verdicts=[write(tmp_path, "r.json", labels)])
    assert {key[2] for key in scores(tmp_path / "in.db")} == {"natural-integration", "reference"}


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ({"unprompted_recall": True, "grounding": 0}, (1.0, 1.0)),
        ({"unprompted_recall": True, "grounding": 2}, (1.0, 0.0)),
        ({"unprompted_recall": False, "grounding": None}, (0.0, 0.0)),
        ({"unprompted_recall": True, "grounding": None}, (1.0, None)),
        ({"unprompted_recall": None, "grounding": None}, (None, None)),
        ({"unprompted_recall": False, "grounding": 0}, None),
        ({"unprompted_recall": True, "grounding": 3}, None),
        ({"unprompted_recall": True, "grounding": True}, None),
        ({"unprompted_recall": "no", "grounding": None}, None),
    ],
)
def test_negatives(
    tmp_path: Path, label: dict[str, object], expected: tuple[float | None, float | None] | None
) -> None:
    path = write(tmp_path, "r.json", {"summary": {}, "per_instance": {"neg_1": label}})
    if expected is None:
        with pytest.raises(DataError, match=r"record per_instance\.neg_1"):
            do_import(tmp_path / "in.db", verdicts=[path])
        return
    do_import(tmp_path / "in.db", verdicts=[path])
    found = scores(tmp_path / "in.db")
    got = tuple(found["neg_1/natural", 0, f"{m}-recall", "reply"][0] for m in ("unprompted", "fabricated"))
    assert got == expected


def test_a_result_file_of_memory_arena(tmp_path: Path) -> None:
    record = {
        "question_id": "studio/n0",
        "answer": "Pixel",
        "error": False,
        "supporting_session_ids": ["answer_1"],
        "supporting_turn_ids": ["answer_1_turn_0"],
        "score": {"judge_score": 70.0, "accuracy": 0.56, "judge_rationale": "close"},
    }
    failed = {**record, "question_id": "studio/n1", "error": True, "score": None}
    unscored = {**record, "question_id": "studio/n2", "score": {"judge_score": None, "accuracy": 0.0}}
    path = write(tmp_path, "a.json", {"strategy": "bm25", "recall_records": [record, failed, unscored]})
    do_import(tmp_path / "alone.db", verdicts=[path])
    found = scores(tmp_path / "alone.db")
    assert found["studio/n0", 0, "judge-score", "reply"] == (0.7, "scored")
    assert found["studio/n1", 0, "judge-score", "reply"] == (None, "error")
    assert found["studio/n2", 0, "judge-score", "reply"] == (None, "invalid")
    assert found["studio/n2", 0, "accuracy", "reply"] == (0.0, "scored")
    spec = f"native:{write(tmp_path, 'studio.json', native())}"
    done = do_import(tmp_path / "in.db", scenarios=[spec], replies=[path], verdicts=[path])
    found = scores(tmp_path / "in.db")
    assert found["studio/n0", 0, "answer-f1", "reply"] == (1.0, "scored")
    assert found["studio/n0", 0, "recall@10", "retrieval"] == (None, "not_applicable")
    assert done.notes == ("3 retrieved ids name nothing in their scenario; they prove nothing",)
    bad = {**record, "score": {"judge_score": 170}}
    path = write(tmp_path, "b.json", {"strategy": "bm25", "recall_records": [bad]})
    with pytest.raises(DataError, match="a number from 0 to 100"):
        do_import(tmp_path / "no.db", verdicts=[path])


# -- damaged files: what must come of each class of damage -----------------------------------------------------------

REFUSED, SAME, OTHER = "refused", "same", "other"
Outcome = str


def read(data: bytes, name: str, part: Any, index: ProbeIndex | None) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        file = open_rows(path)
        rows = list(chosen_rows(file, part, None))
        found = Found()
        match(rows, index or ProbeIndex(stub_scenarios(rows)), part, "key", found)
        return found


def content(found: Found) -> tuple[object, ...]:
    return (found.replies, found.verdicts, [(row.name, row.reason) for row in found.unmatched])


def of_report(kind: str, place: str) -> Outcome:
    if kind in ("byte-order-mark", "crlf"):
        return SAME
    if kind in ("truncated", "wrong-encoding", "repeated-key", "not-a-number"):
        return REFUSED
    if place.startswith("summary"):
        return SAME
    label = place.endswith((".natural_integration", ".reference", ".direct_qa"))
    if kind == "null":
        return OTHER if label or place == "per_sub_question" else REFUSED
    if kind == "dropped-key":
        whole = place in ("per_sub_question", "per_instance.pos_ü", "per_instance.pos_2")
        return OTHER if whole or place.endswith((".reference", ".direct_qa")) else REFUSED
    return REFUSED


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_damaged_report_has_the_outcome_of_its_class(data: st.DataObject) -> None:
    check(data, REPORT, of_report, "report.json", "verdicts", None)


ROWS: list[dict[str, Any]] = [
    {"id": "n0", "query": "Cat?", "reply": "Pixel ü", "system": "theirs"},
    {"id": "n1", "query": "Street?", "reply": "Kanal street", "system": "theirs"},
]


def of_rows(kind: str, place: str) -> Outcome:
    if kind in ("byte-order-mark", "crlf"):
        return SAME
    if kind in ("truncated", "wrong-encoding", "repeated-key", "not-a-number", "huge-integer", "nested-list"):
        return REFUSED
    if kind == "dropped-key":
        return SAME if place.endswith(".query") else REFUSED
    if kind == "null":
        return {"[].query": SAME, "[].reply": OTHER}.get(place, REFUSED)
    return REFUSED


@pytest.fixture(scope="module")
def studio_index(tmp_path_factory: pytest.TempPathFactory) -> ProbeIndex:
    from mnemoscope.config import load_config
    from mnemoscope.engine.grid import load_scenarios

    file = write(tmp_path_factory.mktemp("studio"), "studio.json", native())
    return ProbeIndex(load_scenarios(load_config(None, {"scenarios": (f"native:{file}",)}), lambda _: None))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_damaged_rows_have_the_outcome_of_their_class(studio_index: ProbeIndex, data: st.DataObject) -> None:
    check(data, ROWS, of_rows, "rows.jsonl", "reply", studio_index, ids=(r"\[\]\.id",))


def check(
    data: st.DataObject,
    value: Any,
    outcome_of: Callable[[str, str], Outcome],
    name: str,
    part: str,
    index: ProbeIndex | None,
    ids: tuple[str, ...] = (r"per_sub_question\[\]\.instance_id",),
) -> None:
    kind = data.draw(st.sampled_from([kind for kind in MUTATIONS if places(value, kind, ids=ids)]))
    path = data.draw(st.sampled_from(places(value, kind, ids=ids)))
    lines = name.endswith(".jsonl")
    raw = mutate(value, kind, path, random.Random(data.draw(st.integers(0, 999))), lines=lines)
    outcome, where = outcome_of(kind, place_of(path)), f"{kind} at {place_of(path)}"
    before = read(dump(value, lines=lines).encode(), name, part, index)
    try:
        after = read(raw, name, part, index)
    except DataError as error:
        assert outcome == REFUSED, f"{where}: {error}"
        assert name in error.file, where
        assert kind in ("truncated", "wrong-encoding") or error.record or error.field, f"{where}: {error}"
        return
    except Exception as error:  # a choice of systems is refused too, with the file
        assert outcome == REFUSED and type(error).__name__ == "ConfigError", f"{where}: {error!r}"
        return
    assert outcome != REFUSED, where
    assert (content(after) == content(before)) == (outcome == SAME), where
