"""Answers written down by one judge and given back by another."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mnemoscope.core.errors import ConfigError, DataError, EndpointError
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.llm.judge import LlmJudge
from mnemoscope.evaluators.judges.panel import Panel
from mnemoscope.evaluators.judges.question import Answer, Fact, Question
from mnemoscope.evaluators.judges.recorded import RecordedJudge
from mnemoscope.evaluators.judges.recording import Recording, writes_down
from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge
from mnemoscope.evaluators.judges.rows import question_sha

USE = use_question("Your pottery class is on Thursday, 阿依拉.", "Ayla's class is on Thursday.")
FACTS = (Fact("f-a", "Ayla's class is on Thursday."), Fact("f-b", "Ayla sold a vase."))
COVERAGE = Question("coverage", USE.reply, "Any news?", "Ayla", FACTS)
YES = {"reason": "", "quote": "class is on Thursday", "verdict": "yes"}


def write(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def use_row(**changes: object) -> dict:
    asked = {"task": "use", "reply": USE.reply, "facts": [{"fact_id": "reply", "text": USE.facts[0].text}]}
    return {"task": "use", "label": "used", "judge": "Ines", "question": asked, **changes}


async def test_what_a_judge_said_comes_back_whole(scripted: Callable, tmp_path: Path) -> None:
    listed = {
        "judgments": [{"fact": 1, "quote": "on Thursday", "covered": True}, {"fact": 2, "quote": "", "covered": 0}]
    }
    model = scripted(YES, YES, {**YES, "verdict": "no"}, listed, listed)
    judge = Recording(LlmJudge(model), tmp_path / "said.jsonl")
    first = [await judge.judge(USE), await judge.judge(COVERAGE)]
    assert [a.status for a in first[1]] == ["scored", "invalid"]

    played = [RecordedJudge(tmp_path / "said.jsonl", judge=judge.key(q.task)) for q in (USE, COVERAGE)]
    again = [await one.judge(q) for one, q in zip(played, (USE, COVERAGE), strict=True)]
    for said, found in zip(first, again, strict=True):
        assert [replace(a, judge_key="") for a in found] == [replace(a, judge_key="") for a in said]
    key = again[0][0].judge_key
    assert key == played[0].key("use") and judge.key("use") in key and key.startswith("recorded(task=use,file=")
    assert played[0].key("coverage") == ""


async def test_a_recording_is_gone_on_with_and_says_nothing_twice(scripted: Callable, tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    await Recording(LlmJudge(scripted(YES)), file).judge(USE)
    before = file.read_text(encoding="utf-8")
    other = use_question(USE.reply, "Ayla sold a vase.")
    later = Recording(LlmJudge(scripted({**YES, "verdict": "no"})), file)
    for question in (USE, other, other):
        await later.judge(question)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 and lines[0] == before.strip()
    assert [answer.label for answer in await RecordedJudge(file).judge(USE)] == ["used"]
    assert [answer.label for answer in await RecordedJudge(file).judge(other)] == ["not used"]


async def test_a_recording_of_several_tasks_is_given_back_whole(tmp_path: Path) -> None:
    """Each task has a key of its own, so that the file of one judge holds several."""
    judge = open_judge(f"recording(offline,file={tmp_path / 'said.jsonl'})", JudgePorts())
    answer = Question("answer", USE.reply, "When is her class?", expected="Thursday")
    said = [await judge.judge(question) for question in (USE, answer)]
    back = open_judge(f"recorded(file={tmp_path / 'said.jsonl'})", JudgePorts())
    found = [await back.judge(question) for question in (USE, answer)]
    assert [(a.label, a.score) for (a,) in found] == [(a.label, a.score) for (a,) in said]
    assert judge.key("use") in back.key("use") and judge.key("answer") in back.key("answer")


async def test_what_breaks_the_contract_is_not_written_down(tmp_path: Path) -> None:
    class Loose:
        name = "loose"

        def key(self, task: str) -> str:
            return "loose-1"

        async def judge(self, question: Question) -> tuple[Answer, ...]:
            return (Answer("perhaps", 0.5),)

    judge = Recording(Loose(), tmp_path / "said.jsonl")
    (answer,) = await judge.judge(USE)
    assert (answer.status, answer.label) == ("error", "judge-error:bad-answer")
    assert not (tmp_path / "said.jsonl").exists()


def test_a_judge_that_writes_down_is_known_behind_others(tmp_path: Path) -> None:
    written = f"recording(offline,file={tmp_path / 'said.jsonl'})"
    ports = JudgePorts()
    assert writes_down(open_judge(written, ports))
    assert not writes_down(open_judge("offline", ports))
    both = Panel([open_judge(written, ports), RecordedJudge(write(tmp_path / "hand.jsonl", use_row()))])
    assert writes_down(both)
    assert not writes_down(Panel([open_judge("offline", ports), RecordedJudge(tmp_path / "hand.jsonl")]))


async def test_failures_of_an_endpoint_are_not_written_down(scripted: Callable, tmp_path: Path) -> None:
    judge = Recording(LlmJudge(scripted(EndpointError("down", cause="server"))), tmp_path / "said.jsonl")
    (answer,) = await judge.judge(USE)
    assert answer.status == "error"
    assert not (tmp_path / "said.jsonl").exists()


async def test_a_row_by_hand_needs_a_question_a_task_and_a_label(tmp_path: Path) -> None:
    judge = RecordedJudge(write(tmp_path / "hand.jsonl", use_row()))
    (answer,) = await judge.judge(USE)
    assert (answer.label, answer.score, answer.status) == ("used", 1.0, "scored")
    assert "judge=Ines" in answer.judge_key
    by_hash = use_row(question=None, question_sha=question_sha(USE), id="r1")
    assert (await RecordedJudge(write(tmp_path / "hash.jsonl", by_hash)).judge(USE))[0].score == 1.0


async def test_what_is_not_in_the_file_is_not_applicable(tmp_path: Path) -> None:
    half = {"task": "coverage", "subject": "f-a", "label": "stated", "question_sha": question_sha(COVERAGE)}
    judge = RecordedJudge(write(tmp_path / "half.jsonl", half))
    answers = await judge.judge(COVERAGE)
    assert [(a.subject, a.label, a.status, a.score) for a in answers] == [
        ("f-a", "stated", "scored", 1.0),
        ("f-b", "not recorded", "not_applicable", None),
    ]
    for other in (USE, replace(COVERAGE, reply="Another reply."), replace(COVERAGE, utterance="?")):
        assert {a.label for a in await judge.judge(other)} == {"not recorded"}


def test_the_hash_is_of_everything_that_a_judge_sees() -> None:
    fields = ("reply", "utterance", "speaker", "expected", "premise", "context", "rubric", "other")
    changed = [replace(COVERAGE, **{field: "changed"}) for field in fields]
    changed += [replace(COVERAGE, task="references"), replace(COVERAGE, facts=FACTS[::-1]), replace(COVERAGE, facts=())]
    assert len({question_sha(q) for q in (COVERAGE, *changed)}) == len(changed) + 1
    assert question_sha(COVERAGE) == question_sha(replace(COVERAGE))


async def test_several_judges_in_one_file_are_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "two.jsonl", use_row(), use_row(judge="Bo", label="not used"))
    with pytest.raises(ConfigError, match="choose one with judge=: 'Bo', 'Ines'"):
        RecordedJudge(path)
    assert (await RecordedJudge(path, judge="Bo").judge(USE))[0].score == 0.0
    judge = open_judge(f"recorded(file={path},judge=Ines)", JudgePorts())
    assert (await judge.judge(USE))[0].score == 1.0
    assert judge.name == f"recorded(file={path},judge=Ines)"
    with pytest.raises(ConfigError, match="no verdicts of judge 'Eva'"):
        RecordedJudge(path, judge="Eva")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (use_row(label="yes"), "no label of task use.*line 2.*used \\(1\\), not used \\(0\\)"),
        (use_row(score=0.0), "no score of task use"),
        (use_row(label="not used"), "answered in two ways.*earlier line says 'used'"),
        (use_row(question=None), "a row without a question"),
        (use_row(question_sha="0" * 64), "question and row do not fit"),
        (use_row(task="answer", label="right"), "question and row do not fit"),
        (use_row(verdict="yes"), "line 2, field verdict"),
        (use_row(task="taste"), "field task"),
    ],
)
def test_rows_that_do_not_fit_say_where(tmp_path: Path, row: dict, said: str) -> None:
    with pytest.raises(DataError, match=f"(?s){said}"):
        RecordedJudge(write(tmp_path / "bad.jsonl", use_row(), row))


def test_files_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read recorded verdicts"):
        RecordedJudge(tmp_path / "absent.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"label": "caf\xe9"}')
    with pytest.raises(DataError, match="not UTF-8"):
        RecordedJudge(tmp_path / "latin.jsonl")
    assert RecordedJudge(write(tmp_path / "empty.jsonl")).key("use") == ""


async def test_a_file_that_cannot_be_written_says_so(scripted: Callable, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write judgements"):
        await Recording(LlmJudge(scripted(YES)), tmp_path / "no" / "said.jsonl").judge(USE)
