"""Rows that no run writes, and code of others that fails while it is opened: named, and no figure is made of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.agents.gateway.local import weights
from mnemoscope.cli import main
from mnemoscope.config import RunConfig, load_config
from mnemoscope.core.errors import ConfigError
from mnemoscope.engine import RunOutcome

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]


@pytest.fixture
def made(config: Configure, do_run: DoRun) -> Path:
    return do_run(config(scenarios=("demo",), architectures=("none",), limit=2)).path


def test_impossible_rows_are_named_with_table_row_value_and_what_to_do(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = "(SELECT max(cell_id) FROM cell)"
    harms = {
        f"UPDATE verdict SET status = 'great' WHERE cell_id = {one}": ("verdict", "status is 'great'"),
        f"UPDATE verdict SET agreement = 1.5 WHERE cell_id = {one}": ("verdict", "agreement is 1.5"),
        f"UPDATE verdict SET score = 9e999 WHERE cell_id = {one} AND status = 'scored'": ("verdict", "score is inf"),
        f"UPDATE verdict SET score = NULL WHERE cell_id = {one}": ("verdict", "score is None"),
        "UPDATE verdict SET cell_id = 4711 WHERE cell_id = (SELECT max(cell_id) FROM cell)": ("verdict", "cell 4711"),
        f"UPDATE cell SET status = 'fine' WHERE cell_id = {one}": ("cell", "status is 'fine'"),
        f"UPDATE cell SET probe_id = 'nowhere' WHERE cell_id = {one}": ("cell", "probe_id is 'nowhere'"),
        "UPDATE lane SET status = 'half'": ("lane", "status is 'half'"),
    }
    whole = made.read_bytes()
    for n, (harm, (table, said)) in enumerate(harms.items()):
        path = tmp_path / f"harmed{n}.db"
        path.write_bytes(whole)
        with sqlite3.connect(path) as db:
            assert db.execute(harm).rowcount > 0, harm
        db.close()
        assert main(["compare", str(path)]) == 2
        error = capsys.readouterr().err
        assert f"is damaged: table {table}, row " in error and said in error and "make the run again" in error, harm


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("    def __init__(self): raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("    def __init__(self): raise KeyError('token')", "KeyError: 'token'"),
        ("    def __init__(self): raise SystemExit(0)", "SystemExit: 0"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_judge_of_ones_own_that_fails_while_it_is_opened_is_named(
    body: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own_judge.py"
    file.write_text(f"{body}\n" if body.startswith("raise") else f"class Mine:\n{body}\n", encoding="utf-8")
    out = ["--out", str(tmp_path / "run.db")]
    asked = ["run", "--scenario", "demo", "--limit", "1", "--architecture", "none", "--judge", f"{file}:Mine"]
    assert main([*asked, *out]) == 2
    error = capsys.readouterr().err
    assert "own_judge.py:Mine" in error and said in error


def test_a_switch_is_no_margin(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[statistics]\nequivalence_margin = true\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"share and no switch; write a number such as 0\.05.*seen: True"):
        load_config(file, {})


def test_weights_that_may_not_be_read_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    known = next(iter(weights.PULLABLE.values()))
    monkeypatch.setattr(type(known), "path", property(lambda self: tmp_path / "model.gguf"))
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(weights, "file_sha256", refuse)
    with pytest.raises(ConfigError, match=r"cannot be read: Permission denied; give read permission"):
        weights.find_weights(known.name)
