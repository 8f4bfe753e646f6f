"""The page on judging: its commands run as written, and its figures are those of the bundled calibration."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.evaluators.calibration.library import bundled_calibrations

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "judging.md").read_text(encoding="utf-8")
RELEASED = "report_mem0"


def commands() -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [shlex.split(line)[1:] for line in lines]


def test_its_commands_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (labels,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    (judge,) = re.findall(r"```python\n# verbatim\.py\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "labels.jsonl").write_text(labels, encoding="utf-8")
    (tmp_path / "verbatim.py").write_text(judge, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for arguments in commands():
        if any(RELEASED in argument for argument in arguments) or "v1.1.db" in arguments:
            continue
        assert main(arguments) == 0, arguments


@pytest.mark.data
def test_the_two_released_scorings_print_what_it_says(
    benchmark_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("1.1", "1.2"):
        report = f"{RELEASED}_schema{version}.json"
        (tmp_path / report).write_bytes((benchmark_data / "memuse_labels" / report).read_bytes())
    monkeypatch.chdir(tmp_path)
    for arguments in commands():
        if any(RELEASED in argument for argument in arguments):
            assert main(arguments) == 0
        elif "v1.1.db" in arguments:
            capsys.readouterr()
            assert main([*arguments, "--json"]) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["audit"]}
    assert "58.3 % to 27.8 %" in PAGE and "41.5 % to 42.4 %" in PAGE
    natural, direct = rows["natural-integration"], rows["direct-qa"]
    assert [round(100 * natural[f"value_{side}"], 1) for side in ("first", "second")] == [58.3, 27.8]
    assert [round(100 * direct[f"value_{side}"], 1) for side in ("first", "second")] == [41.5, 42.4]
    assert (natural["n10"], natural["n01"]) == (23, 1)


def test_its_table_is_the_bundled_calibration() -> None:
    (found,) = bundled_calibrations()
    for one in found.metrics:
        assert one.kappa is not None and one.low is not None and one.high is not None
        assert one.sensitivity.value is not None and one.specificity.value is not None
        short = [f"{value:.2f}".removeprefix("0") for value in (one.kappa, one.low, one.high)]
        rates = [f"{rate.value:.2f}".removeprefix("0") for rate in (one.sensitivity, one.specificity)]
        cells = (f"`{one.metric}`", one.n, one.clusters, f"{short[0]} [{short[1]}, {short[2]}]", *rates)
        line = f"| {' | '.join(map(str, cells))} |"
        assert line in PAGE, line
