"""Verdicts about several things in one reply: facts joined by their ids, and named axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import regex

from mnemoscope.evaluators.judges.parsing.fields import named_field, read_object
from mnemoscope.evaluators.judges.parsing.numbers import as_level
from mnemoscope.evaluators.judges.parsing.prose import plain
from mnemoscope.evaluators.judges.parsing.reading import CUT_OFF, Parsed, Problem, failed, read, shown

__all__ = ["Item", "Items", "axes", "items"]

T = TypeVar("T")

_ID_FIELDS = ("fact_id", "fact", "id", "item")


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """What a judge says about one fact."""

    verdict: Parsed[T]
    fields: Mapping[str, object]
    """The entry as the judge wrote it, quotes included; empty where there is not exactly one."""


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """Verdicts per fact. One fact's problem is no other fact's."""

    by_id: Mapping[str, Item[T]]
    """Every id asked for, in that order."""
    ignored: int = 0
    """Entries without an id that was asked for."""
    repairs: tuple[str, ...] = ()
    """Of the reply as a whole."""


def items(
    text: str | None,
    ids: Sequence[str],
    of_value: Callable[[object], Parsed[T]],
    *,
    finish_reason: str | None = None,
    list_field: str | None = None,
    field: str | None = None,
) -> Items[T]:
    """A list of verdicts, joined by id and never by position.

    Reads `{"judgments": [{"fact": 1, "covered": true}, …]}`, the list alone, and `{"1": true, …}`. A fact without an
    entry is `missing`, one with several is `duplicate`, whatever they say; entries for other ids are counted.

    Args:
        text: The judge's reply as received.
        ids: The ids of the facts asked about.
        of_value: Reads one verdict: `as_yes_no`, or `as_level` and `as_choice` with their scale.
        finish_reason: Why it ended.
        list_field: The field of the list; None: the only field that holds several things.
        field: The field of the verdict in an entry; None: any usual name.

    Example:
        >>> from mnemoscope.evaluators.judges.parsing.labels import as_yes_no
        >>> found = items('[{"fact": 2, "covered": "false"}]', ["1", "2"], as_yes_no)
        >>> found.by_id["2"].verdict.value, found.by_id["1"].verdict.problem.kind
        ('no', 'missing')
    """
    whole = read(text, finish_reason, partial(_entries, ids=frozenset(ids), list_field=list_field))
    if whole.value is None:
        return Items({one: Item(Parsed(problem=whole.problem), {}) for one in ids})
    entries: dict[str, list[Mapping[str, object]]] = {one: [] for one in ids}
    ignored = 0
    for name, entry in whole.value:
        if name in entries:
            entries[name].append(entry)
        else:
            ignored += 1
    cut = CUT_OFF in whole.repairs
    by_id = {one: _item(one, found, of_value, field, cut=cut) for one, found in entries.items()}
    return Items(by_id, ignored, whole.repairs)


def axes(
    text: str | None, names: Sequence[str], levels: Iterable[float], *, finish_reason: str | None = None
) -> dict[str, Parsed[float]]:
    """Levels of named axes, from a JSON object or from lines such as "Relevance: 0.5".

    Args:
        text: The judge's reply as received.
        names: The axes; their case does not matter.
        levels: All values that count.
        finish_reason: Why it ended.

    Returns:
        Every axis, in the order of `names`; one that is missing, said twice or off the scale has a problem of its own.

    Example:
        >>> found = axes('{"faithfulness": 1, "relevance": "0.5"}', ("faithfulness", "relevance"), (0, 0.5, 1))
        >>> [one.value for one in found.values()]
        [1.0, 0.5]
    """
    of_level = partial(as_level, levels=tuple(float(one) for one in levels))
    whole = read(text, finish_reason, lambda visible: _axes(visible, names, of_level))
    if whole.value is None:
        return {name: Parsed(problem=whole.problem) for name in names}
    return {name: _in_cut(parsed, cut=CUT_OFF in whole.repairs) for name, parsed in whole.value.items()}


_Entry = tuple[str, Mapping[str, object]]


def _entries(visible: str, *, ids: frozenset[str], list_field: str | None) -> Parsed[list[_Entry]]:
    found = read_object(visible)
    if found is None:
        return failed("unparseable", f"no JSON in {shown(visible)}")
    if found.value is None:
        return Parsed(problem=found.problem)
    if list_field is not None:
        if list_field not in found.value and set(found.value) != {"items"}:
            return failed("missing", f"no field {list_field!r} among {shown(sorted(found.value))}")
        held = found.value.get(list_field, found.value.get("items"))
    else:
        holding = [value for value in found.value.values() if isinstance(value, list | Mapping)]
        held = dict(found.value) if ids.intersection(found.value) or len(holding) != 1 else holding[0]
    if isinstance(held, Mapping):
        if not ids.intersection(held):
            return failed("missing", f"no list of verdicts in {shown(visible)}")
        return Parsed([(key, _as_entry(value)) for key, value in held.items()], repairs=found.repairs)
    if not isinstance(held, list):
        return failed("wrong-type", f"no list of verdicts: {shown(held)}")
    return Parsed([_named_entry(entry) for entry in held], repairs=found.repairs)


def _as_entry(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {"verdict": value}


def _named_entry(entry: object) -> _Entry:
    """An entry under its id; an id that is no text and no whole number is none."""
    if not isinstance(entry, Mapping):
        return "", {}
    named = entry.get(_id_field(entry))
    is_id = isinstance(named, str | int) and not isinstance(named, bool)
    return str(named).strip() if is_id else "", entry


def _id_field(entry: Mapping[str, object]) -> str:
    return next((name for name in _ID_FIELDS if name in entry), "")


def _item(
    name: str,
    entries: Sequence[Mapping[str, object]],
    of_value: Callable[[object], Parsed[T]],
    verdict_field: str | None,
    *,
    cut: bool,
) -> Item[T]:
    if not entries:
        return Item(_in_cut(failed("missing", f"no verdict about {name}"), cut=cut), {})
    if len(entries) > 1:
        return Item(failed("duplicate", f"{len(entries)} verdicts about {name}"), {})
    (entry,) = entries
    return Item(named_field(entry, verdict_field, of_value, besides=(_id_field(entry),)), entry)


def _in_cut(parsed: Parsed[T], *, cut: bool) -> Parsed[T]:
    """What is missing from a reply that was cut was cut."""
    if cut and parsed.problem is not None and parsed.problem.kind == "missing":
        return replace(parsed, problem=Problem("truncated", f"{parsed.problem.message}: the token limit cut the reply"))
    return parsed


def _axes(
    visible: str, names: Sequence[str], of_level: Callable[[object], Parsed[float]]
) -> Parsed[dict[str, Parsed[float]]]:
    found = read_object(visible)
    if found is None:
        lines = _axis_lines(plain(visible), names)
        if not any(lines.values()):
            return failed("unparseable", f"none of {', '.join(names)} in {shown(visible)}")
        return Parsed({name: replace(_axis(name, said, of_level), repairs=()) for name, said in lines.items()})
    if found.value is None:
        return Parsed(problem=found.problem)
    holder = found.value
    if (
        len(holder) == 1
        and isinstance(inner := next(iter(holder.values())), Mapping)
        and next(iter(holder)) not in names
    ):
        holder = inner
    return Parsed(
        {
            name: _axis(name, [v for key, v in holder.items() if key.casefold() == name.casefold()], of_level)
            for name in names
        },
        repairs=found.repairs,
    )


def _axis_lines(text: str, names: Sequence[str]) -> dict[str, list[object]]:
    ends = r"[ \t]*(?:[:=]|[ \t]-)[ \t]*(?P<said>[^\n,;(]*)"
    return {
        name: [m["said"] for m in regex.finditer(rf"(?im)^[ \t]*{regex.escape(name)}{ends}", text)] for name in names
    }


def _axis(name: str, said: Sequence[object], of_level: Callable[[object], Parsed[float]]) -> Parsed[float]:
    if not said:
        return failed("missing", f"nothing about {name}")
    if len(said) > 1:
        return failed("duplicate", f"{len(said)} levels of {name}")
    value = said[0]
    return named_field(value, None, of_level) if isinstance(value, Mapping) else of_level(value)
