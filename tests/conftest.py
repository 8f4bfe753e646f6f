"""Fixtures that all tests share: no network beyond loopback, and where the benchmark files are."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
os.environ.setdefault("MNEMOSCOPE_NO_PLUGINS", "1")


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> object:
        host = address[0] if isinstance(address, tuple) else None
        if self.family in (socket.AF_INET, socket.AF_INET6) and host not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address!r}; only loopback is allowed")
        return connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def case_dir() -> Callable[[str], Path]:
    """The folder of one failing-input case, by its name."""
    return lambda name: CASES / name


@pytest.fixture
def benchmark_data() -> Path:
    """Where the public benchmark files are; skips with a reason, and fails under CI, where they are absent."""
    folder = os.environ.get("MNEMOSCOPE_DATA")
    if folder and (Path(folder) / "locomo10.json").is_file():
        return Path(folder)
    reason = "set MNEMOSCOPE_DATA to a folder with locomo10.json and StratMemBench_testset.json"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
