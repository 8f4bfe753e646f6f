"""The extension point for data: a source streams scenarios and reports every repair, skip and oddity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from mnemoscope.scenarios.records import Card, Scenario

__all__ = ["DataReport", "LoadMode", "LoadRequest", "Notice", "ReadProgress", "ScenarioSource"]

LoadMode = Literal["robust", "strict-release", "repaired"]


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that a loader repaired, skipped or could not resolve."""

    kind: str
    """A short kebab-case name that counts are kept by: `unresolvable-evidence`, `date-without-turns`."""
    where: str
    """Record and field, as a person would look it up: `conv-26 qa 37`."""
    detail: str
    """What was seen and what was done about it."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.detail}"


@dataclass(slots=True)
class DataReport:
    """Filled while a source is read; complete once it has been read to the end."""

    counts: Counter[str] = field(default_factory=Counter)
    """Census: `conversations`, `sessions`, `turns`, `questions`, `category 1 multi-hop`, …"""
    notices: list[Notice] = field(default_factory=list)

    def note(self, kind: str, where: str, detail: str) -> None:
        """Record a notice; its kind is counted in `notice_counts`."""
        self.notices.append(Notice(kind, where, detail))

    @property
    def notice_counts(self) -> dict[str, int]:
        """Notices by kind, sorted by kind."""
        return dict(sorted(Counter(n.kind for n in self.notices).items()))


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """How far the reading of a large file has come."""

    file: str
    """Its name, without its folder."""
    items: int
    """Records read so far."""
    bytes_read: int
    bytes_total: int


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What the user asked to load: `kind:path[,role=path…]` and the settings that change what systems see."""

    kind: str
    path: Path | None = None
    roles: dict[str, Path] = field(default_factory=dict)
    mode: LoadMode = "robust"
    encoding: str = "utf-8"
    lenient: bool = False
    """Load what can be loaded and list the rest, instead of stopping at the first bad date or repeated key."""
    captions: bool = True
    """Whether image captions are part of what memories and assistants see."""
    seed: int = 0
    """Order of memory pools."""
    progress: Callable[[ReadProgress], None] | None = None
    """Told after each record of a file that is streamed."""


class ScenarioSource(Protocol):
    """One benchmark or file, opened. Iterate it once, then read `report`."""

    card: Card
    report: DataReport

    def __iter__(self) -> Iterator[Scenario]:
        """Scenarios in file order, one at a time; raises `DataError` at a record that cannot be loaded."""
