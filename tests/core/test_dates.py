"""The benchmarks' date formats: exact instants, whatever the locale, and an error for everything else."""

from __future__ import annotations

import json
import locale
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.language.dates import (
    DateFormatError,
    ParsedDate,
    parse_iso_date,
    parse_locomo_date,
    parse_longmemeval_date,
    parse_memuse_date,
)

PARSERS = (parse_locomo_date, parse_longmemeval_date, parse_memuse_date, parse_iso_date)


@pytest.fixture(params=["C", "de_DE.UTF-8", "zh_CN.UTF-8"])
def any_locale(request: pytest.FixtureRequest) -> Iterator[str]:
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, request.param)
    except locale.Error:
        pytest.skip(f"this machine has no locale {request.param}")
    yield request.param
    locale.setlocale(locale.LC_ALL, before)


def test_dt_03_exact_instants_under_any_locale(any_locale: str, case_dir: Callable[[str], Path]) -> None:
    written = json.loads((case_dir("DT-03") / "dates.json").read_text(encoding="utf-8"))
    expected = json.loads((case_dir("DT-03") / "expected.json").read_text(encoding="utf-8"))
    parsers = [*[parse_locomo_date] * 3, *[parse_longmemeval_date] * 2, parse_memuse_date]
    parsed = [parse(text) for parse, text in zip(parsers, written, strict=True)]
    for result, instant in zip(parsed, expected["parsed"], strict=True):
        assert result.value == datetime.fromisoformat(instant).replace(tzinfo=UTC)
        assert result.date_only == ("T" not in instant)
    warnings = {str(i): result.warnings for i, result in enumerate(parsed) if result.warnings}
    assert warnings == {key: (text,) for key, text in expected["warnings"].items()}


def test_dt_04_offsets_are_converted_and_ambiguity_is_flagged(case_dir: Callable[[str], Path]) -> None:
    written = json.loads((case_dir("DT-04") / "times.json").read_text(encoding="utf-8"))
    expected = json.loads((case_dir("DT-04") / "expected.json").read_text(encoding="utf-8"))
    parsed = [parse_iso_date(text) for text in written]
    in_utc = [result.value.isoformat().replace("+00:00", "Z") for result in parsed]
    assert in_utc[:3] == expected["utc"][:3]
    assert in_utc[3] == "2026-10-25T00:30:00Z"
    assert parsed[3].warnings == ("ambiguous: 2026-10-25T00:30:00Z or 2026-10-25T01:30:00Z; the earlier is used",)
    by_time = sorted(zip(parsed[:3], written[:3], strict=True), key=lambda pair: pair[0].value)
    assert [text for _, text in by_time] == expected["sorted_first_three"]
    assert [result.zone_assumed for result in parsed] == [False, True, False, False]


def test_a_declared_zone_is_applied_not_relabelled() -> None:
    lima = ZoneInfo("America/Lima")
    assert parse_iso_date("2026-01-01T03:00:00", default_zone=lima).value == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert parse_locomo_date("12:30 am on 1 May, 2023", default_zone=lima).value == datetime(
        2023, 5, 1, 5, 30, tzinfo=UTC
    )
    assert parse_iso_date("2026-01-01T03:00:00Z", default_zone=lima).value.hour == 3


def test_a_skipped_wall_time_is_moved_and_flagged() -> None:
    result = parse_iso_date("2026-03-29T02:30:00 Europe/Berlin")
    assert result.value == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert result.warnings == ("skipped by a change of clocks; moved by 60 minutes",)


@pytest.mark.parametrize(
    ("hour", "half", "expected"), [(12, "am", 0), (1, "am", 1), (11, "am", 11), (12, "pm", 12), (1, "PM", 13)]
)
def test_twelve_is_midnight_or_noon(hour: int, half: str, expected: int) -> None:
    assert parse_locomo_date(f"{hour}:05 {half} on 9 June, 2023").value.hour == expected


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (parse_locomo_date, "sometime in spring", "1:56 pm on 8 May, 2023"),
        (parse_locomo_date, "", "1:56 pm on 8 May, 2023"),
        (parse_locomo_date, "10:00 am on 30 February, 2023", "day"),
        (parse_locomo_date, "13:00 pm on 3 March, 2023", "12-hour clock"),
        (parse_locomo_date, "0:10 am on 3 March, 2023", "12-hour clock"),
        (parse_locomo_date, "1:00 pm on 3 März, 2023", "1:56 pm"),
        (parse_locomo_date, "1:00 pm on 3 Marzo, 2023", "no English month name"),
        (parse_locomo_date, "2023-05-08", "1:56 pm"),
        (parse_longmemeval_date, "2023/04/10 (Xyz) 17:50", "no weekday"),
        (parse_longmemeval_date, "2023/02/30 (Mon) 17:50", "day"),
        (parse_longmemeval_date, "2023/04/10 17:50", "2023/04/10 (Mon) 17:50"),
        (parse_memuse_date, "2025/Novembre/05", "no English month name"),
        (parse_memuse_date, "2025/11/05", "2025/November/05"),
        (parse_iso_date, "2026-13-01", "month"),
        (parse_iso_date, "2026-01-01T00:00:00+01:00 Europe/Berlin", "both"),
        (parse_iso_date, "2026-01-01T00:00:00 Middle/Earth", "no time zone"),
        (parse_iso_date, "0001-01-01T00:00:00+05:00", "range"),
        (parse_iso_date, "yesterday", "ISO 8601"),
    ],
)
def test_anything_else_is_an_error_that_names_what_was_expected(
    parse: Callable[[str], ParsedDate], text: str, reason: str
) -> None:
    with pytest.raises(DateFormatError, match="is not a") as caught:
        parse(text)
    assert reason in str(caught.value)
    assert repr(text) in str(caught.value)


@given(st.text(max_size=40))
def test_no_text_crashes_a_parser_or_yields_a_naive_time(text: str) -> None:
    for parse in PARSERS:
        try:
            assert parse(text).value.tzinfo is UTC
        except DateFormatError:
            continue


@given(st.datetimes(datetime.fromisoformat("1900-01-01"), datetime.fromisoformat("2200-01-01")))
def test_every_minute_survives_the_locomo_format(moment: datetime) -> None:
    months = "January February March April May June July August September October November December".split()
    half = "am" if moment.hour < 12 else "pm"
    text = (
        f"{moment.hour % 12 or 12}:{moment.minute:02} {half} on {moment.day} {months[moment.month - 1]}, {moment.year}"
    )
    expected = moment.replace(second=0, microsecond=0, tzinfo=UTC)
    assert parse_locomo_date(text).value == expected
    assert parse_iso_date(moment.isoformat()).value == moment.replace(tzinfo=UTC)
