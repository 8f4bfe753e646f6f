"""LoCoMo's conversations: sessions and turns of one sample, whichever of the benchmark's files it stands in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import SessionId, TurnId
from mnemoscope.core.language.dates import DateFormatError, parse_locomo_date
from mnemoscope.scenarios.loaders.locomo_evidence import TurnIndex
from mnemoscope.scenarios.loaders.locomo_question import Moment
from mnemoscope.scenarios.reading import Fields, JsonFile, refuse_foreign
from mnemoscope.scenarios.records import Cut, Participant, Session, Turn
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["Conversation", "Sample", "read_conversation", "read_samples"]

_SESSION = re.compile(r"session_(\d+)", re.ASCII)
_SESSION_DATE = re.compile(r"session_(\d+)_date_time", re.ASCII)
_TURN_SECONDS = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation as it stands in the file, whatever the file's shape."""

    sample_id: str
    conversation: Fields
    questions: Sequence[object]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, read."""

    sample_id: str
    speakers: Mapping[str, str]
    """Names by `speaker_a` and `speaker_b`."""
    participants: tuple[Participant, ...]
    sessions: tuple[Session, ...]
    moment: Moment
    """After the last turn, when every question is asked."""


def read_samples(file: JsonFile) -> list[Sample]:
    """The samples of a LoCoMo file: a list, one sample, or one flat object.

    Raises:
        DataError: The file is of another benchmark, or holds no conversation.
    """
    value, name = file.value, str(file.path)
    refuse_foreign(value, kind="locomo", path=file.path)
    if isinstance(value, dict) and "conversation" not in value:
        return [_flat_sample(Fields(name, file.path.stem, value))]
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise DataError("the file holds no conversation", file=name)
    return [_listed_sample(entry, file, index, len(entries)) for index, entry in enumerate(entries)]


def read_conversation(sample: Sample, request: LoadRequest, report: DataReport) -> Conversation:
    """Read the history of one sample.

    Args:
        sample: The sample.
        request: The settings of the load.
        report: Where counts and notices go.

    Returns:
        The conversation, with the moment after its last turn.

    Raises:
        DataError: A turn or a session's date is not as the format says, or a turn id occurs twice.
    """
    return _Reader(sample, request, report).read()


@dataclass(frozen=True, slots=True)
class _Reader:
    """One reading of one sample's history."""

    sample: Sample
    request: LoadRequest
    report: DataReport

    def read(self) -> Conversation:
        sessions = self._sessions()
        turns = [turn for session in sessions for turn in session.turns]
        self._count_history(sessions, turns)
        last = turns[-1] if turns else None
        cut = Cut(seq=len(turns), turn_id=last.turn_id if last else None)
        # Sessions may be out of order; asking at the last one's time would hide later ones.
        latest = max((turn.at for turn in turns if turn.at), default=None)
        talk = self.sample.conversation
        speakers = {role: talk.text(role) for role in ("speaker_a", "speaker_b")}
        return Conversation(
            sample_id=self.sample.sample_id,
            speakers=speakers,
            participants=self._participants(tuple(speakers.values()), turns),
            sessions=tuple(sessions),
            moment=Moment(cut, latest, TurnIndex(turn.turn_id for turn in turns)),
        )

    def _sessions(self) -> list[Session]:
        talks = self._talks()
        starts = self._starts(tuple(talks))
        sessions: list[Session] = []
        known: set[str] = set()
        index = 0
        for number, rows in talks.items():
            turns = [self._turn(row, number, index + i, i, starts[number]) for i, row in enumerate(rows)]
            for turn in turns:
                if turn.turn_id in known:
                    where = f"{self.sample.sample_id} session_{number}"
                    raise DataError("a turn id occurs twice", file=self._file, record=where, seen=turn.turn_id)
                known.add(turn.turn_id)
            index += len(turns)
            session_id = SessionId(f"session_{number}")
            sessions.append(Session(session_id=session_id, at=starts[number], turns=tuple(turns)))
        self._note_order(sessions)
        return sessions

    @property
    def _file(self) -> str:
        return self.sample.conversation.file

    def _talks(self) -> dict[int, list[Fields]]:
        """Session number to its turns, for sessions that have any; date keys alone make no session."""
        talk, where = self.sample.conversation, self.sample.sample_id
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

    def _starts(self, numbers: Sequence[int]) -> Mapping[int, datetime | None]:
        starts: dict[int, datetime | None] = {}
        bad: list[tuple[int, object, str]] = []
        for number in numbers:
            written = self.sample.conversation.values.get(f"session_{number}_date_time")
            starts[number] = None
            try:
                if not isinstance(written, str):
                    raise DateFormatError(str(written), "a date such as '1:56 pm on 8 May, 2023'")
                starts[number] = parse_locomo_date(written).value
            except DateFormatError as error:
                bad.append((number, written, str(error)))
        if bad and not self.request.lenient:
            raise DataError(
                "session dates cannot be read",
                file=self._file,
                record=self.sample.sample_id,
                field=", ".join(f"session_{number}_date_time" for number, _, _ in bad),
                seen=[written for _, written, _ in bad],
                fix=f"{bad[0][2]}; a lenient load leaves the times unknown and keeps the file's order",
            )
        for number, _, problem in bad:
            where = f"{self.sample.sample_id} session {number}"
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
            caption=caption if self.request.captions else None,
            at=None if start is None else start + place * _TURN_SECONDS,
        )

    def _participants(self, named: tuple[str, ...], turns: Sequence[Turn]) -> tuple[Participant, ...]:
        others = dict.fromkeys(turn.speaker for turn in turns if turn.speaker not in named)
        for name in others:
            self.report.note(
                "unlisted-speaker", self.sample.sample_id, f"{name!r} talks and is neither speaker_a nor speaker_b"
            )
        return tuple(Participant(name=name, role="peer") for name in dict.fromkeys((*named, *others)))

    def _note_order(self, sessions: Sequence[Session]) -> None:
        dated = [session for session in sessions if session.at is not None]
        for before, after in pairwise(dated):
            if before.at and after.at and after.at < before.at:
                detail = f"dated before {before.session_id}; the file's order is kept"
                self.report.note("session-out-of-order", f"{self.sample.sample_id} {after.session_id}", detail)

    def _count_history(self, sessions: Sequence[Session], turns: Sequence[Turn]) -> None:
        counts = self.report.counts
        counts["conversations"] += 1
        counts["sessions"] += len(sessions)
        counts["turns"] += len(turns)
        counts["empty turns"] += sum(turn.is_empty for turn in turns)


def _flat_sample(fields: Fields) -> Sample:
    if not {"speaker_a", "speaker_b"} <= fields.values.keys():
        raise DataError(
            "not a LoCoMo file",
            file=fields.file,
            fix="expected a list of samples with `conversation` and `qa`, or one object with speaker_a, session_1, …",
        )
    return Sample(fields.record, fields, fields.sequence("qa"))


def _listed_sample(entry: object, file: JsonFile, index: int, entries: int) -> Sample:
    fields = Fields.of(entry, file=str(file.path), record=f"sample {index}")
    stem = file.path.stem if entries == 1 else f"{file.path.stem}-{index}"
    sample_id = fields.optional_text("sample_id") or stem
    fields = Fields(fields.file, sample_id, fields.values)
    return Sample(sample_id, fields.fields("conversation"), fields.sequence("qa"))
