"""When the messages of a chat log were sent, in which order they stand, and where one sitting ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise

from mnemoscope.core.errors import DataError
from mnemoscope.core.language.dates import (
    DateFormatError,
    ParsedDate,
    parse_iso_date,
    parse_locomo_date,
    parse_longmemeval_date,
    parse_memuse_date,
)
from mnemoscope.scenarios.loaders.chatlog_reading import LogFile, Message
from mnemoscope.scenarios.source import DataReport

__all__ = ["Sitting", "TimedMessage", "split_sessions", "timed"]

_SLASHES = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})(?:[ T]+(\d{1,2}):(\d{2})(:\d{2})?)?", re.ASCII)
_NUMBER = re.compile(r"\d{9,14}(?:\.\d+)?", re.ASCII)
_EXPECTED = "an ISO date such as 2024-05-08 13:56, or seconds since 1970"
_SECONDS, _MILLISECONDS = (1e8, 1e11), (1e11, 1e14)


@dataclass(frozen=True, slots=True)
class TimedMessage:
    """A message and when it was sent."""

    message: Message
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Sitting:
    """Messages of one session, in order."""

    session_id: str
    messages: tuple[TimedMessage, ...]


def timed(log: LogFile, zone: tzinfo, zone_name: str, report: DataReport, *, lenient: bool) -> list[TimedMessage]:
    """Read the times of all messages. A message without one takes that of the message before it.

    Args:
        log: The log.
        zone: The zone of times that name none.
        zone_name: Its name, for notices.
        report: Where counts and notices go.
        lenient: A time that cannot be read counts as none.

    Returns:
        The messages in file order; all are dated, or none is.

    Raises:
        DataError: A time cannot be read.
    """
    kinds: Counter[str] = Counter()
    times = [_time(message, log, zone, kinds, report, lenient=lenient) for message in log.messages]
    dated = [at for at in times if at is not None]
    name = log.path.name
    for kind, what in (
        ("naive-time", f"times name no zone; read as {zone_name}"),
        ("epoch-time", "times are given in seconds or milliseconds since 1970"),
        ("slash-date", "dates are written year first with slashes or points"),
        ("date-only", "dates without a time; read as midnight"),
    ):
        if kinds[kind]:
            report.counts[f"{kind.replace('-', ' ')}s"] = kinds[kind]
            report.note(kind, name, f"{kinds[kind]} {what}")
    if not dated:
        report.note("undated", name, "no message has a time; the file's order is kept")
        return [TimedMessage(message, None) for message in log.messages]
    latest = dated[0]
    filled: list[TimedMessage] = []
    for message, at in zip(log.messages, times, strict=True):
        if at is None:
            report.counts["times inherited"] += 1
            report.note("time-inherited", message.where, "no time; it takes that of its neighbour")
        latest = at or latest
        filled.append(TimedMessage(message, latest))
    return filled


def split_sessions(messages: Sequence[TimedMessage], gap: timedelta, report: DataReport, name: str) -> list[Sitting]:
    """Sessions by the file's own ids, or wherever more than `gap` lies between two messages.

    Messages are put in the order of time first, as many exports are newest first; equal times keep the file's order.

    Args:
        messages: All messages, dated or not.
        gap: The longest pause within one session.
        report: Where counts and notices go.
        name: The file's name, for notices.
    """
    if any(entry.message.session is not None for entry in messages):
        sittings = _by_id(messages, report, name)
    else:
        ordered = _in_time(messages, report, name)
        groups: list[list[TimedMessage]] = []
        for entry in ordered:
            last = groups[-1][-1].at if groups else None
            if not groups or (entry.at is not None and last is not None and entry.at - last > gap):
                groups.append([])
            groups[-1].append(entry)
        sittings = [Sitting(f"s{number}", tuple(group)) for number, group in enumerate(groups, 1)]
    for before, after in pairwise(sittings):
        last, first = before.messages[-1].at, after.messages[0].at
        if last is not None and first is not None and first < last:
            report.note("sessions-overlap", name, f"{after.session_id} begins before {before.session_id} ends")
    return sittings


def _by_id(messages: Sequence[TimedMessage], report: DataReport, name: str) -> list[Sitting]:
    current = next(entry.message.session for entry in messages if entry.message.session is not None)
    groups: dict[str, list[TimedMessage]] = {}
    for entry in messages:
        if entry.message.session is None:
            report.note("session-inherited", entry.message.where, f"no session; it goes with {current!r}")
        current = entry.message.session or current
        groups.setdefault(str(current), []).append(entry)
    sorted_groups = {key: _in_time(group, report, f"{name} session {key}") for key, group in groups.items()}
    in_order = list(sorted_groups.items())
    if all(group[0].at is not None for _, group in in_order):
        in_order.sort(key=lambda pair: pair[1][0].at or datetime.min.replace(tzinfo=UTC))
        if [key for key, _ in in_order] != list(groups):
            report.note("sessions-reordered", name, "sessions are put in the order of time")
    taken: set[str] = set()
    sittings = []
    for number, (key, group) in enumerate(in_order, 1):
        usable = len(key) <= 200 and not any(c.isspace() for c in key) and key not in taken
        session_id = key if usable else f"session-{number}"
        if not usable:
            report.note("session-renamed", name, f"session {key!r} is called {session_id}")
        taken.add(session_id)
        sittings.append(Sitting(session_id, tuple(group)))
    return sittings


def _in_time(messages: Sequence[TimedMessage], report: DataReport, where: str) -> list[TimedMessage]:
    if any(entry.at is None for entry in messages):
        return list(messages)
    ordered = sorted(messages, key=lambda entry: entry.at or datetime.min.replace(tzinfo=UTC))
    moved = sum(before is not after for before, after in zip(messages, ordered, strict=True))
    if moved:
        report.counts["messages put in order of time"] += moved
        report.note("sorted-by-time", where, f"{moved} of {len(ordered)} messages stand elsewhere than in the file")
    return ordered


def _time(
    message: Message, log: LogFile, zone: tzinfo, kinds: Counter[str], report: DataReport, *, lenient: bool
) -> datetime | None:
    if message.time is None:
        return None
    try:
        parsed, kind = _parsed(message.time, zone)
    except DateFormatError as error:
        if lenient:
            report.note("unreadable-date", message.where, f"{error}; the time counts as missing")
            return None
        raise DataError(
            f"not a time: {error.reason}" if error.reason else "not a time",
            file=log.path,
            record=message.where,
            field="time",
            seen=message.time,
            fix=f"write {_EXPECTED}; a lenient load takes the time of the message before",
        ) from error
    kinds.update([kind] if kind else [])
    kinds["naive-time"] += parsed.zone_assumed
    kinds["date-only"] += parsed.date_only
    for warning in parsed.warnings:
        report.note("doubtful-time", message.where, warning)
    return parsed.value


def _parsed(written: object, zone: tzinfo) -> tuple[ParsedDate, str]:
    if isinstance(written, str) and _NUMBER.fullmatch(written.strip()):
        return _from_epoch(float(written)), "epoch-time"
    if isinstance(written, int | float) and not isinstance(written, bool):
        return _from_epoch(written), "epoch-time"
    if not isinstance(written, str):
        raise DateFormatError(repr(written), _EXPECTED)
    if match := _SLASHES.fullmatch(written.strip()):
        year, month, day, hour, minute, second = match.groups()
        clock = "" if hour is None else f"T{int(hour):02}:{minute}{second or ''}"
        return parse_iso_date(f"{year}-{int(month):02}-{int(day):02}{clock}", default_zone=zone), "slash-date"
    for parse in (parse_locomo_date, parse_longmemeval_date, parse_memuse_date):
        try:
            return parse(written, default_zone=zone), ""
        except DateFormatError:
            continue
    return parse_iso_date(written, default_zone=zone), ""


def _from_epoch(number: float) -> ParsedDate:
    scale = (
        1.0 if _SECONDS[0] <= number < _SECONDS[1] else 1000.0 if _MILLISECONDS[0] <= number < _MILLISECONDS[1] else 0
    )
    if not scale:
        raise DateFormatError(
            str(number), _EXPECTED, "no number of seconds or milliseconds since 1970 that makes sense"
        )
    return ParsedDate(datetime.fromtimestamp(number / scale, tz=UTC), zone_assumed=False)
