"""LoCoMo's evidence strings: packed, padded and garbled turn ids, resolved against the conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.identity import TurnId
from mnemoscope.scenarios.source import LoadMode

__all__ = ["Evidence", "TurnIndex", "resolve_evidence"]

_WELL_FORMED = re.compile(r"D(\d+):(\d+)", re.ASCII)
_GARBLED = re.compile(r"D:(\d+):(\d+)", re.ASCII)
_SEPARATORS = re.compile(r"[;,\s]+")
_PUBLISHED_SEPARATOR = re.compile(r"\s*;\s*")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one evidence list points at."""

    turn_ids: tuple[TurnId, ...]
    """Resolvable ids in file order, without repeats."""
    unresolvable: tuple[str, ...]
    """Strings that name no turn of the conversation."""
    remarks: tuple[tuple[str, str], ...]
    """Kind and detail of every oddity, in file order."""


class TurnIndex:
    """The turns of one conversation by id, as written and without zero padding."""

    def __init__(self, turn_ids: Iterable[TurnId]) -> None:
        self._exact: Mapping[str, TurnId] = {turn_id: turn_id for turn_id in turn_ids}
        self._plain: Mapping[str, TurnId] = {_without_padding(turn_id): turn_id for turn_id in self._exact.values()}

    def exact(self, text: str) -> TurnId | None:
        """The turn whose id is written exactly so."""
        return self._exact.get(text)

    def padded(self, text: str) -> TurnId | None:
        """The turn that a well-formed id means once leading zeros are dropped on both sides."""
        return self._plain.get(_without_padding(text))


def resolve_evidence(raw: Sequence[str], turns: TurnIndex, mode: LoadMode) -> Evidence:
    """Read an evidence list in one of three named modes.

    - `strict-release` splits at `;` only and compares ids exactly, as the published mining does;
    - `robust` splits at `;`, `,` and white space and drops zero padding; it never guesses a garbled id;
    - `repaired` also reads `D:11:26` as `D11:26` where that turn exists.

    Args:
        raw: The strings of one question's list.
        turns: The conversation's turns.
        mode: The mode's name.

    Returns:
        Resolvable ids, unresolvable strings, and a remark for each oddity.

    Example:
        >>> found = resolve_evidence(["D1:1 D1:02", "D"], TurnIndex([TurnId("D1:1"), TurnId("D1:2")]), "robust")
        >>> found.turn_ids, found.unresolvable
        (('D1:1', 'D1:2'), ('D',))
    """
    remarks: list[tuple[str, str]] = []
    found: dict[TurnId, None] = {}
    unresolvable: dict[str, None] = {}
    for text in raw:
        parts = _split(text, mode)
        if len(parts) > 1:
            remarks.append(("packed-evidence", f"{text!r} read as {len(parts)} ids"))
        for part in parts or [text]:
            turn_id = _resolve(part, turns, mode, remarks)
            if turn_id is None:
                unresolvable[part] = None
            elif turn_id in found:
                remarks.append(("duplicate-evidence", f"{part!r} is given again; counted once"))
            else:
                found[turn_id] = None
    return Evidence(tuple(found), tuple(unresolvable), tuple(remarks))


def _split(text: str, mode: LoadMode) -> list[str]:
    separators = _PUBLISHED_SEPARATOR if mode == "strict-release" else _SEPARATORS
    return [part for part in separators.split(text.strip()) if part]


def _resolve(part: str, turns: TurnIndex, mode: LoadMode, remarks: list[tuple[str, str]]) -> TurnId | None:
    if (turn_id := turns.exact(part)) is not None:
        return turn_id
    garbled = _GARBLED.fullmatch(part)
    meant = f"D{garbled[1]}:{garbled[2]}" if garbled else None
    if mode != "strict-release" and _WELL_FORMED.fullmatch(part) and (turn_id := turns.padded(part)) is not None:
        remarks.append(("zero-padded-evidence", f"{part!r} read as {turn_id}"))
        return turn_id
    if mode == "repaired" and meant is not None and (turn_id := turns.padded(meant)) is not None:
        remarks.append(("repaired-evidence", f"{part!r} read as {turn_id}"))
        return turn_id
    remarks.append(("unresolvable-evidence", f'unresolvable evidence "{part}" ({_reason(part, meant)})'))
    return None


def _reason(part: str, meant: str | None) -> str:
    if meant is not None:
        return f"not guessed as {meant}"
    return "no such turn" if _WELL_FORMED.fullmatch(part) else "not one turn id"


def _without_padding(text: str) -> str:
    match = _WELL_FORMED.fullmatch(text)
    return f"D{int(match[1])}:{int(match[2])}" if match else text
