"""MemUse: real diary conversations cut at a turn that calls for a memory, or at one that does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import ProbeId, ScenarioId, SessionId, TurnId, sha256_of
from mnemoscope.core.language.dates import DateFormatError, parse_memuse_date
from mnemoscope.scenarios.jsonl import JsonLine, JsonLines, open_jsonl
from mnemoscope.scenarios.loaders.memuse_corpus import SessionExtras, read_extras, with_extras
from mnemoscope.scenarios.loaders.memuse_gold import ODD_INSTANCES, SubQuestion, natural_gold, question_gold
from mnemoscope.scenarios.reading import Fields, official_file, refuse_foreign
from mnemoscope.scenarios.records import Card, Cut, Gold, Participant, Probe, Role, Scenario, Session, Turn
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["ASSISTANT", "OFFICIAL_NAMES", "USER", "MemuseSource", "open_memuse"]

OFFICIAL_NAMES = ("instances.test.jsonl",)
NEGATIVES_NAME = "negatives.test.jsonl"
USER, ASSISTANT = "user", "Luke"
"""Names of the two participants; the data has none for the user."""

_ROLES = ("negatives", "corpus", "summaries")
_TURN_SECONDS = timedelta(seconds=1)
_CENSUS = (
    *("instances", "positives", "negatives", "sub-questions", "users", "sessions", "turns", "empty turns"),
    *("without judge inputs 1.2", "skipped lines"),
)


def open_memuse(request: LoadRequest) -> MemuseSource:
    """Open MemUse instances: `memuse:INSTANCES.jsonl[,negatives=…][,corpus=…][,summaries=…]`, or their folder.

    Any of the files may hold positives and negatives. `corpus` (sessions with `summary` and turns with `importance`)
    and `summaries` (sessions with `summary`, or instances with `prior_session_summaries`) are JSON Lines; what they say
    about sessions before the trigger goes to `Turn.meta`.

    Args:
        request: What to load; in a folder the official names are looked for, and the negatives come along.

    Returns:
        The opened files; scenarios are built while it is iterated.

    Raises:
        DataError: A file cannot be read.
        ConfigError: No path, or an unknown role.
    """
    if unknown := sorted(request.roles.keys() - set(_ROLES)):
        raise ConfigError(f"memuse has no role {unknown[0]!r}; it takes negatives=, corpus= and summaries=")
    path = official_file(request.path, OFFICIAL_NAMES, kind="memuse")
    paths = [path]
    if negatives := request.roles.get("negatives"):
        paths.append(official_file(negatives, (NEGATIVES_NAME,), kind="memuse"))
    elif request.path is not None and request.path.is_dir() and (path.parent / NEGATIVES_NAME).is_file():
        paths.append(path.parent / NEGATIVES_NAME)
    files = [open_jsonl(p, encoding=request.encoding, lenient=request.lenient) for p in paths]
    return MemuseSource(files, request)


class MemuseSource:
    """Opened MemUse files; each instance is one scenario, each user one cluster."""

    def __init__(self, files: Sequence[JsonLines], request: LoadRequest) -> None:
        self._files, self._request = files, request
        self._cards = [_card(file, request) for file in files]
        self.card = self._cards[0]
        self.report = DataReport()

    def __iter__(self) -> Iterator[Scenario]:
        report = self.report
        report.counts.clear()
        report.notices.clear()
        report.counts.update(dict.fromkeys(_CENSUS, 0))
        roles = self._request.roles
        extras = read_extras([roles[r] for r in ("corpus", "summaries") if r in roles], self._request, report)
        users: set[str] = set()
        seen = _Seen()
        for file, card in zip(self._files, self._cards, strict=True):
            for line in file.read(report):
                scenario = self._scenario(line, file, card, extras, seen)
                if scenario is not None:
                    users.add(scenario.cluster)
                    report.counts["users"] = len(users)
                    yield scenario

    def _scenario(
        self, line: JsonLine, file: JsonLines, card: Card, extras: SessionExtras, seen: _Seen
    ) -> Scenario | None:
        record = f"line {line.number}"
        try:
            if not isinstance(line.value, dict) or "instance_id" not in line.value:
                refuse_foreign(line.value, kind="memuse", path=file.path)
            row = Fields.of(line.value, file=str(file.path), record=record)
            instance_id = row.text("instance_id")
            if not instance_id.strip():
                raise row.wrong("instance_id", "a text that is not blank")
            row = Fields(row.file, f"{record} {instance_id}", row.values)
            seen.instance(row, instance_id)
            return _Instance(row, instance_id, self._request, extras, self.report).scenario(card, seen)
        except DataError as error:
            if not self._request.lenient:
                raise
            self.report.note("skipped-record", f"{file.path.name} {record}", str(error))
            return None


class _Seen:
    """What occurred before in the same load."""

    def __init__(self) -> None:
        self._instances: dict[str, str] = {}
        self._triggers: dict[str, str] = {}

    def instance(self, row: Fields, instance_id: str) -> None:
        if (first := self._instances.get(instance_id)) is not None:
            raise DataError(
                "an instance id occurs twice",
                file=row.file,
                record=row.record,
                field="instance_id",
                seen=instance_id,
                fix=f"first in {first}",
            )
        self._instances[instance_id] = f"{Path(row.file).name}, {row.record}"

    def trigger(self, user: str, session: int, text: str, instance_id: str) -> str | None:
        """The instance that has the same trigger turn already."""
        first = self._triggers.setdefault(sha256_of(f"{user}\n{session}\n{text}"), instance_id)
        return None if first == instance_id else first


@dataclass(frozen=True, slots=True)
class _Trigger:
    """The turn that is answered, and what the current session said before it."""

    turn: Turn
    before: tuple[Turn, ...]


class _Instance:
    """One row while it is being read."""

    def __init__(
        self, row: Fields, instance_id: str, request: LoadRequest, extras: SessionExtras, report: DataReport
    ) -> None:
        self.row, self.instance_id, self.request = row, instance_id, request
        self.extras, self.report = extras, report
        self.user = row.text("user_id")
        self.trigger_session = row.integer("trigger_session_idx")
        self.latest: datetime | None = None

    def scenario(self, card: Card, seen: _Seen) -> Scenario:
        given = self.row.fields("input")
        sessions = self._sessions(given)
        turns = [turn for session in sessions for turn in session.turns]
        trigger = self._trigger(given, len(turns))
        strata = self._strata(sessions, trigger, seen)
        gold, asked = natural_gold(self.row, self.row.fields("target"), trigger.turn.text, strata, self.report)
        cut = Cut(seq=len(turns), turn_id=turns[-1].turn_id if turns else None)
        probes = [(self._natural(trigger, cut), gold)]
        probes += [(self._question(entry, trigger, cut), question_gold(entry, gold)) for entry in asked]
        self._count(sessions, gold, asked)
        return Scenario(
            scenario_id=ScenarioId(self.instance_id),
            benchmark="memuse",
            cluster=self.user,
            participants=(Participant(name=USER, role="user"), Participant(name=ASSISTANT, role="assistant")),
            sessions=tuple(sessions),
            probes=tuple(probe for probe, _ in probes),
            gold_by_probe={probe.probe_id: known for probe, known in probes},
            card=card,
        )

    def _sessions(self, given: Fields) -> list[Session]:
        """All sessions before the trigger session, in the order of their numbers."""
        rows = [
            Fields.of(value, file=given.file, record=f"{given.record} sessions[{position}]")
            for position, value in enumerate(given.sequence("sessions"))
        ]
        numbers = [row.integer("session_idx") for row in rows]
        if len(set(numbers)) < len(numbers):
            raise self.row.wrong("input", f"sessions with different session_idx, not {numbers}")
        if numbers != sorted(numbers):
            self.report.note("sessions-reordered", self.row.record, "sessions are put in the order of session_idx")
        sessions: list[Session] = []
        index = 0
        for number, row in sorted(zip(numbers, rows, strict=True), key=lambda pair: pair[0]):
            if number >= self.trigger_session:
                self._future(row, number)
                continue
            session = self._session(row, number, index)
            if not session.turns:
                self.report.note("session-without-turns", row.record, "no turns; left out")
                continue
            turns = with_extras(session.turns, self.user, number, self.extras, self.report, row.record)
            sessions.append(session.model_copy(update={"turns": turns}))
            index += len(turns)
        return sessions

    def _future(self, row: Fields, number: int) -> None:
        if not self.request.lenient:
            raise DataError(
                "a session that is not before the trigger session",
                file=row.file,
                record=row.record,
                field="session_idx",
                seen=number,
                fix=f"the trigger is in session {self.trigger_session}; a lenient load leaves the session out",
            )
        self.report.note("session-after-trigger", row.record, f"session {number} is not over yet; left out")

    def _session(self, row: Fields, number: int, index: int) -> Session:
        start = self._start(row)
        turns = tuple(
            self._turn(
                Fields.of(value, file=row.file, record=f"{row.record} turns[{position}]"),
                number,
                position,
                index + position,
                None if start is None else start + position * _TURN_SECONDS,
            )
            for position, value in enumerate(row.sequence("turns"))
        )
        if turns and turns[-1].at is not None:
            self.latest = turns[-1].at
        return Session(session_id=SessionId(f"s{number}"), at=start, turns=turns)

    def _start(self, row: Fields) -> datetime | None:
        """The session's date; a second session of one day begins after the first."""
        written = row.text("date")
        try:
            date = parse_memuse_date(written).value
        except DateFormatError as error:
            if not self.request.lenient:
                raise row.wrong("date", error.expected) from error
            self.report.note("unreadable-date", row.record, f"{error}; the time is unknown")
            return None
        if self.latest is None or date > self.latest:
            return date
        if date.date() == self.latest.date():
            return self.latest + _TURN_SECONDS
        self.report.note("session-out-of-order", row.record, f"{written} is before an earlier session; order is kept")
        return date

    def _turn(self, row: Fields, session: int, place: int, index: int, at: datetime | None) -> Turn:
        role = row.text("role")
        roles: dict[str, tuple[Role, str]] = {"user": ("user", USER), "assistant": ("assistant", ASSISTANT)}
        if role not in roles:
            raise row.wrong("role", "user or assistant")
        turn = Turn(
            turn_id=TurnId(f"s{session}t{place + 1}"),
            session_id=SessionId(f"s{session}"),
            index=index,
            speaker=roles[role][1],
            role=roles[role][0],
            text=row.text("content"),
            at=at,
        )
        if turn.is_empty:
            self.report.note("empty-turn", row.record, "kept, never remembered")
        return turn

    def _trigger(self, given: Fields, index: int) -> _Trigger:
        """The current session up to the trigger; the trigger itself stands exactly once, as the turn to answer."""
        current = given.fields("current_session")
        number = current.integer("session_idx")
        if number != self.trigger_session:
            if not self.request.lenient:
                raise DataError(
                    "the current session is not the trigger session",
                    file=self.row.file,
                    record=self.row.record,
                    field="trigger_session_idx",
                    seen=self.trigger_session,
                    fix=f"the current session is {number}",
                )
            detail = f"the current session is {number}, the trigger session {self.trigger_session}; the file is kept"
            self.report.note("trigger-session-differs", self.row.record, detail)
        quote = given.text("trigger_quote")
        if not quote.strip():
            raise given.wrong("trigger_quote", "a text that is not blank")
        current = Fields(current.file, f"{current.record} current_session", current.values)
        session = self._session(current, number, index)
        turns = session.turns
        same = [i for i, turn in enumerate(turns) if turn.role == "user" and turn.text.split() == quote.split()]
        if same:
            place = same[-1]
            if place < len(turns) - 1:
                detail = f"{len(turns) - 1 - place} turns after the trigger are left out"
                self.report.note("current-session-cut", self.row.record, detail)
            return _Trigger(turns[place], turns[:place])
        last = turns[-1] if turns else None
        if last is not None and last.role == "user" and quote.strip() in last.text:
            self.report.note("trigger-is-part-of-turn", self.row.record, "the last turn holds the trigger; it is used")
            return _Trigger(last, turns[:-1])
        self.report.note("trigger-appended", self.row.record, "the trigger is not the last turn; appended once")
        at = session.at if not turns else None if turns[-1].at is None else turns[-1].at + _TURN_SECONDS
        appended = Turn(
            turn_id=TurnId(f"s{number}t{len(turns) + 1}"),
            session_id=session.session_id,
            index=index + len(turns),
            speaker=USER,
            role="user",
            text=quote,
            at=at,
        )
        return _Trigger(appended, turns)

    def _strata(self, sessions: Sequence[Session], trigger: _Trigger, seen: _Seen) -> tuple[str, ...]:
        strata = [ODD_INSTANCES[self.instance_id]] if self.instance_id in ODD_INSTANCES else []
        twin = seen.trigger(self.user, self.trigger_session, trigger.turn.text, self.instance_id)
        if twin is not None:
            self.report.note("shared-trigger", self.row.record, f"the trigger turn is that of {twin}: not independent")
            if "odd: shared trigger" not in strata:
                strata.append("odd: shared trigger")
        last, now = sessions[-1].turns[-1].at if sessions else None, trigger.turn.at
        if last is not None and now is not None and last.date() == now.date():
            self.report.note("same-date", self.row.record, "the current session is on the day of the previous one")
            strata.append("odd: same date")
        return tuple(strata)

    def _natural(self, trigger: _Trigger, cut: Cut) -> Probe:
        return Probe(
            probe_id=ProbeId(f"{self.instance_id}/natural"),
            style="dialog",
            speaker=USER,
            text=trigger.turn.text.strip(),
            cut=cut,
            now=trigger.turn.at,
            recent_turns=_spoken(trigger.before),
            persona=f"{ASSISTANT}: a friendly diary companion. Replies in one or two warm sentences that fit the "
            f"user's mood, and asks something back about one time in three. This is conversation number "
            f"{self.trigger_session + 1}.",
        )

    def _question(self, entry: SubQuestion, trigger: _Trigger, cut: Cut) -> Probe:
        """The released run of Mem0 asks without the current session; otherwise both kinds of probes see the same."""
        said = () if self.request.mode == "strict-release" else (*trigger.before, trigger.turn)
        return Probe(
            probe_id=ProbeId(f"{self.instance_id}/{entry.fact_id}"),
            style="question",
            speaker="asker",
            text=entry.question,
            cut=cut,
            now=trigger.turn.at,
            recent_turns=_spoken(said),
        )

    def _count(self, sessions: Sequence[Session], gold: Gold, asked: Sequence[SubQuestion]) -> None:
        counts = self.report.counts
        turns = [turn for session in sessions for turn in session.turns]
        counts["instances"] += 1
        counts["negatives" if "negative" in gold.strata else "positives"] += 1
        counts["sub-questions"] += len(asked)
        counts["sessions"] += len(sessions)
        counts["turns"] += len(turns)
        counts["empty turns"] += sum(turn.is_empty for turn in turns)


def _spoken(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    return tuple(turn for turn in turns if not turn.is_empty)


def _card(file: JsonLines, request: LoadRequest) -> Card:
    bare = request.mode == "strict-release"
    return Card(
        benchmark="memuse",
        source="https://github.com/ryuichi-sumida/memuse",
        licence="CC BY-NC 4.0",
        annotation="Conversations of 40 people with a deployed diary assistant; memory events found by a model and "
        "verified by people, with fact questions and a description of a good reply.",
        known_errors=(
            "Ids run to pos_073 without pos_053; some published figures divide by 73, not 72.",
            "pos_030 asks about something never discussed, pos_051 about world knowledge, pos_045 and pos_046 about a "
            "session that was lost, pos_033 to pos_035 and pos_066 name no content; they are tagged as odd.",
            "pos_068 and pos_069 share one trigger turn and are not independent.",
            "Judge inputs of versions 1.1 and 1.2 give 58 and 28 percent on the same replies; verdicts of the two must "
            "not be compared.",
        ),
        strata_source="event_type, and tags for odd instances",
        file=file.path.name,
        sha256=file.sha256,
        mode="strict-release" if bare else "robust",
        settings={
            "encoding": file.encoding,
            "times": "the session's date plus one second per turn, read as UTC",
            "roles": f"{USER} and {ASSISTANT} (assistant), as recorded",
            "direct_qa_context": "none" if bare else "the current session with the trigger, as for the natural reply",
            "extras": ", ".join(f"{role}={request.roles[role].name}" for role in _ROLES[1:] if role in request.roles)
            or "none",
        },
    )
