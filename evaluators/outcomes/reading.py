"""Outcomes from a file: one session per line, in the plain form or as a row of MemUse's corpus.

The plain form is `{"user", "session", "date", "rating"?, "condition"?, "turns"?, "minutes"?, "moments"?}`; `session`
is a text or a number, `date` is `2026-05-01`, and a moment is `{"used"?, "recalled"?, "trigger"?, "next_turn"?}`. Any
other field is an error. A corpus row is known by `user_id` and `session_idx`; of it, `date`, `user_feedback.rating`
(1–7), `duration_minutes` and the number of user turns are read.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mnemoscope.core.errors import DataError
from mnemoscope.core.language.dates import DateFormatError, ParsedDate, parse_iso_date, parse_memuse_date
from mnemoscope.evaluators.outcomes.records import Moment, SessionKey, SessionOutcome
from mnemoscope.scenarios.jsonl import open_jsonl
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.source import DataReport

__all__ = ["read_outcomes"]

_SCALE = (1, 7)
"""Of MemUse's ratings."""
_Length = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Moment(_Part):
    used: bool | None = None
    recalled: str = ""
    trigger: str = ""
    next_turn: str | None = None


class _Row(_Part):
    user: Annotated[str, Field(min_length=1)]
    session: Annotated[str, Field(min_length=1)] | int
    date: str
    rating: Annotated[float, Field(allow_inf_nan=False)] | None = None
    condition: Annotated[str, Field(min_length=1)] | None = None
    turns: Annotated[int, Field(ge=0)] | None = None
    minutes: _Length | None = None
    moments: Annotated[tuple[_Moment, ...], Field(strict=False)] = ()


def read_outcomes(path: Path) -> tuple[SessionOutcome, ...]:
    """Read a JSON Lines file of session outcomes, in its order.

    Args:
        path: The file.

    Raises:
        DataError: The file is missing or empty, a line is in neither form, or a session is there twice.
    """
    found: dict[SessionKey, int] = {}
    outcomes = []
    for line in open_jsonl(path).read(DataReport()):
        row = Fields.of(line.value, file=str(path), record=f"line {line.number}")
        outcome = _corpus_row(row) if {"user_id", "session_idx"} <= row.values.keys() else _plain_row(row)
        first = found.setdefault(outcome.key, line.number)
        if first != line.number:
            raise DataError(
                "a session is there twice",
                file=path,
                record=row.record,
                field="session",
                seen=outcome.session,
                fix=f"user {outcome.user} has it on line {first}",
            )
        outcomes.append(outcome)
    return tuple(outcomes)


def _plain_row(row: Fields) -> SessionOutcome:
    try:
        read = _Row.model_validate(dict(row.values))
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(
            "an outcome is not as its format says",
            file=row.file,
            record=row.record,
            field=".".join(map(str, first["loc"])),
            seen=first["input"],
            fix=first["msg"],
        ) from error
    return SessionOutcome(
        user=read.user,
        session=str(read.session),
        date=_day(row, read.date, parse_iso_date),
        rating=read.rating,
        condition=read.condition,
        turns=read.turns,
        minutes=read.minutes,
        moments=tuple(Moment(m.used, m.recalled, m.trigger, m.next_turn) for m in read.moments),
    )


def _corpus_row(row: Fields) -> SessionOutcome:
    turns = None
    if row.values.get("turns") is not None:
        said = [
            Fields.of(value, file=row.file, record=f"{row.record} turns[{place}]")
            for place, value in enumerate(row.sequence("turns"))
        ]
        turns = sum(turn.text("role") == "user" for turn in said)
    return SessionOutcome(
        user=row.text("user_id"),
        session=str(row.integer("session_idx")),
        date=_day(row, row.text("date"), parse_memuse_date),
        rating=_rating(row),
        turns=turns,
        minutes=_number(row, "duration_minutes"),
    )


def _rating(row: Fields) -> float | None:
    if row.values.get("user_feedback") is None:
        return None
    given = row.fields("user_feedback")
    rating = _number(given, "rating")
    if rating is not None and not _SCALE[0] <= rating <= _SCALE[1]:
        raise given.wrong("rating", f"a rating from {_SCALE[0]} to {_SCALE[1]}")
    return rating


def _number(row: Fields, name: str) -> float | None:
    value = row.values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise row.wrong(name, "a number that is not negative, or null")
    return float(value)


def _day(row: Fields, text: str, parse: Callable[[str], ParsedDate]) -> date:
    try:
        return parse(text).value.date()
    except DateFormatError as error:
        raise DataError(
            "a date cannot be read", file=row.file, record=row.record, field="date", seen=text, fix=str(error)
        ) from error
