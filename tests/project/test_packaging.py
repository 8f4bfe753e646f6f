"""The wheel holds what the tree holds, and the five folders refuse to be imported under their bare names."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agents", "evaluators", "graphs", "memory_backends", "scenarios")


def tree_files() -> set[str]:
    """Every file that belongs into the wheel, by its path inside it."""
    files: set[str] = set()
    for top in ("mnemoscope", *FOLDERS):
        prefix = "" if top == "mnemoscope" else "mnemoscope/"
        for path in (ROOT / top).rglob("*"):
            relative = path.relative_to(ROOT)
            through_link = top == "mnemoscope" and len(relative.parts) > 1 and relative.parts[1] in FOLDERS
            if not through_link and path.is_file() and path.suffix != ".pyc":
                files.add(prefix + relative.as_posix())
    return files


def test_wheel_equals_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"  # a build leaves files behind that would get into the next wheel
    for top in ("mnemoscope", *FOLDERS):
        shutil.copytree(ROOT / top, tree / top, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(tree)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")}
    assert packed == tree_files()


@pytest.mark.parametrize("folder", FOLDERS)
def test_bare_import_is_refused(folder: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert f"import mnemoscope.{folder}, not {folder}" in result.stderr


@pytest.mark.parametrize("folder", FOLDERS)
def test_symlink_points_to_the_folder(folder: str) -> None:
    link = ROOT / "mnemoscope" / folder
    assert link.is_symlink()
    assert link.resolve() == ROOT / folder


def test_every_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    declared = project["project"]["dependencies"]
    for extra in (
        *project["project"].get("optional-dependencies", {}).values(),
        *project["dependency-groups"].values(),
    ):
        declared = [*declared, *extra]
    names = {entry.split(">=")[0].split("==")[0].strip() for entry in declared}
    missing = sorted(name for name in names if f"`{name}`" not in reasons)
    assert not missing, f"docs/dependencies.md gives no reason for {missing}"


def test_locks_carry_hashes_and_no_address() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        text = lock.read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text, f"{lock.name} names a registry"


def test_changelog_entries_stand_under_unreleased() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if line.startswith("## "))
    assert first.startswith("## Unreleased")
