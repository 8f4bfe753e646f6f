"""Levels of a closed scale, shares, and lists of indices: numbers are never clamped, rounded or guessed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import regex

from mnemoscope.evaluators.judges.parsing.fields import parsed
from mnemoscope.evaluators.judges.parsing.prose import plain, read_prose, undressed
from mnemoscope.evaluators.judges.parsing.reading import Parsed, failed, shown

__all__ = ["as_indices", "as_level", "as_share", "indices", "level", "share"]

_NUMBER = regex.compile(r"[-+]?(?:[0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})")
_NAMED = regex.compile(r"(?<![\p{L}\p{N}.])(?:(?<!\S)[-+])?[0-9]{1,9}(?:\.[0-9]{1,9})?(?![\p{L}\p{N}])")
_LIST = regex.compile(r"[\[(]?\s*[0-9]{1,9}(?:\s*(?:,|;|、|\band\b|和)\s*[0-9]{1,9})*\s*[\])]?")
_NOTHING = frozenset(("", "none", "no", "nothing", "无", "没有", "都没有"))


def level(
    text: str | None, levels: Iterable[float], *, finish_reason: str | None = None, field: str | None = None
) -> Parsed[float]:
    """A level of a closed scale: {0, 0.5, 1}, {0, 1, 2}, 1 to 5.

    Args:
        text: The judge's reply as received.
        levels: All values that count; any other number is `out-of-range`.
        finish_reason: Why it ended.
        field: The JSON field; None: any usual name.

    Returns:
        The level. "10", "4/5", "4 out of 5", "80 %", "n/a" and an empty reply are problems.

    Example:
        >>> level("Score: 0.5", (0, 0.5, 1)).value
        0.5
        >>> level("10", (0, 0.5, 1)).problem.kind
        'out-of-range'
    """
    scale = tuple(float(one) for one in levels)
    return _number(text, partial(as_level, levels=scale), finish_reason, field)


def as_level(value: object, levels: Sequence[float]) -> Parsed[float]:
    """A JSON value as a level: a number, or a text that is nothing but one (counted as a repair)."""
    number, repairs, problem = _as_number(value)
    if number is None:
        return failed("wrong-type", problem)
    if number not in levels:
        return failed("out-of-range", f"not one of {', '.join(f'{one:g}' for one in levels)}: {shown(value)}")
    return Parsed(float(number), repairs=repairs)


def share(text: str | None, *, finish_reason: str | None = None, field: str | None = None) -> Parsed[float]:
    """A share from 0 to 1. "67 %", "2/3" and 1.2 are problems.

    Args:
        text: The judge's reply as received.
        finish_reason: Why it ended.
        field: The JSON field; None: any usual name.

    Example:
        >>> share('{"score": 0.67}').value
        0.67
    """
    return _number(text, as_share, finish_reason, field)


def as_share(value: object) -> Parsed[float]:
    """A JSON value as a share from 0 to 1: a number, or a text that is nothing but one."""
    number, repairs, problem = _as_number(value)
    if number is None:
        return failed("wrong-type", problem)
    if not 0 <= number <= 1:
        return failed("out-of-range", f"not from 0 to 1: {shown(value)}")
    return Parsed(float(number), repairs=repairs)


def indices(
    text: str | None, count: int, *, finish_reason: str | None = None, field: str | None = None
) -> Parsed[tuple[int, ...]]:
    """Numbers of listed things, counted from 1; a judge that names indices leaves the share to us.

    Args:
        text: The judge's reply as received: a JSON list, "1, 3", or "none".
        count: How many things were listed.
        finish_reason: Why it ended.
        field: The JSON field; None: any usual name, or the only one.

    Returns:
        The indices in the order said, each once. One that is no whole number from 1 to `count` spoils the reply.

    Example:
        >>> indices("[1, 3]", 4).value
        (1, 3)
    """
    of_value = partial(as_indices, count=count)

    def of_prose(visible: str) -> Parsed[tuple[int, ...]]:
        said = plain(visible).strip()
        if undressed(said).lower() in _NOTHING:
            return Parsed(())
        if _LIST.fullmatch(said.rstrip(".。")) is None:
            return failed("unparseable", f"no list of numbers: {shown(visible)}")
        return of_value([int(one) for one in regex.findall(r"[0-9]+", said)])

    return parsed(text, finish_reason, field, of_value, of_prose)


def as_indices(value: object, count: int) -> Parsed[tuple[int, ...]]:
    """A JSON value as indices from 1 to `count`."""
    if not isinstance(value, list):
        return failed("wrong-type", f"no list of numbers: {shown(value)}")
    found: dict[int, None] = {}
    repairs: list[str] = []
    for entry in value:
        number, mended, problem = _as_number(entry)
        if number is None:
            return failed("wrong-type", problem)
        if number != int(number) or not 1 <= number <= count:
            return failed("out-of-range", f"no whole number from 1 to {count}: {shown(entry)}")
        repairs += [*mended, *(("repeated",) if int(number) in found else ())]
        found[int(number)] = None
    return Parsed(tuple(found), repairs=tuple(dict.fromkeys(repairs)))


def _number(
    text: str | None, of_value: Callable[[object], Parsed[float]], finish_reason: str | None, field: str | None
) -> Parsed[float]:
    def of_prose(visible: str) -> Parsed[float]:
        said = read_prose(visible, _bare, _named)
        return said if said.value is None else of_value(said.value)

    return parsed(text, finish_reason, field, of_value, of_prose)


def _as_number(value: object) -> tuple[int | float | None, tuple[str, ...], str]:
    """A number, what it took to read it, and why it is none. `True` is no 1."""
    if isinstance(value, str):
        number = _bare(plain(value))
        return number, ("string-number",), f"no number: {shown(value)}"
    if isinstance(value, float) and math.isfinite(value):
        return value, (), ""
    if isinstance(value, int) and not isinstance(value, bool):
        return value, (), ""
    return None, (), f"no number: {shown(value)}"


def _bare(piece: str) -> float | None:
    said = undressed(piece)
    return float(said) if _NUMBER.fullmatch(said) else None


def _named(sentence: str) -> list[float]:
    return [float(found) for found in _NAMED.findall(sentence)]
