"""Imports: matched by id and listed where not, judged like a run of our own, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison.comparing import compare_runs
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, DataError, RunFileError, UnknownNameError
from mnemoscope.exports import export_run
from mnemoscope.runfile import open_run
from tests.front_door.import_tools import do_import, native, scores, write
from tests.scenarios.locomo_conv_files import cluster, dialog
from tests.scenarios.test_memuse_loader import negative, positive

Studio = Callable[..., dict[str, Any]]


@pytest.fixture
def studio(tmp_path: Path) -> list[str]:
    """The small scenario: four questions."""
    return [f"native:{write(tmp_path, 'studio.json', native())}"]


def refused(tmp_path: Path, match: str, **parts: Any) -> DataError:
    """The refusal of an import, which leaves nothing behind."""
    with pytest.raises(DataError, match=match) as caught:
        do_import(tmp_path / "no.db", **parts)
    assert not list(tmp_path.glob("no.db*"))
    return caught.value


@pytest.mark.parametrize("system", ["bm25@baseline", "dense@slots", "full-context@baseline", "none@baseline"])
def test_an_export_comes_back_with_the_same_scores(
    tmp_path: Path, config: Callable[..., RunConfig], do_run: Callable[..., Any], system: str
) -> None:
    do_run(config(scenarios=("demo",), systems=(system,), limit=16))
    export_run(tmp_path / "run.db", "jsonl", tmp_path / "cells.jsonl")
    asked = {probe for probe, *_ in scores(tmp_path / "run.db")}
    lines = (tmp_path / "cells.jsonl").read_text(encoding="utf-8")
    done = do_import(tmp_path / "back.db", scenarios=["demo"], replies=[tmp_path / "cells.jsonl"])
    assert (done.files[0].form, done.files[0].rows, len(done.unmatched)) == ("mnemoscope", 16, 0)
    back = {key: value for key, value in scores(tmp_path / "back.db").items() if key[0] in asked}
    assert back == scores(tmp_path / "run.db")
    assert done.failed == len(done.missing) == done.expected - 16
    export_run(tmp_path / "back.db", "jsonl", tmp_path / "again.jsonl")
    first, again = (
        {row["probe_id"]: (row["reply"], row["retrieval"] and row["retrieval"]["items"], row["plan"]) for row in rows}
        for rows in (
            [json.loads(line) for line in text.split("\n")[:-1]]
            for text in (lines, (tmp_path / "again.jsonl").read_text(encoding="utf-8"))
        )
    )
    assert {probe: again[probe] for probe in first} == first


def test_answers_are_matched_by_id_whatever_their_order(
    tmp_path: Path, studio: list[str], case_dir: Callable[[str], Path]
) -> None:
    folder = case_dir("RN-10")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["answers_shuffled.json"]
    done = do_import(tmp_path / "in.db", scenarios=studio, replies=[folder / "answers_shuffled.json"])
    right = [
        p
        for (p, _, metric, _), (score, _) in scores(tmp_path / "in.db").items()
        if metric == "answer-f1" and score == 1
    ]
    assert right == [f"studio/{name}" for name in expected["correct"]]
    assert list(done.missing) == [f"studio/{name}" for name in expected["missing"]]
    assert (done.expected, done.failed) == (4, 1)
    with open_run(tmp_path / "in.db") as run:
        assert run.is_complete
        [missing] = [cell for cell in run.cells() if cell.status == "error"]
        assert (missing.probe_id, missing.error_cause) == ("studio/n1", "missing")
        [system] = run.systems()
        assert (system.name, system.evidence_class, system.privileged) == ("theirs", "imported", False)


def test_answers_without_ids_are_refused(tmp_path: Path, studio: list[str], case_dir: Callable[[str], Path]) -> None:
    path = case_dir("RN-10") / "answers_no_ids.json"
    error = refused(tmp_path, "3 rows without ids", scenarios=studio, replies=[path])
    assert "matched by id, never by position" in str(error)
    rows = write(tmp_path, "rows.jsonl", [{"id": "n0", "reply": "Pixel"}, {"reply": "kiln"}])
    error = refused(tmp_path, "a row without an id", scenarios=studio, replies=[rows])
    assert error.record == "line 2"


def test_missing_and_unknown_instances_are_counted_and_listed(tmp_path: Path, case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("MT-03")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    target = positive()["target"] | {"sub_questions": [{"question": f"Q{n}?", "answer": f"A{n}"} for n in range(4)]}
    known = [entry["id"] for entry in json.loads((folder / "instances.json").read_text(encoding="utf-8"))]
    data = write(tmp_path, "i.jsonl", [*(positive(instance_id=i, target=target) for i in known), negative()])
    done = do_import(tmp_path / "in.db", scenarios=[f"memuse:{data}"], replies=[folder / "responses.json"])
    natural = [name.removesuffix("/natural") for name in done.missing if name.endswith("/natural")]
    assert natural == expected["missing"]
    assert len(done.missing) - len(natural) == expected["sub_answers"]["missing_listed"]
    assert done.expected == expected["n_expected"] + expected["sub_answers"]["expected"]
    assert [(row.name, row.reason) for row in done.unmatched] == [("pos_99/natural", "no such scenario")]
    assert done.unmatched[0].record == "natural.pos_99"
    assert done.notes == ("left out of the run, because no row is about them: 1 negative dialog probes of memuse",)
    with open_run(tmp_path / "in.db") as run:
        cells = [cell for cell in run.cells() if cell.probe_id.endswith("/natural")]
        assert [cell.status for cell in cells].count("ok") == expected["n_answered"]
        assert len(cells) == expected["n_expected"]
    figure = next(
        f for f in compare_runs([tmp_path / "in.db"]).metrics if f.metric == "integration" and f.stratum == "all"
    )
    assert sum(figure.n_error.values()) == len(done.missing)
    assert (figure.n_expected, figure.n_scored) == (25, 9)


def test_error_markers_are_failures_not_replies(tmp_path: Path, studio: list[str]) -> None:
    rows = [
        {"id": "n0", "reply": "[ERROR: rate limit]"},
        {"id": "n1", "reply": "Kanal street", "error": "cut off"},
        {"id": "n2", "reply": None},
        {"id": "n3", "reply": "I read [ERROR: 5] on the kiln."},
    ]
    done = do_import(tmp_path / "in.db", scenarios=studio, replies=[write(tmp_path, "r.jsonl", rows)])
    with open_run(tmp_path / "in.db") as run:
        errors = {cell.probe_id: cell.error for cell in run.cells()}
        assert errors == {
            "studio/n0": "recorded: rate limit",
            "studio/n1": "recorded: cut off",
            "studio/n2": "missing: reply is null",
            "studio/n3": None,
        }
        assert all(run.reply_of(cell).visible_text == "" for cell in run.cells() if cell.status == "error")
    assert (done.failed, done.missing) == (3, ())
    assert {v[1] for k, v in scores(tmp_path / "in.db").items() if k[0] == "studio/n0"} == {"error"}


def test_an_empty_reply_is_a_reply(tmp_path: Path, studio: list[str]) -> None:
    done = do_import(
        tmp_path / "in.db", scenarios=studio, replies=[write(tmp_path, "r.jsonl", [{"id": "n0", "reply": ""}])]
    )
    assert done.failed == 3
    assert scores(tmp_path / "in.db")["studio/n0", 0, "answer-f1", "reply"] == (0.0, "scored")


def test_what_was_retrieved_is_scored_without_a_reply(tmp_path: Path, studio: list[str]) -> None:
    rows = [
        {"id": "n0", "retrieved": ["t0", "t3"]},
        {"id": "n1", "retrieved": [{"text": "moved to Kanal street", "turn_ids": ["t1"], "score": 0.5}]},
        {"id": "n2", "retrieved": ["day"]},
        {"id": "n3", "retrieved": ["x9"]},
    ]
    done = do_import(tmp_path / "in.db", scenarios=studio, retrievals=[write(tmp_path, "r.jsonl", rows)])
    found = scores(tmp_path / "in.db")
    assert found["studio/n0", 0, "recall@10", "retrieval"] == (1.0, "scored")
    assert found["studio/n0", 0, "precision@10", "retrieval"] == (0.5, "scored")
    assert found["studio/n1", 0, "recall@1", "retrieval"] == (1.0, "scored")
    assert found["studio/n2", 0, "recall@10", "retrieval"] == (0.0, "scored")
    assert found["studio/n2", 0, "recall(10,provenance=loose)", "retrieval"] == (1.0, "scored")
    assert found["studio/n3", 0, "recall@10", "retrieval"] == (None, "not_applicable")
    assert not [key for key in found if key[2] in ("answer-f1", "integration")]
    assert {key[0] for key in found if key[2].startswith(("recall-text", "recall-tokens"))} == {"studio/n1"}
    assert done.notes == ("1 retrieved ids name nothing in their scenario; they prove nothing",)
    export_run(tmp_path / "in.db", "jsonl", tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")[0])["reply"] is None


def test_verdicts_stand_beside_our_own_under_their_own_key(tmp_path: Path, studio: list[str]) -> None:
    replies = write(tmp_path, "r.jsonl", [{"id": f"n{n}", "reply": "kiln"} for n in range(4)])
    rows = [
        {"id": "n0", "metric": "helpful", "verdict": True, "quote": "kiln"},
        {"id": "n1", "metric": "helpful", "verdict": "no"},
        {"id": "n2", "metric": "helpful", "score": None},
        {"id": "n0", "metric": "answer-f1", "score": 0.25},
    ]
    verdicts = write(tmp_path, "judge.jsonl", rows)
    done = do_import(tmp_path / "in.db", scenarios=studio, replies=[replies], verdicts=[verdicts])
    found = scores(tmp_path / "in.db")
    assert [found[f"studio/n{n}", 0, "helpful", "reply"] for n in range(4)] == [
        (1.0, "scored"),
        (0.0, "scored"),
        (None, "invalid"),
        (None, "error"),
    ]
    assert found["studio/n0", 0, "answer-f1", "reply"] == (0.0, "scored")
    assert found["studio/n0", 0, "recorded(answer-f1)", "reply"] == (0.25, "scored")
    assert done.notes == ("verdicts on metrics that are scored here too are named recorded(answer-f1)",)
    with open_run(tmp_path / "in.db") as run:
        keys = {row.judge_key for row in run.verdict_rows("helpful")}
    assert keys == {f"recorded:judge.jsonl:{done.files[1].sha256[:12]}"}
    figure = next(f for f in compare_runs([tmp_path / "in.db"], ["helpful"]).metrics if f.stratum == "all")
    assert (figure.n_expected, figure.n_scored, figure.n_invalid, figure.n_error) == (4, 2, 1, {"missing": 1})
    assert (figure.value, figure.judged) == (0.5, True)


@pytest.mark.parametrize(
    ("rows", "said", "record"),
    [
        ([{"id": "n0", "reply": "a"}, {"id": "n0", "reply": "b"}], "a second reply for one probe", "line 2"),
        ([{"id": "n0", "reply": "a"}, {"id": "studio/n0", "reply": "b"}], "a second reply for one probe", "line 2"),
        (
            [{"id": "n0", "reply": "a"}, {"id": "x", "reply": "b"}, {"id": "x", "reply": "c"}],
            "an id occurs twice",
            "line 3",
        ),
        ([{"id": "n0", "reply": 5}], "expected a text", "line 1"),
        ([{"id": "n0", "reply": ["a"]}], "expected a text", "line 1"),
        ([{"id": 0, "reply": "a"}], "expected a text", "line 1"),
        ([{"id": " ", "reply": "a"}], "expected a text that is not blank", "line 1"),
        ([{"id": "n0", "query": "Street?", "reply": "a"}], "the utterance is not the one of that probe", "line 1"),
        ([{"id": "n0", "reply": "a", "replicate": -1}], "a whole number from 0 to 999", "line 1"),
        ([{"id": "n0", "reply": "a"}, "text"], "expected an object", "line 2"),
        ([{"id": "n0", "verdict": True}], "the row holds no reply", "line 1"),
        ([{"id": "zz", "reply": "a"}], "none of 1 rows is about a probe", "line 1"),
    ],
)
def test_bad_replies_are_refused_with_their_place(
    tmp_path: Path, studio: list[str], rows: list[object], said: str, record: str
) -> None:
    error = refused(tmp_path, said, scenarios=studio, replies=[write(tmp_path, "r.jsonl", rows)])
    assert error.record == record
    assert "r.jsonl" in error.file


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"metric": "m", "verdict": "false"}, "true, false, yes or no"),
        ({"metric": "m", "verdict": 1}, "true, false, yes or no"),
        ({"metric": "m", "score": 10}, "a share from 0 to 1"),
        ({"metric": "m", "score": "0.5"}, "expected a number"),
        ({"metric": "m", "score": True}, "expected a number"),
        ({"metric": "m", "score": 10**400}, "expected a number"),
        ({"metric": " ", "score": 1}, "a text that is not blank"),
        ({"metric": "m", "score": 1, "status": "fine"}, "one of scored"),
        ({"reply": "x"}, "the row holds no verdict"),
    ],
)
def test_bad_verdicts_are_refused(tmp_path: Path, studio: list[str], row: dict[str, object], said: str) -> None:
    path = write(tmp_path, "v.jsonl", [{"id": "n0", **row}])
    error = refused(tmp_path, said, scenarios=studio, verdicts=[path])
    assert error.record == "line 1"


def test_an_id_of_two_scenarios_needs_the_scenario(tmp_path: Path) -> None:
    files = [write(tmp_path, f"{name}.json", native(name=name)) for name in ("one", "two")]
    spec = [f"native:{file}" for file in files]
    rows = write(tmp_path, "r.jsonl", [{"id": "n0", "reply": "Pixel"}])
    refused(tmp_path, "an id that fits several probes.*one: one/n0, two: two/n0", scenarios=spec, replies=[rows])
    rows = write(tmp_path, "r.jsonl", [{"id": "n0", "scenario_id": "two", "reply": "Pixel"}])
    done = do_import(tmp_path / "in.db", scenarios=spec, replies=[rows])
    assert done.failed == 7
    assert "two/n0" not in done.missing


def test_a_file_of_several_systems_needs_a_choice(tmp_path: Path, studio: list[str]) -> None:
    rows = [{"id": "n0", "system": name, "reply": name} for name in ("a", "b")]
    path = write(tmp_path, "r.jsonl", rows)
    with pytest.raises(ConfigError, match=r"holds several systems \(a, b, …\); choose one with --select"):
        do_import(tmp_path / "in.db", scenarios=studio, replies=[path])
    with pytest.raises(UnknownNameError, match="nearest: a, b"):
        do_import(tmp_path / "in.db", scenarios=studio, replies=[path], select="c")
    do_import(tmp_path / "in.db", scenarios=studio, replies=[path], select="b")
    with open_run(tmp_path / "in.db") as run:
        [cell] = [cell for cell in run.cells() if cell.status == "ok"]
        assert run.reply_of(cell).visible_text == "b"


def test_replicates_are_kept_apart(tmp_path: Path, studio: list[str]) -> None:
    rows = [{"id": "n0", "replicate": n, "reply": f"Pixel {n}"} for n in range(2)]
    done = do_import(tmp_path / "in.db", scenarios=studio, replies=[write(tmp_path, "r.jsonl", rows)])
    assert (done.expected, done.failed) == (8, 6)
    assert done.missing[:2] == ("studio/n1 r0", "studio/n1 r1")
    with open_run(tmp_path / "in.db") as run:
        assert run.meta.replicates == 2
        assert run.is_complete


def test_a_choice_of_probes_can_be_imported_alone(tmp_path: Path, studio: list[str]) -> None:
    path = write(tmp_path, "r.jsonl", [{"id": "n0", "reply": "Pixel"}, {"id": "x", "reply": "?"}])
    done = do_import(tmp_path / "in.db", scenarios=studio, replies=[path], partial=True)
    assert (done.expected, done.failed, done.missing, len(done.unmatched)) == (1, 0, (), 1)
    assert done.notes == ("left out of the run, because no row is about them: 3 question probes of native",)


def test_arguments_that_cannot_work(tmp_path: Path, studio: list[str]) -> None:
    path = write(tmp_path, "r.jsonl", [{"id": "n0", "reply": "x"}])
    taken = tmp_path / "taken.db"
    taken.write_bytes(b"mine")
    for match, kind, parts in (
        ("nothing to import", ConfigError, {"scenarios": studio}),
        ("add --scenario", ConfigError, {"replies": [path]}),
        ("one line of visible text", ConfigError, {"scenarios": studio, "replies": [path], "system": "a\nb"}),
        ("one line of visible text", ConfigError, {"scenarios": studio, "replies": [path], "system": " "}),
    ):
        with pytest.raises(kind, match=match):
            do_import(tmp_path / "in.db", **parts)
    with pytest.raises(RunFileError, match="exists and was not touched"):
        do_import(taken, scenarios=studio, replies=[path])
    assert taken.read_bytes() == b"mine"
    with pytest.raises(RunFileError, match="there is no folder"):
        do_import(tmp_path / "none" / "in.db", scenarios=studio, replies=[path])


def test_the_command_lists_what_did_not_fit(
    tmp_path: Path, studio: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": "n0", "reply": "Pixel"}, *({"id": f"x{n}", "reply": "?"} for n in range(25))]
    path = str(write(tmp_path, "r.jsonl", rows))
    call = ["import", "--scenario", studio[0], "--system", "theirs", "--replies", path, "--out"]
    assert main([*call, str(tmp_path / "a.db")]) == 1
    said = capsys.readouterr()
    assert "1 of 4 probes are in the files, 3 failed cells" in said.out
    assert "rows without a probe: 25\n" in said.err
    assert f"  {path}, line 2: x0: no such probe\n" in said.err
    assert "… and 5 more; --json lists all" in said.err
    assert "probes without a row: 3\n" in said.err
    assert main([*call, str(tmp_path / "b.db"), "--max-failed", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["unmatched"]) == 25
    assert document["unmatched"][24] == {"file": path, "record": "line 26", "name": "x24", "reason": "no such probe"}
    assert document["missing"] == ["studio/n1", "studio/n2", "studio/n3"]
    assert document["cells"] == {"expected": 4, "failed": 3}
    assert main([*call, str(tmp_path / "b.db")]) == 2


def test_locomo_conv_responses_come_back(
    tmp_path: Path, config: Callable[..., RunConfig], do_run: Callable[..., Any]
) -> None:
    main_file = write(tmp_path, "locomo10_dialog.json", dialog())
    composed = write(tmp_path, "multimem.json", [cluster(0, 0)])
    spec = f"locomo-conv:{main_file},composed={composed}"
    do_run(config(scenarios=(spec,), systems=("bm25@baseline",)))
    export_run(tmp_path / "run.db", "locomo-conv", tmp_path / "responses.json")
    records = json.loads((tmp_path / "responses.json").read_text(encoding="utf-8"))
    # The second conversation has neither a cluster nor a published id; its rows are told by question and utterance.
    assert {record["sample_idx"] for record in records} == {0, None}
    done = do_import(tmp_path / "in.db", scenarios=[spec], replies=[tmp_path / "responses.json"])
    assert (done.files[0].form, done.expected, done.failed, done.unmatched) == ("locomo-conv-responses", 23, 0, ())
    kept = {k: v for k, v in scores(tmp_path / "run.db").items() if k[2] in ("integration", "answer-f1", "correction")}
    back = scores(tmp_path / "in.db")
    assert {key: back[key] for key in kept} == kept
    assert len(kept) > 20


def test_the_notes_of_a_chain_of_thought_are_never_the_reply(tmp_path: Path) -> None:
    main_file = write(tmp_path, "locomo10_dialog.json", dialog()[:1])
    composed = write(tmp_path, "multimem.json", [cluster(0, 0)])
    record = {
        "style": "dialog",
        "sample_idx": 0,
        "q_idx": 0,
        "query": dialog()[0]["qa"][0]["dialog_query"],
        "variant": "cot_select",
        "system": "BM25",
        "k": 10,
        "response": "<thinking>watercolour</thinking><response>No idea.</response>",
        "response_only": "No idea.",
        "error": None,
    }
    parts: dict[str, Any] = {"scenarios": [f"locomo-conv:{main_file},composed={composed}"]}
    do_import(tmp_path / "in.db", replies=[write(tmp_path, "r.json", [record])], **parts)
    with open_run(tmp_path / "in.db") as run:
        [cell] = [cell for cell in run.cells() if cell.status == "ok"]
        assert run.reply_of(cell).visible_text == "No idea."
        assert "watercolour" in run.reply_of(cell).reasoning
    both = [record, {**record, "k": 5}]
    with pytest.raises(ConfigError, match=r"several systems \(cot_select/BM25/10, cot_select/BM25/5, …\)"):
        do_import(tmp_path / "b.db", replies=[write(tmp_path, "r.json", both)], **parts)
    other = {**record, "query": "something else"}
    refused(tmp_path, "the utterance is not the one", replies=[write(tmp_path, "r.json", [other])], **parts)


def test_a_retrieval_cache_is_read_by_the_names_of_folder_and_file(tmp_path: Path) -> None:
    main_file = write(tmp_path, "locomo10_dialog.json", dialog()[:1])
    composed = write(tmp_path, "multimem.json", [cluster(0, 0)])
    (tmp_path / "sample_0").mkdir()
    rows = [
        {"q_idx": 0, "docs": ["a", "b"], "retrieved_chunk_dia_ids": [["D2:01 ", "D1:1"], ["D1:2"]], "scores": [2, 1.0]},
        {"q_idx": 1, "docs": ["a"], "retrieved_metadata": [{"dia_ids": "D1:1, D2:1", "timestamp": "x"}]},
        {"q_idx": 3, "docs": ["nothing known"]},
    ]
    cache = write(tmp_path / "sample_0", "queries_solutions_dialog_query.json", rows)
    spec = f"locomo-conv:{main_file},composed={composed}"
    do_import(tmp_path / "in.db", scenarios=[spec], retrievals=[cache])
    found = scores(tmp_path / "in.db")
    assert found["talk-1/q0/dialog", 0, "recall@1", "retrieval"] == (1.0, "scored")
    assert found["talk-1/q0/dialog", 0, "precision@5", "retrieval"] == (0.333333, "scored")
    assert found["talk-1/q1/dialog", 0, "recall@1", "retrieval"] == (1.0, "scored")
    assert found["talk-1/q3/dialog", 0, "recall@1", "retrieval"] == (None, "not_applicable")
    broken = [{**rows[0], "retrieved_chunk_dia_ids": [["D2:1"]]}]
    path = write(tmp_path / "sample_0", "queries_solutions_implicit_query.json", broken)
    refused(tmp_path, r"an entry per doc \(2\)", scenarios=[spec], retrievals=[path])
