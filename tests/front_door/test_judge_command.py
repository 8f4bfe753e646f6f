"""The judge command: what is listed, what a calibration prints and binds, and what an audit shows or refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison.comparing import compare_runs
from mnemoscope.config import RunConfig, load_config
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import parse_spec
from mnemoscope.engine import RunOutcome
from mnemoscope.engine.tools import Tools
from mnemoscope.evaluators.judges.describing import describe_judge
from mnemoscope.evaluators.judges.registry import JudgePorts
from mnemoscope.runfile.reader import open_run
from tests.front_door.import_tools import do_import

Configure = Callable[..., RunConfig]
DoRun = Callable[[RunConfig], RunOutcome]
NEVER = """
from mnemoscope.evaluators.judges.question import Answer


class Never:
    name = "never"

    def key(self, task):
        return "never-1" if task == "answer" else ""

    async def judge(self, question):
        return (Answer("wrong", 0.0, judge_key="never-1"),)
"""
ROWS = [
    {"reply": "Your cat is called Pixel.", "label": "right"},
    {"reply": "I don't know what your cat is called.", "label": "wrong"},
    {"reply": "Your cat is called Mochi.", "label": "wrong"},
    {"reply": "Pixel, if I remember correctly.", "label": "right"},
]


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    file = tmp_path / "labels.jsonl"
    shared = {"metric": "answer", "question": "What is my cat called?", "gold": "Pixel"}
    rows = [{"id": f"r{n}", "cluster": f"c{n % 3}", **shared, **row} for n, row in enumerate(ROWS * 3)]
    rows = [{**row, "id": f"r{n}"} for n, row in enumerate(rows)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_list_says_what_each_judge_can_do_and_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "list", "--json"]) == 0
    found = {entry["judge"]: entry for entry in json.loads(capsys.readouterr().out)["judges"]}
    assert {"offline", "llm", "panel", "recorded"} <= set(found)
    assert {"use", "answer", "correction", "refusal"} <= set(found["offline"]["tasks"])
    assert {"smc", "integration", "answer"} <= set(found["offline"]["metrics"])
    assert "miq" not in found["offline"]["metrics"]
    assert found["llm"]["needs_model"] and not found["offline"]["needs_model"] and not found["recorded"]["needs_model"]
    assert found["llm"]["tasks"]["quality"] is None, "its key has the model in it, and none is configured"
    assert "miq" in found["llm"]["metrics"]
    assert main(["judge", "list", "--judge-model", "openai(model=tiny,base_url=http://127.0.0.1:9/v1)", "--json"]) == 0
    found = {entry["judge"]: entry for entry in json.loads(capsys.readouterr().out)["judges"]}
    assert {"miq", "three-axis", "alignment"} <= set(found["llm"]["metrics"])
    assert "model=tiny" in found["llm"]["tasks"]["quality"]


def test_list_says_how_each_judge_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "list", "--json"]) == 0
    for entry in json.loads(capsys.readouterr().out)["judges"]:
        assert entry["does"] and not entry["problem"], entry
        written = parse_spec(entry["example"])
        required = [one["name"] for one in entry["parameters"] if one["default"] is None]
        assert written.name == entry["judge"] and len(written.args) + len(written.kwargs) >= len(required)
        assert all(one["meaning"] for one in entry["parameters"]), entry["judge"]
    assert main(["judge", "list"]) == 0
    said = capsys.readouterr().out
    assert '--judge "panel(offline+llm(votes=3))"' in said
    assert "missing" not in said and "argument" not in said
    assert max(map(len, said.splitlines())) <= 80


JUDGE = '''
class Counting:
    """Counts words.

    Args:
        least: How many are enough.
    """

    def __init__(self, least, asks=False):
        self.name = "counting"

    def key(self, task):
        return ""

    async def judge(self, question):
        return ()


'''


def test_a_judge_of_a_user_is_described_by_its_signature(tmp_path: Path) -> None:
    path = tmp_path / "counting_judge.py"
    path.write_text(JUDGE, encoding="utf-8")
    sheet = describe_judge(f"{path}:Counting", JudgePorts())
    assert sheet.does == "Counts words." and sheet.example.endswith(":Counting(least=…)")
    assert sheet.parameters == (("least", None, "How many are enough."), ("asks", "False", ""))
    assert sheet.needs_model is None


def test_a_judge_of_a_user_needs_no_model_of_the_run(
    tmp_path: Path, config: Configure, do_run: DoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its verdicts can be given where the endpoint and the key of the replies' model are not at hand."""
    run = do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",), limit=20)).path
    path = tmp_path / "never_judge.py"
    path.write_text(NEVER, encoding="utf-8")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with open_run(run) as found:
        given = {**found.config.model_dump(), "model": "openai(model=gone,base_url=nowhere)", "judge": f"{path}:Never"}
    with Tools(load_config(None, given)) as tools:
        assert tools.judge.key("answer") == "never-1"
        with pytest.raises(ConfigError):
            assert tools.model


def test_a_calibration_shows_beside_its_metric_and_no_other(
    labels: Path, tmp_path: Path, config: Configure, do_run: DoRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",), limit=20)).path
    out = tmp_path / "calibration.json"
    arguments = [
        "judge",
        "calibrate",
        "offline",
        str(labels),
        "--out",
        str(out),
        "--embedder",
        "hash(dim=64)",
        "--json",
    ]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["metrics"]
    assert (one["metric"], one["n"], one["rows"], one["clusters"], one["kappa"]) == ("answer", 12, 12, 3, 1.0)
    assert found["injection"]["steered"]["count"] == 0
    compared = ["compare", str(run), "--metric", "answer", "--metric", "integration", "--json"]
    assert main([*compared, "--calibration", str(out)]) == 0
    figures = json.loads(capsys.readouterr().out)["metrics"]
    kappas = {(f["metric"], f["kappa"], f["kappa_n"]) for f in figures}
    assert ("answer", 1.0, 12) in kappas
    assert ("integration", None, None) in kappas
    assert main(["compare", str(run), "--metric", "answer", "--calibration", str(out)]) == 0
    assert "κ 1.00" in " ".join(capsys.readouterr().out.split())


def test_a_calibrated_task_shows_beside_the_metrics_that_ask_it_under_its_own_name(
    tmp_path: Path, config: Configure, do_run: DoRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",))).path
    labels, out = tmp_path / "use.jsonl", tmp_path / "use.json"
    rows = [
        {"id": f"{n}-{label}", "cluster": f"c{n % 3}", "metric": "use", "reply": reply, "label": label}
        | {"fact": "Pixel is a grey cat.", "utterance": "Who is Pixel?"}
        for n in range(6)
        for label, reply in (("used", "Pixel is a grey cat."), ("not used", "I cannot say."))
    ]
    labels.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    assert main(["judge", "calibrate", "offline", str(labels), "--out", str(out), "--embedder", "hash(dim=64)"]) == 0
    capsys.readouterr()
    compared = ["compare", str(run), "--metric", "integration", "--metric", "answer", "--metric", "timing"]
    assert main([*compared, "--calibration", str(out), "--analysis", "timing", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for figure in found["metrics"]:
        expected = set() if figure["metric"] == "answer" else {"use"}
        assert (figure["kappa"], set(figure["task_kappa"])) == (None, expected), figure["metric"]
        for known in figure["task_kappa"].values():
            assert (known["kappa"], known["n"], known["clusters"]) == (1.0, 12, 3)
    (timing,) = found["analyses"]
    assert any(
        note.startswith("timing judged by") and "uncalibrated; task use: κ 1.00" in note for note in timing["notes"]
    )
    assert any("task use (12 rows, 3 clusters)" in warning for warning in found["warnings"])
    assert main([*compared, "--calibration", str(out)]) == 0
    assert "(uncalibrated; task use: κ 1.00 [ – ] n=12†)" in " ".join(capsys.readouterr().out.split())


def test_a_calibration_of_another_judge_is_named_and_not_used(
    labels: Path, tmp_path: Path, config: Configure, do_run: DoRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",), limit=20)).path
    out = tmp_path / "calibration.json"
    assert main(["judge", "calibrate", "offline", str(labels), "--out", str(out), "--embedder", "hash(dim=64)"]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    document["metrics"][0]["judge_key"] = "offline-answer-0"
    out.write_text(json.dumps(document), encoding="utf-8")
    capsys.readouterr()
    assert main(["compare", str(run), "--metric", "answer", "--calibration", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {figure["kappa_n"] for figure in found["metrics"]} <= {None}
    assert any("offline-answer-0" in warning and "calibrate again" in warning for warning in found["warnings"])


@pytest.mark.data
@pytest.mark.parametrize(("system", "lost", "gained"), [("mem0", 23, 1), ("letta", 22, 2)])
def test_the_two_released_scorings_of_the_same_replies(
    benchmark_data: Path, tmp_path: Path, system: str, lost: int, gained: int, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for version in ("1.1", "1.2"):
        report = benchmark_data / "memuse_labels" / f"report_{system}_schema{version}.json"
        do_import(tmp_path / f"{version}.db", verdicts=[report])
        runs.append(str(tmp_path / f"{version}.db"))
    assert main(["judge", "audit", *runs]) == 2
    assert "not compared unasked" in capsys.readouterr().err
    assert main(["judge", "audit", *runs, "--across", "--json"]) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["audit"]}
    natural = rows["natural-integration"]
    assert (natural["n"], natural["n10"], natural["n01"]) == (72, lost, gained)
    assert natural["p"] < 1e-4 and natural["p_clustered"] < 1e-4
    assert len(natural["changes"]) == lost + gained
    assert {example["reply"] for example in natural["examples"]} == {None}, "these files hold no replies"
    assert main(["judge", "audit", *runs, "--across"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80 and "the reply was not imported" in out
    assert rows["direct-qa"]["n"] == rows["reference"]["n"] == 316


def test_an_audit_of_other_replies_is_refused(
    config: Configure, do_run: DoRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = {"scenarios": ("demo",), "architectures": ("bm25",), "profiles": ("baseline",), "limit": 10}
    one = do_run(config(**shared)).path
    same = do_run(config(**shared, out=tmp_path / "same.db")).path
    other = do_run(config(**shared, k=1, out=tmp_path / "other.db")).path
    capsys.readouterr()
    assert main(["judge", "audit", str(one), str(same), "--across", "--metric", "integration", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["audit"]
    assert (row["n10"], row["n01"], row["changes"]) == (0, 0, [])
    assert main(["judge", "audit", str(one), str(other), "--across"]) == 2
    assert "does not say the same" in capsys.readouterr().err


QUOTING = """
from mnemoscope.evaluators.judges.question import Answer


class Grudging:
    name = "grudging"

    def key(self, task):
        return "grudging-1" if task == "answer" else ""

    async def judge(self, question):
        return (Answer("wrong", 0.0, quote=question.reply[:12], judge_key="grudging-1"),)
"""


def test_an_audit_shows_the_reply_both_labels_and_both_quotes(
    config: Configure, do_run: DoRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",), limit=20)).path
    (tmp_path / "grudging.py").write_text(QUOTING, encoding="utf-8")
    judges = ["--judge", "offline", "--judge", f"{tmp_path / 'grudging.py'}:Grudging"]
    audit = ["judge", "audit", str(run), *judges, "--metric", "answer"]
    assert main([*audit, "--examples", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["audit"]
    (example,) = row["examples"]
    assert row["n10"] > 1 and (example["before"]["label"], example["after"]["label"]) == ("right", "wrong")
    assert example["reply"].startswith(example["after"]["quote"])
    assert main([*audit, "--examples", "1"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("reply: “") == 1 and f"{row['n10'] - 1} more" in out
    said = " ".join(out.split())
    assert "right: quotes" in said and f"→ wrong: quotes “{example['after']['quote'].strip()}”" in said
    assert main([*audit, "--examples", "0"]) == 0
    assert "reply: “" not in capsys.readouterr().out
    assert main([*audit, "--examples", "0", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["audit"]
    assert row["examples"] == [] and len(row["changes"]) == row["n10"]


def test_an_audit_of_two_judges_by_name_judges_what_is_missing(
    config: Configure, do_run: DoRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",), limit=20)).path
    strict = tmp_path / "strict.py"
    strict.write_text(NEVER, encoding="utf-8")
    arguments = ["judge", "audit", str(run), "--judge", "offline", "--judge", f"{strict}:Never", "--metric", "answer"]
    assert main([*arguments, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["audit"]
    assert (row["metric"], row["second"], row["value_second"]) == ("answer", "never-1", 0.0)
    assert row["n01"] == 0
    assert main(["judge", "audit", str(run), "--judge", "nobody-1", "--judge", "offline-answer"]) == 2
    assert "nobody-1" in capsys.readouterr().err


def test_a_run_that_is_judged_already_can_be_recorded_and_given_back(
    config: Configure, do_run: DoRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = do_run(config(scenarios=("demo",), architectures=("bm25",), profiles=("baseline",), limit=20)).path
    said = tmp_path / "said.jsonl"
    recording = ["score", str(run), "--judge", f"recording(offline,file={said})", "--json"]
    assert main(recording) == 0
    assert json.loads(capsys.readouterr().out)["judged_now"] > 0
    written = said.read_bytes()
    assert main(recording) == 0
    assert said.read_bytes() == written, "nothing is said twice"
    capsys.readouterr()
    assert main(["score", str(run), "--judge", f"recorded(file={said})", "--metric", "answer"]) == 0
    found = [f for f in compare_runs([run], metrics=["answer"]).metrics if f.stratum == "all"]
    first, second = sorted(found, key=lambda figure: figure.judge_key)
    assert first.judge_key.startswith("offline-answer") and second.judge_key.startswith("recorded(task=answer")
    assert first.value == second.value and first.n_scored == second.n_scored > 0
