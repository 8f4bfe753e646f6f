"""Rules that hold for every source file: no wall clock, no pickle, no print outside the front door."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agents", "evaluators", "graphs", "memory_backends", "scenarios", "mnemoscope")
CLOCK_ALLOWED = {"agents/clock.py"}
WALL_CLOCK = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"), ("time", "time")}
BANNED_IMPORTS = {"pickle", "shelve", "marshal", "uuid4", "random"}


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            relative = path.relative_to(ROOT)
            if not (relative.parts[0] == "mnemoscope" and len(relative.parts) > 2 and relative.parts[1] in FOLDERS):
                yield path


@pytest.mark.parametrize("path", sorted(sources()), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_wall_clock_and_no_unsafe_import(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and relative not in CLOCK_ALLOWED:
            assert (node.value.id, node.attr) not in WALL_CLOCK, f"{relative}:{node.lineno} reads the wall clock"
        if isinstance(node, ast.Import):
            assert not {alias.name for alias in node.names} & BANNED_IMPORTS, f"{relative}:{node.lineno}"
        if isinstance(node, ast.ImportFrom):
            assert node.module not in BANNED_IMPORTS, f"{relative}:{node.lineno}"


@pytest.mark.parametrize("path", sorted(sources()), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_first_line_says_what_the_file_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring and len(docstring.splitlines()[0]) >= 20
