"""What a builder gives: native scenario blocks with the origin of every generated field, and how they are written."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.loaders.native_checks import check_scenario
from mnemoscope.scenarios.loaders.native_format import ScenarioEntry
from mnemoscope.scenarios.loaders.native_records import build_scenario
from mnemoscope.scenarios.records import Card, Scenario

__all__ = [
    "Block",
    "BuiltScenario",
    "BuiltSet",
    "built_records",
    "history_block",
    "native_time",
    "provenance_path",
    "write_built",
]

Block = dict[str, object]
"""A native scenario, probe or gold as plain data."""


@dataclass(frozen=True, slots=True)
class BuiltScenario:
    """One native scenario and where its fields come from."""

    block: Block
    origins: Mapping[str, str]
    """Place in the block (`probes.p1.gold.roles.m3`) to how it was made: `copied: …`, `mined: …`, `heuristic: …`."""


@dataclass(slots=True)
class BuiltSet:
    """The outcome of one builder."""

    kind: str
    settings: Mapping[str, str]
    card: Card
    """Of the data it was built from."""
    scenarios: list[BuiltScenario] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """What was built and what was passed over, by reason."""


def history_block(scenario: Scenario, *, scenario_id: str, sessions: Sequence[int] | None = None) -> Block:
    """The participants and sessions of a scenario in the native format, without probes.

    Args:
        scenario: The source.
        scenario_id: The new id.
        sessions: Positions of the sessions to keep; all where left out.

    Raises:
        ConfigError: A session has no time, which the native format needs.
    """
    kept = scenario.sessions if sessions is None else [scenario.sessions[i] for i in sessions]
    return {
        "id": scenario_id,
        "cluster": scenario.cluster,
        "participants": [{"name": p.name, "role": p.role} for p in scenario.participants],
        "sessions": [
            {
                "id": session.session_id,
                "at": native_time(session.at, scenario),
                "turns": [
                    {
                        "id": turn.turn_id,
                        "speaker": turn.speaker,
                        "text": turn.text,
                        **({"caption": turn.caption} if turn.caption else {}),
                        **({"at": native_time(turn.at, scenario)} if turn.at is not None else {}),
                    }
                    for turn in session.turns
                ],
            }
            for session in kept
        ],
    }


def native_time(at: datetime | None, scenario: Scenario) -> str:
    """A time as the native format writes it.

    Raises:
        ConfigError: There is none.
    """
    if at is None:
        raise ConfigError(f"{scenario.scenario_id} has sessions without a time; nothing can be built from it")
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def built_records(built: BuiltSet, *, seed: int = 0) -> Iterator[Scenario]:
    """The scenarios that the native loader will make of a built set.

    Raises:
        DataError: A built scenario is not a valid native one.
    """
    card = built.card.model_copy(update={"benchmark": "native"})
    for made in built.scenarios:
        entry = ScenarioEntry.model_validate(made.block)
        for finding in check_scenario(entry):
            place = ".".join(str(key) for key in finding.path)
            raise DataError(finding.what, file=f"built {built.kind}", record=entry.id, field=place, fix=finding.fix)
        yield build_scenario(entry, card, captions=True, seed=seed)


def provenance_path(path: Path) -> Path:
    """Where the origins of a built file stand: `NAME.provenance.json` beside it."""
    return path.with_name(f"{path.stem}.provenance.json")


def write_built(path: Path, built: BuiltSet, *, checks: Mapping[str, object] | None = None) -> None:
    """Write a built set as one native file with its provenance beside it. Equal sets give equal bytes.

    Args:
        path: The file to write; it ends in `.json`.
        built: What was built.
        checks: Results of the shortcut check, kept with the provenance.

    Raises:
        ConfigError: Nothing was built, another kind of file, or one that cannot be written.
        DataError: A built scenario is not a valid native one; nothing is written.
    """
    if path.suffix.lower() != ".json":
        raise ConfigError(f"built scenarios are written as .json, not {path.name}")
    if not built.scenarios:
        reasons = ", ".join(f"{name} {count}" for name, count in sorted(built.counts.items())) or "no input"
        raise ConfigError(f"nothing could be built ({reasons})")
    for _ in built_records(built):
        pass
    source = built.card
    errors = [*source.known_errors, f"Built by rules ({built.kind}); the sidecar file tells how each field was made."]
    card = {
        "source": f"{source.source} ({built.kind} built from {source.file or source.benchmark})",
        "licence": source.licence,
        "annotation": f"{source.annotation} Then built by rules, without a model.",
        "known_errors": errors,
    }
    text = _json({"card": card, "scenarios": [made.block for made in built.scenarios]})
    provenance = {
        "file": path.name,
        "sha256": sha256_of(text),
        "builder": built.kind,
        "settings": dict(sorted(built.settings.items())),
        "source": {"benchmark": source.benchmark, "file": source.file, "sha256": source.sha256, "mode": source.mode},
        "counts": dict(sorted(built.counts.items())),
        "checks": dict(checks or {}),
        "origins": {str(made.block["id"]): dict(made.origins) for made in built.scenarios},
    }
    _replace(path, text)
    _replace(provenance_path(path), _json(provenance))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)  # noqa: PTH105 - the atomic form
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error
