"""Files of outcomes: the plain form, MemUse's corpus rows, and everything that is in neither."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from mnemoscope.core.errors import DataError
from mnemoscope.evaluators.outcomes import Moment, SessionOutcome, read_outcomes


def written(folder: Path, *rows: object) -> Path:
    path = folder / "outcomes.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


PLAIN = {"user": "ana", "session": 3, "date": "2026-05-01"}
CORPUS = {"user_id": "annotator_07", "session_idx": 12, "date": "2025/November/14"}


def test_plain_rows(tmp_path: Path) -> None:
    full = {
        **PLAIN,
        "session": "s4",
        "rating": 6,
        "condition": "full",
        "turns": 9,
        "minutes": 4.5,
        "moments": [{"used": False, "recalled": "陶窑", "trigger": "嗨", "next_turn": None}],
    }
    assert read_outcomes(written(tmp_path, PLAIN, full)) == (
        SessionOutcome("ana", "3", date(2026, 5, 1)),
        SessionOutcome("ana", "s4", date(2026, 5, 1), 6.0, "full", 9, 4.5, (Moment(False, "陶窑", "嗨", None),)),
    )


def test_corpus_rows(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    row = {
        **CORPUS,
        "duration_minutes": 7.5,
        "word_count": 80,
        "summary": "-",
        "turns": turns,
        "user_feedback": {"rating": 5, "comment": "nice"},
    }
    unrated = {**CORPUS, "session_idx": 13, "user_feedback": None, "turns": []}
    assert read_outcomes(written(tmp_path, row, unrated)) == (
        SessionOutcome("annotator_07", "12", date(2025, 11, 14), rating=5.0, turns=1, minutes=7.5),
        SessionOutcome("annotator_07", "13", date(2025, 11, 14), turns=0),
    )


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({**PLAIN, "raiting": 5}, "raiting"),
        ({**PLAIN, "rating": "5"}, "rating"),
        ({**PLAIN, "rating": True}, "rating"),
        ({**PLAIN, "turns": -1}, "turns"),
        ({**PLAIN, "date": "1 May"}, "date"),
        ({**PLAIN, "user": ""}, "user"),
        ({**PLAIN, "moments": [{"used": "no"}]}, "moments.0.used"),
        ({"user": "ana", "date": "2026-05-01"}, "session"),
        ({**CORPUS, "date": "2026-05-01"}, "date"),
        ({**CORPUS, "session_idx": "12"}, "session_idx"),
        ({**CORPUS, "user_feedback": {"rating": 8}}, "rating"),
        ({**CORPUS, "user_feedback": {"rating": True}}, "rating"),
        ({**CORPUS, "duration_minutes": -1}, "duration_minutes"),
        ({**CORPUS, "turns": [{"content": "hi"}]}, "role"),
    ],
)
def test_a_row_that_is_wrong_says_where(tmp_path: Path, row: object, field: str) -> None:
    good = {**PLAIN, "session": "first"}
    with pytest.raises(DataError) as caught:
        read_outcomes(written(tmp_path, good, row))
    assert str(caught.value.record).startswith("line 2")
    assert (caught.value.field or "").startswith(field)


def test_a_session_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="user ana has it on line 1"):
        read_outcomes(written(tmp_path, PLAIN, {**PLAIN, "session": "3", "rating": 4}))


@pytest.mark.parametrize("text", ["", "[1]\n", '{"user": "ana"\n', '{"a": NaN}\n'])
def test_a_file_that_is_no_such_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "outcomes.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read_outcomes(path)
    with pytest.raises(DataError):
        read_outcomes(tmp_path / "none.jsonl")
