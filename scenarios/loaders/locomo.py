"""LoCoMo: ten long conversations between two people, with questions about them; both published file shapes."""

from __future__ import annotations

from collections.abc import Iterator

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import ProbeId, ScenarioId
from mnemoscope.scenarios.loaders.locomo_conversation import Sample, read_conversation, read_samples
from mnemoscope.scenarios.loaders.locomo_overlay import read_overlay
from mnemoscope.scenarios.loaders.locomo_question import Moment, read_question
from mnemoscope.scenarios.reading import Fields, JsonFile, note_file, official_file, read_json
from mnemoscope.scenarios.records import Card, Gold, Probe, Scenario
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["OFFICIAL_NAMES", "LocomoSource", "open_locomo"]

OFFICIAL_NAMES = ("locomo10.json",)
PUBLISHED_SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"

_CENSUS = (
    *("conversations", "sessions", "turns", "questions", "orphan dates", "empty sessions", "missing answers"),
    *("integer answers", "empty evidence lists", "unresolvable evidence ids", "captioned turns", "empty turns"),
    *("questions with resolvable evidence", "questions without resolvable evidence"),
)


def open_locomo(request: LoadRequest) -> LocomoSource:
    """Open a LoCoMo file: a list of samples, one sample, or one flat object per conversation.

    Args:
        request: What to load; a folder is searched for the official name. Role `overlay` corrects gold.

    Returns:
        The opened file; scenarios are built while it is iterated.

    Raises:
        DataError: The file cannot be read, is of another benchmark or holds no conversation.
        ConfigError: No path was given, or a role that LoCoMo does not have.
    """
    unknown = [role for role in request.roles if role != "overlay"]
    if unknown:
        raise ConfigError(f"locomo has no role {unknown[0]!r}; it has overlay")
    path = official_file(request.path, OFFICIAL_NAMES, kind="locomo")
    file = read_json(path, encoding=request.encoding, lenient=request.lenient)
    return LocomoSource(file, request)


class LocomoSource:
    """An opened LoCoMo file; each conversation is one scenario and one cluster."""

    def __init__(self, file: JsonFile, request: LoadRequest) -> None:
        self._file, self._request = file, request
        self._samples = read_samples(file)
        sizes = {sample.sample_id: len(sample.questions) for sample in self._samples}
        overlay = request.roles.get("overlay")
        self._overlay = read_overlay(overlay, sizes, encoding=request.encoding, lenient=request.lenient)
        self.card = _card(file, request, self._overlay.setting)
        self.report = DataReport()
        self._note_file()

    def __iter__(self) -> Iterator[Scenario]:
        self.report.counts.clear()
        self.report.notices.clear()
        self._note_file()
        self.report.counts.update(dict.fromkeys(_CENSUS, 0))
        seen: set[str] = set()
        for sample in self._samples:
            if sample.sample_id in seen:
                raise DataError("a sample id occurs twice", file=self._file.path, record=sample.sample_id)
            seen.add(sample.sample_id)
            yield self._scenario(sample)

    def _note_file(self) -> None:
        note_file(self.report, self._file, published={PUBLISHED_SHA256})

    def _scenario(self, sample: Sample) -> Scenario:
        talk = read_conversation(sample, self._request, self.report)
        questions = self._questions(sample, talk.moment)
        return Scenario(
            scenario_id=ScenarioId(sample.sample_id),
            benchmark="locomo",
            cluster=sample.sample_id,
            participants=talk.participants,
            sessions=talk.sessions,
            probes=tuple(probe for probe, _ in questions),
            gold_by_probe={probe.probe_id: gold for probe, gold in questions},
            card=self.card,
        )

    def _questions(self, sample: Sample, moment: Moment) -> list[tuple[Probe, Gold]]:
        first_asked: dict[str, int] = {}
        questions: list[tuple[Probe, Gold]] = []
        for index, value in enumerate(sample.questions):
            row = Fields.of(value, file=str(self._file.path), record=f"{sample.sample_id} qa {index}")
            probe_id = ProbeId(f"{sample.sample_id}/q{index}")
            probe, gold = read_question(row, probe_id, moment, self._request.mode, self.report)
            first = first_asked.setdefault(probe.text, index)
            if first != index:
                self.report.note("repeated-question", row.record, f"the text of qa {first} is asked again")
            questions.append((probe, self._corrected(row, index, sample, moment, probe, gold)))
        return questions

    def _corrected(self, row: Fields, index: int, sample: Sample, moment: Moment, probe: Probe, gold: Gold) -> Gold:
        correction = self._overlay.of(sample.sample_id, index)
        if correction is None:
            return self._overlay.merged(gold, gold)
        correction.note(self.report, row.record)
        if correction.action == "exclude":
            return self._overlay.merged(gold, None)
        fixed = correction.applied_to(row)
        _, corrected = read_question(fixed, probe.probe_id, moment, self._request.mode, DataReport())
        return self._overlay.merged(gold, corrected)


def _card(file: JsonFile, request: LoadRequest, overlay: str | None) -> Card:
    return Card(
        benchmark="locomo",
        source="https://github.com/snap-research/locomo",
        licence="CC BY-NC 4.0",
        annotation="Conversations written by model agents with personas and event timelines, then edited by people; "
        "questions, answers and evidence turns annotated by people.",
        known_errors=(
            "Public audits list about 99 wrong gold answers among the 1,540 questions of categories 1 to 4.",
            "Some evidence strings name no turn; they are kept apart and never guessed unless the mode is `repaired`.",
            "conv-26 has 16 session dates without turns.",
        ),
        strata_source="the category numbers of the authors' scorer (task_eval/evaluation.py): 1 multi-hop, "
        "2 temporal, 3 open-domain, 4 single-hop, 5 adversarial",
        file=file.path.name,
        sha256=file.sha256,
        mode=request.mode,
        settings={
            "image_captions": "on" if request.captions else "off",
            "encoding": file.encoding,
            "times": "the session's time plus one second per turn, read as UTC",
            "roles": "both speakers are peers; the assistant observes",
            **({"overlay": overlay} if overlay else {}),
        },
    )
