"""The README's own example works as written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def mnemoscope(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mnemoscope", *args], cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )


def test_planner_of_the_readme(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n# fresh\.py\n(.*?)```", readme, flags=re.DOTALL)
    assert len(code.splitlines()) <= 30
    (tmp_path / "fresh.py").write_text(code, encoding="utf-8")
    profile = "fresh.py:Fresh(2)"
    ran = mnemoscope(
        *("run", "--scenario", "demo", "--architecture", "bm25", "--profile", profile, "--limit", "12"),
        *("--workers", "1", "--out", "fresh.db"),
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    drawn = mnemoscope("graph", "draw", "bm25", "--profile", profile, cwd=tmp_path)
    assert "fresh" in drawn.stdout.lower()
    compared = mnemoscope("compare", "fresh.db", cwd=tmp_path)
    assert profile in compared.stdout
