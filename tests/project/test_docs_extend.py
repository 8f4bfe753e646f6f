"""docs/extend.md is run as it stands, by file and from an installed wheel; so is the example script."""

from __future__ import annotations

import json
import os
import re
import shlex
import site
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
FILES: Mapping[str, str] = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, flags=re.DOTALL))
CONSOLES: list[str] = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
(ENTRY_POINTS,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)


def commands() -> Iterator[list[str]]:
    for line in "".join(CONSOLES).splitlines():
        assert line.startswith("$ mnemoscope "), line
        yield shlex.split(line)[2:]


def called(python: str | Path, *args: str, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name != "MNEMOSCOPE_NO_PLUGINS"}
    ran = subprocess.run(
        [str(python), *args], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=600
    )
    assert ran.returncode == 0, f"{args}: {ran.stdout[-1000:]} {ran.stderr[-2000:]}"
    return ran.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in FILES.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


def test_each_takes_fewer_than_thirty_lines() -> None:
    assert {"mentioned.py", "users.py", "verbatim.py", "checked.py", "studio.py"} == set(FILES)
    assert {name: len(code.splitlines()) for name, code in FILES.items() if len(code.splitlines()) >= 30} == {}


def test_the_page_works_as_written(folder: Path) -> None:
    said = {tuple(command): called(sys.executable, "-m", "mnemoscope", *command, cwd=folder) for command in commands()}
    text = {(*command[:2], command[-1]): out for command, out in said.items()}
    assert "bm25@mentioned.py:Mentione" in text["compare", "planners.db", "integration"]
    assert "plan_response: mentioned.py:Mentioned" in text["graph", "draw", "mentioned.py:Mentioned"]
    assert "none broken" in text["architecture", "check", "users.py:users"]
    assert "users.py:users@slots" in text["compare", "users.db", "recall@10"]
    assert "verbatim-1" in text["compare", "users.db", "integration"]


def test_the_studio_graph_answers(folder: Path) -> None:
    assert "red ladder" in called(sys.executable, "studio.py", cwd=folder)


def test_the_example_runs(tmp_path: Path) -> None:
    said = called(sys.executable, str(ROOT / "examples" / "own_planner.py"), str(tmp_path / "out"), cwd=tmp_path)
    assert "hybrid@own_planner.py:Sho" in said
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_names_of_an_installed_package(tmp_path: Path) -> None:
    """Two wheels, mnemoscope's and a plug-in's, in an environment that has never seen this checkout."""
    plugin = tmp_path / "plugin"
    package = plugin / "allotment_memory"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("mentioned.py", "users.py", "verbatim.py"):
        (package / name).write_text(FILES[name].replace("verbatim.py:Verbatim", "verbatim"), encoding="utf-8")
    (plugin / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools>=77"]\nbuild-backend = "setuptools.build_meta"\n\n'
        f'[project]\nname = "allotment-memory"\nversion = "1"\n\n{ENTRY_POINTS}',
        encoding="utf-8",
    )
    assert set(tomllib.loads(ENTRY_POINTS)["project"]["entry-points"]) == {
        "mnemoscope.nodes",
        "mnemoscope.architectures",
        "mnemoscope.judges",
    }
    tree = tmp_path / "tree"
    called("/usr/bin/env", "git", "clone", "-q", str(ROOT), str(tree), cwd=tmp_path)
    wheels = tmp_path / "wheels"
    for source in (tree, plugin):
        called(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(wheels), str(source), cwd=tmp_path)
    home = tmp_path / "home"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    called(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", *map(str, wheels.iterdir()), cwd=tmp_path)
    # the dependencies, without the editable mnemoscope beside them: a .pth file is not followed from another one
    (own,) = (home / "lib").glob("python*/site-packages")
    (own / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    where = called(python, "-c", "import mnemoscope; print(mnemoscope.__file__)", cwd=work)
    assert Path(where.strip()).is_relative_to(home)
    listed = json.loads(called(python, "-m", "mnemoscope", "architecture", "list", "--json", cwd=work))
    assert "what users said, found by its words" in json.dumps(listed)
    called(
        *(python, "-m", "mnemoscope", "run", "--scenario", "demo", "--architecture", "users"),
        *("--profile", "mentioned(3)", "--judge", "verbatim", "--limit", "8", "--workers", "1", "--out", "run.db"),
        cwd=work,
    )
    compared = called(python, "-m", "mnemoscope", "compare", "run.db", "--metric", "integration", cwd=work)
    assert "users@mentioned(3)" in compared
    assert "verbatim-1" in compared
