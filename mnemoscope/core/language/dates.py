"""The benchmarks' written dates, one explicit format each, read the same under every locale and on every day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = [
    "DateFormatError",
    "ParsedDate",
    "parse_iso_date",
    "parse_locomo_date",
    "parse_longmemeval_date",
    "parse_memuse_date",
]

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS: Mapping[str, int] = MappingProxyType({name: number for number, name in enumerate(_MONTH_NAMES, start=1)})
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_LOCOMO = re.compile(r"(\d{1,2}):(\d{2})\s*(am|pm)\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.ASCII | re.IGNORECASE)
_LONGMEMEVAL = re.compile(r"(\d{4})/(\d{2})/(\d{2})\s+\(([a-z]{3})\)\s+(\d{2}):(\d{2})", re.ASCII | re.IGNORECASE)
_MEMUSE = re.compile(r"(\d{4})/([a-z]+)/(\d{1,2})", re.ASCII | re.IGNORECASE)
_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)"
    r"(?P<offset>Z|[+-]\d{2}:?\d{2})?(?:\s+(?P<zone>[A-Za-z][\w+/-]*))?)?",
    re.ASCII,
)

LOCOMO_EXPECTED = "a date such as '1:56 pm on 8 May, 2023'"
LONGMEMEVAL_EXPECTED = "a date such as '2023/04/10 (Mon) 17:50'"
MEMUSE_EXPECTED = "a date such as '2025/November/05'"
ISO_EXPECTED = "an ISO 8601 date such as '2026-01-01T03:00:00', with an offset or without"


class DateFormatError(ValueError):
    """A text is not a date of the format that was asked for.

    Args:
        text: What was seen.
        expected: The format, by example.
        reason: What is wrong with a text of the right shape, where that is known.
    """

    def __init__(self, text: str, expected: str, reason: str | None = None) -> None:
        super().__init__(f"{text!r} is not {expected}" + (f": {reason}" if reason else ""))
        self.text, self.expected, self.reason = text, expected, reason


@dataclass(frozen=True, slots=True)
class ParsedDate:
    """A moment and what was odd about the way it was written."""

    value: datetime
    """In UTC."""
    warnings: tuple[str, ...] = ()
    zone_assumed: bool = True
    """The text names no zone, so that the declared default zone was used."""
    date_only: bool = False
    """The text gives a day and no time; the value is that day's midnight."""


def parse_locomo_date(text: str, *, default_zone: tzinfo = UTC) -> ParsedDate:
    """Read `1:56 pm on 8 May, 2023`, the form of LoCoMo and StratMem-Bench; 12 am is midnight, 12 pm is noon.

    Args:
        text: The written date.
        default_zone: The zone that the wall time is in.

    Returns:
        The moment in UTC, and warnings.

    Raises:
        DateFormatError: Another form, or a day or hour that does not exist.

    Example:
        >>> parse_locomo_date("12:09 am on 13 September, 2023").value.isoformat()
        '2023-09-13T00:09:00+00:00'
    """
    match = _LOCOMO.fullmatch(text.strip())
    if match is None:
        raise DateFormatError(text, LOCOMO_EXPECTED)
    hour, minute, half, day, month, year = match.groups()
    if not 1 <= int(hour) <= 12:
        raise DateFormatError(text, LOCOMO_EXPECTED, f"{hour} is no hour of a 12-hour clock")
    hour_of_day = int(hour) % 12 + (12 if half.lower() == "pm" else 0)
    fields = (int(year), _month(month, text, LOCOMO_EXPECTED), int(day), hour_of_day, int(minute))
    return _in_utc(_moment(fields, text, LOCOMO_EXPECTED), default_zone)


def parse_longmemeval_date(text: str, *, default_zone: tzinfo = UTC) -> ParsedDate:
    """Read `2023/04/10 (Mon) 17:50`, the form of LongMemEval; where weekday and date disagree, the date wins.

    Args:
        text: The written date.
        default_zone: The zone that the wall time is in.

    Returns:
        The moment in UTC, and warnings.

    Raises:
        DateFormatError: Another form, or a day or hour that does not exist.

    Example:
        >>> parse_longmemeval_date("2023/04/10 (Tue) 17:50").warnings
        ('weekday Tue does not match Mon',)
    """
    match = _LONGMEMEVAL.fullmatch(text.strip())
    if match is None:
        raise DateFormatError(text, LONGMEMEVAL_EXPECTED)
    year, month, day, weekday, hour, minute = match.groups()
    written = weekday.capitalize()
    if written not in _WEEKDAYS:
        raise DateFormatError(text, LONGMEMEVAL_EXPECTED, f"{weekday} is no weekday")
    wall = _moment((int(year), int(month), int(day), int(hour), int(minute)), text, LONGMEMEVAL_EXPECTED)
    actual = _WEEKDAYS[wall.weekday()]
    warnings = () if written == actual else (f"weekday {written} does not match {actual}",)
    return _in_utc(wall, default_zone, warnings)


def parse_memuse_date(text: str, *, default_zone: tzinfo = UTC) -> ParsedDate:
    """Read `2025/November/05`, the form of MemUse: a day without a time.

    Args:
        text: The written date.
        default_zone: The zone whose midnight is meant.

    Returns:
        That day's midnight in UTC, and warnings.

    Raises:
        DateFormatError: Another form, or a day that does not exist.

    Example:
        >>> parse_memuse_date("2025/November/05").value.isoformat()
        '2025-11-05T00:00:00+00:00'
    """
    match = _MEMUSE.fullmatch(text.strip())
    if match is None:
        raise DateFormatError(text, MEMUSE_EXPECTED)
    year, month, day = match.groups()
    fields = (int(year), _month(month, text, MEMUSE_EXPECTED), int(day), 0, 0)
    return _in_utc(_moment(fields, text, MEMUSE_EXPECTED), default_zone, date_only=True)


def parse_iso_date(text: str, *, default_zone: tzinfo = UTC) -> ParsedDate:
    """Read an ISO 8601 date or time; an offset is converted, never relabelled.

    A time zone's name may follow (`2026-10-25T02:30:00 Europe/Berlin`). A wall time that a change of clocks makes
    ambiguous takes its earlier meaning, one that it skips is moved by the gap; both are flagged.

    Args:
        text: The written date.
        default_zone: The zone of a text without offset or zone.

    Returns:
        The moment in UTC, and warnings.

    Raises:
        DateFormatError: Another form, a day that does not exist, an unknown zone.

    Example:
        >>> parse_iso_date("2026-01-01T00:00:00-05:00").value.isoformat()
        '2026-01-01T05:00:00+00:00'
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        raise DateFormatError(text, ISO_EXPECTED)
    offset, zone_name = match["offset"], match["zone"]
    if offset and zone_name:
        raise DateFormatError(text, ISO_EXPECTED, "it has both an offset and a zone")
    try:
        written = datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{offset or ''}")
        if written.tzinfo is not None:
            return ParsedDate(written.astimezone(UTC), zone_assumed=False)
    except (ValueError, OverflowError) as error:
        raise DateFormatError(text, ISO_EXPECTED, str(error)) from error
    zone = _zone(zone_name, text) if zone_name else default_zone
    return _in_utc(written, zone, zone_assumed=zone_name is None, date_only=match["time"] is None)


def _month(name: str, text: str, expected: str) -> int:
    number = _MONTHS.get(name.lower())
    if number is None:
        raise DateFormatError(text, expected, f"{name} is no English month name")
    return number


def _moment(fields: tuple[int, int, int, int, int], text: str, expected: str) -> datetime:
    try:
        return datetime(*fields)  # noqa: DTZ001 - the zone is applied by the caller, who knows it
    except ValueError as error:
        raise DateFormatError(text, expected, str(error)) from error


def _zone(name: str, text: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise DateFormatError(text, ISO_EXPECTED, f"{name} is no time zone that this machine knows") from error


def _in_utc(
    wall: datetime,
    zone: tzinfo,
    warnings: tuple[str, ...] = (),
    *,
    zone_assumed: bool = True,
    date_only: bool = False,
) -> ParsedDate:
    try:
        earlier = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
        later = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    except OverflowError as error:
        raise DateFormatError(str(wall), "a date between the years 1 and 9999", str(error)) from error
    if earlier < later:
        warnings += (f"ambiguous: {_zulu(earlier)} or {_zulu(later)}; the earlier is used",)
    elif earlier > later:
        gap = earlier - later
        warnings += (f"skipped by a change of clocks; moved by {gap // timedelta(minutes=1)} minutes",)
    return ParsedDate(earlier, warnings, zone_assumed, date_only)


def _zulu(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
