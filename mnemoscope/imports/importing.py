"""From foreign files to a run file: open, match by id, judge, write, and say what did not fit."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mnemoscope.agents.clock import SystemClock
from mnemoscope.config import UNKNOWN, RunConfig, load_config
from mnemoscope.core.errors import ConfigError, DataError, RunFileError
from mnemoscope.engine.grid import load_scenarios
from mnemoscope.engine.manifest import manifest_of
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.exports.parts import slug
from mnemoscope.imports.cells import CellMaker
from mnemoscope.imports.choosing import chosen_rows
from mnemoscope.imports.detecting import open_rows
from mnemoscope.imports.grid import Grid, grid_of, kind_of
from mnemoscope.imports.matching import Found, Part, ProbeIndex, Unmatched, match
from mnemoscope.imports.rows import FileRows
from mnemoscope.imports.stubs import VERDICTS_ONLY, stub_scenarios
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.runfile.lock import exclusive
from mnemoscope.runfile.records import Manifest
from mnemoscope.runfile.rows import IMPORTED, SystemRow
from mnemoscope.runfile.writer import RunFile

__all__ = ["EVIDENCE", "ImportRequest", "Imported", "ImportedFile", "import_run"]

EVIDENCE = IMPORTED
"""Evidence class of imported rows."""
_NAME_LIMIT = 200


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import, under which name."""

    system: str
    out: Path
    scenarios: tuple[str, ...] = ()
    """Empty: verdicts alone, with scenarios made of their ids."""
    replies: tuple[Path, ...] = ()
    retrievals: tuple[Path, ...] = ()
    verdicts: tuple[Path, ...] = ()
    select: str | None = None
    """Which system of the files, where they hold several."""
    judge: str | None = None
    """Who gave the verdicts, where the user knows that it is one judge with one input over several files; None: each
    file is a judge of its own, and verdicts of two files are never compared."""
    partial: bool = False
    """The files cover a choice of probes; the others are left out of the run instead of counting as missing."""
    reading: Mapping[str, object] | None = None
    """Settings of the load, named as in `RunConfig`: `probes`, `mode`, `encoding`, `lenient`, `captions`, `seed`."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """One foreign file."""

    path: Path
    sha256: str
    part: Part
    form: str
    rows: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the files."""

    path: Path
    files: tuple[ImportedFile, ...]
    expected: int
    """Cells of the run file."""
    failed: int
    """Cells without a reply or verdict: failures that the files record, and probes that they lack."""
    missing: tuple[str, ...]
    """Probes that no row is about, though the files hold others of their kind."""
    unmatched: tuple[Unmatched, ...]
    notes: tuple[str, ...]
    content_hash: str

    @property
    def failed_share(self) -> float:
        """Failed cells and unmatched rows, among all cells and unmatched rows, 0–1."""
        total = self.expected + len(self.unmatched)
        return (self.failed + len(self.unmatched)) / total if total else 0.0


def import_run(request: ImportRequest) -> Imported:
    """Make a run file of what another harness or a deployment produced.

    Rows are matched by id, never by position. Replies and retrievals are judged by the offline rules like those of a
    run; verdicts are kept as they are, signed `recorded:FILE:SHA`, or
    `recorded:JUDGE` where the user names the judge. Probes of a kind (benchmark, style, negative,
    adversarial) that no row is about are left out of the run, and said; where a file holds some of a kind, the rest of
    it is missing and counts as failed.

    Args:
        request: Files, scenarios and the system's name.

    Returns:
        Counts, and every row and probe that found no partner.

    Raises:
        ConfigError: Nothing to import, a bad name, or a file of several systems without a choice.
        DataError: A file is not as its format says, an id fits twice, or no row fits at all.
        RunFileError: The output is there or cannot be written.

    Example:
        >>> import_run(ImportRequest("mem0", Path("mem0.db"), verdicts=(Path("report.json"),)))  # doctest: +SKIP
    """
    _check(request)
    config = _config(request)
    opened = _open(request, config.encoding)
    if request.scenarios:
        planned = list(load_scenarios(config, lambda _: None))
    else:
        opened = [(part, replace(file, rows=list(file.rows))) for part, file in opened]
        planned = stub_scenarios(row for _, file in opened for row in file.rows)
    found, files = Found(), []
    index = ProbeIndex(planned)
    for part, file in opened:
        count = match(file.rows, index, part, f"recorded:{request.judge}" if request.judge else file.judge_key, found)
        files.append(ImportedFile(file.path, file.sha256, part, file.form, count))
    _refuse_nothing(found, files)
    grid = grid_of(planned, found, partial=request.partial)
    system = _system(request, files)
    maker = CellMaker(system.name, found, judged=bool(request.replies or request.retrievals))
    with exclusive(request.out):
        if request.out.exists():
            raise RunFileError(f"{request.out} exists and was not touched; give another --out")
        failed, content = _write(request.out, _manifest(config, grid), system, grid, maker)
    notes = [note for _, file in opened for note in file.notes] + _notes(grid, maker)
    missing = [target for target in grid.targets() if target not in found.targets]
    return Imported(
        path=request.out,
        files=tuple(files),
        expected=sum(1 for _ in grid),
        failed=failed,
        missing=tuple(f"{t.probe_id} r{t.replicate}" if grid.replicates > 1 else t.probe_id for t in missing),
        unmatched=tuple(found.unmatched),
        notes=tuple(notes),
        content_hash=content,
    )


def _check(request: ImportRequest) -> None:
    name = request.system
    if not name.strip() or len(name) > _NAME_LIMIT or any(unicodedata.category(c).startswith("C") for c in name):
        raise ConfigError(f"system name {name[:_NAME_LIMIT]!r} is unusable; give one line of visible text")
    if not (request.replies or request.retrievals or request.verdicts):
        raise ConfigError("nothing to import; name a file with --replies, --retrievals or --verdicts")
    if request.judge is not None and not (request.judge.strip() and request.verdicts):
        raise ConfigError("--judge names who gave the verdicts; give it together with --verdicts")
    if not request.scenarios and (request.replies or request.retrievals):
        raise ConfigError("replies and retrievals are judged against their scenarios; add --scenario KIND:PATH")
    if request.out.exists():
        raise RunFileError(f"{request.out} exists and was not touched; give another --out")
    if not request.out.parent.is_dir():
        raise RunFileError(f"output {request.out} cannot be written: there is no folder {request.out.parent}")


def _config(request: ImportRequest) -> RunConfig:
    """The settings of the run file: how scenarios are read is known, how the system worked is not."""
    unknown = dict.fromkeys(("model", "memory_model", "embedder", "vector_store"), UNKNOWN)
    named = {"scenarios": request.scenarios, "systems": (f"imported@s-{slug(request.system)}",)}
    config = load_config(None, {**(request.reading or {}), **unknown, **named})
    return config.model_copy(update={"k": None})


def _open(request: ImportRequest, encoding: str) -> list[tuple[Part, FileRows]]:
    wanted: list[tuple[Part, tuple[Path, ...]]] = [
        ("reply", request.replies),
        ("retrieval", request.retrievals),
        ("verdicts", request.verdicts),
    ]
    opened = []
    for part, paths in wanted:
        for path in paths:
            file = open_rows(path, encoding=encoding)
            opened.append((part, replace(file, rows=chosen_rows(file, part, request.select))))
    return opened


def _refuse_nothing(found: Found, files: Sequence[ImportedFile]) -> None:
    if found.targets:
        return
    first = found.unmatched[0] if found.unmatched else None
    raise DataError(
        f"none of {sum(file.rows for file in files):,} rows is about a probe of the scenarios",
        file=", ".join(file.path.name for file in files),
        record=first.record if first else None,
        seen=first.name if first else None,
        fix=f"the first one: {first.reason}; see mnemoscope scenario info" if first else None,
    )


def _system(request: ImportRequest, files: Sequence[ImportedFile]) -> SystemRow:
    sources = ", ".join(f"{file.path.name} ({file.form}, sha256 {file.sha256[:12]})" for file in files)
    return SystemRow(
        name=request.system,
        position=0,
        memory=request.system,
        profile="imported",
        evidence_class=EVIDENCE,
        mode="" if request.replies or request.retrievals else "verdicts only",
        privileged=False,
        capabilities=Capabilities(),
        summary=f"Imported from {sources}" + ("" if request.scenarios else f"; {VERDICTS_ONLY}."),
        profile_summary="What another harness or a deployment produced.",
    )


def _manifest(config: RunConfig, grid: Grid) -> Manifest:
    plain = manifest_of(RunConfig(), ())
    settings = config.model_copy(update={"replicates": grid.replicates})
    return replace(plain, config=settings.public(), keys={"detector": OfflineUseDetector().key, "writer": "unknown"})


def _write(out: Path, manifest: Manifest, system: SystemRow, grid: Grid, maker: CellMaker) -> tuple[int, str]:
    """Write the run file whole, or leave nothing behind."""
    try:
        with RunFile.create(out, manifest, (system,), grid.planned) as file:
            failed = asyncio.run(_fill(file, grid, maker))
            file.set_status("complete", finished_at=SystemClock().now())
            content = file.content_hash()
            file.settle()
    except BaseException:
        for end in ("", "-wal", "-shm"):
            out.with_name(out.name + end).unlink(missing_ok=True)
        raise
    return failed, content


async def _fill(file: RunFile, grid: Grid, maker: CellMaker) -> int:
    failed = 0
    for planned, probe, replicate in grid:
        recorded = grid.recorded.get(kind_of(planned, probe), {})
        cell = await maker.cell(planned.scenario, probe, replicate, recorded)
        file.commit_cell(cell)
        failed += cell.reply.status == "error"
    return failed


def _notes(grid: Grid, maker: CellMaker) -> list[str]:
    notes = [
        f"left out of the run, because no row is about them: {count:,} {' '.join((*kind[2:], kind[1]))} "
        f"probes of {kind[0]}"
        for kind, count in sorted(grid.left_out.items())
    ]
    if maker.unknown_sources:
        notes.append(f"{maker.unknown_sources:,} retrieved ids name nothing in their scenario; they prove nothing")
    if maker.renamed:
        names = ", ".join(f"recorded({name})" for name in sorted(maker.renamed))
        notes.append(f"verdicts on metrics that are scored here too are named {names}")
    return notes
