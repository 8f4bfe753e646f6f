"""`scenario list`, `info` and `validate`: what a file holds, with every oddity named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main

NATIVE = """\
id: garden
participants:
  - {name: Ada, role: user}
  - {name: Assistant, role: assistant}
sessions:
  - id: s1
    at: 2024-05-02T09:00:00Z
    turns:
      - {id: t1, speaker: Ada, text: I planted two fig trees.}
probes:
  - id: p1
    style: question
    after: s1
    now: 2024-05-03T09:00:00Z
    ask: What did I plant?
    gold:
      answers: [two fig trees]
      evidence: [%s]
"""


def test_list_names_kinds_and_bundled_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["kind"] for row in document["kinds"]} >= {"demo", "locomo", "native", "stratmem"}
    assert len(document["demo"]) == 6 and all(row["probes"] > 0 for row in document["demo"])
    assert main(["scenario", "list"]) == 0
    out = capsys.readouterr().out
    assert "LoCoMo" in out and "trajectory-en" in out
    assert max(map(len, out.splitlines())) <= 80


def test_info_prints_number_name_and_n_of_strata(
    case_dir: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    spec = f"locomo:{case_dir('DS-04') / 'locomo_like.json'}"
    assert main(["scenario", "info", spec, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(row["title"], row["probes"]) for row in document["strata"]] == [
        ("1 multi-hop", 1),
        ("2 temporal", 2),
        ("3 open-domain", 1),
        ("4 single-hop", 1),
        ("5 adversarial", 1),
        ("1–4 non-adversarial", 5),
        ("unknown(7)", 1),
    ]
    assert document["notice_counts"]["unknown-category"] == 1
    assert len(document["card"]["sha256"]) == 64
    assert main(["scenario", "info", spec]) == 0
    out = capsys.readouterr().out
    assert "unknown(7)" in out and "named after the category numbers of the authors' scorer" in out


def test_info_lists_unresolvable_ids_one_by_one_and_all_notices_when_asked(
    case_dir: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = case_dir("DS-01")
    [source] = [path for path in folder.iterdir() if path.name.endswith(".json") and "expected" not in path.name]
    assert main(["scenario", "info", f"locomo:{source}", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["unresolvable"]
    assert len(document["notices"]) == sum(document["notice_counts"].values())
    assert main(["scenario", "info", f"locomo:{source}", "--all"]) == 0
    out = capsys.readouterr().out
    for row in document["unresolvable"]:
        assert f"  {row['probe']}: {row['seen']!r}" in out
    for notice in document["notices"]:
        assert f"    {notice['where']}: {notice['detail']}" in out


@pytest.mark.data
def test_info_counts_the_published_file(benchmark_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "info", f"locomo:{benchmark_data / 'locomo10.json'}", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    counts = document["counts"]
    assert (counts["conversations"], counts["sessions"], counts["turns"]) == (10, 272, 5882)
    assert (counts["questions"], counts["orphan dates"], counts["missing answers"]) == (1986, 16, 444)
    assert (counts["integer answers"], counts["empty evidence lists"]) == (6, 4)
    assert [row["probes"] for row in document["strata"]] == [282, 321, 96, 841, 446, 1540]
    assert [row["seen"] for row in document["unresolvable"]] == ["D10:19", "D", "D:11:26", "D4:36"]
    assert len(document["conversations"]) == 10


def test_validate_lists_every_problem_of_a_native_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(NATIVE % "t1", encoding="utf-8")
    bad.write_text(NATIVE % "t9", encoding="utf-8")
    assert main(["scenario", "validate", f"native:{good}"]) == 0
    assert capsys.readouterr().out == f"native:{good} is valid\n"
    assert main(["scenario", "validate", f"native:{bad}"]) == 2
    out = capsys.readouterr().out
    assert "1 problem in" in out and "this turn does not exist" in out and "probe p1" in out
    assert main(["scenario", "validate", f"native:{bad}", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert not document["valid"] and document["problems"][0]["field"].endswith("evidence[0]")


def test_validate_other_kinds_by_loading_them(
    tmp_path: Path, make_locomo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scenario", "validate", f"locomo:{make_locomo()}"]) == 0
    assert main(["scenario", "validate", "demo"]) == 0
    cut = tmp_path / "cut.json"
    cut.write_text('[{"sample_id": "a", ', encoding="utf-8")
    capsys.readouterr()
    assert main(["scenario", "validate", f"locomo:{cut}"]) == 2
    assert str(cut) in capsys.readouterr().out


def test_bad_arguments_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "info", "locomoo:x.json"]) == 2
    assert "nearest: locomo" in capsys.readouterr().err
    assert main(["scenario", "info", "locomo:/nowhere/locomo10.json"]) == 2
    assert "/nowhere/locomo10.json" in capsys.readouterr().err
