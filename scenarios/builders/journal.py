"""A journal of finished items, so that a builder that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.scenarios.builders.built import BuiltScenario
from mnemoscope.scenarios.records import Scenario

__all__ = ["Journal", "Made", "build_each", "item_key"]

Made = tuple[BuiltScenario | None, Counter[str]]
"""What one source scenario gave (None: nothing), and the counts of it."""


class Journal:
    """Finished items by key, one JSON line each; a line that was cut short counts as not written.

    Args:
        path: The file; it is made when the first item is finished.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Made] = {}
        self._torn = False
        try:
            raw = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
        self._torn = bool(raw) and not raw.endswith(b"\n")
        for line in raw.split(b"\n"):
            try:
                row = json.loads(line)
                block = row["block"]
                made = None if block is None else BuiltScenario(block, row["origins"])
                self._known[row["key"]] = (made, Counter(row["counts"]))
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, key: str) -> Made | None:
        """What an item gave, if it is finished."""
        return self._known.get(key)

    def put(self, key: str, made: Made) -> None:
        """Write down a finished item; it is on disk when this returns."""
        built, counts = made
        row: dict[str, object] = {"key": key, "block": None, "origins": {}, "counts": dict(counts)}
        if built is not None:
            row |= {"block": built.block, "origins": dict(built.origins)}
        try:
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(("\n" if self._torn else "") + json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror or error}") from error
        self._torn = False
        self._known[key] = made


def item_key(scenario: Scenario, kind: str, settings: Mapping[str, str]) -> str:
    """A key that changes with the scenario's content, the builder and its settings."""
    return sha256_of(canonical_json([kind, dict(settings), scenario.model_dump(mode="json")]))


def build_each(
    scenarios: Iterable[Scenario],
    build: Callable[[Scenario], Made],
    *,
    kind: str,
    settings: Mapping[str, str],
    journal: Journal | None,
) -> Iterator[Made]:
    """Build scenario by scenario; what the journal has is taken from it."""
    for scenario in scenarios:
        key = item_key(scenario, kind, settings) if journal else ""
        known = journal.get(key) if journal else None
        made = known or build(scenario)
        if journal and known is None:
            journal.put(key, made)
        yield made
