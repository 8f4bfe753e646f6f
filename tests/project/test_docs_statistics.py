"""The page on statistics: its commands run as written, and it names every analysis and every rule."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.evaluators.analyses.registry import ANALYSES
from mnemoscope.evaluators.statistics.config import StatisticsConfig

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")


def test_its_commands_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (config,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "run.toml").write_text(config, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMOSCOPE_CACHE", str(tmp_path / "cache"))
    blocks = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    said = {}
    for line in lines:
        capsys.readouterr()
        assert main(shlex.split(line)[1:]) == 0, line
        said[line] = capsys.readouterr().out
    assert "±5: shown to be less than 5 points apart" in said["mnemoscope compare run.db"]
    analyses = {name: out for line, out in said.items() for name in re.findall(r"--analysis (\S+)", line)}
    assert set(analyses) == {"power", "equivalence", "pooled", "randomisation", "seeds"}
    for name, out in analyses.items():
        assert out.startswith(f"{name} · "), name
    assert " answer " in analyses["seeds"], "two replicates"


def test_it_names_every_analysis_and_every_rule() -> None:
    for name in (*ANALYSES.names(), *StatisticsConfig.model_fields):
        assert f"`{name}`" in PAGE or f"\n{name} = " in PAGE, name
