"""LongMemEval: one long history of chats with an assistant per question; the s, m and oracle files, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import ProbeId, ScenarioId
from mnemoscope.scenarios.loaders.longmemeval_history import ASSISTANT, USER, History, read_date, read_history
from mnemoscope.scenarios.reading import Fields, official_file, refuse_foreign
from mnemoscope.scenarios.records import Card, Cut, Gold, GoldFact, Participant, Probe, Scenario
from mnemoscope.scenarios.source import DataReport, LoadRequest
from mnemoscope.scenarios.streaming import StreamItem, hash_file, stream_encoding, stream_items

__all__ = ["OFFICIAL_NAMES", "QUESTION_TYPES", "LongmemevalSource", "open_longmemeval"]

OFFICIAL_NAMES = (
    *("longmemeval_s_cleaned.json", "longmemeval_s.json", "longmemeval_m_cleaned.json", "longmemeval_m.json"),
    "longmemeval_oracle.json",
)
QUESTION_TYPES = (
    *("single-session-user", "single-session-assistant", "single-session-preference"),
    *("temporal-reasoning", "knowledge-update", "multi-session"),
)
ABSTENTION_SUFFIX = "_abs"
ABSTENTION = "abstention"
PREFERENCE = "single-session-preference"

_RUBRICS = {"temporal-reasoning": "temporal", "knowledge-update": "knowledge-update", PREFERENCE: "preference"}
_MANY_SESSIONS = 200
"""The s file has about 40 sessions per question, the m file about 500."""
_CENSUS = (
    *("questions", "answerable questions", "abstention questions", "sessions", "turns", "empty turns"),
    *("questions with turn evidence", "questions with session evidence", "questions without evidence"),
)

Shape = Literal["s", "m", "oracle"]


def open_longmemeval(request: LoadRequest) -> LongmemevalSource:
    """Open a LongMemEval file; the file's first item tells whether it is s, m or oracle.

    The benchmark has one protocol and nothing to repair, so all modes read alike.

    Args:
        request: What to load; a folder is searched for the official names, `s` first.

    Returns:
        The opened file; it is streamed while it is iterated.

    Raises:
        DataError: The file cannot be read, is of another benchmark or holds no question.
        ConfigError: No path was given, or a role was.
    """
    if request.roles:
        raise ConfigError(f"longmemeval has no role {min(request.roles)!r}; it takes one path")
    return LongmemevalSource(official_file(request.path, OFFICIAL_NAMES, kind="longmemeval"), request)


class LongmemevalSource:
    """An opened LongMemEval file; each question is one scenario and one cluster."""

    def __init__(self, path: Path, request: LoadRequest) -> None:
        self._path, self._request = path, request
        first = next(stream_items(path, encoding=request.encoding, lenient=request.lenient), None)
        if first is None:
            raise DataError("the file holds no question", file=path)
        refuse_foreign([first.value], kind="longmemeval", path=path)
        self._shape = _shape(first.value)
        self.card = _card(path, request, self._shape)
        self.report = DataReport()
        self._note_file()

    def __iter__(self) -> Iterator[Scenario]:
        self.report.counts.clear()
        self.report.notices.clear()
        self.report.counts.update(dict.fromkeys(_CENSUS, 0))
        self._note_file()
        request = self._request
        seen: dict[str, int] = {}
        for item in stream_items(
            self._path, encoding=request.encoding, lenient=request.lenient, progress=request.progress
        ):
            for key in item.repeated:
                detail = f'key "{key.key}" is given {len(key.dropped) + 1} times: the last is used'
                self.report.note("repeated-key", f"{self._path.name} {key.path}", detail)
            row = self._row(item, seen)
            try:
                scenario = self._scenario(row)
            except DataError as error:
                if not request.lenient:
                    raise
                self.report.note("skipped-record", row.record, str(error))
                continue
            yield scenario

    def _note_file(self) -> None:
        if self._shape == "oracle":
            detail = "the histories hold evidence sessions only: retrieval has nothing to choose from"
            self.report.note("evidence-only-histories", self._path.name, detail)

    def _row(self, item: StreamItem, seen: dict[str, int]) -> Fields:
        file = str(self._path)
        question_id = Fields.of(item.value, file=file, record=f"[{item.index}]").text("question_id")
        if question_id in seen:
            raise DataError(
                "a question id occurs twice",
                file=file,
                record=f"[{item.index}]",
                field="question_id",
                seen=question_id,
                fix=f"first in [{seen[question_id]}]",
            )
        seen[question_id] = item.index
        return Fields.of(item.value, file=file, record=question_id)

    def _scenario(self, row: Fields) -> Scenario:
        report, lenient = self.report, self._request.lenient
        text, kind = row.text("question").strip(), row.text("question_type")
        if not text:
            raise row.wrong("question", "a question")
        answer = _answer(row, report)
        history = read_history(row, report, lenient=lenient)
        now = read_date(row, "question_date", row.values.get("question_date"), report, lenient=lenient)
        turns = history.turns
        cut = Cut(seq=len(turns), turn_id=turns[-1].turn_id if turns else None)
        late = [s.session_id for s in history.sessions if now is not None and s.at is not None and s.at > now]
        if late:
            report.note("session-after-question", row.record, f"{len(late)} sessions are dated after the question")
        probe = Probe(probe_id=ProbeId(row.record), style="question", speaker=USER, text=text, cut=cut, now=now)
        return Scenario(
            scenario_id=ScenarioId(row.record),
            benchmark="longmemeval",
            cluster=row.record,
            participants=(Participant(name=USER, role="user"), Participant(name=ASSISTANT, role="assistant")),
            sessions=history.sessions,
            probes=(probe,),
            gold_by_probe={probe.probe_id: self._gold(row, kind, answer, history)},
            card=self.card,
        )

    def _gold(self, row: Fields, kind: str, answer: str, history: History) -> Gold:
        report = self.report
        if kind not in QUESTION_TYPES:
            report.note("unknown-question-type", row.record, f"{kind!r} is kept as a stratum of its own")
        evidence, unit, unresolvable = _evidence(row, history, report)
        abstention = row.record.endswith(ABSTENTION_SUFFIX)
        report.counts["questions"] += 1
        report.counts[f"type {kind}"] += 1
        report.counts["abstention questions" if abstention else "answerable questions"] += 1
        is_rubric = kind == PREFERENCE
        plain = not abstention and not is_rubric
        return Gold(
            answers=(answer,) if plain else (),
            evidence=evidence,
            evidence_unit=unit,
            unresolvable=unresolvable,
            facts=(GoldFact(fact_id=f"{row.record}/answer", text=answer, sources=evidence),) if plain else (),
            unanswerable=abstention,
            rubric=answer if is_rubric and not abstention else None,
            expected=None if plain else answer,
            judge_inputs={"rubric": ABSTENTION if abstention else _RUBRICS.get(kind, "answer")},
            strata=(kind, ABSTENTION) if abstention else (kind,),
        )


def _answer(row: Fields, report: DataReport) -> str:
    value = row.values.get("answer")
    if isinstance(value, int | float) and not isinstance(value, bool):
        report.note("number-as-answer", row.record, f"answer {value} read as a text")
        return str(value)
    answer = row.text("answer").strip()
    if not answer:
        raise row.wrong("answer", "an answer")
    return answer


def _evidence(
    row: Fields, history: History, report: DataReport
) -> tuple[tuple[str, ...], Literal["turn", "session"], tuple[str, ...]]:
    """Marked turns of the evidence sessions where there are any, else every occurrence of those sessions."""
    wanted = tuple(dict.fromkeys(row.texts("answer_session_ids")))
    found = {written: history.occurrences(written) for written in wanted}
    unresolvable = tuple(written for written, ids in found.items() if not ids)
    for written in unresolvable:
        report.note("unresolvable-evidence", row.record, f"the history has no session {written!r}")
    turns = tuple(turn_id for turn_id, written in history.marked if written in found or not wanted)
    if outside := len(history.marked) - len(turns):
        report.note("mark-outside-evidence", row.record, f"{outside} marked turns lie in no evidence session; not gold")
    if turns:
        marked = {written for _, written in history.marked}
        if bare := [written for written, ids in found.items() if ids and written not in marked]:
            detail = (
                f"{len(bare)} evidence sessions have no marked turn; the evidence is the marked turns of the others"
            )
            report.note("evidence-session-without-mark", row.record, detail)
        report.counts["questions with turn evidence"] += 1
        return turns, "turn", unresolvable
    sessions = tuple(session_id for ids in found.values() for session_id in ids)
    report.counts[f"questions {'with session' if sessions else 'without'} evidence"] += 1
    if not sessions:
        report.note("empty-evidence", row.record, "no evidence is given; left out of recall")
    return sessions, "session", unresolvable


def _shape(value: object) -> Shape:
    """Told by the first question: only evidence sessions, hundreds of sessions, or some dozens."""
    if not isinstance(value, dict):
        return "s"
    ids, answers = value.get("haystack_session_ids"), value.get("answer_session_ids")
    if not isinstance(ids, list) or not isinstance(answers, list):
        return "s"
    if ids and all(written in answers for written in ids):
        return "oracle"
    return "m" if len(ids) >= _MANY_SESSIONS else "s"


def _card(path: Path, request: LoadRequest, shape: Shape) -> Card:
    return Card(
        benchmark="longmemeval",
        source="https://github.com/xiaowu0162/LongMemEval",
        licence="MIT",
        annotation="Questions, answers and evidence sessions written by people; fillers from public chat logs and "
        "generated chats.",
        known_errors=(
            "Ids of evidence sessions contain the word `answer`; sessions are named by their place in time instead.",
            "The oracle file is not in time order; sessions are sorted by date, ties keep the file's order.",
            "Some histories hold one session twice under different dates; both are kept and each counts in recall.",
            "Answers of preference questions are rubrics; those of `_abs` questions explain what is missing.",
        ),
        strata_source="question_type; the suffix `_abs` of the question id for abstention",
        file=path.name,
        sha256=hash_file(path),
        mode=request.mode,
        settings={
            "shape": shape,
            "roles": "user and assistant, as recorded: the assistant takes part",
            "encoding": stream_encoding(path, encoding=request.encoding),
            "times": "the session's date plus one second per turn, question_date for the question, read as UTC",
            "evidence": "marked turns of both roles where there are any, else evidence sessions",
        },
    )
