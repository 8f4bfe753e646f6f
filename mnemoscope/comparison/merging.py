"""Several run files as one: systems merged by name, and told apart where the name hides another setting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from mnemoscope.core.errors import ConfigError, RunFileError
from mnemoscope.core.identity import canonical_json
from mnemoscope.core.usage import Usage
from mnemoscope.runfile.reader import RunReader, open_run
from mnemoscope.runfile.rows import (
    CellKey,
    CellRow,
    LaneRow,
    LossRow,
    ProbeRow,
    ScenarioRow,
    SystemRow,
    VerdictRow,
    Vote,
)
from mnemoscope.scenarios.records import Scenario

__all__ = ["Ingest", "Member", "RunSet", "open_runs", "settings_of"]

_NOT_A_CONDITION = frozenset({"scenarios", "systems", "limit", "probes", "clusters", "replicates"})
"""Settings that choose what is asked, not how a system works."""
_CHOICE = frozenset({"limit", "probes", "clusters"})
"""Where probes are written back, each of them changes what later ones find: then the choice is a condition."""


def settings_of(run: RunReader) -> dict[str, str]:
    """The settings under which a run's systems worked, as text: unequal ones make rows unequal."""
    left_out = _NOT_A_CONDITION - _CHOICE if run.config.write_probes else _NOT_A_CONDITION
    fields = {key: value for key, value in run.config.content_fields().items() if key not in left_out}
    written = {key: value if isinstance(value, str) else canonical_json(value) for key, value in fields.items()}
    return written | {key: value for key, value in run.meta.keys.items() if key not in written}


class Ingest(NamedTuple):
    """What writing a memory took, over all its histories."""

    usage: Usage
    ms: float


@dataclass(frozen=True, slots=True)
class Member:
    """One run file and the names that its systems go by here."""

    run: RunReader
    label: str
    """The file's name without folder and ending; numbered where two files share it."""
    shown: Mapping[str, str]
    """A system's name in the file to its name here."""
    settings: Mapping[str, str]

    @property
    def stored(self) -> dict[str, str]:
        """A system's name here to its name in the file."""
        return {here: there for there, here in self.shown.items()}

    def asked(self) -> Iterator[CellKey]:
        """Every cell that the file was to hold, whether it is there or not."""
        for probe in self.run.probes():
            for name in self.shown.values():
                for replicate in range(self.run.meta.replicates):
                    yield CellKey(name, probe.scenario_id, probe.probe_id, replicate)

    def verdict_rows(self) -> Iterator[VerdictRow]:
        """All verdicts of the file."""
        return (row._replace(system=self.shown[row.system]) for row in self.run.verdict_rows())

    def without_text(self) -> set[CellKey]:
        """The cells whose reply was not imported with what is known of it, so that nobody can judge it."""
        return {key._replace(system=self.shown[key.system]) for key in self.run.without_text()}


class RunSet:
    """Run files, opened together; rows carry the systems' names of the whole set.

    Args:
        members: The files in the order given.
        notes: What was found while merging, as sentences.
    """

    def __init__(self, members: Sequence[Member], notes: Sequence[str]) -> None:
        self.members = tuple(members)
        self.notes = tuple(notes)
        self._open = ExitStack()
        self._holder = {row.scenario_id: member.run for member in reversed(members) for row in member.run.scenarios()}
        for member in members:
            self._open.callback(member.run.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release all files."""
        self._open.close()

    def systems(self) -> tuple[SystemRow, ...]:
        """Every system once, in the order of files and of asking."""
        found: dict[str, SystemRow] = {}
        for member in self.members:
            for system in member.run.systems():
                name = member.shown[system.name]
                found.setdefault(name, replace(system, name=name, position=len(found)))
        return tuple(found.values())

    def members_of(self, system: str) -> tuple[Member, ...]:
        """The files that hold a system."""
        return tuple(member for member in self.members if system in member.shown.values())

    def scenarios(self) -> tuple[ScenarioRow, ...]:
        """Every scenario once."""
        return tuple({row.scenario_id: row for m in self.members for row in m.run.scenarios()}.values())

    def scenario(self, scenario_id: str) -> Scenario:
        """One scenario with history, probes and gold; `KeyError` if there is none."""
        return self._holder[scenario_id].scenario(scenario_id)

    def probes(self) -> tuple[ProbeRow, ...]:
        """Every probe once."""
        rows = (row for member in self.members for row in member.run.probes())
        return tuple({(row.scenario_id, row.probe_id): row for row in rows}.values())

    def cells(self) -> Iterator[CellRow]:
        """All cells, file by file."""
        for member in self.members:
            for row in member.run.cells():
                yield replace(row, system=member.shown[row.system])

    def unanswered(self) -> dict[CellKey, str]:
        """Every cell without a reply: the cause of a failed one, `missing` for one that is not there."""
        there = {c.key: (c.error_cause or "error") if c.status == "error" else None for c in self.cells()}
        asked = (key for member in self.members for key in member.asked())
        return {key: cause for key in asked if (cause := there.get(key, "missing")) is not None}

    def verdict_rows(self) -> Iterator[VerdictRow]:
        """All verdicts, file by file."""
        for member in self.members:
            yield from member.verdict_rows()

    def votes(self) -> Iterator[Vote]:
        """Verdicts that several votes of one judge decided, file by file."""
        for member in self.members:
            for row in member.run.votes():
                yield row._replace(system=member.shown[row.system])

    def losses(self) -> Iterator[LossRow]:
        """Where all gold facts went, file by file."""
        for member in self.members:
            for row in member.run.losses():
                yield replace(row, system=member.shown[row.system])

    def ingests(self) -> dict[str, Ingest]:
        """System to what its memory took: systems share one, but where probes are written back each has its own."""
        found = dict.fromkeys((system.name for system in self.systems()), Ingest(Usage(), 0.0))
        for member in self.members:
            sharing: defaultdict[str, list[str]] = defaultdict(list)
            for system in member.run.systems():
                sharing[system.memory].append(system.name)
            for lane in member.run.lanes():
                for name in [lane.system] if lane.system else sharing[lane.memory]:
                    usage, ms = found[member.shown[name]]
                    found[member.shown[name]] = Ingest(usage + lane.usage, ms + lane.ingest_ms)
        return found

    def lanes(self) -> Iterator[tuple[Member, LaneRow]]:
        """All lanes with the file they are in."""
        for member in self.members:
            for row in member.run.lanes():
                yield member, row


def open_runs(paths: Sequence[str | Path]) -> RunSet:
    """Open run files and merge their systems by name.

    A system that two files hold is one row where the settings agree and no cell occurs twice; otherwise the later
    file's system is shown as `NAME [FILE]`, so that nothing is averaged that should be compared.

    Raises:
        ConfigError: No file, or the same file twice.
        RunFileError: A file cannot be read, or a scenario of one name has another content in another file.
    """
    if not paths:
        raise ConfigError("name at least one run file, as mnemoscope run --out made it")
    files = [Path(path) for path in paths]
    for path, times in Counter(path.resolve() for path in files).items():
        if times > 1:
            raise ConfigError(f"run file {path.name} is named {times} times; name each file once")
    with ExitStack() as stack:
        runs = [stack.enter_context(open_run(path)) for path in files]
        _refuse_other_data(runs)
        merged = _merge(runs, _labels(files))
        stack.pop_all()
    return merged


def _labels(files: Sequence[Path]) -> list[str]:
    stems = [path.stem for path in files]
    return [stem if stems.count(stem) == 1 else f"{stem} {n}" for n, stem in enumerate(stems, start=1)]


def _refuse_other_data(runs: Sequence[RunReader]) -> None:
    seen: dict[str, tuple[str, Path]] = {}
    for run in runs:
        for row in run.scenarios():
            sha, path = seen.setdefault(row.scenario_id, (row.sha256, run.path))
            if sha != row.sha256:
                raise RunFileError(
                    f"scenario {row.scenario_id} is not the same in {path.name} and {run.path.name}; "
                    "runs of different data cannot be compared, run both on the same file"
                )


def _merge(runs: Sequence[RunReader], labels: Sequence[str]) -> RunSet:
    members: list[Member] = []
    notes: list[str] = []
    taken: dict[str, list[tuple[Member, set[tuple[str, str, int]]]]] = {}
    for run, label in zip(runs, labels, strict=True):
        settings, shown, cells_of = settings_of(run), {}, {}
        for system in run.systems():
            name = system.name
            earlier = taken.get(name, [])
            cells = (
                {(c.scenario_id, c.probe_id, c.replicate) for c in run.cells(system=name)} if len(runs) > 1 else set()
            )
            reason = next(filter(None, (_clash(settings, cells, other) for other in earlier)), None)
            shown[name] = f"{name} [{label}]" if reason else name
            cells_of[name] = cells
            if reason:
                notes.append(f"{name} of {label} is a row of its own: {reason}")
        member = Member(run, label, shown, settings)
        members.append(member)
        for name, here in shown.items():
            taken.setdefault(here, []).append((member, cells_of[name]))
    return RunSet(members, notes)


def _clash(
    settings: Mapping[str, str], cells: set[tuple[str, str, int]], other: tuple[Member, set[tuple[str, str, int]]]
) -> str | None:
    member, taken = other
    differing = sorted(k for k in settings.keys() | member.settings.keys() if settings.get(k) != member.settings.get(k))
    if differing:
        return "; ".join(
            f"{k} is {settings.get(k, '-')}, in {member.label} {member.settings.get(k, '-')}" for k in differing
        )
    if shared := len(cells & taken):
        return f"{member.label} holds {shared} of the same cells"
    return None
