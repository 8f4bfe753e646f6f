"""The native loader: people's own scenarios, one YAML or JSON file or a folder of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios.loaders.native_checks import ABSENT, Finding, check_scenario
from mnemoscope.scenarios.loaders.native_format import CardEntry, ScenarioEntry, ScenarioFile
from mnemoscope.scenarios.loaders.native_records import build_scenario
from mnemoscope.scenarios.loaders.native_shape import model_findings, schema_findings
from mnemoscope.scenarios.loaders.native_yaml import Document, read_yaml
from mnemoscope.scenarios.loaders.native_yaml import Path as Place
from mnemoscope.scenarios.reading import decode_text, read_json, refuse_foreign
from mnemoscope.scenarios.records import Card, Scenario
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["NativeSource", "Problem", "open_native", "validate_native"]

_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a native file."""

    file: str
    place: str
    """Scenario, probe and line, as a person would look it up."""
    field: str
    """Keys from the top of the file to the value."""
    what: str
    advice: str
    seen: object = ABSENT

    def error(self) -> DataError:
        """The problem as the exception that a load raises."""
        known = {} if self.seen is ABSENT else {"seen": self.seen}
        return DataError(
            self.what, file=self.file, record=self.place or None, field=self.field or None, fix=self.advice, **known
        )

    def __str__(self) -> str:
        return str(self.error())


@dataclass(slots=True)
class NativeSource:
    """Native files, opened. Each is read when its turn comes.

    Args:
        files: The files, in order.
        card: What the scenarios' cards say where their files do not.
        request: The settings of the load.
    """

    files: Sequence[Path]
    card: Card
    request: LoadRequest
    report: DataReport = field(default_factory=DataReport)

    def __iter__(self) -> Iterator[Scenario]:
        taken: dict[str, Path] = {}
        for path in self.files:
            document, card = self._read(path)
            for place, entry, own in self._entries(document, path):
                if entry.id in taken:
                    where = "this file" if taken[entry.id] == path else taken[entry.id].name
                    problem = Finding((*place, "id"), f"the id is taken by {where}", "give each its own", entry.id)
                    raise _problem(problem, document, path).error()
                taken[entry.id] = path
                scenario = build_scenario(
                    entry, _own_card(card, own), captions=self.request.captions, seed=self.request.seed
                )
                self._count(scenario)
                yield scenario

    def _read(self, path: Path) -> tuple[Document, Card]:
        document, sha256, encoding = _load(path, self.request, self.report)
        settings = {
            "encoding": encoding,
            "image_captions": "on" if self.request.captions else "off",
            "pool_seed": str(self.request.seed),
            "times": "UTC where a file names no offset",
        }
        return document, self.card.model_copy(update={"file": path.name, "sha256": sha256, "settings": settings})

    def _entries(self, document: Document, path: Path) -> Iterator[tuple[Place, ScenarioEntry, CardEntry | None]]:
        for place, entry, card in _parsed(document, path):
            problems = [_problem(f, document, path) for f in _placed(place, check_scenario(entry))]
            if not problems:
                yield place, entry, card
            elif self.request.lenient:
                for problem in problems:
                    detail = f"{problem.field}: {problem.what}; the scenario is left out"
                    self.report.note("scenario-left-out", problem.place, detail)
            else:
                raise _first(problems)

    def _count(self, scenario: Scenario) -> None:
        counts: Counter[str] = self.report.counts
        counts["scenarios"] += 1
        counts["sessions"] += len(scenario.sessions)
        counts["turns"] += len(scenario.turns)
        counts["probes"] += len(scenario.probes)
        counts.update(f"style {probe.style}" for probe in scenario.probes)
        for turn in scenario.turns:
            if turn.is_empty:
                counts["empty turns"] += 1
                self.report.note("empty-turn", f"{scenario.scenario_id} {turn.turn_id}", "kept, never remembered")


def open_native(request: LoadRequest) -> NativeSource:
    """Open a native scenario file, or every native file of a folder in the order of their names.

    `mode` makes no difference: the format has no published handling to reproduce.

    Args:
        request: `lenient` leaves out scenarios with wrong references and notes them, instead of stopping.

    Raises:
        ConfigError: No path.
        DataError: No such file, or a folder without any.
    """
    card = Card(
        benchmark="native",
        source="the user's own file",
        licence="not stated",
        annotation="by the file's author",
        strata_source="the file",
    )
    return NativeSource(_files(request), card, request)


def validate_native(path: Path, *, encoding: str = "utf-8") -> list[Problem]:
    """Everything that is wrong with a native file or folder, in the order of the file; empty where it loads.

    The shape is checked against the JSON Schema first; references are checked once the shape is right.

    Args:
        path: A YAML or JSON file, or a folder of them.
        encoding: What the files were saved in.
    """
    request = LoadRequest("native", Path(path), encoding=encoding)
    try:
        files = _files(request)
    except DataError as error:
        return [_from_error(error)]
    return [problem for file in files for problem in _file_problems(file, request)] or _from_load(request)


def _file_problems(path: Path, request: LoadRequest) -> list[Problem]:
    try:
        document, _, _ = _load(path, request, DataReport())
        if shape := [_problem(finding, document, path) for finding in schema_findings(document.value)]:
            return shape
        return [
            _problem(finding, document, path)
            for place, entry, _ in _parsed(document, path)
            for finding in _placed(place, check_scenario(entry))
        ]
    except DataError as error:
        return [_from_error(error)]


def _from_load(request: LoadRequest) -> list[Problem]:
    try:
        for _ in open_native(request):
            pass
    except DataError as error:
        return [_from_error(error)]
    return []


def _from_error(error: DataError) -> Problem:
    place = "" if error.record is None else str(error.record)
    return Problem(error.file, place, error.field or "", error.what, error.fix or "")


def _files(request: LoadRequest) -> tuple[Path, ...]:
    if request.path is None:
        raise ConfigError("native needs a path; write native:FILE.yaml or native:FOLDER")
    if not request.path.exists():
        raise DataError("no such file", file=request.path)
    if not request.path.is_dir():
        return (request.path,)
    found = sorted(p for p in request.path.iterdir() if p.suffix.lower() in _SUFFIXES and not _is_schema(p))
    if not found:
        raise DataError("the folder holds no scenario file", file=request.path, fix="expected *.yaml, *.yml or *.json")
    return tuple(found)


def _is_schema(path: Path) -> bool:
    return path.name.endswith((".schema.json", ".provenance.json"))


def _load(path: Path, request: LoadRequest, report: DataReport) -> tuple[Document, str, str]:
    if path.suffix.lower() == ".json":
        file = read_json(path, encoding=request.encoding, lenient=request.lenient)
        for repeated in file.repeated:
            report.note("repeated-key", f"{path.name} {repeated.path}", f"{repeated.key}: the last value is used")
        refuse_foreign(file.value, kind="native", path=path)
        return Document(file.value), file.sha256, file.encoding
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"the file cannot be read: {reason.lower()}", file=path) from error
    text, encoding = decode_text(raw, file=path, encoding=request.encoding)
    return read_yaml(text, path), sha256_of(raw), encoding


def _parsed(document: Document, path: Path) -> Iterator[tuple[Place, ScenarioEntry, CardEntry | None]]:
    value = document.value
    try:
        if isinstance(value, dict) and "scenarios" in value:
            several = ScenarioFile.model_validate(value)
            for number, entry in enumerate(several.scenarios):
                yield ("scenarios", number), entry, entry.card or several.card
        else:
            single = ScenarioEntry.model_validate(value)
            yield (), single, single.card
    except ValidationError as error:
        findings = schema_findings(value) or model_findings(error)
        raise _first([_problem(finding, document, path) for finding in findings]) from error


def _placed(place: Place, findings: Iterator[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield Finding((*place, *finding.path), finding.what, finding.fix, finding.seen)


def _first(problems: Sequence[Problem]) -> DataError:
    problem = problems[0]
    if len(problems) == 1:
        return problem.error()
    more = f"{problem.advice}; {len(problems) - 1} more: mnemoscope scenario validate native:{problem.file}"
    return Problem(problem.file, problem.place, problem.field, problem.what, more, problem.seen).error()


def _problem(finding: Finding, document: Document, path: Path) -> Problem:
    place = [*_named(document.value, finding.path)]
    if (line := document.line(finding.path)) is not None:
        place.append(f"line {line}")
    written = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in finding.path).removeprefix(".")
    return Problem(str(path), ", ".join(place), written, finding.what, finding.fix, finding.seen)


def _named(value: object, path: Place) -> Iterator[str]:
    """The ids of the scenario and the probe that a path leads through."""
    kind = "scenario"
    for key in path:
        if isinstance(value, dict) and isinstance(value.get("id"), str) and kind:
            yield f"{kind} {value['id']}"
            kind = ""
        if key == "probes":
            kind = "probe"
        value = _child(value, key)
    if kind and isinstance(value, dict) and isinstance(value.get("id"), str):
        yield f"{kind} {value['id']}"


def _child(value: object, key: str | int) -> object:
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return None


def _own_card(card: Card, own: CardEntry | None) -> Card:
    return card if own is None else card.model_copy(update=own.model_dump(exclude_none=True, exclude_defaults=True))
