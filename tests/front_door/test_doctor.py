"""The examination: what it finds, what it advises, and that a broken check is found and not fatal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemoscope import doctor
from mnemoscope.cli import main
from mnemoscope.doctor import Check, run_checks, worst


@pytest.fixture(scope="module")
def checks() -> dict[str, Check]:
    return {check.name: check for check in run_checks({})}


def test_everything_works_where_the_tests_run(checks: dict[str, Check]) -> None:
    assert [check for check in checks.values() if check.status == "fail"] == []
    for name in ("python", "packages", "langgraph", "embedder", "vector store exact", "vector store qdrant"):
        assert checks[name].status == "ok", checks[name]
    assert "sha256" in checks["embedder"].detail
    assert "langgraph-checkpoint" in checks["langgraph"].detail


def test_real_architectures_and_twins_are_told_apart(checks: dict[str, Check]) -> None:
    real = checks["architectures: package"].detail
    assert real.startswith("real") and "bm25" in real and "dense" in real


def test_canaries_are_looked_for_in_every_memory(checks: dict[str, Check]) -> None:
    assert checks["isolation"].status == "ok"
    assert all(name in checks["isolation"].detail for name in ("bm25", "dense", "full-context", "recent"))
    assert "oracle" not in checks["isolation"].detail, "it reads gold and is no test"


def test_a_leak_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from mnemoscope.graphs.architecture import Architecture, create_architecture

    one = create_architecture("bm25").backend()
    opened = False
    real_tell = doctor._tell

    async def tell(memory: object, canary: str) -> None:
        nonlocal opened
        if not opened:
            opened = True
            await real_tell(one, canary)

    monkeypatch.setattr(Architecture, "backend", lambda self: one)
    monkeypatch.setattr(doctor, "_tell", tell)
    [check] = list(doctor._isolation())
    assert check.status == "fail" and "sees what was written to another" in check.detail


def test_surroundings_that_mislead_are_warned_of() -> None:
    env = {"LANGSMITH_TRACING": "true", "HTTP_PROXY": "http://proxy:3128"}
    found = {check.name: check for check in doctor._offline(env)}
    assert found["tracing"].remedy == "unset LANGSMITH_TRACING"
    assert found["proxy"].remedy == "export NO_PROXY=127.0.0.1,localhost"
    assert [c.name for c in doctor._offline({"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "localhost"})] == [
        "offline"
    ]


def test_an_endpoint_is_described_without_its_key() -> None:
    secret = "sk-test-NOTREAL-8c1e5d3b"
    [none] = doctor._endpoint({})
    assert "extractive writer" in none.detail and "--model" in none.remedy
    [some] = doctor._endpoint({"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1", "OPENAI_API_KEY": secret})
    assert "http://127.0.0.1:8000/v1" in some.detail and secret not in some.detail


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("MNEMOSCOPE_CACHE", str(tmp_path / "file" / "cache"))
    [check] = doctor._caches()
    assert check.status == "warn" and "MNEMOSCOPE_CACHE" in check.remedy


def test_missing_and_old_packages_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor.metadata, "requires", lambda name: ["surely-absent>=1", "numpy>=99.0", 'x>=1; extra == "y"']
    )
    found = {check.name: check for check in doctor._packages()}
    assert found["package surely-absent"].remedy == 'pip install "surely-absent>=1"'
    assert found["package numpy"].status == "fail" and ">=99.0 is needed" in found["package numpy"].detail
    assert "package x" not in found


def test_a_check_that_breaks_is_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Check]:
        raise ImportError("no module named onnxruntime")
        yield

    monkeypatch.setattr(doctor, "_embedder", broken)
    monkeypatch.setattr(doctor, "_isolation", lambda: iter(()))
    monkeypatch.setattr(doctor, "_vector_store", lambda: iter(()))
    found = {check.name: check for check in run_checks({})}
    assert found["embedder"].status == "fail" and "pip install" in found["embedder"].remedy
    assert "architectures: package" in found, "later checks still run"


def test_the_command_prints_lines_or_json_and_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for status, code in (("ok", 0), ("warn", 0), ("fail", 1)):
        found = [Check("one", "ok", "fine"), Check("two", status, "so", "do this")]  # type: ignore[arg-type]
        monkeypatch.setattr(doctor, "run_checks", lambda found=found: iter(found))
        assert main(["doctor", "--json"]) == code
        document = json.loads(capsys.readouterr().out)
        assert document["status"] == status and document["checks"][1]["remedy"] == "do this"
        assert main(["doctor"]) == code
        out = capsys.readouterr().out
        assert f"[{status}]" in out and "→ do this" in out
        assert max(map(len, out.splitlines())) <= 80


def test_the_gravest_status_counts() -> None:
    assert worst([]) == "ok"
    assert worst([Check("a", "fail", ""), Check("b", "warn", "")]) == "fail"
