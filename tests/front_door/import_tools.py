"""Small scenarios and foreign files for the tests of export and import."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mnemoscope.imports.importing import Imported, ImportRequest, import_run
from mnemoscope.runfile import open_run

ASKED = (
    ("n0", "Cat?", "Pixel"),
    ("n1", "Street?", "Kanal street"),
    ("n2", "Paint?", "watercolour"),
    ("n3", "Broken?", "kiln"),
)
"""Probe, utterance and answer of the small scenario."""
_TURNS = (
    "My cat Pixel sleeps on the wheel.",
    "I rent a flat on Kanal street.",
    "I paint with watercolour now.",
    "The kiln broke, leider wörtlich.",
)


def native(asked: Sequence[tuple[str, str, str]] = ASKED, name: str = "studio") -> dict[str, Any]:
    """A scenario in the native format: one session, one question per turn."""
    return {
        "id": name,
        "participants": [{"name": "Mira", "role": "user"}, {"name": "Assistant", "role": "assistant"}],
        "sessions": [
            {
                "id": "day",
                "at": "2024-03-02 17:40",
                "turns": [{"speaker": "Mira", "text": text, "id": f"t{n}"} for n, text in enumerate(_TURNS)],
            }
        ],
        "probes": [
            {
                "id": probe,
                "style": "question",
                "after": "day",
                "ask": text,
                "now": "2024-03-05 09:00",
                "gold": {
                    "answers": [answer],
                    "evidence": [f"t{n}"],
                    "facts": [{"id": f"f{n}", "text": _TURNS[n], "sources": [f"t{n}"]}],
                },
            }
            for n, (probe, text, answer) in enumerate(asked)
        ],
    }


def write(folder: Path, name: str, value: object) -> Path:
    """A JSON file, or JSON Lines where the name says so."""
    path = folder / name
    lines = path.suffix == ".jsonl"
    assert not lines or isinstance(value, list)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in value) if lines else json.dumps(value)  # type: ignore[attr-defined]
    path.write_text(text, encoding="utf-8")
    return path


def do_import(out: Path, **parts: Any) -> Imported:
    """Import under the name `theirs` unless another is given."""
    many: Mapping[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in parts.items()}
    return import_run(ImportRequest(**{"system": "theirs", "out": out, **many}))


def scores(path: Path, system: str | None = None) -> dict[tuple[str, int, str, str], tuple[float | None, str]]:
    """All verdicts of a run by probe, replicate, metric and subject."""
    with open_run(path) as run:
        return {
            (row.probe_id, row.replicate, row.metric, row.subject): (row.score, row.status)
            for row in run.verdict_rows()
            if system is None or row.system == system
        }
