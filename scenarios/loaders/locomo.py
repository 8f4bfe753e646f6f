"""LoCoMo: ten long conversations between two people, with questions about them; both published file shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import ProbeId, ScenarioId, SessionId, TurnId
from mnemoscope.core.language.dates import DateFormatError, parse_locomo_date
from mnemoscope.scenarios.loaders.locomo_evidence import TurnIndex
from mnemoscope.scenarios.loaders.locomo_question import Moment, read_question
from mnemoscope.scenarios.reading import Fields, JsonFile, note_file, official_file, read_json, refuse_foreign
from mnemoscope.scenarios.records import Card, Cut, Gold, Participant, Probe, Scenario, Session, Turn
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["OFFICIAL_NAMES", "LocomoSource", "open_locomo"]

OFFICIAL_NAMES = ("locomo10.json",)
PUBLISHED_SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"

_SESSION = re.compile(r"session_(\d+)", re.ASCII)
_SESSION_DATE = re.compile(r"session_(\d+)_date_time", re.ASCII)
_TURN_SECONDS = timedelta(seconds=1)
_CENSUS = (
    *("conversations", "sessions", "turns", "questions", "orphan dates", "empty sessions", "missing answers"),
    *("integer answers", "empty evidence lists", "unresolvable evidence ids", "captioned turns", "empty turns"),
    *("questions with resolvable evidence", "questions without resolvable evidence"),
)


@dataclass(frozen=True, slots=True)
class _Sample:
    """One conversation as it stands in the file, whatever the file's shape."""

    sample_id: str
    conversation: Fields
    questions: Sequence[object]


def open_locomo(request: LoadRequest) -> LocomoSource:
    """Open a LoCoMo file: a list of samples, one sample, or one flat object per conversation.

    Args:
        request: What to load; a folder is searched for the official name.

    Returns:
        The opened file; scenarios are built while it is iterated.

    Raises:
        DataError: The file cannot be read, is of another benchmark or holds no conversation.
        ConfigError: No path was given.
    """
    path = official_file(request.path, OFFICIAL_NAMES, kind="locomo")
    file = read_json(path, encoding=request.encoding, lenient=request.lenient)
    return LocomoSource(file, request)


class LocomoSource:
    """An opened LoCoMo file; each conversation is one scenario and one cluster."""

    def __init__(self, file: JsonFile, request: LoadRequest) -> None:
        self._file, self._request = file, request
        self._samples = _samples(file)
        self.card = _card(file, request)
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

    def _scenario(self, sample: _Sample) -> Scenario:
        sessions = self._sessions(sample)
        turns = [turn for session in sessions for turn in session.turns]
        self._count_history(sessions, turns)
        last = turns[-1] if turns else None
        cut = Cut(seq=len(turns), turn_id=last.turn_id if last else None)
        moment = Moment(cut, last.at if last else None, TurnIndex(turn.turn_id for turn in turns))
        questions = self._questions(sample, moment)
        return Scenario(
            scenario_id=ScenarioId(sample.sample_id),
            benchmark="locomo",
            cluster=sample.sample_id,
            participants=self._participants(sample, turns),
            sessions=tuple(sessions),
            probes=tuple(probe for probe, _ in questions),
            gold_by_probe={probe.probe_id: gold for probe, gold in questions},
            card=self.card,
        )

    def _questions(self, sample: _Sample, moment: Moment) -> list[tuple[Probe, Gold]]:
        first_asked: dict[str, int] = {}
        questions: list[tuple[Probe, Gold]] = []
        for index, value in enumerate(sample.questions):
            row = Fields.of(value, file=str(self._file.path), record=f"{sample.sample_id} qa {index}")
            probe_id = ProbeId(f"{sample.sample_id}/q{index}")
            probe, gold = read_question(row, probe_id, moment, self._request.mode, self.report)
            first = first_asked.setdefault(probe.text, index)
            if first != index:
                self.report.note("repeated-question", row.record, f"the text of qa {first} is asked again")
            questions.append((probe, gold))
        return questions

    def _sessions(self, sample: _Sample) -> list[Session]:
        talks = self._talks(sample)
        starts = self._starts(sample, tuple(talks))
        sessions: list[Session] = []
        known: set[str] = set()
        index = 0
        for number, rows in talks.items():
            turns = [self._turn(row, number, index + i, i, starts[number]) for i, row in enumerate(rows)]
            for turn in turns:
                if turn.turn_id in known:
                    where = f"{sample.sample_id} session_{number}"
                    raise DataError("a turn id occurs twice", file=self._file.path, record=where, seen=turn.turn_id)
                known.add(turn.turn_id)
            index += len(turns)
            session_id = SessionId(f"session_{number}")
            sessions.append(Session(session_id=session_id, at=starts[number], turns=tuple(turns)))
        self._note_order(sample, sessions)
        return sessions

    def _talks(self, sample: _Sample) -> dict[int, list[Fields]]:
        """Session number to its turns, for sessions that have any; date keys alone make no session."""
        talk, where = sample.conversation, sample.sample_id
        keys = {int(match[1]): key for key in talk.values if (match := _SESSION.fullmatch(key))}
        dated = sorted(int(match[1]) for key in talk.values if (match := _SESSION_DATE.fullmatch(key)))
        talks: dict[int, list[Fields]] = {}
        for number, key in sorted(keys.items()):
            rows = talk.sequence(key)
            places = [f"{where} {key} turn {i}" for i in range(1, len(rows) + 1)]
            read = [Fields.of(row, file=talk.file, record=place) for row, place in zip(rows, places, strict=True)]
            if read:
                talks[number] = read
            else:
                self.report.counts["empty sessions"] += 1
                self.report.note("session-without-turns", f"{where} session {number}", "no turns; left out")
        for number in dated:
            if number not in keys:
                self.report.counts["orphan dates"] += 1
                self.report.note("date-without-turns", f"{where} session {number}", "date but no turns; left out")
        return talks

    def _starts(self, sample: _Sample, numbers: Sequence[int]) -> Mapping[int, datetime | None]:
        starts: dict[int, datetime | None] = {}
        bad: list[tuple[int, object, str]] = []
        for number in numbers:
            written = sample.conversation.values.get(f"session_{number}_date_time")
            starts[number] = None
            try:
                if not isinstance(written, str):
                    raise DateFormatError(str(written), "a date such as '1:56 pm on 8 May, 2023'")
                starts[number] = parse_locomo_date(written).value
            except DateFormatError as error:
                bad.append((number, written, str(error)))
        if bad and not self._request.lenient:
            raise DataError(
                "session dates cannot be read",
                file=self._file.path,
                record=sample.sample_id,
                field=", ".join(f"session_{number}_date_time" for number, _, _ in bad),
                seen=[written for _, written, _ in bad],
                fix=f"{bad[0][2]}; a lenient load leaves the times unknown and keeps the file's order",
            )
        for number, _, problem in bad:
            where = f"{sample.sample_id} session {number}"
            self.report.note("unreadable-date", where, f"{problem}; the time is unknown, the file's order is kept")
        return starts

    def _turn(self, row: Fields, number: int, index: int, place: int, start: datetime | None) -> Turn:
        caption = row.optional_text("blip_caption")
        if caption is not None:
            self.report.counts["captioned turns"] += 1
        return Turn(
            turn_id=TurnId(row.text("dia_id")),
            session_id=SessionId(f"session_{number}"),
            index=index,
            speaker=row.text("speaker"),
            role="peer",
            text=row.text("text"),
            caption=caption if self._request.captions else None,
            at=None if start is None else start + place * _TURN_SECONDS,
        )

    def _participants(self, sample: _Sample, turns: Sequence[Turn]) -> tuple[Participant, ...]:
        named = (sample.conversation.text("speaker_a"), sample.conversation.text("speaker_b"))
        others = dict.fromkeys(turn.speaker for turn in turns if turn.speaker not in named)
        for name in others:
            self.report.note(
                "unlisted-speaker", sample.sample_id, f"{name!r} talks and is neither speaker_a nor speaker_b"
            )
        return tuple(Participant(name=name, role="peer") for name in dict.fromkeys((*named, *others)))

    def _note_order(self, sample: _Sample, sessions: Sequence[Session]) -> None:
        dated = [session for session in sessions if session.at is not None]
        for before, after in pairwise(dated):
            if before.at and after.at and after.at < before.at:
                detail = f"dated before {before.session_id}; the file's order is kept"
                self.report.note("session-out-of-order", f"{sample.sample_id} {after.session_id}", detail)

    def _count_history(self, sessions: Sequence[Session], turns: Sequence[Turn]) -> None:
        counts = self.report.counts
        counts["conversations"] += 1
        counts["sessions"] += len(sessions)
        counts["turns"] += len(turns)
        counts["empty turns"] += sum(turn.is_empty for turn in turns)


def _samples(file: JsonFile) -> list[_Sample]:
    value, name = file.value, str(file.path)
    refuse_foreign(value, kind="locomo", path=file.path)
    if isinstance(value, dict) and "conversation" not in value:
        return [_flat_sample(Fields(name, file.path.stem, value))]
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise DataError("the file holds no conversation", file=name)
    return [_listed_sample(entry, file, index, len(entries)) for index, entry in enumerate(entries)]


def _flat_sample(fields: Fields) -> _Sample:
    if not {"speaker_a", "speaker_b"} <= fields.values.keys():
        raise DataError(
            "not a LoCoMo file",
            file=fields.file,
            fix="expected a list of samples with `conversation` and `qa`, or one object with speaker_a, session_1, …",
        )
    return _Sample(fields.record, fields, fields.sequence("qa"))


def _listed_sample(entry: object, file: JsonFile, index: int, entries: int) -> _Sample:
    fields = Fields.of(entry, file=str(file.path), record=f"sample {index}")
    stem = file.path.stem if entries == 1 else f"{file.path.stem}-{index}"
    sample_id = fields.optional_text("sample_id") or stem
    fields = Fields(fields.file, sample_id, fields.values)
    return _Sample(sample_id, fields.fields("conversation"), fields.sequence("qa"))


def _card(file: JsonFile, request: LoadRequest) -> Card:
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
        },
    )
