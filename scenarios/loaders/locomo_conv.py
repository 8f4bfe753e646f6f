"""LoCoMo-Conv: LoCoMo's questions rewritten as dialog, implicit, counterfactual and composed utterances.

`locomo-conv:DIALOG.json[,locomo=LOCOMO.json][,composed=MULTIMEM.json][,supportive=SUPPORTIVE.json][,overlay=FIXES.json]`,
or a folder with the official names. `composed=mined:release` (or `raw`, `repaired`) mines the clusters from LoCoMo
instead; mined clusters have no utterance, so they are counted and give no probe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import ScenarioId
from mnemoscope.scenarios.builders.composed import MODES, MiningMode, mine_clusters
from mnemoscope.scenarios.loaders.locomo import OFFICIAL_NAMES as LOCOMO_NAMES
from mnemoscope.scenarios.loaders.locomo import PUBLISHED_SHA256 as LOCOMO_SHA256
from mnemoscope.scenarios.loaders.locomo_conv_composed import ClusterRow, composed_probe, read_clusters
from mnemoscope.scenarios.loaders.locomo_conv_files import REWRITES, DialogFile, RewrittenSample, read_dialog_file
from mnemoscope.scenarios.loaders.locomo_conv_rows import Reading, read_row
from mnemoscope.scenarios.loaders.locomo_conv_supportive import SupportiveFile, read_supportive
from mnemoscope.scenarios.loaders.locomo_conversation import read_conversation, read_samples
from mnemoscope.scenarios.loaders.locomo_overlay import read_overlay
from mnemoscope.scenarios.reading import JsonFile, note_file, official_file, read_json
from mnemoscope.scenarios.records import Card, Gold, Probe, Scenario
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["OFFICIAL_NAMES", "LocomoConvSource", "open_locomo_conv"]

OFFICIAL_NAMES = ("locomo10_dialog.json",)
_OFFICIAL_ROLES = {
    "locomo": LOCOMO_NAMES,
    "composed": ("locomo10_multimem_full.json", "locomo10_multimem.json"),
    "supportive": ("supportive_memory.json",),
}
_ROLES = ("locomo", "composed", "supportive", "overlay")
_MINED = "mined:"
_MANY = 20
"""Rows from which on it is remarkable that no style has a speaker of its own."""
_CENSUS = (
    *("conversations", "sessions", "turns", "questions", "dialog probes", "implicit probes", "counterfactual probes"),
    *("composed probes", "composed clusters", "clusters without utterance", "supportive memories"),
    *("missing answers", "integer answers", "empty evidence lists", "unresolvable evidence ids"),
)


def open_locomo_conv(request: LoadRequest) -> LocomoConvSource:
    """Open LoCoMo-Conv.

    Args:
        request: The rewritten questions (`locomo10_dialog.json`, or a list of response jobs), and by role `locomo`
            (needed where the main file carries no conversations), `composed`, `supportive` and `overlay`. In a folder,
            files with official names are found.

    Returns:
        The opened files; scenarios are built while it is iterated.

    Raises:
        DataError: A file cannot be read, is of another kind, or does not fit the others.
        ConfigError: No path, an unknown role or mining mode.
    """
    unknown = [role for role in request.roles if role not in _ROLES]
    if unknown:
        raise ConfigError(f"locomo-conv has no role {unknown[0]!r}; it has {', '.join(_ROLES)}")
    path = official_file(request.path, OFFICIAL_NAMES, kind="locomo-conv")
    if request.path is not None and request.path.is_dir():
        request = replace(request, roles=_found_roles(path.parent) | request.roles)
    return LocomoConvSource(_read(path, request), request)


class LocomoConvSource:
    """Opened files; each conversation is one scenario and one cluster."""

    def __init__(self, file: JsonFile, request: LoadRequest) -> None:
        self._request = request
        locomo, supportive = self._role("locomo"), self._role("supportive")
        self._files = [(file, set[str]())]
        if locomo is not None:
            self._files.append((locomo, {LOCOMO_SHA256}))
        self._dialog = read_dialog_file(file, read_samples(locomo) if locomo is not None else None)
        reference = self._dialog.reference
        self._supportive = SupportiveFile()
        if supportive is not None:
            self._files.append((supportive, set()))
            self._supportive = read_supportive(supportive, reference)
        self._clusters, composed = self._read_clusters(file)
        sizes = {sample.sample_id: len(sample.questions) for sample in reference}
        self._overlay = read_overlay(
            request.roles.get("overlay"), sizes, encoding=request.encoding, lenient=request.lenient
        )
        settings = {
            "locomo": _named(locomo) if locomo is not None else "conversations of the main file",
            "composed": composed,
            "supportive": _named(supportive) if supportive is not None else "fields of the rows, where given",
            **({"overlay": self._overlay.setting} if self._overlay.setting else {}),
        }
        self.card = _card(file, request, settings)
        self.report = DataReport()
        self._note_files()

    def __iter__(self) -> Iterator[Scenario]:
        self.report.counts.clear()
        self.report.notices.clear()
        self._note_files()
        self.report.counts.update(dict.fromkeys(_CENSUS, 0))
        for sample in self._dialog.samples:
            yield self._scenario(sample)
        self._note_rest()

    def _scenario(self, sample: RewrittenSample) -> Scenario:
        talk = read_conversation(sample.sample, self._request, self.report)
        reading = Reading(talk, sample.number, self._request.mode, self.report, self._overlay, self._supportive)
        pairs = [pair for row in sample.rows for pair in read_row(row, self._dialog.styles, reading)]
        pairs += self._composed(reading)
        return Scenario(
            scenario_id=ScenarioId(talk.sample_id),
            benchmark="locomo-conv",
            cluster=talk.sample_id,
            participants=talk.participants,
            sessions=talk.sessions,
            probes=tuple(probe for probe, _ in pairs),
            gold_by_probe={probe.probe_id: gold for probe, gold in pairs},
            card=self.card,
        )

    def _composed(self, reading: Reading) -> Iterator[tuple[Probe, Gold]]:
        mine = [row for row in self._clusters if row.conversation == reading.number]
        self.report.counts["composed clusters"] += len(mine)
        silent = 0
        for row in mine:
            pair = composed_probe(row, reading)
            silent += pair is None
            if pair is not None:
                yield pair
        if silent:
            self.report.counts["clusters without utterance"] += silent
            detail = f"{silent} of {len(mine)} clusters have no utterance; they give no probe"
            self.report.note("clusters-without-utterance", reading.talk.sample_id, detail)

    def _read_clusters(self, file: JsonFile) -> tuple[list[ClusterRow], str]:
        """The clusters, and what the card says of them."""
        reference, role = self._dialog.reference, self._request.roles.get("composed")
        if role is None:
            inside = self._dialog.clusters or ()
            return read_clusters(inside, str(file.path), reference), "of the main file" if inside else "none"
        mode = role.as_posix()
        if mode.startswith(_MINED):
            mode = mode.removeprefix(_MINED)
            mined = mine_clusters(reference, _mining_mode(mode))
            return read_clusters(mined, reference[0].conversation.file, reference), f"mined from LoCoMo ({mode})"
        composed = _read(role, self._request)
        self._files.append((composed, set()))
        if not isinstance(composed.value, list):
            raise DataError("expected a list of clusters", file=composed.path, seen=composed.value)
        return read_clusters(composed.value, str(composed.path), reference), _named(composed)

    def _role(self, role: str) -> JsonFile | None:
        path = self._request.roles.get(role)
        if path is None:
            return None
        return _read(official_file(path, _OFFICIAL_ROLES[role], kind="locomo-conv"), self._request)

    def _note_files(self) -> None:
        for file, published in self._files:
            note_file(self.report, file, published=published or {file.sha256})

    def _note_rest(self) -> None:
        """What only the whole file tells: fields that were filled in, and entries that no conversation used."""
        report, dialog = self.report, self._dialog
        name = self._files[0][0].path.name
        rows = [row.fields.values for sample in dialog.samples for row in sample.rows]
        shared = [_one_speaker([row.get(names.speaker) for names in REWRITES.values()]) for row in rows]
        if len(rows) >= _MANY and len(dialog.styles) > 1 and all(shared):
            detail = f"all {len(rows)} rows have one speaker for every style, as where the field was filled in"
            report.note("one-speaker-for-all-styles", name, detail)
        nameless = report.counts["supportive memories without systems"]
        if nameless:
            detail = f"{nameless} of {report.counts['supportive memories']} entries do not say which systems named them"
            report.note("supportive-without-systems", name, detail)
        numbers = {sample.number: {row.number for row in sample.rows} for sample in dialog.samples}
        others = Counter(row.conversation for row in self._clusters if row.conversation not in numbers)
        for number, count in sorted(others.items()):
            where = dialog.reference[number].sample_id
            report.note("conversation-not-loaded", where, f"{count} clusters are of it; they give no probe")
        unused = sum(q not in numbers.get(number, ()) for number, q in self._supportive.entries)
        if unused:
            report.note("supportive-unused", name, f"{unused} entries are of questions that the main file lacks")
        self._note_unused_corrections(dialog, numbers)

    def _note_unused_corrections(self, dialog: DialogFile, numbers: dict[int, set[int]]) -> None:
        loaded = {dialog.reference[number].sample_id: rows for number, rows in numbers.items()}
        for sample_id, question in self._overlay.corrections:
            if question not in loaded.get(sample_id, ()):
                detail = "the main file lacks the question; only clusters that hold it are corrected"
                self.report.note("overlay-unused", f"{sample_id} qa {question}", detail)


def _one_speaker(roles: Sequence[object]) -> bool:
    return len({role for role in map(str, roles) if role != "None"}) <= 1


def _read(path: Path, request: LoadRequest) -> JsonFile:
    return read_json(path, encoding=request.encoding, lenient=request.lenient)


def _named(file: JsonFile) -> str:
    return f"{file.path.name} sha256 {file.sha256}"


def _found_roles(folder: Path) -> dict[str, Path]:
    """Files of a folder that have an official name, by role."""
    found = {
        role: next((folder / name for name in names if (folder / name).is_file()), None)
        for role, names in _OFFICIAL_ROLES.items()
    }
    return {role: path for role, path in found.items() if path is not None}


def _mining_mode(text: str) -> MiningMode:
    for mode in MODES:
        if mode == text:
            return mode
    raise ConfigError(f"unknown mining mode {text!r}; write composed=mined:{', mined:'.join(MODES)}")


def _card(file: JsonFile, request: LoadRequest, settings: dict[str, str]) -> Card:
    return Card(
        benchmark="locomo-conv",
        source="https://github.com/MiuLab/LoCoMo-Conv",
        licence="CC BY-NC 4.0 (LoCoMo's, for what is taken from it)",
        annotation="Utterances rewritten by a model from LoCoMo's questions, filtered by a model and by rules; samples "
        "checked by three people. Composed clusters are mined without a model; the first 30 of each conversation were "
        "worded by one generator, the rest by another and repaired for leaks.",
        known_errors=(
            "The release splits evidence at `;` only: 8 questions and 18 clusters keep ids that match no turn.",
            "In 772 of the 1,069 composed clusters one question's evidence lies wholly inside the other's.",
            "Supportive memories were named by four of the compared systems; they are kept apart from evidence.",
            "LoCoMo's wrong answers are inherited.",
        ),
        strata_source="styles and generator parts as in the paper; categories of LoCoMo's scorer; nested, union size "
        "and leak computed from the file",
        file=file.path.name,
        sha256=file.sha256,
        mode=request.mode,
        settings={
            "image_captions": "on" if request.captions else "off",
            "encoding": file.encoding,
            "times": "the session's time plus one second per turn, read as UTC",
            "query_date": "none is published; a probe stands at the last turn's time",
            "roles": "both speakers are peers; the assistant observes, and each utterance has its style's speaker",
            **settings,
        },
    )
